#include "sim/base/aside_file.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

namespace straggler {

namespace fs = std::filesystem;

namespace {

/// A pipe or a device has nothing to bring to a disk.
int bring_to_disk(const fs::path& path) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return errno == EACCES ? 0 : errno;  // written under a mask that forbids its owner to read
  const int error = ::fsync(descriptor) == 0 || errno == EINVAL || errno == EROFS ? 0 : errno;
  ::close(descriptor);
  return error;
}

}  // namespace

AsideFile::AsideFile(const fs::path& place) : place_(place), path_(fs::path(place) += ".part") {}

AsideFile::~AsideFile() {
  std::error_code ignored;
  if (!moved_) fs::remove(path_, ignored);
}

std::error_code AsideFile::put_into_place() {
  std::error_code error(bring_to_disk(path_), std::generic_category());
  if (!error) fs::rename(path_, place_, error);
  moved_ = !error;
  return error;
}

}  // namespace straggler

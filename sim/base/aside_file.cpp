#include "sim/base/aside_file.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <string>
#include <utility>

namespace straggler {

namespace fs = std::filesystem;

namespace {

int bring_to_disk(const fs::path& path) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
  if (descriptor < 0) return errno == EACCES ? 0 : errno;  // written under a mask that forbids its owner to read
  const int error = ::fsync(descriptor) == 0 || errno == EINVAL || errno == EROFS ? 0 : errno;
  ::close(descriptor);
  return error;
}

std::string random_name(const std::string& stem) {
  std::uint64_t drawn = 0;
  if (::getentropy(&drawn, sizeof drawn) != 0) drawn = static_cast<std::uint64_t>(::getpid());  // a kernel without random numbers
  return "." + stem.substr(0, 100).append(hidden_mark) + std::to_string(drawn);
}

}  // namespace

AsideFile::AsideFile(fs::path place) : place_(std::move(place)) {
  std::error_code error;
  const std::string stem = place_.filename().string();
  folder_ = make_hidden_folder(place_.parent_path(), stem, error);
  // Where no folder can be made, no file can: a name that nobody can foresee, for the error.
  path_ = folder_.path.empty() ? place_.parent_path() / random_name(stem) : folder_.path / stem;
}

AsideFile::~AsideFile() {
  std::error_code ignored;
  if (!moved_) fs::remove(path_, ignored);
  if (!folder_.path.empty()) fs::remove(folder_.path, ignored);
  if (folder_.lock >= 0) ::close(folder_.lock);
}

std::error_code AsideFile::put_into_place() {
  std::error_code error(bring_to_disk(path_), std::generic_category());
  if (!error) fs::rename(path_, place_, error);
  moved_ = !error;
  return error;
}

}  // namespace straggler

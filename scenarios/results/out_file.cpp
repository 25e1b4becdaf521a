#include "scenarios/results/out_file.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace straggler {

OutFile::OutFile(const std::filesystem::path& path, std::string shown, std::string_view header)
    : shown_(shown.empty() ? path.string() : std::move(shown)), buffer_(new char[buffer_bytes]) {
  descriptor_ = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
  if (descriptor_ < 0) fail(errno);
  write(header);
}

OutFile::~OutFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

void OutFile::write(std::string_view text) {
  if (text.empty()) return;
  if (text.size() > buffer_bytes - used_) flush();
  if (text.size() >= buffer_bytes) return hand_over(text);
  std::memcpy(buffer_.get() + used_, text.data(), text.size());
  used_ += text.size();
}

void OutFile::flush() {
  hand_over({buffer_.get(), used_});
  used_ = 0;
}

void OutFile::hand_over(std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(descriptor_, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) fail(errno);
    text.remove_prefix(static_cast<std::size_t>(written));
  }
}

void OutFile::close() {
  flush();
  const int result = ::close(std::exchange(descriptor_, -1));
  if (result != 0) fail(errno);
}

void OutFile::fail(int error) const {
  const std::string what = fmt::format("{}: cannot be written: {}; ", shown_, std::strerror(error));
  if (is_of_disk(error)) throw DiskError(what + "free some space or choose another folder with --out");
  throw ResultsError(what + "choose a folder that can be written with --out");
}

bool is_of_disk(int error) { return error == ENOSPC || error == EDQUOT || error == EFBIG || error == EIO; }

}  // namespace straggler

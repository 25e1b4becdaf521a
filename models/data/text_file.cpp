#include "models/data/text_file.hpp"

#include <fmt/format.h>
#include <zlib.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "models/data/dataset.hpp"
#include "models/data/unpacked.hpp"

namespace straggler {
namespace {

/// A compressed text may unpack to this without a look at its ratio. A few times as many bytes are held for it.
constexpr std::uintmax_t free_bytes = std::uintmax_t{16} << 20;

[[noreturn]] void fail_at_text(const std::filesystem::path& path, const std::string& sentence) {
  throw DataError(fmt::format("{}: {}", path.string(), sentence));
}

}  // namespace

TextFile::TextFile(const std::filesystem::path& path) : path_(path) {
  std::error_code error;
  if (!std::filesystem::exists(path, error)) fail_at_text(path, "no such file; give the path of a text, plain or compressed by gzip");
  if (!std::filesystem::is_regular_file(path, error))
    fail_at_text(path, "not a file; give the path of a text, plain or compressed by gzip");
  errno = 0;
  file_ = gzopen(path.c_str(), "rb");
  if (!file_) fail_at_text(path, fmt::format("cannot be opened ({}); make it readable", std::strerror(errno)));
  gzbuffer(file_, 1 << 18);
}

TextFile::~TextFile() {
  if (file_) gzclose_r(file_);
}

std::string_view TextFile::next() {
  const int got = gzread(file_, buffer_.data(), static_cast<unsigned>(buffer_.size()));
  if (got < 0) damaged();
  if (got == 0 && gzclose_r(std::exchange(file_, nullptr)) != Z_OK)
    fail_at_text(path_, "the compressed stream is cut off; get the whole file");
  read_ += static_cast<std::size_t>(got);
  if (file_ && unpacks_too_far(static_cast<std::uintmax_t>(gzoffset(file_)), read_, free_bytes))
    fail_at_text(path_,
                 fmt::format("unpacks to more than {} times its size, which no text does; give a text, or decompress it", most_unpacked));
  return {buffer_.data(), static_cast<std::size_t>(got)};
}

void TextFile::damaged() {
  int code = Z_OK;
  const std::string message = gzerror(file_, &code);
  if (code == Z_BUF_ERROR) fail_at_text(path_, "the compressed stream is cut off; get the whole file");
  fail_at_text(path_, fmt::format("damaged ({}); get an undamaged text, plain or compressed by gzip", message));
}

}  // namespace straggler

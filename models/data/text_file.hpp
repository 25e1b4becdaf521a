// A text, plain or compressed by gzip, read in pieces.
#pragma once
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

struct gzFile_s;

namespace straggler {

class TextFile {
 public:
  /// Throws DataError if there is no such file, or it cannot be read.
  explicit TextFile(const std::filesystem::path& path);
  ~TextFile();
  TextFile(const TextFile&) = delete;
  TextFile& operator=(const TextFile&) = delete;

  /// Empty at the end. Throws DataError where the file is damaged, or unpacks to more than a text does.
  std::string_view next();

 private:
  [[noreturn]] void damaged();

  const std::filesystem::path path_;
  gzFile_s* file_ = nullptr;
  std::uintmax_t read_ = 0;  // unpacked so far
  std::vector<char> buffer_ = std::vector<char>(1 << 20);
};

}  // namespace straggler

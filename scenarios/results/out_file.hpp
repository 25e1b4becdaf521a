// A file written through a large buffer, every error reported.
#pragma once
#include <fmt/format.h>

#include <filesystem>
#include <iterator>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "sim/base/refusal.hpp"

namespace straggler {

/// A result folder or file that cannot be written, read or replaced: a sentence with the place and the remedy.
struct ResultsError : Refusal {
  using Refusal::Refusal;
};
/// The disk is full or fails: nothing that was given is wrong, but the command cannot continue.
struct DiskError : ResultsError {
  explicit DiskError(const std::string& line) : ResultsError(line, Exit::cannot_go_on) {}
};
/// By errno.
bool is_of_disk(int error);

class OutFile {
 public:
  /// Creates `path` and starts it with `header`. Messages name `shown` instead, where the file will be in the end. Throws
  /// ResultsError, as all below.
  explicit OutFile(const std::filesystem::path& path, std::string shown = {}, std::string_view header = {});
  OutFile(const OutFile&) = delete;
  OutFile& operator=(const OutFile&) = delete;
  /// Closes; data that close() did not flush are lost.
  ~OutFile();

  void write(std::string_view text);
  template <class... Arguments>
  void print(fmt::format_string<Arguments...> format, Arguments&&... arguments) {
    line_.clear();
    fmt::format_to(std::back_inserter(line_), format, std::forward<Arguments>(arguments)...);
    write({line_.data(), line_.size()});
  }
  /// The place for the next bytes, with space for `row_limit` of them; call `advance` with their end.
  static constexpr std::size_t row_limit = 1024;
  char* row() {
    if (buffer_bytes - used_ < row_limit) flush();
    return buffer_.get() + used_;
  }
  void advance(const char* end) { used_ = static_cast<std::size_t>(end - buffer_.get()); }

  /// Everything is with the operating system afterwards.
  void close();

 private:
  static constexpr std::size_t buffer_bytes = 1 << 18;
  void flush();
  void hand_over(std::string_view text);  // to the operating system, all of it
  [[noreturn]] void fail(int error) const;

  int descriptor_ = -1;
  std::string shown_;
  std::unique_ptr<char[]> buffer_;  // [buffer_bytes], not written before it is used: a small file touches few of its pages
  std::size_t used_ = 0;
  fmt::memory_buffer line_;
};

}  // namespace straggler

#include "sim/base/text_lines.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <istream>
#include <system_error>

namespace straggler {

namespace {

constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";
constexpr std::size_t block_bytes = 1 << 16;

/// A line without its byte order mark and carriage return.
std::string_view bare(std::string_view line, std::size_t number) {
  if (number == 1 && line.starts_with(byte_order_mark)) line.remove_prefix(byte_order_mark.size());
  if (line.ends_with('\r')) line.remove_suffix(1);
  return line;
}

}  // namespace

std::string_view trimmed(std::string_view text, std::string_view dropped) {
  const std::size_t first = text.find_first_not_of(dropped);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(dropped) - first + 1);
}

bool TextLines::next(std::string_view& line) {
  if (rest_.empty()) return false;
  const std::size_t end = std::min(rest_.find('\n'), rest_.size());
  line = bare(rest_.substr(0, end), ++number_);
  rest_.remove_prefix(std::min(end + 1, rest_.size()));
  return true;
}

FileLines::FileLines(const std::filesystem::path& file, std::size_t longest)
    : in_(file, std::ios::binary), buffer_(block_bytes), longest_(longest) {}

bool FileLines::next(std::string_view& line) {
  if (too_long_ || !find(line)) return false;
  line = bare(line, ++number_);
  too_long_ = line.size() > longest_;
  return !too_long_;
}

bool FileLines::find(std::string_view& line) {
  for (std::size_t searched = 0;;) {
    const char* const from = buffer_.data() + begin_;
    const std::size_t held = end_ - begin_;
    const void* const found = std::memchr(from + searched, '\n', held - searched);
    if (found != nullptr) {
      line = {from, static_cast<std::size_t>(static_cast<const char*>(found) - from)};
      begin_ += line.size() + 1;
      return true;
    }
    if (held > longest_ + byte_order_mark.size() + 1) {
      ++number_;
      too_long_ = true;
      return false;
    }
    searched = held;
    if (in_) {
      read_more();
      continue;
    }
    line = {from, held};
    begin_ = end_;
    return held > 0 && !in_.bad();
  }
}

void FileLines::read_more() {
  std::memmove(buffer_.data(), buffer_.data() + begin_, end_ - begin_);
  end_ -= begin_;
  begin_ = 0;
  if (end_ == buffer_.size()) buffer_.resize(2 * buffer_.size());
  in_.read(buffer_.data() + end_, static_cast<std::streamsize>(buffer_.size() - end_));
  end_ += static_cast<std::size_t>(in_.gcount());
}

std::string first_line(const std::filesystem::path& file) {
  FileLines lines(file);
  std::string_view line;
  return lines.next(line) ? std::string(line) : std::string();
}

std::string read_stream(std::istream& in, std::size_t most, std::size_t expected) {
  std::string text;
  for (std::size_t used = 0; used < most;) {
    const std::size_t room = std::min(most - used, used == 0 ? expected : std::max(used, block_bytes));
    text.resize(used + room);
    in.read(text.data() + used, static_cast<std::streamsize>(room));
    used += static_cast<std::size_t>(in.gcount());
    if (used < text.size()) text.resize(most = used);
  }
  return text;
}

FileText read_file(const std::filesystem::path& file, std::size_t most) {
  std::error_code error;
  const std::filesystem::file_status status = std::filesystem::status(file, error);
  if (status.type() == std::filesystem::file_type::not_found) return {{}, FileFault::missing, std::strerror(ENOENT)};
  if (std::filesystem::is_directory(status)) return {{}, FileFault::folder, {}};
  errno = 0;
  std::ifstream in(file, std::ios::binary);
  if (!in) return {{}, FileFault::closed, errno == 0 ? std::string() : std::strerror(errno)};
  const bool regular = std::filesystem::is_regular_file(status);
  const std::uintmax_t size = regular ? std::filesystem::file_size(file, error) : 0;
  FileText out{read_stream(in, most, regular && !error ? std::max<std::size_t>(size + 1, block_bytes) : block_bytes), FileFault::none, {}};
  if (in.bad()) {
    out.fault = FileFault::broken;
    out.reason = errno == 0 ? std::string() : std::strerror(errno);
  }
  return out;
}

}  // namespace straggler

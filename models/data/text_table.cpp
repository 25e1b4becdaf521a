#include "models/data/text_table.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <fstream>

#include "models/data/dataset.hpp"

namespace straggler {
namespace {

std::string_view trimmed(std::string_view text) {
  constexpr const char* blank = " \t\r";
  const std::size_t first = text.find_first_not_of(blank);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(blank) - first + 1);
}

/// The end of the field that begins with a quote at `from`, behind the closing one; npos if it is not closed.
std::size_t end_of_quoted(std::string_view line, std::size_t from, std::string& out) {
  for (std::size_t at = from + 1; at < line.size(); ++at) {
    if (line[at] != '"') {
      out += line[at];
    } else if (at + 1 < line.size() && line[at + 1] == '"') {
      out += '"';
      ++at;
    } else {
      return at + 1;
    }
  }
  return std::string_view::npos;
}

template <class Number>
std::optional<Number> as(std::string_view field) {
  if (!field.empty() && field[0] == '+') field.remove_prefix(1);
  Number value{};
  const auto [end, error] = std::from_chars(field.data(), field.data() + field.size(), value);
  if (error != std::errc() || end != field.data() + field.size() || field.empty()) return std::nullopt;
  return value;
}

}  // namespace

std::string read_text(const std::filesystem::path& path, std::string_view remedy) {
  std::error_code error;
  if (!std::filesystem::exists(path, error)) throw DataError(fmt::format("{}: no such file; {}", path.string(), remedy));
  if (!std::filesystem::is_regular_file(path, error)) throw DataError(fmt::format("{}: not a file; {}", path.string(), remedy));
  errno = 0;
  std::ifstream in(path, std::ios::binary);
  if (!in) throw DataError(fmt::format("{}: cannot be opened ({}); make it readable", path.string(), std::strerror(errno)));
  std::string text(static_cast<std::size_t>(std::filesystem::file_size(path, error)), '\0');
  in.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (static_cast<std::size_t>(in.gcount()) != text.size())
    throw DataError(fmt::format("{}: only {} of {} bytes could be read; get a whole file", path.string(), in.gcount(), text.size()));
  if (text.starts_with("\xEF\xBB\xBF")) text.erase(0, 3);  // byte order mark
  return text;
}

bool Lines::next(std::string_view& line) {
  while (!rest_.empty()) {
    const std::size_t end = rest_.find('\n');
    line = rest_.substr(0, end);
    rest_ = end == std::string_view::npos ? std::string_view() : rest_.substr(end + 1);
    ++number_;
    if (comments_) line = line.substr(0, line.find('#'));
    if (line = trimmed(line); !line.empty()) return true;
  }
  return false;
}

bool split_fields(std::string_view line, char separator, std::vector<std::string_view>& fields, std::vector<std::string>& unquoted) {
  fields.clear();
  unquoted.clear();
  unquoted.reserve(line.size());  // views of its strings must stay
  const auto is_separator = [separator](char c) { return separator == ' ' ? c == ' ' || c == '\t' : c == separator; };
  for (std::size_t at = 0;;) {
    while (at < line.size() && (line[at] == ' ' || (line[at] == '\t' && separator != '\t'))) ++at;
    std::size_t end = at;
    if (at < line.size() && line[at] == '"') {
      end = end_of_quoted(line, at, unquoted.emplace_back());
      if (end == std::string_view::npos) return false;
      fields.push_back(unquoted.back());
      while (end < line.size() && !is_separator(line[end])) {
        if (line[end] != ' ' && line[end] != '\t' && line[end] != '\r') return false;
        ++end;
      }
    } else {
      while (end < line.size() && !is_separator(line[end])) ++end;
      fields.push_back(trimmed(line.substr(at, end - at)));
    }
    if (end >= line.size()) return true;
    at = end + 1;
  }
}

std::optional<double> as_number(std::string_view field) { return as<double>(field); }
std::optional<std::int64_t> as_integer(std::string_view field) { return as<std::int64_t>(field); }

}  // namespace straggler

#include <fmt/format.h>

#include <algorithm>
#include <sstream>
#include <stdexcept>

#include "sim/base/ascii.hpp"
#include "sim/base/quantity.hpp"
#include "sim/base/shown_text.hpp"
#include "sim/base/suggest.hpp"
#include "sim/base/text_lines.hpp"
#include "validation/calibrate/formats.hpp"
#include "validation/calibrate/number_rows.hpp"
#include "validation/tables/csv_table.hpp"

namespace straggler {

namespace {

struct Recognized {
  const MeasuredFormat* format = nullptr;  // null: none
  std::string_view tag;                    // in front of the line that shows it
};

Recognized recognize(const std::string& text) {
  bool header_seen = false;
  TextLines lines(text);
  for (std::string_view line; lines.next(line);) {
    const std::string_view bare = trimmed(line);
    const bool header = !header_seen && !bare.empty() && bare.front() != '#';
    header_seen = header_seen || header;
    for (const MeasuredFormat& format : Registry<MeasuredFormat>::instance().entries())
      if (const std::optional<std::size_t> at = format.mark(line, header)) return {&format, line.substr(0, *at)};
  }
  return {};
}

/// "12:34:56" somewhere in it.
bool holds_clock(std::string_view tag) {
  for (std::size_t i = 0; i + 8 <= tag.size(); ++i)
    if (is_digit(tag[i]) && is_digit(tag[i + 1]) && tag[i + 2] == ':' && is_digit(tag[i + 3]) && tag[i + 5] == ':') return true;
  return false;
}

/// The text without the tag that a launcher put in front of the lines of one rank: "[1,0]<stdout>:" (mpirun --tag-output), "0: " (srun -l).
/// Digits of a tag with a clock may differ from line to line. Lines without the tag stay.
std::string without_tag(const std::string& text, std::string_view tag) {
  if (trimmed(tag).empty()) return text;
  const bool clock = holds_clock(tag);
  const auto same = [clock](char a, char b) { return a == b || (clock && is_digit(a) && is_digit(b)); };
  std::string out;
  TextLines lines(text);
  for (std::string_view line; lines.next(line);) {
    if (line.size() >= tag.size() && std::equal(tag.begin(), tag.end(), line.begin(), same)) line.remove_prefix(tag.size());
    out.append(line).push_back('\n');
  }
  return out;
}

[[noreturn]] void refuse_unknown(const std::string& text, const std::filesystem::path& file) {
  const std::string_view begin = trimmed(text);
  const bool table = !begin.empty() && std::string_view("{[<").find(begin.front()) == std::string_view::npos;
  refuse_format(file, "cannot be calibrated: " + (table ? "its columns are " + shortened(joined(CsvTable(text, file).columns()), 400)
                                                        : "it is no table, nor the output of a benchmark that calibrate knows"));
}

}  // namespace

std::vector<std::string> words_of(std::string_view line) {
  std::istringstream in{std::string(line)};
  std::vector<std::string> words;
  for (std::string word; in >> word;) words.push_back(std::move(word));
  return words;
}

bool is_whole_number(std::string_view word) { return !word.empty() && std::all_of(word.begin(), word.end(), is_digit); }

void NumberRows::problem(std::size_t line, const std::string& what) {
  problems_.emplace_back(Place{0, static_cast<int>(line), 1}, file_.string(), "", what);
}

std::optional<double> NumberRows::number(std::size_t line, const std::string& word, const char* column) {
  try {
    return parse_number(word);
  } catch (const std::invalid_argument& error) {
    problem(line, fmt::format("{}: {}", column, error.what()));
    return std::nullopt;
  }
}

void NumberRows::raise() const {
  if (!problems_.empty()) throw ScenarioErrors(problems_);
}

void refuse_measured(const std::filesystem::path& file, const std::string& what) {
  throw ScenarioErrors(Problem(whole_file, file.string(), {}, what));
}

void refuse_format(const std::filesystem::path& file, const std::string& what) {
  refuse_measured(file, fmt::format("{}; give {}", what, fmt::join(measured_formats(), ", or ")));
}

std::vector<std::string> measured_formats() {
  std::vector<std::string> given;
  for (const MeasuredFormat& format : Registry<MeasuredFormat>::instance().entries())
    if (!format.given.empty()) given.push_back(format.given);
  return given;
}

Measurements read_measured(const std::filesystem::path& file) {
  const std::string text = read_measured_text(file);
  const Recognized found = recognize(text);
  if (found.format == nullptr) refuse_unknown(text, file);
  return found.format->read(without_tag(text, found.tag), file);
}

MessageTimes joined_times(const MessageTimes& one, const MessageTimes& other, const std::filesystem::path& file) {
  const auto alone = [](const MessageTimes& times) { return !times.samples.empty() && times.streamed.empty(); };
  const auto streamed = [](const MessageTimes& times) { return times.samples.empty() && !times.streamed.empty(); };
  if (alone(other) && streamed(one)) return joined_times(other, one, file);
  if (!alone(one) || !streamed(other))
    refuse_measured(file,
                    "does not complete the other file; give times of single messages (osu_latency, a ping-pong) and the output of osu_bw");
  MessageTimes out = one;
  out.streamed = other.streamed;
  out.found += " and " + other.found;
  out.meaning += "; " + other.meaning;
  return out;
}

}  // namespace straggler

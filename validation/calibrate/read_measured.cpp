#include <fmt/format.h>

#include <algorithm>

#include "scenarios/import/number_rows.hpp"
#include "sim/base/shown_text.hpp"
#include "sim/base/suggest.hpp"
#include "sim/base/text_lines.hpp"
#include "validation/calibrate/formats.hpp"
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

[[noreturn]] void refuse_unknown(const std::string& text, const std::filesystem::path& file) {
  std::string_view head;  // the first line that is neither blank nor a comment
  TextLines lines(text);
  for (std::string_view line; (head.empty() || head.front() == '#') && lines.next(line);) head = trimmed(line);
  const bool table = !head.empty() && std::string_view("{[<").find(head.front()) == std::string_view::npos &&
                     head.find_first_of(",;\t") != std::string_view::npos;
  refuse_format(file, "cannot be calibrated: " + (table ? "its columns are " + shortened(joined(CsvTable(text, file).columns()), 400)
                                                        : "it is no table, nor the output of a benchmark that calibrate knows"));
}

}  // namespace

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

#include "scenarios/import/osu_table.hpp"

#include <fmt/format.h>

#include "scenarios/import/number_rows.hpp"
#include "sim/base/ascii.hpp"
#include "sim/base/text_lines.hpp"

namespace straggler::import_osu {
namespace {

/// "OSU MPI Latency Test v7.1", "OSU MPI-CUDA Bandwidth Test": nothing else may stand between.
OsuTable::Kind kind_of(std::string_view title) {
  const std::vector<std::string> words = words_of(title);
  const std::size_t first = words.front() == "#" ? 1 : 0;
  if (words.size() < first + 4 || !words[first + 1].starts_with("MPI") || words[first + 3] != "Test") return OsuTable::Kind::other;
  if (words[first + 1] != "MPI" && !words[first + 1].starts_with("MPI-")) return OsuTable::Kind::other;
  if (words[first + 2] == "Latency") return OsuTable::Kind::latency;
  return words[first + 2] == "Bandwidth" ? OsuTable::Kind::bandwidth : OsuTable::Kind::other;
}

class Reader {
 public:
  explicit Reader(const std::filesystem::path& file) : rows_(file) {}

  std::vector<OsuTable> read(const std::string& text) {
    TextLines lines(text);
    for (std::string_view line; lines.next(line);) {
      if (const std::optional<std::size_t> title = osu_mark(line); title && trimmed(line.substr(0, *title)).empty())
        tables_.push_back({kind_of(line), std::string(trimmed(line, " #\t\r\n")), {}});
      else if (!tables_.empty())
        row(line, lines.number());
    }
    rows_.raise();
    return std::move(tables_);
  }

 private:
  /// Lines of other programs are passed over: a row begins with a whole number, and another number follows.
  void row(std::string_view line, std::size_t number) {
    const std::vector<std::string> words = words_of(line);
    if (words.empty() || !is_whole_number(words.front()) || (words.size() > 2 && !is_digit(words[1].front()))) return;
    OsuTable& table = tables_.back();
    if (table.kind == OsuTable::Kind::other && (words.size() < 2 || !is_digit(words[1].front()))) return;
    const bool latency = table.kind != OsuTable::Kind::bandwidth;
    const char* const what = latency ? "latency" : "bandwidth";
    if (words.size() < 2)
      return rows_.problem(number, fmt::format("has a size and no {}; give the whole output (is the file cut off?)", what));
    const std::optional<double> size = rows_.number(number, words[0], "size"), value = rows_.number(number, words[1], what);
    if (!size || !value) return;
    if (!latency && *size == 0) return rows_.problem(number, "has a size of 0 bytes, which has no bandwidth; leave the row out");
    if (!(*value > 0)) return rows_.problem(number, fmt::format("has a {} that is not above 0; write what was measured", what));
    table.rows.push_back({*size, *value});
  }

  NumberRows rows_;
  std::vector<OsuTable> tables_;
};

}  // namespace
}  // namespace straggler::import_osu

namespace straggler {

std::optional<std::size_t> osu_mark(std::string_view line) {
  const std::size_t title = line.find("OSU ");
  if (title == std::string_view::npos || line.find(" Test", title) == std::string_view::npos) return std::nullopt;
  const std::size_t hash = title >= 2 && line.substr(title - 2, 2) == "# " ? title - 2 : title;
  if (hash == title && !trimmed(line.substr(0, title)).empty()) return std::nullopt;  // in the middle of a sentence
  return hash;
}

std::vector<OsuTable> read_osu_tables(const std::string& text, const std::filesystem::path& file) {
  return import_osu::Reader(file).read(text);
}

}  // namespace straggler

// Output of the OSU micro-benchmarks: times of one message by osu_latency, the rate of many in flight by osu_bw. The other benchmarks have
// titles alike ("Allreduce Latency Test") and time something else. https://mvapich.cse.ohio-state.edu/benchmarks/
#include <fmt/format.h>

#include "sim/base/ascii.hpp"
#include "sim/base/suggest.hpp"
#include "sim/base/text_lines.hpp"
#include "validation/calibrate/formats.hpp"
#include "validation/calibrate/number_rows.hpp"

namespace straggler::calibrate_osu {
namespace {

enum class Table { none, latency, bandwidth, other };

/// Where "OSU … Test" begins in a title, with its '#' if there is one.
std::optional<std::size_t> mark(std::string_view line, bool /*header*/) {
  const std::size_t title = line.find("OSU ");
  if (title == std::string_view::npos || line.find(" Test", title) == std::string_view::npos) return std::nullopt;
  const std::size_t hash = title >= 2 && line.substr(title - 2, 2) == "# " ? title - 2 : title;
  if (hash == title && !trimmed(line.substr(0, title)).empty()) return std::nullopt;  // in the middle of a sentence
  return hash;
}

/// "OSU MPI Latency Test v7.1", "OSU MPI-CUDA Bandwidth Test": nothing else may stand between.
Table table_of(std::string_view title) {
  const std::vector<std::string> words = words_of(title);
  const std::size_t first = words.front() == "#" ? 1 : 0;
  if (words.size() < first + 4 || !words[first + 1].starts_with("MPI") || words[first + 3] != "Test") return Table::other;
  if (words[first + 1] != "MPI" && !words[first + 1].starts_with("MPI-")) return Table::other;
  if (words[first + 2] == "Latency") return Table::latency;
  return words[first + 2] == "Bandwidth" ? Table::bandwidth : Table::other;
}

class Reader {
 public:
  Reader(const std::string& text, const std::filesystem::path& file) : text_(text), file_(file), rows_(file) {}

  MessageTimes read() {
    TextLines lines(text_);
    for (std::string_view line; lines.next(line);) {
      if (const std::optional<std::size_t> title = mark(line, false); title && trimmed(line.substr(0, *title)).empty()) {
        table_ = table_of(line);
        if (table_ == Table::other && other_.empty()) other_ = trimmed(line, " #\t\r\n");
      } else if (table_ == Table::latency || table_ == Table::bandwidth) {
        row(line, lines.number());
      }
    }
    rows_.raise();
    return translate();
  }

 private:
  /// Lines of other programs are passed over: a row begins with a whole number, and another number follows.
  void row(std::string_view line, std::size_t number) {
    const std::vector<std::string> words = words_of(line);
    if (words.empty() || !is_whole_number(words.front()) || (words.size() > 2 && !is_digit(words[1].front()))) return;
    const bool latency = table_ == Table::latency;
    const char* const what = latency ? "latency" : "bandwidth";
    if (words.size() < 2)
      return rows_.problem(number, fmt::format("has a size and no {}; give the whole output (is the file cut off?)", what));
    const std::optional<double> size = rows_.number(number, words[0], "size"), value = rows_.number(number, words[1], what);
    if (!size || !value) return;
    if (!latency && *size == 0) return rows_.problem(number, "has a size of 0 bytes, which has no bandwidth; leave the row out");
    if (!(*value > 0)) return rows_.problem(number, fmt::format("has a {} that is not above 0; write what was measured", what));
    if (latency)
      out_.samples.push_back({*size, *value * 1e-6});
    else
      out_.streamed.push_back({*size, *size / (*value * 1e6)});
  }

  MessageTimes translate() {
    const std::size_t alone = out_.samples.size(), streamed = out_.streamed.size();
    if (alone + streamed == 0 && !other_.empty())
      refuse_measured(file_, in_quotes(other_) +
                                 " has no times of one message between two ranks, so it gives no link; give the output of osu_latency, of "
                                 "osu_bw, or of both");
    if (alone + streamed == 0) refuse_measured(file_, "is OSU output without a row of times; give the whole output (is the file cut off?)");
    if (alone > 0) {
      out_.found = fmt::format("OSU latency, {} sizes", alone);
      out_.meaning = "latency is half a round trip, that of one message";
    }
    if (streamed > 0) {
      out_.found += fmt::format("{}OSU bandwidth, {} sizes", alone > 0 ? " and " : "", streamed);
      out_.meaning += fmt::format("{}bandwidth is the highest of many messages in flight", alone > 0 ? "; " : "");
    }
    if (!other_.empty()) out_.found += fmt::format(" ({} not used)", in_quotes(other_));
    return std::move(out_);
  }

  const std::string& text_;
  const std::filesystem::path& file_;
  NumberRows rows_;
  Table table_ = Table::none;
  std::string other_;  // title of the first table that gives no link
  MessageTimes out_;
};

Measurements read(const std::string& text, const std::filesystem::path& file) { return Reader(text, file).read(); }

const Register<MeasuredFormat> entry({"osu", "the output of osu_latency or osu_bw", mark, read});

}  // namespace
}  // namespace straggler::calibrate_osu

// Output of nccl-tests and rccl-tests, out of place. https://github.com/NVIDIA/nccl-tests, doc/PERFORMANCE.md
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <set>

#include "sim/base/suggest.hpp"
#include "sim/base/text_lines.hpp"
#include "validation/calibrate/formats.hpp"
#include "validation/calibrate/number_rows.hpp"

namespace straggler::calibrate_nccl {
namespace {

/// A collective of n ranks as a ring: `laps` (n - 1) steps, each of a message of 1/n of the size. Bus over algorithm bandwidth is
/// laps (n - 1) / n. Without laps: one message, and 1.
struct Operation {
  const char *program, *name;
  bool reduces;
  int laps;
  bool per_rank;  // the column `count` has the elements of one rank
  double ratio(double n) const { return laps == 0 ? 1 : laps * (n - 1) / n; }
  double ranks(double ratio) const { return ratio < laps ? laps / (laps - ratio) : std::numeric_limits<double>::infinity(); }
};
constexpr std::array operations{
    Operation{"all_reduce_perf", "all-reduce", true, 2, false}, Operation{"reduce_scatter_perf", "reduce-scatter", true, 1, true},
    Operation{"all_gather_perf", "all-gather", false, 1, true}, Operation{"sendrecv_perf", "send and receive", false, 0, false}};

constexpr const char* whole_output = "give the whole output";

/// The words of the header line, without a '#' in front; empty for any other line.
std::vector<std::string> header_of(std::string_view line) {
  std::vector<std::string> words = words_of(line);
  if (!words.empty() && words.front() == "#") words.erase(words.begin());
  const bool header = words.size() > 5 && words[0] == "size" && words[1] == "count" && words[2] == "type";
  return header ? words : std::vector<std::string>();
}

std::optional<std::size_t> mark(std::string_view line, bool /*header*/) {
  for (const char* begin : {"# nThread", "# Collective test starting:"})
    if (const std::size_t at = line.find(begin); at != std::string_view::npos) return at;
  for (const char* begin : {"#", "size"})
    if (const std::size_t at = line.find(begin); at != std::string_view::npos && !header_of(line.substr(at)).empty()) return at;
  return std::nullopt;
}

/// "12.34" is any number in [12.335, 12.345].
double half_unit(const std::string& number) {
  const std::size_t point = number.find('.');
  return 0.5 * std::pow(10, point == std::string::npos ? 0 : -static_cast<double>(number.size() - point - 1));
}

/// A row, and what it says of the operation.
struct Row {
  std::size_t line = 0;
  double bytes = 0, seconds = 0;
  double least = 0, most = 0;  // bus bandwidth over size / time, by the digits printed
  double element_bytes = 0;    // size / count; 0: not known
  bool reduces = false, rooted = false;
};

struct Reading {
  const Operation* operation = nullptr;
  int ranks = 0;  // 0: not known, nor needed
};

class Reader {
 public:
  Reader(const std::string& text, const std::filesystem::path& file) : text_(text), file_(file), rows_(file) {}

  MessageTimes read() {
    TextLines lines(text_);
    for (std::string_view line; lines.next(line);) take(line, lines.number());
    rows_.raise();
    if (found_.empty()) refuse(fmt::format("is nccl-tests output without a row of times; {} (is the file cut off?)", whole_output));
    return translate();
  }

 private:
  [[noreturn]] void refuse(const std::string& what) const { refuse_measured(file_, what); }

  void take(std::string_view line, std::size_t number) {
    const std::vector<std::string> words = words_of(line);
    constexpr std::string_view starting = "# Collective test starting:";
    if (line.starts_with(starting)) {
      program_ = trimmed(line.substr(starting.size()));
      program_ = program_.substr(program_.find_last_of('/') + 1);
    } else if (std::vector<std::string> header = header_of(line); !header.empty()) {
      header_ = std::move(header);
      fields_ = 0;
    } else if (!rank(words) && !header_.empty() && !words.empty() && is_whole_number(words.front()) &&
               (words.size() == 1 || is_whole_number(words[1]))) {
      row(words, number);
    }
  }

  /// "#  Rank  0 Group  0 Pid 4711 on  node-1 device  0 [0x07] NVIDIA …", perhaps without the '#'.
  bool rank(const std::vector<std::string>& words) {
    const std::size_t first = !words.empty() && words.front() == "#" ? 1 : 0;
    if (words.size() < first + 4 || words[first] != "Rank" || !is_whole_number(words[first + 1]) || words[first + 1].size() > 6)
      return false;
    const auto on = std::find(words.begin(), words.end(), "on");
    if (on == words.end() || on + 1 == words.end()) return false;
    ranks_.insert(std::stoi(words[first + 1]));
    hosts_.insert(on[1]);
    return true;
  }

  void row(const std::vector<std::string>& words, std::size_t number) {
    const std::size_t needed = column("busbw") + 1;
    if (fields_ == 0 && words.size() >= needed) fields_ = words.size();  // of every row; some headers name more
    if (words.size() < needed || words.size() != fields_) {
      rows_.problem(number, fmt::format("has {} fields where {}; {} (is the file cut off?)", words.size(),
                                        fields_ == 0 ? fmt::format("the header has {} columns", header_.size())
                                                     : fmt::format("the first row has {}", fields_),
                                        whole_output));
      return;
    }
    const auto field = [&](const char* name) -> const std::string& { return words[column(name)]; };
    const std::optional<double> size = rows_.number(number, field("size"), "size"), count = rows_.number(number, field("count"), "count"),
                                time = rows_.number(number, field("time"), "time"), bus = rows_.number(number, field("busbw"), "busbw");
    if (!size || !count || !time || !bus || *size <= 0) return;
    if (!(*time > 0)) return rows_.problem(number, "has a time that is not above 0; write what was measured");
    // GB/s · us / B: the ratio of the bandwidths, times 1e-3.
    const double bus_off = half_unit(field("busbw")), time_off = half_unit(field("time"));
    found_.push_back({number, *size, *time * 1e-6, (*bus - bus_off) * (*time - time_off) * 1e3 / *size,
                      (*bus + bus_off) * (*time + time_off) * 1e3 / *size, *count > 0 ? *size / *count : 0,
                      has("redop") && field("redop") != "none", has("root") && field("root") != "-1"});
  }

  bool has(const char* name) const { return std::find(header_.begin(), header_.end(), name) != header_.end(); }
  /// The first of that name: out of place comes before in place.
  std::size_t column(const char* name) const {
    const auto at = std::find(header_.begin(), header_.end(), name);
    if (at == header_.end()) refuse(fmt::format("is nccl-tests output without the column {}; {}", name, whole_output));
    return static_cast<std::size_t>(at - header_.begin());
  }

  /// The one whose digits leave the least room.
  const Row& clearest_row() const {
    return *std::ranges::min_element(found_, {}, [](const Row& row) { return row.most - row.least; });
  }
  /// All that the columns allow: with the listed number of ranks if they allow that, otherwise with more, at most a few hundred numbers.
  std::vector<Reading> readings(int listed) const {
    constexpr double most_readings = 300, most_ranks = 1e6, digits = 1e-9;  // the last one: of the arithmetic
    const Row& clearest = clearest_row();
    const double least = clearest.least * (1 - digits), most = clearest.most * (1 + digits);
    std::vector<Reading> all;
    for (const Operation& operation : operations) {
      if (operation.reduces != clearest.reduces || clearest.rooted || (!program_.empty() && !program_.starts_with(operation.program)))
        continue;
      const auto allows = [&](double n) {
        return least <= operation.ratio(n) && operation.ratio(n) <= most && fits(clearest.element_bytes / (operation.per_rank ? n : 1));
      };
      if (operation.laps == 0 || listed >= 2) {
        if (allows(listed)) all.push_back({&operation, operation.laps == 0 ? 0 : listed});
        if (operation.laps == 0 || allows(listed)) continue;
      }
      const double first = std::max(std::max(2.0, listed + 1.0), std::ceil(operation.ranks(least) * (1 - digits)));
      const double last = std::min({operation.ranks(most), first + most_readings, most_ranks});
      for (double n = first; n <= last; ++n)  // none if `first` is infinite
        if (allows(n)) all.push_back({&operation, static_cast<int>(n)});
    }
    return all;
  }
  /// Bytes of a number of some type; 0: not known.
  static bool fits(double bytes) {
    return bytes == 0 ||
           std::ranges::any_of(std::array{1.0, 2.0, 4.0, 8.0}, [bytes](double each) { return std::abs(bytes - each) < 1e-6; });
  }

  [[noreturn]] void refuse_readings(const std::vector<Reading>& all) const {
    if (!all.empty())
      refuse(
          fmt::format("its bandwidths leave open how many ranks made the {} ({} to {}); give the output with its list of ranks ('# Rank')",
                      all.front().operation->name, all.front().ranks, all.back().ranks));
    if (ranks_.size() == 1) refuse("is nccl-tests output of one rank, which sends nothing; give that of at least two (built with MPI=1)");
    std::vector<std::string> programs;
    for (const Operation& operation : operations) programs.emplace_back(operation.program);
    refuse(fmt::format(
        "is nccl-tests output of {} (bus over algorithm bandwidth is {:.3g}); give that of {}",
        program_.empty() ? "an operation that does not determine a link" : in_quotes(program_) + ", which does not determine a link",
        (clearest_row().least + clearest_row().most) / 2, joined(programs)));
  }

  /// A log may hold tables of several runs, which differ in the ratio of their bandwidths.
  void require_one_run() const {
    constexpr double tolerance = 2e-3;
    const Row& clearest = clearest_row();
    for (const Row& row : found_)
      if (row.reduces != clearest.reduces || row.least > clearest.most * (1 + tolerance) || row.most < clearest.least * (1 - tolerance))
        throw ScenarioErrors(Problem(Place{0, static_cast<int>(row.line), 1}, file_.string(), {},
                                     fmt::format("is a row of another operation, or of another number of ranks, than line {}; give the "
                                                 "table of one run",
                                                 clearest.line)));
  }

  MessageTimes translate() const {
    require_one_run();
    const int listed = ranks_.empty() ? 0 : *ranks_.rbegin() + 1;
    const std::vector<Reading> all = readings(listed);
    const auto as_listed = std::ranges::find_if(all, [listed](const Reading& each) { return each.ranks == 0 || each.ranks == listed; });
    if (as_listed == all.end() && all.size() != 1) refuse_readings(all);
    const Operation& operation = *(as_listed == all.end() ? all.front() : *as_listed).operation;
    const int ranks = as_listed == all.end() ? all.front().ranks : listed;
    MessageTimes out;
    const bool complete = ranks > 0 && ranks == listed && ranks_.size() == static_cast<std::size_t>(ranks);
    out.within_host = complete && hosts_.size() == 1;
    if (!complete && listed > 0) out.doubts.push_back(fmt::format("its list of ranks has {} of {} lines", ranks_.size(), ranks));
    if (!complete && hosts_.size() < 2)
      out.doubts.emplace_back("its list of ranks does not say whether all were on one host; if they were, write intra instead of link");
    const double steps = operation.laps == 0 ? 1 : operation.laps * (ranks - 1), parts = operation.laps == 0 ? 1 : ranks;
    for (const Row& row : found_) out.samples.push_back({row.bytes / parts, row.seconds / steps});
    out.found = fmt::format("nccl-tests {}{}{}, {} sizes", operation.name, ranks > 0 ? fmt::format(", {} ranks", ranks) : "",
                            hosts_.empty() ? "" : fmt::format(" on {} host(s)", hosts_.size()), found_.size());
    out.meaning = operation.laps == 0
                      ? "each time is that of one message, both ways at once; out of place"
                      : fmt::format("taken as a ring: {:.0f} steps, each of a message of 1/{} of the size; out of place", steps, ranks);
    return out;
  }

  const std::string& text_;
  const std::filesystem::path& file_;
  NumberRows rows_;
  std::string program_;  // empty: not named, as in older versions
  std::vector<std::string> header_;
  std::size_t fields_ = 0;
  std::set<int> ranks_;
  std::set<std::string> hosts_;
  std::vector<Row> found_;
};

Measurements read(const std::string& text, const std::filesystem::path& file) { return Reader(text, file).read(); }

const Register<MeasuredFormat> entry({"nccl", "the output of nccl-tests or rccl-tests (all_reduce, all_gather, reduce_scatter, sendrecv)",
                                      mark, read});

}  // namespace
}  // namespace straggler::calibrate_nccl

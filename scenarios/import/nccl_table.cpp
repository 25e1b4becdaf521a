#include "scenarios/import/nccl_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "scenarios/import/number_rows.hpp"
#include "sim/base/suggest.hpp"
#include "sim/base/text_lines.hpp"

namespace straggler::import_nccl {
namespace {

constexpr std::array operations{NcclOperation{"all_reduce_perf", "all-reduce", "all_reduce", true, 2, false},
                                NcclOperation{"reduce_scatter_perf", "reduce-scatter", "reduce_scatter", true, 1, true},
                                NcclOperation{"all_gather_perf", "all-gather", "all_gather", false, 1, true},
                                NcclOperation{"sendrecv_perf", "send and receive", "sendrecv", false, 0, false},
                                NcclOperation{"alltoall_perf", "all-to-all", "alltoall", false, 1, true, false, false, true},
                                NcclOperation{"broadcast_perf", "broadcast", "broadcast", false, 0, false, true, false}};

constexpr const char* whole_output = "give the whole output";

/// The words of the header line, without a '#' in front; empty for any other line.
std::vector<std::string> header_of(std::string_view line) {
  std::vector<std::string> words = words_of(line);
  if (!words.empty() && words.front() == "#") words.erase(words.begin());
  const bool header = words.size() > 5 && words[0] == "size" && words[1] == "count" && words[2] == "type";
  return header ? words : std::vector<std::string>();
}

/// "12.34" is any number in [12.335, 12.345].
double half_unit(const std::string& number) {
  const std::size_t point = number.find('.');
  return 0.5 * std::pow(10, point == std::string::npos ? 0 : -static_cast<double>(number.size() - point - 1));
}

struct Reading {
  const NcclOperation* operation = nullptr;
  int ranks = 0;  // 0: not known, nor needed
};

class Reader {
 public:
  Reader(const std::string& text, const std::filesystem::path& file) : text_(text), file_(file), rows_(file) {}

  NcclTable read() {
    TextLines lines(text_);
    for (std::string_view line; lines.next(line);) take(line, lines.number());
    rows_.raise();
    if (table_.rows.empty()) refuse(fmt::format("is nccl-tests output without a row of times; {} (is the file cut off?)", whole_output));
    return finished();
  }

 private:
  [[noreturn]] void refuse(const std::string& what) const { throw ScenarioErrors(Problem(whole_file, file_.string(), {}, what)); }

  void take(std::string_view line, std::size_t number) {
    const std::vector<std::string> words = words_of(line);
    constexpr std::string_view starting = "# Collective test starting:";
    if (line.starts_with(starting)) {
      table_.program = trimmed(line.substr(starting.size()));
      table_.program = table_.program.substr(table_.program.find_last_of('/') + 1);
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
    table_.listed_ranks.insert(std::stoi(words[first + 1]));
    table_.hosts.insert(on[1]);
    const auto device =
        std::ranges::find_if(on, words.end(), [](const std::string& word) { return word.starts_with('[') && word.ends_with(']'); });
    std::string name;
    for (auto word = device; word != words.end() && ++word != words.end();) name += (name.empty() ? "" : " ") + *word;
    if (!name.empty()) table_.devices.insert(name);
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
    table_.rows.push_back({number, *size, *time * 1e-6, *bus * 1e9, (*bus - bus_off) * (*time - time_off) * 1e3 / *size,
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
  const NcclTable::Row& clearest_row() const {
    return *std::ranges::min_element(table_.rows, {}, [](const NcclTable::Row& row) { return row.most - row.least; });
  }
  /// All that the columns allow: with the listed number of ranks if they allow that, otherwise with more, at most a few hundred numbers.
  std::vector<Reading> readings(int listed) const {
    constexpr double most_readings = 300, most_ranks = 1e6, digits = 1e-9;  // the last one: of the arithmetic
    const NcclTable::Row& clearest = clearest_row();
    const double least = clearest.least * (1 - digits), most = clearest.most * (1 + digits);
    std::vector<Reading> all;
    for (const NcclOperation& operation : operations) {
      if (operation.reduces != clearest.reduces || clearest.rooted != operation.rooted || (operation.by_name && table_.program.empty()) ||
          (!table_.program.empty() && !table_.program.starts_with(operation.program)))
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

  /// A log may hold tables of several runs, which differ in the ratio of their bandwidths.
  void require_one_run() const {
    constexpr double tolerance = 2e-3;
    const NcclTable::Row& clearest = clearest_row();
    for (const NcclTable::Row& row : table_.rows)
      if (row.reduces != clearest.reduces || row.least > clearest.most * (1 + tolerance) || row.most < clearest.least * (1 - tolerance))
        throw ScenarioErrors(Problem(Place{0, static_cast<int>(row.line), 1}, file_.string(), {},
                                     fmt::format("is a row of another operation, or of another number of ranks, than line {}; give the "
                                                 "table of one run",
                                                 clearest.line)));
  }

  NcclTable finished() {
    require_one_run();
    const int listed = table_.listed = table_.listed_ranks.empty() ? 0 : *table_.listed_ranks.rbegin() + 1;
    const NcclTable::Row& clearest = clearest_row();
    table_.ratio = (clearest.least + clearest.most) / 2;
    const std::vector<Reading> all = readings(listed);
    if (all.empty()) return std::move(table_);
    const auto as_listed = std::ranges::find_if(all, [listed](const Reading& each) { return each.ranks == 0 || each.ranks == listed; });
    const Reading& reading = as_listed == all.end() ? all.front() : *as_listed;
    table_.operation = reading.operation;
    table_.ranks = as_listed == all.end() ? reading.ranks : listed;
    table_.ambiguous = as_listed == all.end() && all.size() != 1;
    table_.most_ranks = as_listed == all.end() ? all.back().ranks : table_.ranks;
    return std::move(table_);
  }

  const std::string& text_;
  const std::filesystem::path& file_;
  NumberRows rows_;
  std::vector<std::string> header_;
  std::size_t fields_ = 0;
  NcclTable table_;
};

}  // namespace
}  // namespace straggler::import_nccl

namespace straggler {

std::optional<std::size_t> nccl_mark(std::string_view line) {
  for (const char* begin : {"# nThread", "# Collective test starting:"})
    if (const std::size_t at = line.find(begin); at != std::string_view::npos) return at;
  for (const char* begin : {"#", "size"})
    if (const std::size_t at = line.find(begin); at != std::string_view::npos && !import_nccl::header_of(line.substr(at)).empty())
      return at;
  return std::nullopt;
}

NcclTable read_nccl_table(const std::string& text, const std::filesystem::path& file) { return import_nccl::Reader(text, file).read(); }

std::string nccl_programs(bool links) {
  std::vector<std::string> programs;
  for (const NcclOperation& operation : import_nccl::operations)
    if (operation.link || !links) programs.emplace_back(operation.program);
  return joined(programs);
}

}  // namespace straggler

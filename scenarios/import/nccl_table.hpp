// Output of nccl-tests and rccl-tests: https://github.com/NVIDIA/nccl-tests, doc/PERFORMANCE.md
#pragma once
#include <cstddef>
#include <filesystem>
#include <limits>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace straggler {

/// A collective of n ranks as a ring: `laps` (n - 1) steps, each of a message of 1/n of the size. Bus over algorithm bandwidth is
/// laps (n - 1) / n. Without laps: one message, and 1.
struct NcclOperation {
  const char *program, *name, *word;  // word: "all_reduce"
  bool reduces;
  int laps;
  bool per_rank;         // the column `count` has the elements of one rank
  bool rooted = false;   // from one rank
  bool link = true;      // its times are those of messages between two neighbours
  bool by_name = false;  // its columns are those of another: the output names it
  double ratio(double n) const { return laps == 0 ? 1 : laps * (n - 1) / n; }
  double ranks(double ratio) const { return ratio < laps ? laps / (laps - ratio) : std::numeric_limits<double>::infinity(); }
};

/// Times out of place.
struct NcclTable {
  struct Row {
    std::size_t line = 0;
    double bytes = 0, seconds = 0;
    double bus = 0;              // bytes per second
    double least = 0, most = 0;  // bus bandwidth over size / time, by the digits printed
    double element_bytes = 0;    // size / count; 0: not known
    bool reduces = false, rooted = false;
  };
  const NcclOperation* operation = nullptr;  // null: its columns fit none
  int ranks = 0;                             // 0: not known
  bool ambiguous = false;                    // the columns leave open how many: up to most_ranks
  int most_ranks = 0;
  int listed = 0;       // ranks of the list: its largest number, plus 1
  std::string program;  // empty: not named, as in older versions
  std::set<int> listed_ranks;
  std::set<std::string> hosts, devices;  // of the list
  double ratio = 0;                      // bus over algorithm bandwidth, of the row that shows it best
  std::vector<Row> rows;                 // at least one
  /// The list of ranks is whole.
  bool complete() const { return ranks > 0 && ranks == listed && listed_ranks.size() == static_cast<std::size_t>(ranks); }
};

/// The column at which a line begins that shows this format. None: other lines.
std::optional<std::size_t> nccl_mark(std::string_view line);
/// `text`: without tags. Throws ScenarioErrors with all problems; where it is no table of one run, and where there is no row.
NcclTable read_nccl_table(const std::string& text, const std::filesystem::path& file);
/// The operations, in words: "all_reduce_perf, all_gather_perf".
std::string nccl_programs(bool links);

}  // namespace straggler

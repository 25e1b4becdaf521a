// Output of the OSU micro-benchmarks: https://mvapich.cse.ohio-state.edu/benchmarks/
#pragma once
#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace straggler {

struct OsuTable {
  /// Titles of the others are alike ("Allreduce Latency Test"), and they time something else.
  enum class Kind { latency, bandwidth, other };
  Kind kind = Kind::other;
  std::string title;  // "OSU MPI Latency Test v7.1"
  struct Row {
    double bytes = 0;
    double value = 0;  // microseconds; of a bandwidth 1e6 bytes per second
  };
  std::vector<Row> rows;
};

/// Where "OSU … Test" begins in a title, with its '#' if there is one.
std::optional<std::size_t> osu_mark(std::string_view line);
/// Those of the text, in order; it is without tags. Throws ScenarioErrors with all problems of rows of latency and bandwidth.
std::vector<OsuTable> read_osu_tables(const std::string& text, const std::filesystem::path& file);

}  // namespace straggler

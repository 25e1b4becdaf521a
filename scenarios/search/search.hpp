// A sweep file that asks a question: which setting is best (`find`), or where the winner changes (`crossover`).
#pragma once
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "scenarios/search/metric.hpp"
#include "scenarios/search/space.hpp"
#include "scenarios/sweep/description.hpp"
#include "scenarios/sweep/sweep.hpp"

namespace straggler {

/// The best of some settings, for every setting of the sweep's axes.
struct FindSpec {
  Metric metric;
  std::vector<Setting> over;
  std::size_t budget = 40;  // settings to be tried, each `repeats` times
  std::int64_t repeats = 1;
};

/// Where along a setting the better of two others changes, for every setting of the sweep's axes.
struct CrossoverSpec {
  Metric metric;
  std::string path;                // path of the two values to compare
  std::vector<AxisValue> between;  // two
  Setting along;
  double tolerance = 0.02;  // largest width of the interval around the crossing, relative to its upper end
  std::size_t grid = 9;     // points of the first look
  std::int64_t repeats = 1;
};

struct SearchFile {
  Sweep sweep;
  std::optional<FindSpec> find;
  std::optional<CrossoverSpec> crossover;

  bool searches() const { return find || crossover; }
};

/// The keys of a sweep file, its search included.
std::vector<ScenarioKey> search_file_keys();

/// Reads a sweep file, with a search in it or without. Throws ScenarioErrors with all that is wrong.
SearchFile read_search(const std::filesystem::path& file);

/// The identity of the search; empty without one.
Description describe_search(const SearchFile& search);

}  // namespace straggler

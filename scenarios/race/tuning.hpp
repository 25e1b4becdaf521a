// The best candidate of each entrant.
#pragma once
#include <cstddef>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "scenarios/race/race.hpp"
#include "scenarios/sweep/point_pool.hpp"

namespace straggler {

/// The result of a candidate on held-out samples. The order: not failed; then, from the highest level down, more runs that reached it, then
/// an earlier mean time; if all levels are equal, less loss.
struct Criterion {
  struct Level {
    std::size_t reached = 0;  // runs
    double seconds = 0;       // mean of these; of a race by another measure: its value
    auto operator<=>(const Level&) const = default;
  };
  bool failed = false;                                    // one of its runs failed or did not finish
  std::vector<Level> levels;                              // as the race's, ascending
  double loss = std::numeric_limits<double>::infinity();  // at the end, mean of the runs

  bool better_than(const Criterion& other) const;
};

Criterion criterion_of(const std::vector<PointOutcome>& runs, const std::vector<Finish>& levels);

/// The measure by which the race takes this finish.
const MeasureRow& measure_of(const Finish& finish);
/// What the run needs to the finish; none: it was missed, or the run did not finish. `sketch`: of the run, may be empty.
std::optional<double> value_to(const Finish& finish, const std::vector<SummaryField>& fields, const std::string& sketch);

struct Tuned {
  std::vector<Criterion> criteria;  // [candidates]
  std::vector<std::size_t> ranks;   // [candidates], from 1; of equals the first is better
  std::size_t best = 0;
  /// Sentences: the best lies on the edge of the range tried; no candidate made progress.
  std::vector<std::string> warnings;
};

Tuned choose(const Entrant& entrant, const Tuning& tuning, std::vector<Criterion> criteria);

}  // namespace straggler

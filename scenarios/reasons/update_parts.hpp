// The time of one update, its parts and its bottleneck: short runs of the timing alone, with one cause removed at a time.
#pragma once
#include <array>
#include <optional>
#include <string>
#include <vector>

#include "scenarios/reasons/interventions.hpp"
#include "sim/record/record.hpp"

namespace straggler {

/// Times in seconds, on average over some updates after the first ones.
struct UpdateParts {
  double seconds = 0;  // from one update to the next
  /// One worker's share of that: of a synchronous scheme the worker that computes longest; of an asynchronous one a worker of median speed,
  /// from one of its contributions to the next.
  Rank worker = 0;
  bool own_cycle = false;                   // asynchronous: the phases add up to a cycle of that worker, else to `seconds`
  std::array<double, phase_count> phases{};
  Cause bound = Cause::nothing;             // the most expensive cause; `nothing`: computing
  std::vector<std::size_t> slow_groups;     // whose batches take longer than the median worker's
  double without = 0;                       // an update without that cause
};

/// None: no update comes, or the runs take too long to be worth it here (more than 4,096 workers, or half a second of wall-clock time).
/// Throws ScenarioErrors.
std::optional<UpdateParts> update_parts(const Scenario& scenario);

/// "about 286 ms: 275 ms computing (worker 6, the slowest of 8), 11 ms communicating".
std::string parts_text(const Scenario& scenario, const UpdateParts& parts);
/// "slow workers: workers 6 and 7 (3x slower); 91.7 ms with all workers as fast as the median one". ASCII, no end of a line.
std::string bound_text(const Scenario& scenario, const UpdateParts& parts);

}  // namespace straggler

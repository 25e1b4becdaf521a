// The time of one update, its parts and its bottleneck: short runs of the timing alone, with one cause removed at a time.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "scenarios/reasons/interventions.hpp"
#include "sim/record/record.hpp"

namespace straggler {

/// Times in seconds, on average over updates first + 1 to last of the run (TimedUpdates).
struct UpdateParts {
  std::string why_not;  // there is no time; the other members say nothing then
  std::uint64_t first = 0, last = 0;
  double seconds = 0;                      // from one update to the next
  double first_half = 0, second_half = 0;  // the same of each half of those updates
  Outcome outcome = Outcome::completed;    // other than that: the run ends with update `last`
  bool empty = false;                      // nobody contributed to these updates
  bool changes = false;                    // faults begin later, or clients come and go
  bool faulty = false;                     // a fault is in it that ends later
  /// One worker's share of that: of a synchronous scheme the worker that computes longest; of an asynchronous one a worker of median speed,
  /// from one of its contributions to the next, as the mean over all workers that are alone as fast.
  Rank worker = 0;
  bool own_cycle = false;                // asynchronous: the phases add up to a cycle of that worker, else to `seconds`
  ByPhase<double> phases;                // none below 0
  double hidden = 0;                     // of the time with that worker's bytes in flight: it does not wait for them
  Cause bound = Cause::nothing;          // the most expensive cause; `nothing`: computing
  std::vector<std::size_t> slow_groups;  // whose batches take longer than the median worker's
  double without = 0;                    // an update without that cause
  std::vector<Cause> untold;             // what the update would take without them was not timed
  std::string busiest_link;              // link_words() of it, where the network is that cause
};

/// There is no time where no update comes, where the run fails, and where it takes too long to be worth it here (more than 4,096 workers,
/// or the seconds of wall-clock time that a run may take, and one without a cause). Throws ScenarioErrors.
UpdateParts update_parts(const Scenario& scenario, double most_wall_seconds = 0.5, double most_without_a_cause = 0.5);

/// Whether both halves of the updates took as long, within 10 %.
bool is_steady(const UpdateParts& parts);

/// "takes about 286 ms, the mean of updates 23 to 46: 275 ms computing (worker 6, the slowest of 8), 11 ms communicating".
std::string parts_text(const Scenario& scenario, const UpdateParts& parts);
/// "slow workers: workers 6 and 7 (3x slower); 91.7 ms with all workers as fast as the median one"; "bandwidth; 1.94 ms with unlimited
/// bandwidth; the busiest link is server/0:up, 98.9 % of its capacity"; "not known: ..." where a cause that was not timed may be it. ASCII,
/// no end of a line.
std::string bound_text(const Scenario& scenario, const UpdateParts& parts);

}  // namespace straggler

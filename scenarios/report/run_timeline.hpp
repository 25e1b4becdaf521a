// The timeline of a finished run: its timing is simulated again, which takes milliseconds, and the events are kept for the stretches shown.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "scenarios/report/figure.hpp"
#include "scenarios/report/stretches.hpp"
#include "scenarios/schema/scenario.hpp"

namespace straggler {

/// Known facts of the run, which the timeline must match.
struct FinishedRun {
  double seconds = 0;
  std::uint64_t updates = 0;
  std::uint64_t events = 0;                             // of its simulation; 0: unknown
  std::vector<std::pair<std::uint64_t, double>> times;  // of some updates, in seconds
};

struct RunTimeline {
  std::optional<Figure> figure;
  std::string why_not;  // a sentence; empty: there is a figure
};

/// The whole run if it has few events, else its first stretch, a typical one and the one in which updates took longest; of a run with more
/// than 200,000 events the first stretch alone. A run that comes out otherwise than `run` has no figure.
RunTimeline run_timeline(const Scenario& scenario, const FinishedRun& run);

/// The lanes of a run: some workers of each group, servers, aggregators, all-reduces, and the busiest links.
std::vector<TimelineLane> timeline_lanes(const Scenario& scenario, const RunRecord& record);

}  // namespace straggler

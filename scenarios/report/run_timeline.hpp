// The timeline of a finished run: its timing is simulated again, which takes milliseconds, and what happened is kept where it is shown.
#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "scenarios/report/figure.hpp"
#include "scenarios/report/stretches.hpp"
#include "scenarios/schema/scenario.hpp"

namespace straggler {

/// What is known of the run that the timeline must fit.
struct FinishedRun {
  double seconds = 0;
  std::uint64_t updates = 0;
  std::vector<std::pair<std::uint64_t, double>> times;  // of some updates, in seconds
};

struct RunTimeline {
  std::optional<Figure> figure;
  std::string why_not;  // a sentence; empty: there is a figure
};

/// The whole run if it has few events, else its first stretch, a typical one and the one in which updates took longest. A run that comes
/// out otherwise than `run`, or takes too long, has no figure.
RunTimeline run_timeline(const Scenario& scenario, const FinishedRun& run);

/// The same of a run of timing alone that ends after `seconds` of simulated time at the latest, however far it came in `wall_seconds`: for
/// previews. `updates`: so many are in it. Throws as Experiment::run does.
struct TimelinePreview {
  Figure figure;
  std::uint64_t updates = 0;
  double seconds = 0;
};
TimelinePreview preview_timeline(const Scenario& scenario, double seconds, const std::function<bool()>& stop);

}  // namespace straggler

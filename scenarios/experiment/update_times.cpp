#include "scenarios/experiment/update_times.hpp"

#include <algorithm>

#include "models/compression/compressor.hpp"
#include "scenarios/experiment/experiment.hpp"
#include "scenarios/experiment/uncompressed.hpp"
#include "sim/base/registry.hpp"
#include "sim/training/scheme.hpp"

namespace straggler {

namespace {

constexpr std::int64_t most_workers = 4'096;

RunRecord timed(Scenario scenario, std::int64_t updates) {
  const std::optional<double> most = scenario.training.stop.simulated_time;
  scenario.training.stop = {};
  scenario.training.stop.updates = updates;
  scenario.training.stop.simulated_time = most;  // where no update comes, it ends
  scenario.training.evaluate = {};
  RunOptions options;
  options.timing_only = true;
  return Experiment(scenario, options).run(nullptr, nullptr);
}

/// Of the updates after the first ones, which come before the cluster is in step: a run as long as these from one that has `more` on top.
/// A run that the scenario's time limit cut short counts as a whole. 0: there is no update.
double seconds_an_update(const Scenario& scenario) {
  const SchemeEntry& entry = Registry<SchemeEntry>::instance().at(scenario.training.scheme.name);
  const std::int64_t makers = entry.asynchronous(complete(entry.parameters, scenario.training.scheme.parameters)) ? scenario.workers() : 1;
  const std::int64_t first = 20 + 2 * makers, more = 20 + 4 * makers;
  const RunRecord begun = timed(scenario, first), gone_on = timed(scenario, first + more);
  if (gone_on.updates == 0) return 0;
  if (gone_on.updates <= begun.updates || gone_on.end <= begun.end) return gone_on.end.seconds() / static_cast<double>(gone_on.updates);
  return (gone_on.end - begun.end).seconds() / static_cast<double>(gone_on.updates - begun.updates);
}

}  // namespace

std::optional<UpdateTimes> update_times(const Scenario& scenario) {
  const bool compresses = Registry<CompressorEntry>::instance().at(scenario.training.compression.name).rule != nullptr;
  if (!compresses || scenario.workers() > most_workers) return std::nullopt;
  const UpdateTimes times{seconds_an_update(scenario), seconds_an_update(uncompressed(scenario))};
  return times.compressed > 0 && times.whole > 0 ? std::optional(times) : std::nullopt;
}

}  // namespace straggler

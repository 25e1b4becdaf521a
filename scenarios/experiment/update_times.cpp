#include "scenarios/experiment/update_times.hpp"

#include <algorithm>

#include "models/compression/compressor.hpp"
#include "scenarios/experiment/experiment.hpp"
#include "scenarios/experiment/uncompressed.hpp"
#include "sim/base/registry.hpp"

namespace straggler {

namespace {

constexpr std::int64_t most_workers = 4'096;

/// 0: there is none.
double seconds_an_update(const Scenario& scenario) {
  RunOptions options;
  options.timing_only = true;
  const RunRecord record = Experiment(scenario, options).run(nullptr, nullptr);
  return record.updates == 0 ? 0 : record.end.seconds() / static_cast<double>(record.updates);
}

/// Some updates of each worker; nothing is evaluated.
Scenario shortened(Scenario scenario) {
  StopSpec& stop = scenario.training.stop;
  const std::int64_t most = 20 + 2 * scenario.workers();
  stop.updates = std::min(stop.updates.value_or(most), most);
  stop.target_accuracy.reset();
  stop.on_target = StopSpec().on_target;
  scenario.training.evaluate = {};
  return scenario;
}

}  // namespace

std::optional<UpdateTimes> update_times(const Scenario& scenario) {
  const bool compresses = Registry<CompressorEntry>::instance().at(scenario.training.compression.name).rule != nullptr;
  if (!compresses || scenario.workers() > most_workers) return std::nullopt;
  const Scenario some = shortened(scenario);
  const UpdateTimes times{seconds_an_update(some), seconds_an_update(uncompressed(some))};
  return times.compressed > 0 && times.whole > 0 ? std::optional(times) : std::nullopt;
}

}  // namespace straggler

#include "scenarios/experiment/update_times.hpp"

#include <chrono>

#include "models/compression/compressor.hpp"
#include "scenarios/experiment/experiment.hpp"
#include "scenarios/experiment/uncompressed.hpp"
#include "sim/base/registry.hpp"
#include "sim/training/scheme.hpp"

namespace straggler {

namespace {

constexpr std::int64_t most_workers = 4'096;

/// Interrupts a run that takes too long.
class Deadline final : public ProgressListener {
 public:
  explicit Deadline(double wall_seconds)
      : end_(std::chrono::steady_clock::now() + std::chrono::duration_cast<std::chrono::steady_clock::duration>(
                                                    std::chrono::duration<double>(wall_seconds))) {}
  bool interrupted() override { return std::chrono::steady_clock::now() > end_; }

 private:
  void progress(const State&) override {}
  std::chrono::steady_clock::time_point end_;
};

std::optional<RunRecord> timed(Scenario scenario, const WhatIf& what_if, std::int64_t updates, Deadline& deadline) {
  const std::optional<double> most = scenario.training.stop.simulated_time;
  scenario.training.stop = {};
  scenario.training.stop.updates = updates;
  scenario.training.stop.simulated_time = most;  // where no update comes, it ends
  scenario.training.evaluate = {};
  RunOptions options;
  options.timing_only = true;
  options.what_if = what_if;
  RunRecord record = Experiment(scenario, options).run(nullptr, &deadline);
  return record.outcome == Outcome::interrupted ? std::nullopt : std::optional(std::move(record));
}

}  // namespace

std::optional<TimedUpdates> timed_updates(const Scenario& scenario, const WhatIf& what_if, double most_wall_seconds) {
  if (scenario.workers() > most_workers) return std::nullopt;
  const SchemeEntry& entry = Registry<SchemeEntry>::instance().at(scenario.training.scheme.name);
  const std::int64_t makers = entry.asynchronous(complete(entry.parameters, scenario.training.scheme.parameters)) ? scenario.workers() : 1;
  const std::int64_t first = 20 + 2 * makers, more = 20 + 4 * makers;
  Deadline deadline(most_wall_seconds);
  std::optional<RunRecord> begun = timed(scenario, what_if, first, deadline);
  if (!begun) return std::nullopt;
  std::optional<RunRecord> gone_on = timed(scenario, what_if, first + more, deadline);
  if (!gone_on) return std::nullopt;
  return TimedUpdates{std::move(*begun), std::move(*gone_on)};
}

std::optional<UpdateTimes> update_times(const Scenario& scenario) {
  constexpr double most_wall_seconds = 5;
  const bool compresses = Registry<CompressorEntry>::instance().at(scenario.training.compression.name).rule != nullptr;
  if (!compresses) return std::nullopt;
  const std::optional<TimedUpdates> compressed = timed_updates(scenario, {}, most_wall_seconds);
  if (!compressed || compressed->seconds() == 0) return std::nullopt;
  const std::optional<TimedUpdates> whole = timed_updates(uncompressed(scenario), {}, most_wall_seconds);
  if (!whole || whole->seconds() == 0) return std::nullopt;
  return UpdateTimes{compressed->seconds(), whole->seconds()};
}

}  // namespace straggler

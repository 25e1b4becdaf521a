#include "scenarios/experiment/update_times.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <limits>

#include "models/compression/compressor.hpp"
#include "scenarios/experiment/experiment.hpp"
#include "scenarios/experiment/uncompressed.hpp"
#include "scenarios/experiment/without_learning.hpp"
#include "scenarios/schema/errors.hpp"
#include "sim/base/readable.hpp"
#include "sim/base/registry.hpp"
#include "sim/training/scheme.hpp"

namespace straggler {

namespace {

constexpr std::int64_t most_workers = 4'096;

/// Interrupts a run that takes too long.
class Deadline final : public ProgressListener {
 public:
  explicit Deadline(double wall_seconds)
      : wall_seconds_(wall_seconds),
        end_(std::chrono::steady_clock::now() +
             std::chrono::duration_cast<std::chrono::steady_clock::duration>(std::chrono::duration<double>(wall_seconds))) {}
  bool interrupted() override { return std::chrono::steady_clock::now() > end_; }
  double wall_seconds() const { return wall_seconds_; }

 private:
  void progress(const State&) override {}
  double wall_seconds_;
  std::chrono::steady_clock::time_point end_;
};

/// Up to `updates`, which is in its stop. Throws NotTimed.
RunRecord timed(const Scenario& scenario, const WhatIf& what_if, Deadline& deadline) {
  RunOptions options;
  options.timing_only = true;
  options.what_if = what_if;
  try {
    RunRecord record;
    record.outcome = Outcome::interrupted;
    if (!deadline.interrupted()) record = Experiment(scenario, options).run(nullptr, &deadline);
    if (record.outcome == Outcome::interrupted)
      throw NotTimed(fmt::format("the first {} take this machine more than {}",
                                 readable_count(static_cast<std::uint64_t>(*scenario.training.stop.updates)),
                                 readable_seconds(deadline.wall_seconds())));
    return record;
  } catch (const RunFailed& failed) {
    throw NotTimed(failed.what());
  }
}

/// With the evaluations and the stop of the run itself, and that many updates at most.
RunRecord at_most(std::uint64_t updates, const EvaluateSpec& evaluate, const Scenario& scenario, const WhatIf& what_if,
                  Deadline& deadline) {
  Scenario run = without_learning(scenario);
  run.training.evaluate = evaluate;
  const auto most = static_cast<std::int64_t>(updates);
  run.training.stop.updates = std::min(run.training.stop.updates.value_or(most), most);
  return timed(run, what_if, deadline);
}

/// Its curve has a point for each update, number 0 included.
RunRecord up_to(std::uint64_t updates, const Scenario& scenario, const WhatIf& what_if, Deadline& deadline) {
  EvaluateSpec each = without_learning(scenario).training.evaluate;
  each.every_updates = 1;
  return at_most(updates, each, scenario, what_if, deadline);
}

/// Where nobody contributes, the run itself shows whether it is refused: it may end before. Throws ScenarioErrors where it is.
void try_itself(const Scenario& scenario, const WhatIf& what_if, Deadline& deadline) {
  constexpr std::uint64_t patience = 10'000;
  try {
    at_most(patience, scenario.training.evaluate, scenario, what_if, deadline);
  } catch (const NotTimed&) {
  }
}

}  // namespace

double TimedUpdates::seconds(std::uint64_t from, std::uint64_t to) const {
  const auto at = [&](std::uint64_t update) { return std::ranges::lower_bound(gone_on.curve, update, {}, &CurvePoint::update)->time; };
  return (at(to) - at(from)).seconds() / static_cast<double>(to - from);
}

TimedUpdates timed_updates(const Scenario& scenario, const WhatIf& what_if, double most_wall_seconds) {
  if (scenario.workers() > most_workers)
    throw NotTimed("there are more than " + readable_count(static_cast<std::uint64_t>(most_workers)) + " workers");
  const SchemeEntry& entry = Registry<SchemeEntry>::instance().at(scenario.training.scheme.name);
  const bool asynchronous = entry.asynchronous(complete(entry.parameters, scenario.training.scheme.parameters));
  const std::uint64_t makers = asynchronous ? static_cast<std::uint64_t>(scenario.workers()) : 1;
  const std::uint64_t settled = 20 + 2 * makers, last = settled + 20 + 4 * makers;
  Deadline deadline(most_wall_seconds);
  TimedUpdates out;
  try {
    out.gone_on = up_to(last, scenario, what_if, deadline);
  } catch (const ScenarioErrors& refused) {
    try_itself(scenario, what_if, deadline);
    throw NotTimed(refused.problems.front().text());
  }
  out.outcome = out.gone_on.outcome;
  if (out.last() == 0) throw NotTimed(fmt::format("the run ends before its first update ({})", name_of(out.outcome)));
  if (out.last() < last) out.gone_on = up_to(out.last(), scenario, what_if, deadline);  // to its last update, and no longer
  if (out.gone_on.empty_updates == out.last()) try_itself(scenario, what_if, deadline);
  const bool stopped = out.outcome == Outcome::completed;  // a shorter run leaves out as large a part
  const std::uint64_t first = stopped ? settled * out.last() / last : settled;
  if (first > 0 && out.last() > first) out.begun = up_to(first, scenario, what_if, deadline);
  return out;
}

std::optional<TimedUpdates> timed_if_possible(const Scenario& scenario, const WhatIf& what_if, double most_wall_seconds) {
  try {
    return timed_updates(scenario, what_if, most_wall_seconds);
  } catch (const NotTimed&) {
  } catch (const ScenarioErrors&) {
  }
  return std::nullopt;
}

std::optional<RunRecord> first_updates(const Scenario& scenario, std::uint64_t updates, double most_wall_seconds) {
  Deadline deadline(most_wall_seconds);
  try {
    return at_most(updates, scenario.training.evaluate, scenario, {}, deadline);
  } catch (const NotTimed&) {
  } catch (const ScenarioErrors&) {
  }
  return std::nullopt;
}

bool observe_updates(const Scenario& scenario, std::uint64_t updates, RecordSink& sink, double most_wall_seconds) {
  Deadline deadline(most_wall_seconds);
  Scenario run = without_learning(scenario);
  run.training.stop = {};
  run.training.stop.updates = static_cast<std::int64_t>(updates);
  RunOptions options;
  options.timing_only = options.trace = true;
  try {
    return Experiment(run, options).run(&sink, &deadline).outcome != Outcome::interrupted;
  } catch (const RunFailed&) {
  } catch (const ScenarioErrors&) {
  }
  return false;
}

std::optional<UpdateTimes> update_times(const Scenario& scenario) {
  constexpr double most_wall_seconds = 5;
  const bool compresses = Registry<CompressorEntry>::instance().at(scenario.training.compression.name).rule != nullptr;
  if (!compresses) return std::nullopt;
  Scenario endless = scenario;
  endless.training.stop = {};
  endless.training.stop.updates = std::numeric_limits<std::int64_t>::max();
  const std::optional<TimedUpdates> compressed = timed_if_possible(endless, {}, most_wall_seconds);
  if (!compressed || compressed->seconds() == 0) return std::nullopt;
  const std::optional<TimedUpdates> whole = timed_if_possible(uncompressed(endless), {}, most_wall_seconds);
  if (!whole || whole->seconds() == 0) return std::nullopt;
  return UpdateTimes{compressed->seconds(), whole->seconds()};
}

}  // namespace straggler

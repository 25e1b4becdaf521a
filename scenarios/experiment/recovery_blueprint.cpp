// The blueprint's recovery: what a failure costs, and what cannot be rolled back.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "scenarios/experiment/at_place.hpp"
#include "scenarios/experiment/blueprint.hpp"
#include "sim/base/suggest.hpp"
#include "sim/reliability/checkpoint_forms.hpp"

namespace straggler {

namespace {

constexpr const char* place = "training.recovery";

std::vector<std::string> schemes_that(bool (*may)(RollsBack)) {
  std::vector<std::string> names;
  for (const SchemeEntry& entry : Registry<SchemeEntry>::instance().entries())
    if (may(entry.rolls_back(variant_of(entry, {}).parameters))) names.push_back(entry.name);
  return names;
}

bool shrinks(const RecoverySpec& spec) { return spec.without == RecoverySpec::Without::shrink; }

/// What a failure means is said once.
void refuse_on_failure(const Scenario& scenario, const RecoverySpec& spec) {
  const OnFailure meant = shrinks(spec) ? OnFailure::drop : OnFailure::wait;
  const Parameters& scheme = scenario.training.scheme.parameters;
  if (!scheme.has("on_failure") || failure_choice.of(scheme) == meant) return;
  throw_error(
      scenario, "training.recovery.kind",
      fmt::format("says what a failure means, and on_failure: {} says something else; remove one of the two, or write on_failure: {}",
                  scheme.text("on_failure"), failure_choice.name_of(meant)));
}

}  // namespace

void Blueprint::refuse_rollback(const Scenario& scenario) const {
  const RecoverySpec& spec = *scenario.training.recovery;
  const RollsBack rolls_back = scheme_entry->rolls_back(scenario.training.scheme.parameters);
  if (rolls_back == RollsBack::never)
    throw_error(
        scenario, "training.recovery.kind",
        fmt::format("{} cannot start again from a checkpoint, which would have to hold what its workers have in flight or what each "
                    "of them alone knows; use on_failure, or one of {}",
                    scheme_entry->name, joined(schemes_that([](RollsBack each) { return each != RollsBack::never; }))));
  if (rolls_back == RollsBack::server && spec.spares > 0)
    throw_error(scenario, "training.recovery.spares",
                fmt::format("take over at once where all wait for a lost worker, and {} does without it, as on_failure says; remove it",
                            scheme_entry->name));
  if (rolls_back == RollsBack::server && shrinks(spec))
    throw_error(scenario, "training.recovery.without",
                fmt::format("is said by on_failure in {}, which does without a lost worker; remove it", scheme_entry->name));
  if (rolls_back == RollsBack::together) refuse_on_failure(scenario, spec);
  if (!availability.empty())
    throw_error(scenario, "training.recovery.kind",
                "rollback of clients that come and go by their availability is not modelled; remove one of the two");
  if (plan.rebalance_every > 0)
    throw_error(scenario, "training.batch.rebalance",
                "batches that follow measured times cannot go back to a checkpoint's (training.recovery); remove one of the two");
  if (scenario.cluster.network.collective.start == CollectiveSpec::Start::as_they_come)
    throw_error(scenario, "cluster.network.collective.start",
                "all-reduces that begin as workers come cannot be broken off by a failure (training.recovery); write together");
  if (compression && (compression->exchange.answers || compression->vote) &&
      scheme_entry->needs_server(scenario.training.scheme.parameters))
    throw_error(scenario, "training.recovery.kind",
                fmt::format("after a rollback workers would start from whole weights, not from what {} answers leave them with; use "
                            "another compression, or on_failure",
                            compressor->name));
  if (plan.sharding.on() && shrinks(spec))
    throw_error(scenario, "training.recovery.without",
                "shrink would cut the shards anew, which is not modelled (training.sharding); write wait");
}

void Blueprint::refuse_replacement(const Scenario& scenario) const {
  const Parameters& scheme = scenario.training.scheme.parameters;
  if (scheme.has("on_failure") && failure_choice.of(scheme) == OnFailure::abort)
    throw_error(scenario, "training.recovery.kind",
                "peer replaces a lost worker, and on_failure: abort ends the run; write wait or drop there, or remove one of the two");
  if (!availability.empty())
    throw_error(scenario, "training.recovery.kind",
                "peer replaces workers that fail, and clients that come and go by their availability do not; remove one of the two");
}

/// Seconds in which the weights and the optimizer's state are read or written at that rate.
double Blueprint::seconds_of_state(double bytes_per_second) const {
  return 4.0 * static_cast<double>(priced_parameters()) * static_cast<double>(1 + state_vectors()) / bytes_per_second;
}

RecoverySettings Blueprint::recovery_settings(const Scenario& scenario) const {
  RecoverySettings policy;
  if (!scenario.training.recovery) return policy;
  const RecoverySpec& spec = *scenario.training.recovery;
  static constexpr std::array kinds = {RecoverySettings::Kind::none, RecoverySettings::Kind::rollback, RecoverySettings::Kind::peer};
  policy.kind = kinds[static_cast<std::size_t>(spec.kind)];
  policy.by_worker = scheme_entry->rolls_back(scenario.training.scheme.parameters) == RollsBack::together;
  policy.detect = Time::from_seconds(spec.detect);
  policy.restart = Time::from_seconds(spec.restart + (spec.read ? seconds_of_state(*spec.read) : 0));
  policy.spares = static_cast<Rank>(spec.spares);
  policy.shrinks = shrinks(spec);
  if (!spec.checkpoint) return policy;
  const CheckpointSpec& checkpoint = *spec.checkpoint;
  const double save = checkpoint.save_is_rate ? seconds_of_state(checkpoint.save) : checkpoint.save;
  policy.snapshot = Time::from_seconds(checkpoint.blocking ? save : checkpoint.snapshot);
  if (!checkpoint.blocking) policy.write = Time::from_seconds(save);
  policy.every_updates = static_cast<std::uint64_t>(checkpoint.updates);
  policy.every = Time::from_seconds(checkpoint.seconds);
  if (checkpoint.every == CheckpointSpec::Every::optimal) policy.every = Time::from_seconds(optimal_interval(scenario, policy));
  return policy;
}

Blueprint::Stops Blueprint::stops(const Scenario& scenario) const {
  const bool by_worker = scheme_entry->rolls_back(scenario.training.scheme.parameters) == RollsBack::together;
  Stops all;
  for (const FaultSpec& fault : scenario.cluster.faults) {
    if (fault.kind != FaultSpec::Kind::random && fault.kind != FaultSpec::Kind::preempt) continue;
    const bool takes_server = fault_units->take_servers(fault.of) && fault_units->replicas() == 1;
    const bool it_stops =
        fault.of == UnitKind::all || takes_server || (by_worker && fault.of != UnitKind::link && fault.of != UnitKind::server);
    if (!it_stops || !fault.every.parameters.has("mean")) continue;
    all.regular = all.regular || fault.every.name == "constant";
    const double rate = static_cast<double>(fault_units->count(fault.of)) / fault.every.parameters.number("mean");
    all.rate += rate;
    all.known += rate * known_and_repaired(fault);
  }
  if (all.rate > 0) all.known /= all.rate;
  return all;
}

/// Seconds from such a failure until it is known, and all are back where the job waits for them: the mean of the later of the two. A law of
/// another kind than these counts with its mean, which is less than that of the later one.
double Blueprint::known_and_repaired(const FaultSpec& fault) const {
  const double detect = recovery_.detect.seconds();
  const Kind& repair = fault.kind == FaultSpec::Kind::preempt ? fault.back_after : fault.repair;
  if (recovery_.spares > 0 || recovery_.shrinks || !repair.parameters.has("mean")) return detect;
  const double mean = repair.parameters.number("mean");
  return repair.name == "exponential" ? detect + mean * std::exp(-detect / mean) : std::max(detect, mean);
}

double Blueprint::optimal_interval(const Scenario& scenario, const RecoverySettings& policy) const {
  const Stops stopped = stops(scenario);
  if (stopped.regular)
    throw_error(scenario, "training.recovery.checkpoint.every",
                "optimal is for failures at random times, and those of kind: constant come at known ones; write a time, or every: "
                "{kind: exponential, mean: 40h} in cluster.faults");
  if (stopped.rate <= 0)
    throw_error(scenario, "training.recovery.checkpoint.every",
                "optimal needs the rate of the failures that stop the job, and none comes at random; write a time, or failures such as "
                "cluster.faults: [{kind: random, of: worker, every: {kind: exponential, mean: 40h}}]");
  if (policy.snapshot == Time())
    throw_error(
        scenario, "training.recovery.checkpoint.every",
        "optimal is to save without end where saving costs no time; write a time, or how long saving stops work (save, or snapshot)");
  return reliability::optimal_interval(stopped.rate, policy.snapshot.seconds());
}

}  // namespace straggler

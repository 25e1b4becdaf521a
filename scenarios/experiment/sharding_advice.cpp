// Settings of training.sharding without effect. They stand in sweeps over stages and clusters, and are no errors there.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "scenarios/experiment/advice.hpp"

namespace straggler {

namespace {

/// Keys of later stages.
void of_stages(const ShardingSpec& spec, std::int64_t micro_batches, std::vector<std::string>& out) {
  const ShardingSpec plain;
  std::vector<std::string> keys;
  if (spec.units != plain.units) keys.emplace_back("units");
  if (spec.prefetch != plain.prefetch) keys.emplace_back("prefetch");
  if (spec.keep_gathered) keys.emplace_back("keep_gathered");
  if (spec.stage < 3 && !keys.empty())
    out.push_back(fmt::format("training.sharding.{} {} not used: in stage {} every worker has all weights while it computes",
                              fmt::join(keys, ", "), keys.size() == 1 ? "is" : "are", spec.stage));
  if (spec.reduce == plain.reduce) return;
  if (spec.stage == 1)
    out.emplace_back("training.sharding.reduce is not used: stage 1 reduces once an update");
  else if (micro_batches == 1)
    out.emplace_back("training.sharding.reduce is not used: a batch is one micro-batch; training.batch.accumulate makes several");
}

/// Groups that are one host.
void of_one_host(const ShardingSpec& spec, std::vector<std::string>& out) {
  if (spec.across == ShardingSpec::Across::host) out.emplace_back("training.sharding.across has no effect: all workers are on one host");
  if (spec.secondary == ShardingSpec::Secondary::host)
    out.emplace_back(
        "training.sharding.secondary keeps a copy of no use: all workers are on one host, which no gather leaves without it either");
}

}  // namespace

void advise_on_sharding(const Scenario& scenario, const Blueprint& blueprint, std::vector<std::string>& out) {
  if (!scenario.training.sharding) return;
  const ShardingSpec& spec = *scenario.training.sharding;
  if (blueprint.plan.workers == 1) {
    out.emplace_back("training.sharding has no effect: one worker alone keeps all states");
    return;
  }
  of_stages(spec, blueprint.plan.accumulate, out);
  if (blueprint.plan.sharding.on_host == blueprint.plan.workers) of_one_host(spec, out);
  if (spec.stage == 3 && blueprint.cost.layers.empty())
    out.emplace_back(
        "workload.cost.bytes has no layers, so training.sharding gathers all weights before forward and reduces all gradients after "
        "backward, and nothing hides that; write workload.cost: {model: NAME}");
}

}  // namespace straggler

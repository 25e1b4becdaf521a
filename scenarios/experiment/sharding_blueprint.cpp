// The blueprint's shared states: what each worker keeps, in which units they are gathered, and what cannot share them.
#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "scenarios/experiment/at_place.hpp"
#include "scenarios/experiment/blueprint.hpp"
#include "scenarios/experiment/measured_collective.hpp"
#include "scenarios/experiment/network_units.hpp"
#include "sim/base/registry.hpp"
#include "sim/base/suggest.hpp"

namespace straggler {

namespace {

bool stays_in_host(const ShardingSpec& spec) {
  return spec.across == ShardingSpec::Across::host || spec.secondary == ShardingSpec::Secondary::host;
}

void refuse_collective(const Scenario& scenario) {
  const CollectiveSpec& spec = scenario.cluster.network.collective;
  if (spec.algorithm == measured_algorithm)
    throw_error(scenario, "cluster.network.collective.kind",
                "measured times are of all-reduces, and training.sharding gathers and reduce-scatters; remove one of the two");
  if (spec.start == CollectiveSpec::Start::as_they_come)
    throw_error(scenario, "cluster.network.collective.start",
                "as_they_come is for all-reduces, and training.sharding gathers and reduce-scatters; write together");
  if (spec.algorithm == "auto") return;
  for (const CollectiveKind kind : {CollectiveKind::all_gather, CollectiveKind::reduce_scatter}) {
    const Registry<CollectiveEntry>& all = algorithms_of(kind);
    if (all.find(spec.algorithm)) continue;
    std::vector<std::string> names;
    for (const CollectiveEntry& entry : all.entries()) names.push_back(entry.name);
    throw_error(
        scenario, "cluster.network.collective.algorithm",
        fmt::format("{} has no {}, which training.sharding needs; write auto, or one of {}", spec.algorithm, name_of(kind), joined(names)));
  }
}

/// Nobody else has the shard of a worker.
void refuse_faults(const Scenario& scenario) {
  const std::vector<FaultSpec>& faults = scenario.cluster.faults;
  for (std::size_t i = 0; i < faults.size(); ++i) {
    const std::string place = fmt::format("cluster.faults[{}].kind", i);
    if ((faults[i].kind == FaultSpec::Kind::crash || (repeats(faults[i]) && changes_members(faults[i]))) && !scenario.rolls_back())
      throw_error(
          scenario, place,
          "a crash takes the only copy of a shard (training.sharding); write training.recovery: {kind: rollback}, or remove one of the "
          "two");
    if (faults[i].kind == FaultSpec::Kind::join || faults[i].kind == FaultSpec::Kind::leave)
      throw_error(
          scenario, place,
          "a worker that joins or leaves changes who has which shard, and shards do not move (training.sharding); remove one of the "
          "two");
  }
}

}  // namespace

void Blueprint::refuse_sharding(const Scenario& scenario) const {
  if (!scenario.training.sharding) return;
  const ShardingSpec& spec = *scenario.training.sharding;
  const Parameters& of_scheme = scenario.training.scheme.parameters;
  if (!scheme_entry->shards(of_scheme)) {
    Parameters reducing = of_scheme;
    if (reducing.has("via")) reducing.set("via", std::string("all_reduce"));
    throw_error(
        scenario, "training.sharding",
        scheme_entry->name + (scheme_entry->shards(reducing)
                                  ? " via a server keeps all states there; write via: all_reduce, or remove it"
                                  : " does not share states: each of its workers steps on all of them; use {kind: ssgd}, or remove it"));
  }
  if (plan.rebalance_every > 0)
    throw_error(scenario, "training.batch.rebalance",
                "measures whole gradients, and training.sharding computes them in slices; write training.batch: {global: 1000, split: "
                "by_speed}");
  if (compression && compressor->name != "fp16" && compressor->name != "bf16")
    throw_error(scenario, "training.compression",
                compressor->name + " messages are of whole gradients, and training.sharding cuts them; use fp16, bf16 or none");
  if (compression)
    for (const WorkerGroup& group : scenario.cluster.workers)
      if (scenario.devices.at(group.device).compress)
        throw_error(scenario, "devices." + group.device + ".compress",
                    "the time to convert shards to 16 bits is not modelled (training.sharding); remove it");
  if (plan.worker_clip > 0)
    throw_error(scenario, "training.clip_at",
                "a worker that shares states has no whole gradient to clip before they are reduced; write server, or remove "
                "training.sharding");
  if (spec.stage > 1 && !optimizer->needs_tensors().empty())
    throw_error(
        scenario, "training.optimizer",
        fmt::format("{} steps on whole matrices, which stage {} of training.sharding cuts; write stage: 1, or use another optimizer, "
                    "such as adamw",
                    optimizer->needs_tensors(), spec.stage));
  if (spec.units != ShardingSpec::Units::automatic && cost.layers.empty())
    throw_error(scenario, "training.sharding.units",
                "units are a model's layers, which workload.cost.bytes does not have; write workload.cost: {model: NAME}, or remove it");
  refuse_collective(scenario);
  refuse_faults(scenario);
  if (plan.workers > 1 && stays_in_host(spec)) refuse_unequal_hosts(scenario);
}

void Blueprint::refuse_unequal_hosts(const Scenario& scenario) const {
  const char* const key =
      scenario.training.sharding->across == ShardingSpec::Across::host ? "training.sharding.across" : "training.sharding.secondary";
  std::vector<std::pair<std::size_t, std::int64_t>> hosts;  // in the order of their workers, who follow one another; and their number
  for (Rank worker = 0; worker < plan.workers; ++worker) {
    const auto host = static_cast<std::size_t>(fabric->host(worker));
    if (hosts.empty() || hosts.back().first != host) hosts.emplace_back(host, 0);
    ++hosts.back().second;
  }
  for (const auto& [host, count] : hosts)
    if (count != hosts.front().second)
      throw_error(
          scenario, key,
          fmt::format("host needs equal hosts, of consecutive workers: one has {} and another {}; give groups with the same per_host "
                      "and counts that fill it, or remove it",
                      hosts.front().second, count));
  if (hosts.front().second == 1)
    throw_error(
        scenario, key,
        "host needs several workers on each host, and each has one; write cluster.workers[0].per_host: 8 or the like, or remove it");
}

/// Matrices of hidden weights stay whole; what is stepped number by number fills the shares that have less. Where a table does not say
/// which they are: all tensors of blocks; without blocks all.
double Blueprint::padding_of_tensors(Rank ways) const {
  const bool known = std::ranges::any_of(cost.tensors(), [](const TensorInfo& tensor) { return !tensor.matrices.empty(); });
  const bool blocks = std::ranges::any_of(cost.layers, [](const CostLayer& layer) { return !layer.block.empty(); });
  std::vector<std::size_t> sizes;
  std::size_t all = 0;
  for (const CostLayer& layer : cost.layers)
    for (const TensorInfo& tensor : layer.tensors) {
      const std::size_t numbers = elements(tensor.shape);
      all += numbers;
      for (const std::size_t rows : tensor.matrices) sizes.push_back(rows * (numbers / tensor.shape.front()));
      if (!known && (!blocks || !layer.block.empty())) sizes.push_back(numbers);
    }
  if (all == 0) return 1;
  std::ranges::sort(sizes, std::greater());
  std::vector<std::size_t> parts(static_cast<std::size_t>(ways));  // a heap, the smallest in front
  for (const std::size_t size : sizes) {
    std::ranges::pop_heap(parts, std::greater());
    parts.back() += size;
    std::ranges::push_heap(parts, std::greater());
  }
  return std::max(1.0, static_cast<double>(*std::ranges::max_element(parts)) * ways / static_cast<double>(all));
}

void Blueprint::resolve_sharding(const Scenario& scenario) {
  if (!scenario.training.sharding || plan.workers == 1) return;
  const ShardingSpec& spec = *scenario.training.sharding;
  Sharding& sharding = plan.sharding;
  sharding.stage = spec.stage;
  sharding.in_host = spec.across == ShardingSpec::Across::host;
  sharding.secondary_in_host = spec.secondary == ShardingSpec::Secondary::host;
  if (stays_in_host(spec))
    while (sharding.on_host < plan.workers && fabric->host(sharding.on_host) == fabric->host(0)) ++sharding.on_host;
  sharding.ways = sharding.in_host ? sharding.on_host : plan.workers;
  sharding.overlaps = scenario.cluster.network.collective.overlap;
  sharding.reduces_each = spec.reduce == ShardingSpec::Reduce::each;
  sharding.keeps_gathered = spec.keep_gathered;
  sharding.prefetch = spec.prefetch;
  sharding.gathered_bytes = sharding.reduced_bytes = compression ? 2 : number_bytes();
  if (!optimizer->needs_tensors().empty()) sharding.padding = padding_of_tensors(sharding.ways);
  if (statistics_bytes > 0) sharding.numbers_of_step.push_back(statistics_bytes);
  constexpr std::uint64_t number = 4;  // bytes
  if (numerics.dynamic()) sharding.numbers_of_step.push_back(number);
  if (scenario.training.clip) sharding.numbers_of_step.push_back(number);
  if (optimizer->needs_norms_of_tensors()) sharding.numbers_of_step.push_back(number * std::max<std::size_t>(cost.tensors().size(), 1));
  if (spec.stage == 3)
    plan.buckets =
        units_of(cost, backward_flops(scenario.devices.at(scenario.cluster.workers[0].device)), spec, priced_parameters(), number_bytes());
  else if (plan.buckets.empty())
    plan.buckets = {{model_bytes, priced_parameters(), 1, 1}};
}

}  // namespace straggler

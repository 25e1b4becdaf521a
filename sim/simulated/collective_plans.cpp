#include "sim/simulated/collective_plans.hpp"

#include <numeric>
#include <utility>

#include "sim/base/registry.hpp"

namespace straggler {

namespace {
/// Those of the scenario if that names the algorithm.
Parameters parameters_of(const CollectiveEntry& entry, const SimulatedCluster::Collective& collective) {
  const bool named = entry.name == collective.all_reduce->name && !entry.parameters.all().empty();
  return complete(entry.parameters, named ? collective.parameters : Parameters());
}
}  // namespace

CollectivePlans::CollectivePlans(World& world, CorePool* cores) : world_(world) {
  const SimulatedCluster& cluster = world.cluster;
  costs_.reduce_seconds_per_byte = cluster.collective.reduce_seconds_per_byte;
  costs_.per_message = cluster.protocol.per_message;
  costs_.per_byte = cluster.protocol.seconds_per_byte;
  costs_.launch = cluster.collective.launch;
  costs_.cores = cores;
}

const CollectivePlan& CollectivePlans::plan(CollectiveKind operation, std::uint64_t bytes, std::vector<std::uint64_t> blocks,
                                            const std::vector<Rank>& members) {
  const bool shares = world_.cluster.collective.shares_states;
  if (operation == CollectiveKind::all_reduce && world_.cluster.collective.gathers && !shares) {
    operation = CollectiveKind::all_gather;  // each member brings that many
    blocks.assign(members.size(), bytes);
  }
  if (!blocks.empty()) bytes = std::accumulate(blocks.begin(), blocks.end(), std::uint64_t{0});
  std::vector<std::uint32_t> ranks = ranks_of(members);
  for (const auto& plan : plans_)
    if (plan->operation == operation && plan->bytes == bytes && plan->ranks == ranks && plan->blocks == blocks) return *plan;

  CollectivePlan& plan = *plans_.emplace_back(std::make_unique<CollectivePlan>());
  plan.operation = operation;
  plan.bytes = bytes;
  plan.ranks = std::move(ranks);
  plan.blocks = std::move(blocks);
  const CollectiveShape shape = shape_of(plan, members);
  const CollectiveEntry& entry = algorithm_for(plan, shape);
  plan.schedule = entry.make(bytes, shape, world_.cluster.collective.uniform, parameters_of(entry, world_.cluster.collective));
  if (!world_.cluster.collective.stepwise) plan.fluid = fluid_plan(*plan.schedule, costs_, world_.transport, plan.ranks);
  for (std::size_t rank = 0; rank < plan.schedule->ranks(); ++rank) {
    const std::uint64_t sent = plan.schedule->bytes_sent(static_cast<CollectiveRank>(rank));
    const std::uint64_t received = plan.schedule->bytes_received(static_cast<CollectiveRank>(rank));
    plan.all += sent;
    if (rank >= members.size()) {
      plan.sent_by_servers += sent;
      plan.to_servers += received;
      continue;
    }
    plan.sent.push_back(sent);
    plan.received.push_back(received);
  }
  return plan;
}

std::vector<std::uint32_t> CollectivePlans::ranks_of(const std::vector<Rank>& members) const {
  std::vector<std::uint32_t> ranks(members.begin(), members.end());
  for (std::size_t server = 0; server < world_.cluster.collective.shape.servers; ++server)
    ranks.push_back(static_cast<std::uint32_t>(index_of(world_.workers) + server));
  return ranks;
}

CollectiveShape CollectivePlans::shape_of(const CollectivePlan& plan, const std::vector<Rank>& members) const {
  const CollectiveShape& all = world_.cluster.collective.shape;
  CollectiveShape shape = all;
  shape.workers = members.size();
  if (!shape.host_of.empty()) {
    shape.host_of.clear();
    for (const Rank member : members) shape.host_of.push_back(all.host_of[index_of(member)]);
  }
  shape.blocks = plan.blocks;
  return shape;
}

/// After a failure hosts may have unequal numbers of workers, and a group has a shape of its own.
const CollectiveEntry& CollectivePlans::algorithm_for(const CollectivePlan& plan, const CollectiveShape& shape) {
  const SimulatedCluster::Collective& collective = world_.cluster.collective;
  const Registry<CollectiveEntry>& all = algorithms_of(plan.operation);
  if (collective.automatic && collective.shares_states)
    return cheapest_collective(plan.bytes, shape, collective.uniform, costs_, world_.transport, plan.operation, plan.ranks);
  if (plan.operation == CollectiveKind::all_reduce)
    return collective.all_reduce->unfit(shape).empty() ? *collective.all_reduce : all.at("ring");
  if (collective.gathers) return all.at("ring");
  const CollectiveEntry* const same = collective.automatic ? nullptr : all.find(collective.all_reduce->name);
  if (same && same->unfit(shape).empty()) return *same;
  return cheapest_collective(plan.bytes, shape, collective.uniform, costs_, world_.transport, plan.operation, plan.ranks);
}

}  // namespace straggler

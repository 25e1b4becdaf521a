#include "sim/simulated/updates.hpp"

#include <algorithm>

namespace straggler {

bool Updates::starts(StepOperation& operation, double per_byte) {
  const Rank rank = operation.node().self();
  const SimulatedCluster& cluster = world_.cluster;
  const bool server = !world_.is_worker(rank);
  // Each server steps on its own shard, an aggregator on a whole vector.
  if (world_.is_server(rank)) per_byte /= static_cast<double>(cluster.servers);
  const Time now = world_.now();
  const Time begin = server ? std::max(now, processors_.free_of(rank)) : now;
  const Time end = begin + Time::from_seconds(per_byte * static_cast<double>(operation.fragment().share_of(cluster.state_bytes)));
  if (end == now) return true;
  if (server) {
    processors_.free_of(rank) = end;
    if (books_.trace()) books_.trace()->served(rank, "updates weights", begin, end);
  } else {
    books_.times().begin_compute(rank, now);
  }
  world_.queue().at(end, operation);
  return false;
}

void Updates::due(StepOperation& operation) {
  const Rank rank = operation.node().self();
  if (world_.is_worker(rank)) books_.times().end_compute(rank, world_.now());
  operation.complete_from_event();
}

void Updates::cancel(StepOperation& operation) noexcept {
  const Rank rank = operation.node().self();
  if (world_.is_worker(rank)) books_.times().discard_compute(rank, world_.now());
}

bool Updates::start(CellStepOperation& operation) {
  const Rank rank = operation.node().self();
  const Time span = Time::from_seconds(worker_seconds_per_byte(rank) * static_cast<double>(world_.cluster.state_bytes));
  if (span == Time()) {
    operation.begin_adding();
    return cell_.start(operation);
  }
  books_.times().begin_compute(rank, world_.now());
  world_.queue().after(span, operation);
  return false;
}

void Updates::due(CellStepOperation& operation) {
  if (operation.is_adding()) return cell_.due(operation);
  books_.times().end_compute(operation.node().self(), world_.now());
  operation.begin_adding();
  if (cell_.start(operation)) operation.complete_from_event();
}

void Updates::cancel(CellStepOperation& operation) noexcept {
  if (operation.is_adding()) return cell_.cancel(operation);
  books_.times().discard_compute(operation.node().self(), world_.now());
}

}  // namespace straggler

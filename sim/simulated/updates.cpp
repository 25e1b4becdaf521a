#include "sim/simulated/updates.hpp"

#include <algorithm>

namespace straggler {

bool Updates::starts(StepOperation& operation, double per_byte) {
  const Rank rank = operation.node().self();
  const SimulatedCluster& cluster = run_.world.cluster;
  const bool server = !run_.world.is_worker(rank);
  // Each server steps on its own shard, an aggregator on a whole vector.
  if (run_.world.is_server(rank)) per_byte /= static_cast<double>(cluster.servers.count);
  const Time now = run_.world.now();
  const Time begin = server ? std::max(now, processors_.free_of(rank)) : now;
  const Time end = begin + Time::from_seconds(per_byte * static_cast<double>(operation.fragment().share_of(cluster.bytes.state)));
  if (end == now) return true;
  if (server) {
    processors_.free_of(rank) = end;
    run_.books.served(rank, begin, end);
    if (run_.books.trace()) run_.books.trace()->served(rank, "updates weights", begin, end);
  } else {
    run_.books.times().begin_compute(rank, now);
  }
  run_.world.queue().at(end, operation);
  return false;
}

void Updates::due(StepOperation& operation) {
  const Rank rank = operation.node().self();
  if (run_.world.is_worker(rank)) run_.books.times().end_compute(rank, run_.world.now());
  operation.complete_from_event();
}

void Updates::cancel(StepOperation& operation) noexcept {
  const Rank rank = operation.node().self();
  if (run_.world.is_worker(rank)) run_.books.times().discard_compute(rank, run_.world.now());
}

bool Updates::start(CellStepOperation& operation) {
  const Rank rank = operation.node().self();
  const Time span = Time::from_seconds(worker_seconds_per_byte(rank) * static_cast<double>(run_.world.cluster.bytes.state));
  if (span == Time()) {
    operation.begin_adding();
    return cell_.start(operation);
  }
  run_.books.times().begin_compute(rank, run_.world.now());
  run_.world.queue().after(span, operation);
  return false;
}

void Updates::due(CellStepOperation& operation) {
  if (operation.is_adding()) return cell_.due(operation);
  run_.books.times().end_compute(operation.node().self(), run_.world.now());
  operation.begin_adding();
  if (cell_.start(operation)) operation.complete_from_event();
}

void Updates::cancel(CellStepOperation& operation) noexcept {
  if (operation.is_adding()) return cell_.cancel(operation);
  run_.books.times().discard_compute(operation.node().self(), run_.world.now());
}

}  // namespace straggler

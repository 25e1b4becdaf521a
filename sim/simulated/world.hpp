// Clock, events and network of a run, and the conversion of messages to flows.
#pragma once
#include <cstddef>
#include <utility>

#include "sim/cluster/transport.hpp"
#include "sim/engine/simulation.hpp"
#include "sim/network/network.hpp"
#include "sim/simulated/simulated_cluster.hpp"

namespace straggler {

struct World {
  explicit World(SimulatedCluster its_cluster, Rank its_workers)
      : cluster(std::move(its_cluster)),
        workers(its_workers),
        network(simulation.queue()),
        transport(*cluster.fabric, network, *cluster.sharing, cluster.protocol.segments, cluster.protocol.connection_bytes_per_second) {
    build_links(*cluster.fabric, network);
    simulation.attach(network);
    for (const TokenBucket& bucket : cluster.token_buckets)
      network.set_bucket(bucket.link, bucket.burst_bytes, bucket.peak_bytes_per_second);
  }
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  Time now() const { return simulation.now(); }
  EventQueue& queue() { return simulation.queue(); }
  bool is_worker(Rank rank) const { return rank < workers; }
  bool has_server() const { return cluster.servers.count > 0; }
  /// One process stands for all servers.
  bool is_server(Rank rank) const { return rank == workers && has_server(); }
  /// Ranks are below it: workers, servers, aggregators.
  std::size_t rank_bound() const {
    return index_of(cluster.aggregators.count > 0 ? cluster.aggregators.first + cluster.aggregators.count
                                                  : workers + (has_server() ? 1 : 0));
  }

  SimulatedCluster cluster;  // as described; `compute` moves on to Computations
  const Rank workers;
  Simulation simulation;
  Network network;
  Transport transport;
  /// Events that do not depend on training: a run in which only these are left has stalled.
  struct {
    std::size_t timers = 0, flows = 0;  // of background traffic, and of varying links
    bool clock = false;                 // evaluations by time
  } bystanders;
  /// For a timer that has just fired: no events but bystanders are left.
  bool only_bystanders() {
    const std::size_t other_timers = bystanders.timers - 1 + (bystanders.clock ? 1 : 0);
    return simulation.queue().pending() - network.packet_events() <= other_timers && network.flows() <= bystanders.flows;
  }
};

}  // namespace straggler

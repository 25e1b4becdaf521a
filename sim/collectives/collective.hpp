// All-reduce algorithms: one file each. Every algorithm comes in two fidelities that must agree where nothing else is on the
// links: stepwise, where each message is a flow, and fluid, where the whole collective is one.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "sim/base/parameters.hpp"
#include "sim/base/registry.hpp"
#include "sim/cluster/topology.hpp"
#include "sim/engine/mailbox.hpp"
#include "sim/engine/simulation.hpp"
#include "sim/engine/waiting.hpp"
#include "sim/network/network.hpp"

namespace straggler {

/// One all-reduce of `bytes` over ranks 0 .. ranks-1, while it runs.
struct AllReduceRun {
  AllReduceRun(Simulation& world, Network& links, const Topology& routes, std::size_t parties, std::uint64_t size, double arithmetic)
      : simulation(world),
        network(links),
        topology(routes),
        ranks(parties),
        bytes(size),
        reduce_seconds_per_byte(arithmetic),
        inbox(parties) {}
  Simulation& simulation;
  Network& network;
  const Topology& topology;
  std::size_t ranks;
  std::uint64_t bytes;
  double reduce_seconds_per_byte;                  // γ
  std::vector<Mailbox<std::uint64_t>> inbox;       // stepwise: bytes of the chunks that arrived at each rank
  std::function<void(std::size_t rank)> finished;  // stepwise: called by a rank's process as its last act
};

/// The whole collective as one flow: `latency`, then `bytes` over every link of `links` at once, then `arithmetic`.
struct FluidCollective {
  Time latency, arithmetic;
  double bytes = 0;
  std::vector<LinkId> links;
};

struct CollectiveEntry {
  std::string name, summary;
  std::vector<Parameter> parameters;
  /// Seconds on uniform links without contention: α a message, β a byte, γ a byte of arithmetic. For `auto`, `check` and tests.
  std::function<double(double bytes, std::size_t ranks, double alpha, double beta, double gamma)> seconds;
  /// Payload that a rank sends, in bytes; receives as much in total over all ranks.
  std::function<std::uint64_t(std::uint64_t bytes, std::size_t ranks, std::size_t rank)> bytes_sent, bytes_received;
  std::function<FluidCollective(const AllReduceRun& run)> fluid;
  /// Stepwise: what one rank does, once all have arrived; calls `run.finished` when its result is
  /// complete. `run` outlives it.
  std::function<Process(AllReduceRun& run, std::size_t rank)> rank;
};

}  // namespace straggler

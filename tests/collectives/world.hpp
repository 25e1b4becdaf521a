// A cluster on one switch, and collectives that run on it alone.
#pragma once
#include <doctest/doctest.h>

#include <cmath>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "sim/base/registry.hpp"
#include "sim/cluster/fabric.hpp"
#include "sim/cluster/transport.hpp"
#include "sim/collectives/collective.hpp"
#include "sim/collectives/fluid.hpp"
#include "sim/collectives/message_run.hpp"
#include "sim/engine/simulation.hpp"
#include "sim/network/network.hpp"

namespace straggler {

inline const std::vector<CollectiveEntry>& collectives() { return Registry<CollectiveEntry>::instance().entries(); }
inline const CollectiveEntry& collective(const char* name) { return Registry<CollectiveEntry>::instance().at(name); }

/// Workers send to servers.
inline bool needs_servers(const CollectiveEntry& entry) { return !entry.unfit({2, 0, {}}).empty(); }

inline std::unique_ptr<CollectiveSchedule> make_schedule(const CollectiveEntry& entry, std::uint64_t bytes, const CollectiveShape& shape,
                                                         const UniformLinks& links = {}, const Parameters& given = {}) {
  return entry.make(bytes, shape, links, complete(entry.parameters, given));
}

/// `hosts` hosts of `per_host` workers each, and servers on hosts of their own.
inline Placement equal_hosts(std::size_t hosts, std::size_t per_host, std::size_t servers, const Nic& nic) {
  Placement placement;
  placement.workers = hosts * per_host;
  placement.servers = servers;
  placement.nics.assign(hosts + servers, nic);
  for (std::size_t rank = 0; rank < placement.workers + servers; ++rank) {
    const std::size_t host = rank < placement.workers ? rank / per_host : hosts + rank - placement.workers;
    placement.host_of.push_back(static_cast<std::uint32_t>(host));
  }
  if (per_host == 1) placement.host_of.clear();
  return placement;
}

inline CollectiveShape shape_of(const Placement& placement) {
  CollectiveShape shape{placement.workers, placement.servers, {}};
  if (!placement.host_of.empty())
    shape.host_of.assign(placement.host_of.begin(), placement.host_of.begin() + static_cast<std::ptrdiff_t>(placement.workers));
  return shape;
}

/// Collectives one after another, message by message, in each of which all ranks start together. `done(rank)`: it has done its last round.
class TogetherRun final : private CollectiveWatch {
 public:
  TogetherRun(Simulation& simulation, Network& network, Transport& transport, const CollectiveCosts& costs,
              std::function<void(CollectiveRank)> done)
      : done_(std::move(done)), run_(simulation, network, transport, costs, MessageRun::Start::together, std::nullopt, *this) {}
  void start(const CollectiveSchedule& schedule) { run_.begin_all(run_.open(schedule, {})); }
  bool running() const { return run_.running(); }
  std::uint64_t messages() const { return run_.messages(); }

 private:
  bool watches_messages() const override { return false; }
  void done(std::uint64_t, CollectiveRank rank) override { done_(rank); }
  std::function<void(CollectiveRank)> done_;
  MessageRun run_;
};

class World final : private Arrival {
 public:
  explicit World(Placement placement, const std::string& sharing = "max_min", std::vector<ProtocolSegment> segments = {})
      : fabric(Registry<TopologyEntry>::instance().at("star"), Parameters(), std::move(placement), 1e12, Time()) {
    build_links(fabric, network);
    simulation.attach(network);
    const SharingEntry& entry = Registry<SharingEntry>::instance().at(sharing);
    model = entry.make(complete(entry.parameters, {}));
    transport = std::make_unique<Transport>(fabric, network, *model, std::move(segments));
  }
  World(std::size_t ranks, const Nic& nic) : World(equal_hosts(ranks, 1, 0, nic)) {}

  /// Seconds from now until the last rank is done.
  double stepwise(const CollectiveSchedule& schedule, const CollectiveCosts& costs) {
    std::size_t done = 0;
    TogetherRun run(simulation, network, *transport, costs, [&](CollectiveRank) { ++done; });
    const Time start = simulation.now();
    run.start(schedule);
    simulation.run();
    CHECK(done == schedule.ranks());
    CHECK(!run.running());
    CHECK(network.flows() == 0);
    messages = run.messages();
    return (simulation.now() - start).seconds();
  }

  /// The same as one flow.
  double fluid(const CollectiveSchedule& schedule, const CollectiveCosts& costs) {
    const FluidPlan plan = fluid_plan(schedule, costs, *transport);
    const Time start = simulation.now();
    network.start(plan.flow(), *this);
    simulation.run();
    return (simulation.now() - start + plan.arithmetic).seconds();
  }

  Simulation simulation;
  Fabric fabric;
  Network network{simulation.queue()};
  std::unique_ptr<SharingModel> model;
  std::unique_ptr<Transport> transport;
  std::uint64_t messages = 0;  // of the latest stepwise run

 private:
  void arrived() override {}
};

}  // namespace straggler

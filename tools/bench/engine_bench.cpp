// The engine under training's traffic, without schemes, lineage, accounts or result files: the cases of simgrid/workload.hpp as coroutines
// that do the same as simgrid_bench's actors, and all-reduces alone. Meter prints the results.
//
//   engine_bench parameter_server|fat_tree|ring|fluid_ring [key=value ...]
//
// `ring` and `fluid_ring` do `rounds` whole all-reduces of 2(p-1) steps, by messages and by one flow each.
#include <coroutine>
#include <cstdint>
#include <cstdio>
#include <deque>
#include <exception>
#include <memory>
#include <optional>
#include <stdexcept>
#include <utility>
#include <vector>

#include "sim/base/registry.hpp"
#include "sim/cluster/fabric.hpp"
#include "sim/cluster/transport.hpp"
#include "sim/collectives/collective.hpp"
#include "sim/collectives/fluid.hpp"
#include "sim/collectives/message_run.hpp"
#include "sim/engine/mailbox.hpp"
#include "sim/engine/simulation.hpp"
#include "sim/network/network.hpp"
#include "tools/bench/simgrid/workload.hpp"

namespace straggler {
namespace {

using workload::Case;
using Box = Mailbox<std::uint32_t>;

struct World {
  World(const char* topology, Placement placement, Time core_latency)
      : fabric(entry<TopologyEntry>(topology), complete(entry<TopologyEntry>(topology).parameters, {}), std::move(placement),
               workload::link_bytes_per_second, core_latency),
        sharing(entry<SharingEntry>("max_min").make({})),
        transport(fabric, network, *sharing, {}) {
    build_links(fabric, network);
    simulation.attach(network);
  }
  template <class Entry>
  static const Entry& entry(const char* name) {
    return Registry<Entry>::instance().at(name);
  }

  Simulation simulation;
  Network network{simulation.queue()};
  Fabric fabric;
  std::unique_ptr<SharingModel> sharing;
  Transport transport;
  Carriage carriage;  // scratch
  workload::Meter meter;
  void count(std::uint64_t messages) {
    if (meter.count(messages)) simulation.stop();
  }
};

/// Wakes the coroutine that awaits it through the queue, as operations do.
class Awaiter : public Event {
 public:
  bool await_ready() const noexcept { return false; }

 protected:
  explicit Awaiter(Simulation& simulation) : simulation_(simulation) {}
  void wake() { simulation_.queue().after(Time(), *this); }
  std::coroutine_handle<> waiter_;

 private:
  void happen() override { waiter_.resume(); }
  Simulation& simulation_;
};

/// `co_await` returns when the expected number of messages has arrived.
class Arrivals final : public Awaiter {
 public:
  Arrivals(World& world, std::uint32_t expected) : Awaiter(world.simulation), expected_(expected), left_(expected) {}
  void arrived() {
    if (--left_ == 0) wake();
  }
  void await_suspend(std::coroutine_handle<> waiter) noexcept { waiter_ = waiter; }
  void await_resume() noexcept { left_ = expected_; }

 private:
  std::uint32_t expected_, left_;
};

/// `const std::uint32_t sender = co_await Take(world, box);`
class Take final : public Awaiter, private Box::Receiver {
 public:
  Take(World& world, Box& box) : Awaiter(world.simulation), box_(box) {}
  bool await_suspend(std::coroutine_handle<> waiter) {
    waiter_ = waiter;
    item_ = box_.receive(*this);
    return !item_.has_value();
  }
  std::uint32_t await_resume() { return *item_; }

 private:
  bool wants(const std::uint32_t&) const override { return true; }
  void take(std::uint32_t item) override {
    item_ = item;
    wake();
  }
  Box& box_;
  std::optional<std::uint32_t> item_;
};

/// A message. Reusable once it has arrived.
class Parcel final : public Arrival {
 public:
  /// It carries its sender's number, for `box` if there is one. If its sender waits, it is resumed; otherwise the parcel goes to `idle`.
  struct Way {
    std::uint32_t from, to;
    double bytes;
    Box* box;
    Arrivals* sender;
    std::vector<Parcel*>* idle;
  };
  void send(World& world, const Way& way) {
    world_ = &world;
    way_ = way;
    world.transport.plan(way.from, way.to, way.bytes, world.carriage);
    world.network.start(world.carriage.links, world.carriage.bytes, world.carriage.after, *this);
  }

 private:
  void arrived() override {
    if (way_.box) way_.box->put(way_.from);
    if (way_.sender) way_.sender->arrived();
    if (way_.idle) way_.idle->push_back(this);
  }
  World* world_ = nullptr;
  Way way_{};
};

Placement star_placement(const Case& of, std::uint32_t workers, std::uint32_t servers) {
  Placement placement;
  placement.workers = workers;
  placement.servers = servers;
  for (std::uint32_t rank = 0; rank < workers + servers; ++rank) {
    const double rate = workload::nic_bytes_per_second(of, rank);
    placement.nics.push_back({rate, rate, Time::from_ticks(workload::link_latency_ps)});
  }
  return placement;
}

class ParameterServer {
 public:
  explicit ParameterServer(const Case& of)
      : case_(of),
        world_("star", star_placement(of, of.workers, of.servers), Time()),
        boxes_(of.workers + of.servers),
        shard_(workload::message_bytes / of.servers) {}

  World& run() {
    world_.meter.plan(case_, std::uint64_t{2} * case_.workers * case_.servers);
    for (std::uint32_t server = 0; server < case_.servers; ++server) world_.simulation.spawn(serve(case_.workers + server));
    for (std::uint32_t worker = 0; worker < case_.workers; ++worker) world_.simulation.spawn(work(worker));
    world_.simulation.run();
    world_.simulation.kill_all();  // frames refer to mailboxes and the network
    return world_;
  }

 private:
  Process work(std::uint32_t self) {
    Parcel whole;  // in the frame: a worker's data is contiguous
    const auto several = case_.servers == 1 ? nullptr : std::make_unique<Parcel[]>(case_.servers);
    Parcel* const shards = several ? several.get() : &whole;
    Arrivals sent(world_, case_.servers);
    for (std::uint32_t round = 0;; ++round) {
      co_await world_.simulation.delay(Time::from_ticks(workload::compute_ps(case_, self, round)));
      for (std::uint32_t k = 0; k < case_.servers; ++k) {
        const std::uint32_t server = case_.workers + k;
        shards[k].send(world_, {self, server, shard_, &boxes_[server], &sent, nullptr});
      }
      co_await sent;
      for (std::uint32_t k = 0; k < case_.servers; ++k) co_await Take(world_, boxes_[self]);
    }
  }

  Process serve(std::uint32_t self) {
    Parcel answer;
    Arrivals sent(world_, 1);
    for (;;) {
      const std::uint32_t worker = co_await Take(world_, boxes_[self]);
      world_.count(2);
      if (case_.waiting) {
        answer.send(world_, {self, worker, shard_, &boxes_[worker], &sent, nullptr});
        co_await sent;
      } else {
        idle_answer().send(world_, {self, worker, shard_, &boxes_[worker], nullptr, &idle_});
      }
    }
  }

  Parcel& idle_answer() {
    if (idle_.empty()) return answers_.emplace_back();
    Parcel& answer = *idle_.back();
    idle_.pop_back();
    return answer;
  }

  const Case case_;
  World world_;
  std::vector<Box> boxes_;  // [ranks]
  const double shard_;
  std::deque<Parcel> answers_;
  std::vector<Parcel*> idle_;
};

Process send_all(World& world, std::uint32_t self, const std::vector<workload::Flow>& flows) {
  Parcel parcel;
  Arrivals sent(world, 1);
  for (const workload::Flow& flow : flows) {
    parcel.send(world, {self, flow.to, static_cast<double>(flow.bytes), nullptr, &sent, nullptr});
    co_await sent;
    world.count(1);
  }
}

void fat_tree(const Case& of, World& world) {
  const auto flows = workload::permutation_traffic(of);
  world.meter.plan(of, workload::tree_hosts);
  for (std::uint32_t host = 0; host < workload::tree_hosts; ++host) world.simulation.spawn(send_all(world, host, flows[host]));
  world.simulation.run();
  world.simulation.kill_all();
}

/// All-reduces one after another: each starts when all ranks have finished the previous one.
class AllReduces final : private Arrival, private Event, private CollectiveWatch {
 public:
  AllReduces(const Case& of, World& world, bool fluid)
      : world_(world),
        messages_(world.simulation, world.network, world.transport, {}, MessageRun::Start::together, std::nullopt, *this),
        ranks_(of.workers),
        left_(of.rounds),
        fluid_(fluid) {
    CollectiveShape shape;
    shape.workers = of.workers;
    const CollectiveEntry& ring = World::entry<CollectiveEntry>("ring");
    const auto bytes = static_cast<std::uint64_t>(workload::message_bytes) * of.workers;
    schedule_ = ring.make(bytes, shape, {}, complete(ring.parameters, {}));
    if (fluid) plan_ = fluid_plan(*schedule_, {}, world.transport);
    if (of.workers < 2) throw std::invalid_argument("workers= must be at least 2: one rank alone has no all-reduce");
    world.meter.plan(of, fluid ? 1 : std::uint64_t{schedule_->rounds()} * ranks_);
  }
  void run() {
    world_.simulation.queue().after(Time(), *this);
    world_.simulation.run();
  }

 private:
  void happen() override {
    ranks_running_ = ranks_;
    if (fluid_)
      world_.network.start(plan_.flow(), *this);
    else
      messages_.begin_all(messages_.open(*schedule_, {}));
  }
  void arrived() override { finished(); }
  bool watches_messages() const override { return false; }
  void done(std::uint64_t, CollectiveRank) override {
    if (--ranks_running_ == 0) finished();
  }
  void finished() {
    world_.count(fluid_ ? 1 : messages_.messages() - std::exchange(counted_, messages_.messages()));
    if (--left_ > 0) world_.simulation.queue().after(Time(), *this);
  }

  World& world_;
  MessageRun messages_;
  std::unique_ptr<CollectiveSchedule> schedule_;
  FluidPlan plan_;
  std::uint32_t ranks_, ranks_running_ = 0, left_;
  std::uint64_t counted_ = 0;  // messages of finished all-reduces
  bool fluid_;
};

void report(const World& world) { world.meter.print(world.simulation.now().seconds()); }

void run(const Case& of) {
  if (of.scenario == "parameter_server") {
    const auto server = std::make_unique<ParameterServer>(of);
    report(server->run());
  } else if (of.scenario == "fat_tree") {
    Placement placement;
    placement.workers = workload::tree_hosts;
    placement.nics.assign(workload::tree_hosts, {workload::link_bytes_per_second, workload::link_bytes_per_second, Time()});
    World world("fat_tree", std::move(placement), Time());
    fat_tree(of, world);
    report(world);
  } else if (of.scenario == "ring" || of.scenario == "fluid_ring") {
    World world("star", star_placement(of, of.workers, 0), Time());
    AllReduces(of, world, of.scenario == "fluid_ring").run();
    report(world);
  } else {
    throw std::invalid_argument("unknown scenario " + of.scenario + "; known: parameter_server, fat_tree, ring, fluid_ring");
  }
}

}  // namespace
}  // namespace straggler

int main(int count, char** arguments) {
  try {
    straggler::run(workload::parse(count, arguments));
  } catch (const std::exception& error) {
    std::fprintf(stderr, "engine_bench: %s\n", error.what());
    return 2;
  }
}

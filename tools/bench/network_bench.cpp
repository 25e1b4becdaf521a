// Messages per second of the network under training's traffic, with nothing around it: no coroutines, no math.
#include <benchmark/benchmark.h>

#include <cstdint>
#include <vector>

#include "sim/engine/event_queue.hpp"
#include "sim/network/network.hpp"

namespace straggler {
namespace {

constexpr double bytes_per_second = 125e6, message_bytes = 1e5;
constexpr Time latency = Time::from_ticks(100'000'000);

bool step(EventQueue& queue, Network& network) {
  const auto next = [&] { return queue.next() < network.next() ? queue.next() : network.next(); };
  if (next() > queue.now() && network.unsettled()) network.settle();
  if (next() == Time::never()) return false;
  if (queue.next() <= network.next()) {
    queue.fire_next();
  } else {
    queue.advance(network.next());
    network.act();
  }
  return true;
}

std::uint32_t scrambled(std::uint64_t x) {
  x = (x ^ x >> 33) * 0xFF51'AFD7'ED55'8CCDu;
  x = (x ^ x >> 33) * 0xC4CE'B9FE'1A85'EC53u;
  return static_cast<std::uint32_t>(x ^ x >> 33);
}

/// Asynchronous parameter server: a worker computes, sends to the server, which answers at once.
struct ParameterServer {
  struct Worker final : Event, Arrival {
    void happen() override { send(true); }
    void arrived() override {
      ++server->messages;
      if (at_server) {
        send(false);
      } else {
        compute();
      }
    }
    void send(bool up) {
      at_server = up;
      const LinkId route[] = {up ? 2 * number : 2 * server->workers, up ? 2 * server->workers + 1 : 2 * number + 1};
      server->network.start(route, message_bytes, latency, *this);
    }
    void compute() {
      const std::int64_t ms = 1'000'000'000;
      const std::int64_t ticks =
          server->jitter ? 10 * ms + 6 * (scrambled(std::uint64_t{number} << 32 | steps++) * ms >> 32) : 10 * ms + number % 7 * ms;
      server->queue.after(Time::from_ticks(ticks), *this);
    }
    ParameterServer* server = nullptr;
    std::uint32_t number = 0, steps = 0;
    bool at_server = false;
  };

  ParameterServer(std::uint32_t its_workers, bool jitters) : workers(its_workers), jitter(jitters), all(its_workers) {
    for (std::uint32_t i = 0; i < 2 * (workers + 1); ++i) network.add_link(bytes_per_second);
    for (std::uint32_t i = 0; i < workers; ++i) {
      all[i].server = this;
      all[i].number = i;
      all[i].compute();
    }
  }

  EventQueue queue;
  Network network{queue};
  std::uint32_t workers;
  bool jitter;
  std::uint64_t messages = 0;
  std::vector<Worker> all;
};

void parameter_server(benchmark::State& state) {
  ParameterServer server(static_cast<std::uint32_t>(state.range(0)), state.range(1) != 0);
  while (server.messages < 4u * server.workers) step(server.queue, server.network);
  const std::uint64_t before = server.messages;
  for (auto _ : state) {
    for (const std::uint64_t goal = server.messages + 1000; server.messages < goal;) step(server.queue, server.network);
  }
  state.counters["messages/s"] = benchmark::Counter(static_cast<double>(server.messages - before), benchmark::Counter::kIsRate);
}

/// A stepwise ring: a rank sends its next chunk when it has both sent the last one and received its neighbour's.
struct Ring {
  struct Rank final : Arrival {
    void arrived() override {
      ++ring->messages;
      sent = true;
      Rank& next = ring->ranks[number + 1 == ring->ranks.size() ? 0 : number + 1];
      ++next.received;
      go_on();
      next.go_on();
    }
    void go_on() {
      if (!sent || received == 0) return;
      --received;
      start();
    }
    void start() {
      sent = false;
      const std::uint32_t next = number + 1 == ring->ranks.size() ? 0 : number + 1;
      const LinkId route[] = {2 * number, 2 * next + 1};
      ring->network.start(route, message_bytes, latency, *this);
    }
    Ring* ring = nullptr;
    std::uint32_t number = 0, received = 0;
    bool sent = false;
  };

  explicit Ring(std::uint32_t size) : ranks(size) {
    for (std::uint32_t i = 0; i < 2 * size; ++i) network.add_link(bytes_per_second);
    for (std::uint32_t i = 0; i < size; ++i) {
      ranks[i].ring = this;
      ranks[i].number = i;
      ranks[i].start();
    }
  }

  EventQueue queue;
  Network network{queue};
  std::uint64_t messages = 0;
  std::vector<Rank> ranks;
};

void stepwise_ring(benchmark::State& state) {
  Ring ring(static_cast<std::uint32_t>(state.range(0)));
  const std::uint64_t before = ring.messages;
  for (auto _ : state) {
    for (const std::uint64_t goal = ring.messages + 1000; ring.messages < goal;) step(ring.queue, ring.network);
  }
  state.counters["messages/s"] = benchmark::Counter(static_cast<double>(ring.messages - before), benchmark::Counter::kIsRate);
}

/// Random pairs of hosts under one switch: both ends shared, so most changes go through the general solver.
struct Pairs {
  struct Host final : Arrival {
    void arrived() override {
      ++pairs->messages;
      start();
    }
    void start() {
      const auto hosts = static_cast<std::uint32_t>(pairs->hosts.size());
      std::uint32_t to = scrambled(std::uint64_t{number} << 32 | steps++) % (hosts - 1);
      to += to >= number;
      const LinkId route[] = {2 * number, 2 * to + 1};
      pairs->network.start(route, message_bytes, latency, *this);
    }
    Pairs* pairs = nullptr;
    std::uint32_t number = 0, steps = 0;
  };

  explicit Pairs(std::uint32_t size) : hosts(size) {
    for (std::uint32_t i = 0; i < 2 * size; ++i) network.add_link(bytes_per_second);
    for (std::uint32_t i = 0; i < size; ++i) {
      hosts[i].pairs = this;
      hosts[i].number = i;
      hosts[i].start();
    }
  }

  EventQueue queue;
  Network network{queue};
  std::uint64_t messages = 0;
  std::vector<Host> hosts;
};

void random_pairs(benchmark::State& state) {
  Pairs pairs(static_cast<std::uint32_t>(state.range(0)));
  const std::uint64_t before = pairs.messages;
  for (auto _ : state) {
    for (const std::uint64_t goal = pairs.messages + 1000; pairs.messages < goal;) step(pairs.queue, pairs.network);
  }
  state.counters["messages/s"] = benchmark::Counter(static_cast<double>(pairs.messages - before), benchmark::Counter::kIsRate);
}

/// One flow over all links of p workers, started and finished: a fluid collective.
void fluid_collective(benchmark::State& state) {
  struct Ignore final : Arrival {
    void arrived() override {}
  } ignore;
  EventQueue queue;
  Network network(queue);
  std::vector<LinkId> route;
  for (std::int64_t i = 0; i < 2 * state.range(0); ++i) route.push_back(network.add_link(bytes_per_second));
  for (auto _ : state) {
    network.start(route, message_bytes, latency, ignore);
    while (network.flows() > 0) step(queue, network);
  }
  state.SetItemsProcessed(state.iterations() * 2 * state.range(0));
}

BENCHMARK(parameter_server)->ArgNames({"workers", "jitter"})->ArgsProduct({{64, 1024, 4096, 16384, 1'000'000}, {0, 1}});
BENCHMARK(stepwise_ring)->Arg(64)->Arg(1024)->Arg(16384);
BENCHMARK(random_pairs)->Arg(64)->Arg(1024);
BENCHMARK(fluid_collective)->Arg(1024)->Arg(100'000);

}  // namespace
}  // namespace straggler

BENCHMARK_MAIN();

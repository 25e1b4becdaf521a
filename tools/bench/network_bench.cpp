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

/// Messages that trigger the next ones, endlessly, on hosts with one up-link (even) and one down-link (odd) each.
struct Traffic {
  explicit Traffic(std::uint32_t hosts) {
    for (std::uint32_t i = 0; i < 2 * hosts; ++i) network.add_link(bytes_per_second);
  }
  void pass(std::uint64_t more) {
    for (const std::uint64_t goal = messages + more; messages < goal;) step(queue, network);
  }

  EventQueue queue;
  Network network{queue};
  std::uint64_t messages = 0;  // arrived
};

/// Numbered ranks of `owner`, all started.
template <class Owner, class Rank>
void start_all(Owner& owner, std::vector<Rank>& ranks) {
  for (std::uint32_t i = 0; i < ranks.size(); ++i) {
    ranks[i].owner = &owner;
    ranks[i].number = i;
    ranks[i].start();
  }
}

void measure(benchmark::State& state, Traffic& traffic) {
  const std::uint64_t before = traffic.messages;
  for (auto _ : state) traffic.pass(1000);
  state.counters["messages/s"] = benchmark::Counter(static_cast<double>(traffic.messages - before), benchmark::Counter::kIsRate);
}

/// Asynchronous parameter server: a worker computes, sends to the server, which answers at once.
struct ParameterServer : Traffic {
  struct Worker final : Event, Arrival {
    void happen() override { send(true); }
    void arrived() override {
      ++owner->messages;
      if (at_server) {
        send(false);
      } else {
        start();
      }
    }
    void send(bool up) {
      at_server = up;
      const LinkId route[] = {up ? 2 * number : 2 * owner->workers, up ? 2 * owner->workers + 1 : 2 * number + 1};
      owner->network.start(route, message_bytes, latency, *this);
    }
    void start() {
      const std::int64_t ms = 1'000'000'000;
      const std::int64_t ticks =
          owner->jitter ? 10 * ms + 6 * (scrambled(std::uint64_t{number} << 32 | steps++) * ms >> 32) : 10 * ms + number % 7 * ms;
      owner->queue.after(Time::from_ticks(ticks), *this);
    }
    ParameterServer* owner = nullptr;
    std::uint32_t number = 0, steps = 0;
    bool at_server = false;
  };

  ParameterServer(std::uint32_t its_workers, bool jitters)
      : Traffic(its_workers + 1), workers(its_workers), jitter(jitters), all(its_workers) {
    start_all(*this, all);
  }

  std::uint32_t workers;
  bool jitter;
  std::vector<Worker> all;
};

void parameter_server(benchmark::State& state) {
  ParameterServer server(static_cast<std::uint32_t>(state.range(0)), state.range(1) != 0);
  server.pass(4u * server.workers);
  measure(state, server);
}

/// A stepwise ring: a rank sends its next chunk when it has both sent the last one and received its neighbour's.
struct Ring : Traffic {
  struct Rank final : Arrival {
    void arrived() override {
      ++owner->messages;
      sent = true;
      Rank& next = owner->ranks[number + 1 == owner->ranks.size() ? 0 : number + 1];
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
      const std::uint32_t next = number + 1 == owner->ranks.size() ? 0 : number + 1;
      const LinkId route[] = {2 * number, 2 * next + 1};
      owner->network.start(route, message_bytes, latency, *this);
    }
    Ring* owner = nullptr;
    std::uint32_t number = 0, received = 0;
    bool sent = false;
  };

  explicit Ring(std::uint32_t size) : Traffic(size), ranks(size) { start_all(*this, ranks); }

  std::vector<Rank> ranks;
};

void stepwise_ring(benchmark::State& state) {
  Ring ring(static_cast<std::uint32_t>(state.range(0)));
  measure(state, ring);
}

/// Random pairs of hosts under one switch: both ends shared, so most changes go through the general solver.
struct Pairs : Traffic {
  struct Host final : Arrival {
    void arrived() override {
      ++owner->messages;
      start();
    }
    void start() {
      const auto hosts = static_cast<std::uint32_t>(owner->hosts.size());
      std::uint32_t to = scrambled(std::uint64_t{number} << 32 | steps++) % (hosts - 1);
      to += to >= number;
      const LinkId route[] = {2 * number, 2 * to + 1};
      owner->network.start(route, message_bytes, latency, *this);
    }
    Pairs* owner = nullptr;
    std::uint32_t number = 0, steps = 0;
  };

  explicit Pairs(std::uint32_t size) : Traffic(size), hosts(size) { start_all(*this, hosts); }

  std::vector<Host> hosts;
};

void random_pairs(benchmark::State& state) {
  Pairs pairs(static_cast<std::uint32_t>(state.range(0)));
  measure(state, pairs);
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

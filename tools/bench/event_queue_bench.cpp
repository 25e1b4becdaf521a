// The event queue in the hold model (Jones, An empirical comparison of priority-queue implementations, 1986): take the earliest of n
// pending events and schedule one a random delay later. The bare heaps beside it are a bound: they only order keys, without callbacks or
// cancellation.
#include <benchmark/benchmark.h>

#include <cstdint>
#include <memory>
#include <queue>
#include <utility>
#include <vector>

#include "sim/engine/event_queue.hpp"

namespace straggler {
namespace {

class Delays {
 public:
  std::int64_t operator()() {  // xorshift: uniform in 1 .. 2^20
    state_ ^= state_ << 13;
    state_ ^= state_ >> 7;
    state_ ^= state_ << 17;
    return static_cast<std::int64_t>(state_ & 0xF'FFFF) + 1;
  }

 private:
  std::uint64_t state_ = 88'172'645'463'325'252u;
};

struct Ticker final : Event {
  void happen() override { queue->after(Time::from_ticks(same > 0 ? same : (*delays)()), *this); }
  EventQueue* queue = nullptr;
  Delays* delays = nullptr;
  std::int64_t same = 0;
};

void bare_std_heap(benchmark::State& state) {
  using Entry = std::pair<std::int64_t, std::uint64_t>;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> heap;
  Delays delays;
  std::uint64_t sequence = 0;
  for (std::int64_t i = 0; i < state.range(0); ++i) heap.emplace(delays(), sequence++);
  for (auto _ : state) {
    const std::int64_t now = heap.top().first;
    heap.pop();
    heap.emplace(now + delays(), sequence++);
  }
  state.SetItemsProcessed(state.iterations());
}

void bare_key_heap(benchmark::State& state) {
  KeyHeap heap;
  Delays delays;
  std::uint64_t sequence = 0;
  const auto key = [&](std::int64_t when) { return static_cast<HeapKey>(static_cast<std::uint64_t>(when)) << 64 | sequence++; };
  for (std::int64_t i = 0; i < state.range(0); ++i) heap.push(key(delays()));
  for (auto _ : state) {
    const auto now = static_cast<std::int64_t>(heap.top() >> 64);
    heap.pop();
    heap.push(key(now + delays()));
  }
  state.SetItemsProcessed(state.iterations());
}

void hold(benchmark::State& state, std::int64_t same) {
  EventQueue queue;
  Delays delays;
  std::vector<Ticker> tickers(static_cast<std::size_t>(state.range(0)));
  for (Ticker& ticker : tickers) {
    ticker.queue = &queue;
    ticker.delays = &delays;
    ticker.same = same;
    queue.after(Time::from_ticks(delays()), ticker);
  }
  for (auto _ : state) queue.fire_next();
  state.SetItemsProcessed(state.iterations());
}
void event_queue(benchmark::State& state) { hold(state, 0); }
void event_queue_equal_delays(benchmark::State& state) { hold(state, 1 << 19); }

struct Waker final : Event {
  void happen() override { queue->after(Time(), *this); }
  EventQueue* queue = nullptr;
};

void event_queue_same_instant(benchmark::State& state) {
  EventQueue queue;
  std::vector<Waker> wakers(static_cast<std::size_t>(state.range(0)));
  for (Waker& waker : wakers) {
    waker.queue = &queue;
    queue.after(Time(), waker);
  }
  for (auto _ : state) queue.fire_next();
  state.SetItemsProcessed(state.iterations());
}

/// Every event is cancelled and rescheduled once before it fires, like the end of a flow whose rate changes.
void event_queue_cancel(benchmark::State& state) {
  EventQueue queue;
  Delays delays;
  std::vector<Ticker> tickers(static_cast<std::size_t>(state.range(0)));
  for (Ticker& ticker : tickers) {
    ticker.queue = &queue;
    ticker.delays = &delays;
    queue.after(Time::from_ticks(delays()), ticker);
  }
  std::size_t victim = 0;
  for (auto _ : state) {
    queue.fire_next();
    Ticker& ticker = tickers[victim = (victim + 7919) % tickers.size()];
    ticker.cancel();
    queue.after(Time::from_ticks(delays()), ticker);
  }
  state.SetItemsProcessed(state.iterations());
}

#define PENDING Arg(100)->Arg(10'000)->Arg(1'000'000)
BENCHMARK(bare_std_heap)->PENDING;
BENCHMARK(bare_key_heap)->PENDING;
BENCHMARK(event_queue)->PENDING;
BENCHMARK(event_queue_equal_delays)->PENDING;
BENCHMARK(event_queue_cancel)->PENDING;
BENCHMARK(event_queue_same_instant)->Arg(1)->Arg(100);

}  // namespace
}  // namespace straggler

BENCHMARK_MAIN();

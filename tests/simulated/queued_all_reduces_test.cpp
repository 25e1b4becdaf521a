// Several all-reduces of a worker in flight: they queue in order, the n-th of all workers belong together, and a worker that crashes and
// comes back finds its place among them.
#include <doctest/doctest.h>

#include <cmath>
#include <coroutine>
#include <list>

#include "sim/training/gather.hpp"
#include "tests/simulated/books.hpp"

namespace queued_all_reduces_test {

using namespace straggler;
using namespace straggler::test;

namespace {

/// An operation that has begun and is awaited later.
template <class T>
class InFlight {
 public:
  explicit InFlight(Pending<T> pending) : pending_(std::move(pending)) {
    pending_->set_waiter(std::noop_coroutine());
    pending_->begin();
  }
  bool await_ready() const noexcept { return pending_->state() == Operation::State::done; }
  void await_suspend(std::coroutine_handle<> waiter) { pending_->set_waiter(waiter); }
  auto await_resume() { return pending_.await_resume(); }

 private:
  Pending<T> pending_;
};

bool worker_0_gives_up = false;  // one all-reduce a step: no parameter, for schemes may not do that under faults

/// Each step's weights are averaged while `depth` more steps are taken: an update is their mean. Before it joins that all-reduce a worker
/// awaits `times` - 1 others.
class Overlapped final : public Scheme {
 public:
  explicit Overlapped(const Parameters& parameters)
      : depth_(static_cast<std::size_t>(parameters.count("depth"))), times_(parameters.count("times")) {}

 private:
  Process worker(Node& node) const override {
    Weights weights = node.initial_weights();
    std::list<InFlight<AllReduceOperation<Weights>>> in_flight;
    for (;;) {
      const Gradient gradient = co_await node.gradient(weights, node.next_batch(node.batch_size()));
      const Weights stepped = co_await node.step(weights, gradient);
      for (std::int64_t more = 1; more < times_; ++more) co_await node.all_reduce_mean(weights);
      if (worker_0_gives_up && node.self() == 0) in_flight.emplace_back(node.all_reduce_mean(weights));
      in_flight.emplace_back(node.all_reduce_mean(stepped));
      if (worker_0_gives_up && node.self() == 0) in_flight.erase(std::prev(in_flight.end(), 2));  // what is behind it moves up
      if (in_flight.size() <= depth_) continue;
      InFlight<AllReduceOperation<Weights>>& first = in_flight.front();
      Weights mean = co_await first;
      in_flight.pop_front();
      WeightsState& state = mean.edit();
      state.version = weights->version;
      state.progress = weights->progress;
      weights = co_await node.publish(mean);
    }
  }

  std::size_t depth_;
  std::int64_t times_;
};

const Register<SchemeEntry> overlapped_entry({
    .name = "overlapped",
    .summary = "for this test",
    .reference = "none",
    .family = Family::local,
    .exchange = Exchange::all_reduce,
    .asynchronous = [](const Parameters& parameters) { return parameters.count("depth") > 0; },
    .parameters = {{.name = "depth", .type = ValueType::count, .fallback = "1", .meaning = "", .range = Range::at_least(0)},
                   {.name = "times", .type = ValueType::count, .fallback = "1", .meaning = "", .range = Range::at_least(1)},
                   on_failure({OnFailure::wait, OnFailure::drop, OnFailure::abort}, "wait for it, average without it, or end")},
    .make = made<Overlapped>,
});

constexpr double step_seconds = 0.1;                                // a batch: 100 samples of 1 ms
constexpr double link_bandwidth = 125e6, message_latency = 100e-6;  // 1 Gbit/s; two links of 50 us

double ring_seconds(int p, double bytes) { return 2 * (p - 1) * (message_latency + bytes / p / link_bandwidth); }

std::string overlapped(int depth, const std::string& more = "") {
  return "training.scheme={kind: overlapped, depth: " + std::to_string(depth) + more + "}";
}

std::vector<std::string> network_of(double bytes, const std::string& how) {
  return {"cluster.network.link={bandwidth: 1Gbps, latency: 50us}",
          "workload.cost={bytes: " + std::to_string(static_cast<std::uint64_t>(bytes)) + "B}",
          "cluster.network.collective={algorithm: ring, " + how + "}"};
}

const std::vector<std::string> all_ways = {"fidelity: fluid", "fidelity: stepwise", "fidelity: stepwise, start: as_they_come"};

}  // namespace

TEST_CASE("two all-reduces in flight: short ones hide behind a step, long ones queue") {
  // Equal workers. A step takes c, an all-reduce r. The n-th all-reduce begins when the n-th step is done and the one before it is through.
  // r < c: it is done within the next step, after which it is awaited: update n is published after step n + 1.
  // r > c: all-reduces follow one another from the first step's end on: update n is published n r after it.
  const int p = 3, updates = 6;
  for (const std::string& how : all_ways) {
    for (const double bytes : {300'000.0, 30'000'000.0}) {
      CAPTURE(how);
      CAPTURE(bytes);
      std::vector<std::string> sets = network_of(bytes, how);
      sets.insert(sets.end(), {overlapped(1), "training.stop={updates: " + std::to_string(updates) + "}"});
      const Result result = run_timing(cluster(p), sets);
      const double r = ring_seconds(p, bytes);
      const double expected = r < step_seconds ? (updates + 1) * step_seconds : step_seconds + updates * r;
      CHECK(std::abs(result.record.end.seconds() - expected) < 1e-9);
      CHECK(result.record.updates == updates);
      CHECK(result.record.samples == updates * 300);
      check_books(result, false);
    }
  }
}

TEST_CASE("in flight or not: the n-th all-reduces of all workers belong together, in any order of arrival") {
  for (const int depth : {0, 1, 3}) {
    CAPTURE(depth);
    std::vector<std::vector<float>> weights;
    for (const double bytes : {1'000.0, 40'000'000.0}) {
      for (const std::string& how : all_ways) {
        std::vector<std::string> sets = network_of(bytes, how);
        sets.insert(sets.end(), {"devices.node.jitter={kind: lognormal, sigma: 0.8}", overlapped(depth)});
        const Result result = run(cluster(4), sets);
        CHECK(result.record.outcome == Outcome::completed);
        weights.push_back(result.weights);
      }
    }
    for (const std::vector<float>& each : weights) CHECK(each == weights.front());
  }
}

TEST_CASE("one that is given up in the middle of the queue leaves no trace") {
  // Worker 0 gives up one a step. The slow worker comes to each all-reduce after it, so that none of these has begun.
  for (const int depth : {0, 1, 3}) {
    for (const std::string& how : {all_ways[0], all_ways[1]}) {
      CAPTURE(depth);
      CAPTURE(how);
      std::vector<std::string> sets = network_of(4'000'000, how);
      sets.insert(sets.end(), {"cluster.workers=[{count: 2, device: node}, {count: 1, device: node, slowdown: 2}]", overlapped(depth)});
      const Result expected = run(cluster(3), sets);
      worker_0_gives_up = true;
      const Result result = run(cluster(3), sets);
      worker_0_gives_up = false;
      CHECK(result.weights == expected.weights);
      CHECK(result.record.end == expected.record.end);
      CHECK(result.record.bytes_sent == expected.record.bytes_sent);
    }
  }
}

TEST_CASE("nothing in flight beyond a step: under faults it is local SGD of one step, to the tick") {
  for (const std::string faults : {"{kind: crash, worker: 1, at: 130ms, restart_after: 100ms}",
                                   "{kind: crash, worker: 0, at: 205ms, restart_after: 50ms}, {kind: leave, worker: 2, at: 380ms}",
                                   "{kind: join, worker: 2, at: 250ms}, {kind: crash, worker: 1, at: 401ms, restart_after: 1ms}"}) {
    for (const std::string policy : {"wait", "drop"}) {
      CAPTURE(faults);
      CAPTURE(policy);
      std::vector<std::string> sets = network_of(3'000'000, "fidelity: stepwise");
      sets.insert(sets.end(), {"cluster.faults=[" + faults + "]", "training.stop={updates: 8}",
                               "training.scheme={kind: local_sgd, steps: 1, on_failure: " + policy + "}"});
      const Result expected = run_timing(cluster(3), sets);
      sets.back() = overlapped(0, ", on_failure: " + policy);
      check_same(run_timing(cluster(3), sets), expected);
    }
  }
}

TEST_CASE("a worker crashes while all-reduces are in flight: whenever it comes back, the run continues and all agree") {
  // That all publish the same weights at the same version is checked at every publication.
  const int updates = 12;
  for (const std::string& how : {all_ways[0], all_ways[1]}) {
    for (const int depth : {0, 1, 2, 4}) {
      for (const int times : {1, 2}) {
        if (depth > 0 && times > 1) continue;  // awaited at once, it would wait behind what is in flight
        for (const std::string policy : {"wait", "drop"}) {
          for (const double bytes : {300'000.0, 24'000'000.0}) {
            for (const int at : {40, 101, 133, 207, 256, 341, 404, 555}) {
              CAPTURE(how);
              CAPTURE(depth);
              CAPTURE(times);
              CAPTURE(policy);
              CAPTURE(bytes);
              CAPTURE(at);
              std::vector<std::string> sets = network_of(bytes, how);
              sets.insert(sets.end(), {overlapped(depth, ", times: " + std::to_string(times) + ", on_failure: " + policy),
                                       "training.stop={updates: " + std::to_string(updates) + "}",
                                       "cluster.faults=[{kind: crash, worker: 1, at: " + std::to_string(at) +
                                           "ms, restart_after: 90ms}, {kind: crash, worker: 0, at: " + std::to_string(at + 300) +
                                           "ms, restart_after: 70ms}]"});
              const Result result = run_timing(cluster(3), sets);
              CHECK(result.record.outcome == Outcome::completed);
              CHECK(result.record.updates == updates);
              check_books(result, false);
              check_same(run_timing(cluster(3), sets), result);
            }
          }
        }
      }
    }
  }
}

TEST_CASE("wait: while one is down the others get as far as they can, and continue from there when it is back") {
  // Three workers, no bytes, one update in flight beside the step. Worker 1 crashes at 250 ms, in its third step. All-reduces 1 and 2 are
  // through; at 300 ms the others join all-reduce 3, and publish update 2. They compute, join 4 at 400 ms and wait for 3. Worker 1 comes
  // back at 700 ms, starts from version 2, steps, joins 3 at 800 ms, and steps: at 900 ms it joins 4. The others have 3 at 800 ms, publish
  // update 3, and step until 900 ms: update 4 is published then.
  std::vector<std::string> sets = {"cluster.network.collective.algorithm=ring", overlapped(1, ", on_failure: wait"),
                                   "training.stop={updates: 4}",
                                   "cluster.faults=[{kind: crash, worker: 1, at: 250ms, restart_after: 450ms}]"};
  const Result result = run_timing(cluster(3), sets);
  CHECK(std::abs(result.record.end.seconds() - 0.9) < 1e-5);
  CHECK(result.record.samples == 4 * 300);
  std::vector<std::uint64_t> of_worker_1;
  for (const OrderRow& row : result.sink.order)
    if (row.worker == 1) of_worker_1.push_back(row.read_version);
  CHECK(of_worker_1 == std::vector<std::uint64_t>{0, 0, 2, 2});
}

TEST_CASE("drop: a worker that comes back while others are ahead gets their result, and takes part from then on") {
  // No bytes; a step takes 100 ms; two all-reduces in flight. Worker 1 is down from 250 ms to 310 ms: it starts at the next publication, at
  // 400 ms, of version 2, which holds all-reduces 1 and 2. 3 is over: worker 1 joins it at 500 ms, and is given its result. 4 waits for
  // worker 1, since not all others had joined it when that started.
  std::vector<std::string> sets = {"cluster.network.collective.algorithm=ring", overlapped(2, ", on_failure: drop"),
                                   "training.stop={updates: 8}",
                                   "cluster.faults=[{kind: crash, worker: 1, at: 250ms, restart_after: 60ms}]"};
  const Result result = run_timing(cluster(3), sets);
  std::vector<std::uint64_t> updates_of_worker_1;
  for (const OrderRow& row : result.sink.order)
    if (row.worker == 1) updates_of_worker_1.push_back(row.update);
  CHECK(updates_of_worker_1 == std::vector<std::uint64_t>{1, 2, 4, 5, 6, 7, 8});
}

}  // namespace queued_all_reduces_test

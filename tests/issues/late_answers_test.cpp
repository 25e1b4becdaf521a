// A server that holds answers back, as stale synchronous parallel does, may answer a worker that has crashed and restarted meanwhile.
// The answer belongs to the life that asked; the new one must not find it (decision 7).
#include <doctest/doctest.h>

#include <set>

#include "sim/training/gather.hpp"
#include "tests/simulated/books.hpp"
#include "tests/support/run.hpp"

using namespace straggler;
using namespace straggler::test;

namespace {

Process pushes_and_pulls(Node& node, Rank server) {
  Weights weights = node.initial_weights();
  for (;;) {
    const DrawnBatch batch = node.next_batch(node.batch_size());
    const Gradient gradient = co_await node.gradient(weights, batch);
    co_await node.send(server, gradient);
    weights = co_await node.receive<Weights>(server);
  }
}

/// SSP without slack: the server steps on each gradient as it arrives, and answers nobody before all members have given one.
class Barrier final : public Scheme {
 public:
  explicit Barrier(bool in_turn) : in_turn_(in_turn) {}

 private:
  Process worker(Node& node) const override { return pushes_and_pulls(node, node.server()); }

  Process server(Node& node) const override {
    Weights weights = node.initial_weights();
    std::vector<bool> waits(static_cast<std::size_t>(node.workers()));
    for (;;) {
      auto what = co_await first_of(node.receive<Gradient>(), node.receive<MembershipNotice>());
      if (what.index() == 0) {
        weights = co_await node.step(weights, std::get<0>(what));
        weights = co_await node.publish(weights);
        waits[static_cast<std::size_t>(std::get<0>(what).sender)] = true;
      }
      bool all = true;
      for (Rank rank = 0; rank < node.workers(); ++rank) all = all && (waits[static_cast<std::size_t>(rank)] || !node.is_member(rank));
      for (Rank rank = 0; all && rank < node.workers(); ++rank) {
        if (!waits[static_cast<std::size_t>(rank)]) continue;
        waits[static_cast<std::size_t>(rank)] = false;
        if (in_turn_)
          co_await node.send(rank, weights);
        else
          node.post(rank, weights);
      }
    }
  }

  bool in_turn_;
};

/// Holds every answer back until `held` of them are due, a worker's new life beside its former one.
class Queue final : public Scheme {
 public:
  explicit Queue(std::size_t held) : held_(held) {}

 private:
  Process worker(Node& node) const override { return pushes_and_pulls(node, node.server()); }

  Process server(Node& node) const override {
    Weights weights = node.initial_weights();
    std::vector<Peer> due;
    for (;;) {
      const From<Gradient> arrived = co_await node.receive<Gradient>();
      weights = co_await node.step(weights, arrived);
      weights = co_await node.publish(weights);
      due.push_back(arrived.sender);
      if (due.size() < held_) continue;
      for (const Peer& sender : due) node.post(sender, weights);
      due.clear();
    }
  }

  std::size_t held_;
};

/// Worker 0 stands between the others and the server: answers of workers are dropped by the same rule.
class Relay final : public Scheme {
  Process worker(Node& node) const override { return node.self() == 0 ? relay(node) : pushes_and_pulls(node, 0); }

  Process relay(Node& node) const {
    for (;;) {
      const From<Gradient> arrived = co_await node.receive<Gradient>();
      co_await node.send(node.server(), static_cast<const Gradient&>(arrived));
      const Weights weights = co_await node.receive<Weights>(node.server());
      node.post(arrived.sender, weights);
    }
  }

  Process server(Node& node) const override {
    Weights weights = node.initial_weights();
    for (;;) {
      const From<Gradient> arrived = co_await node.receive<Gradient>();
      weights = co_await node.step(weights, arrived);
      weights = co_await node.publish(weights);
      node.post(arrived.sender, weights);
    }
  }
};

SchemeEntry test_entry(const std::string& name, std::function<std::unique_ptr<Scheme>(const Parameters&)> make) {
  return {.name = name,
          .summary = "for this test",
          .reference = "none",
          .contributions = one_contribution(),
          .parameters = {on_failure({OnFailure::drop}, "go on without it")},
          .make = std::move(make)};
}

const Register<SchemeEntry> in_turn(test_entry("barrier_in_turn", [](const Parameters&) { return std::make_unique<Barrier>(true); }));
const Register<SchemeEntry> at_once(test_entry("barrier_at_once", [](const Parameters&) { return std::make_unique<Barrier>(false); }));
const Register<SchemeEntry> queue(test_entry("queue", [](const Parameters&) { return std::make_unique<Queue>(4); }));
const Register<SchemeEntry> relay(test_entry("relay", [](const Parameters&) { return std::make_unique<Relay>(); }));

/// A gradient takes 100 ms, a message alone on a link 5 ms (464 bytes).
Result with_crash(int workers, const std::string& scheme, const std::string& at, std::vector<std::string> more = {}) {
  more.insert(more.begin(),
              {"training.scheme=" + scheme, "cluster.network.link={bandwidth: 92.8kB/s, latency: 0s}", "training.stop.updates=40",
               "cluster.faults=[{kind: crash, worker: " + std::to_string(workers - 3) + ", at: " + at + ", restart_after: 1ms}]"});
  return run_timing(cluster(workers), more);
}

}  // namespace

TEST_CASE("a server that answers one after the other does not answer a life that ended while it did") {
  // All gradients have arrived at 140 ms; the answer to worker 5 is due at 165 ms. Its new life has its state at 157 ms.
  const Result result = with_crash(8, "barrier_in_turn", "146ms");
  CHECK(result.record.outcome == Outcome::completed);
  std::set<std::uint64_t> read;
  for (const OrderRow& row : result.sink.order)
    if (row.worker == 5) CHECK(read.insert(row.read_version).second);  // two gradients at one version: twice in one clock
  CHECK(read.size() >= 3);
}

TEST_CASE("whenever the worker crashes, its new life gets no answer to the former one, and gets those to its own") {
  for (const std::string scheme : {"barrier_in_turn", "barrier_at_once", "queue", "relay"}) {
    for (const std::string update : {"1GB/s", "46.4kB/s"}) {  // none, or 10 ms for a step of the server
      for (int at = 99; at < 420; at += 3) {
        CAPTURE(scheme);
        CAPTURE(update);
        CAPTURE(at);
        const Result result = with_crash(8, scheme, std::to_string(at) + "ms", {"cluster.servers={count: 1, update: " + update + "}"});
        CHECK(result.record.outcome == Outcome::completed);
        CHECK(taken_without_own_last(result, 5) <= 1);
        CHECK(result.record.workers[5].updates >= 3);
      }
    }
  }
}

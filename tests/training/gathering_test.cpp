// A gathering ends when enough workers have contributed, and may continue until a timer.
#include <doctest/doctest.h>

#include "sim/training/gather.hpp"
#include "tests/training/fake_cluster.hpp"

namespace gathering_test {

using namespace straggler;
using namespace straggler::test;

namespace {

/// The first k gradients make an update, with those that come in a window after the k-th.
class Quorum final : public Scheme {
 public:
  explicit Quorum(std::int64_t k) : k_(k) {}

 private:
  Process worker(Node& node) const override {
    Weights weights = node.initial_weights();
    for (;;) {
      const Gradient gradient = co_await node.gradient(weights, 1);
      co_await node.send(node.server(), gradient);
      weights = co_await node.receive<Weights>(node.server());
    }
  }
  Process server(Node& node) const override {
    Weights weights = node.initial_weights();
    const auto late = [&](const From<Gradient>& gradient) {
      node.discard<Gradient>(gradient);
      node.post(gradient.sender, weights);
    };
    for (;;) {
      Gathering<Gradient> round(node, weights->version);
      co_await round.first(k_, late);
      Pending<TimerOperation> window = node.begin(node.timer(Time::from_seconds(1)));
      co_await round.until(window, late);
      const std::vector<From<Gradient>> parts = round.parts();
      weights = co_await node.step(weights, node.mean(payloads(parts)));
      weights = co_await node.publish(weights);
      for (const From<Gradient>& part : parts) node.post(part.sender, weights);
    }
  }
  std::int64_t k_;
};

}  // namespace

TEST_CASE("a gathering of the first k continues until a timer, and late contributions are handed to its author") {
  const Quorum scheme(2);
  FakeCluster cluster(scheme, 4, true);
  cluster.finish(3);
  cluster.finish(0);
  cluster.finish(1);  // in the window
  CHECK(cluster.versions().empty());
  cluster.ring(4);
  REQUIRE(cluster.versions().size() == 1);
  CHECK(workers_of(cluster.made()[0]) == std::vector<Rank>{0, 1, 3});
  CHECK(cluster.dropped() == 0);
  cluster.finish(2);  // at version 0: dropped, and answered
  CHECK(cluster.dropped() == 1);
  CHECK(cluster.computation(2).weights()->version == 1);
}

TEST_CASE("nobody is waited for when all have contributed") {
  const Quorum scheme(2);
  FakeCluster cluster(scheme, 3, true);
  for (const Rank worker : {2, 0, 1}) cluster.finish(worker);
  REQUIRE(cluster.versions().size() == 1);  // the window is open
  CHECK(workers_of(cluster.made()[0]) == std::vector<Rank>{0, 1, 2});
  CHECK_THROWS_AS(cluster.ring(3), std::logic_error);
}

TEST_CASE("a gathering waits for no worker that crashed, and continues with the others until the timer") {
  const Quorum scheme(3);
  FakeCluster cluster(scheme, 3, true, 1, {.members_change = true});
  cluster.finish(0);
  cluster.crash(2);
  CHECK(cluster.versions().empty());
  cluster.finish(1);  // two of three: nobody else is awaited
  REQUIRE(cluster.versions().size() == 1);
  CHECK(workers_of(cluster.made()[0]) == std::vector<Rank>{0, 1});
}

}  // namespace gathering_test

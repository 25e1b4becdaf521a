// What a worker sent that was not asked: a late part left an empty place, which was read; one in time counted for a worker that was asked.
#include <doctest/doctest.h>

#include "sim/training/gather.hpp"
#include "tests/training/fake_cluster.hpp"

namespace late_part_test {

using namespace straggler;
using namespace straggler::test;

namespace {

/// The server asks worker 0 alone; both workers send, and nobody answers worker 1.
class AsksOne final : public Scheme {
  Process worker(Node& node) const override {
    Weights weights = node.initial_weights();
    for (;;) {
      const Gradient gradient = co_await node.gradient(weights, 1);
      co_await node.send(node.server(), gradient);
      if (node.self() == 0) weights = co_await node.receive<Weights>(node.server());
    }
  }
  Process server(Node& node) const override {
    Weights weights = node.initial_weights();
    const std::vector<Rank> asked = {0};
    for (;;) {
      const std::vector<Gradient> parts = co_await gather<Gradient>(node, weights->version, asked);
      weights = co_await node.step(weights, node.mean(parts));
      weights = co_await node.publish(weights);
      node.post(0, weights);
    }
  }
};

}  // namespace

TEST_CASE("a gather waits for the requested workers, whatever others send") {
  const AsksOne scheme;
  FakeCluster cluster(scheme, 2, true);
  cluster.finish(1);  // nobody asked, but it fits
  CHECK(cluster.versions().empty());
  cluster.finish(0);
  REQUIRE(cluster.versions().size() == 1);
  CHECK(workers_of(cluster.made()[0]) == std::vector<Rank>{0, 1});
  cluster.finish(1);  // of the version before
  CHECK(cluster.dropped() == 1);
  CHECK(cluster.versions().size() == 1);
  cluster.finish(0);
  REQUIRE(cluster.versions().size() == 2);
  CHECK(workers_of(cluster.made()[1]) == std::vector<Rank>{0});
}

}  // namespace late_part_test

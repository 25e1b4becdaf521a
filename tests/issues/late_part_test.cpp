// What a worker sent that was not asked: a late part left an empty place, which was read; one in time counted for a worker that was asked.
#include <doctest/doctest.h>

#include "sim/training/gather.hpp"
#include "tests/training/fake_cluster.hpp"

using namespace straggler;
using namespace straggler::test;

namespace {

class Idle final : public Scheme {
 public:
  Process worker(Node&) const override { co_return; }
};

}  // namespace

TEST_CASE("a gather waits for the requested workers, whatever others send") {
  const Idle idle;
  FakeCluster cluster(idle, 2, false);
  Node& node = cluster.node(0);
  const auto from = [&](Rank sender) { return From<Weights>(node.initial_weights(), {sender, 0}); };

  Gathering<Weights> next(node, node.initial_weights()->version + 1, {0});
  next.take(from(1));  // of the version before
  CHECK(!next.complete(GatherUntil::one_at_least));
  CHECK(next.parts().empty());

  Gathering<Weights> now(node, node.initial_weights()->version, {0});
  now.take(from(1));  // nobody asked, but it fits
  CHECK(!now.complete(GatherUntil::one_at_least));
  now.take(from(0));
  REQUIRE(now.complete(GatherUntil::one_at_least));
  CHECK(now.parts().size() == 2);
}

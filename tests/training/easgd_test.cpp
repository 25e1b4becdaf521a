// Elastic averaging SGD on the fake cluster: which weights enter which exchange, and who is counted where. Values are compared by their
// keys, that is by the operations which made them; tests/schemes/easgd_test.cpp follows the rule in numbers.
#include <doctest/doctest.h>

#include <array>

#include "tests/training/fake_cluster.hpp"

using namespace straggler;
using namespace straggler::test;

namespace {

Key key_of(const Weights& weights) { return weights->value.key(); }

}  // namespace

TEST_CASE("EASGD: worker and centre move by the same difference, and the step's gradient is taken before") {
  const auto scheme = scheme_of("easgd", {{"period", "2"}, {"alpha", "0.25"}});
  FakeCluster cluster(*scheme, 2, true);
  Node& node = cluster.node(0);
  const Weights start = node.initial_weights();
  cluster.finish(0);
  CHECK(cluster.sent() == 0);
  cluster.finish(0);
  CHECK(cluster.sent() == 2);  // its weights, and the answer
  REQUIRE(cluster.versions().size() == 1);
  const Weights x = cluster.computation(0).weights();
  const Gradient gradient = cluster.computation(0).gradient();
  CHECK(key_of(cluster.versions()[0]) == key_of(node.weighted_mean({start, x}, {0.75, 0.25})));
  CHECK(workers_of(cluster.made()[0]) == std::vector<Rank>{0});
  CHECK(cluster.made()[0][0].steps == 2);
  // x - α (x - c) - g(x), at the old x and c. It goes on from version 1, of which this gradient is not.
  cluster.finish(0);
  const Weights next = cluster.computation(0).weights();
  const Handle moved = node.algebra().blend(x, start, 0.25)->value;
  CHECK(key_of(next) == node.lineage().elementwise(rules::weighted_mean, std::array{moved, gradient->value()}, {1.0, -1.0}).key());
  CHECK(next->version == 1);
  REQUIRE(next->made().size() == 1);  // the two steps before the exchange are no longer its own
  CHECK(next->made()[0].steps == 1);
  CHECK(next->made()[0].read_version == 0);
  CHECK(cluster.versions().size() == 1);
}

TEST_CASE("EASGD: the centre takes workers one after another, each as it comes") {
  const auto scheme = scheme_of("easgd", {{"period", "1"}, {"alpha", "0.25"}});
  FakeCluster cluster(*scheme, 2, true);
  Node& node = cluster.node(0);
  const Weights start = node.initial_weights();
  cluster.finish(1);
  cluster.finish(0);
  REQUIRE(cluster.versions().size() == 2);
  const Weights x1 = cluster.computation(1).weights(), x0 = cluster.computation(0).weights();
  const Weights first = node.weighted_mean({start, x1}, {0.75, 0.25}), second = node.weighted_mean({first, x0}, {0.75, 0.25});
  CHECK(key_of(cluster.versions()[0]) == key_of(first));
  CHECK(key_of(cluster.versions()[1]) == key_of(second));
  CHECK(workers_of(cluster.made()[0]) == std::vector<Rank>{1});
  CHECK(workers_of(cluster.made()[1]) == std::vector<Rank>{0});
}

TEST_CASE("EASGD: the moving rate is 0.9 over the number of workers unless it is given") {
  for (const Rank workers : {1, 2, 4}) {
    CAPTURE(workers);
    const std::string rate = workers == 1 ? "0.9" : workers == 2 ? "0.45" : "0.225";
    std::array<Key, 2> centres;
    for (const bool given : {false, true}) {
      const auto scheme = scheme_of("easgd", given ? ParameterTexts{{"period", "1"}, {"alpha", rate}} : ParameterTexts{{"period", "1"}});
      FakeCluster cluster(*scheme, workers, true);
      for (int round = 0; round < 3; ++round)
        for (Rank worker = 0; worker < workers; ++worker) cluster.finish(worker);
      centres[given ? 1 : 0] = key_of(cluster.versions().back());
    }
    CHECK(centres[0] == centres[1]);
  }
}

TEST_CASE("EASGD with alpha 0: a worker takes the steps of sequential SGD") {
  const auto scheme = scheme_of("easgd", {{"period", "2"}, {"alpha", "0"}}), plain = scheme_of("sequential", {});
  FakeCluster cluster(*scheme, 1, true), alone(*plain, 1, false);
  for (int step = 0; step < 9; ++step) {
    CHECK(key_of(cluster.computation(0).weights()) == key_of(alone.computation(0).weights()));
    cluster.finish(0);
    alone.finish(0);
  }
  CHECK(cluster.versions().size() == 4);
}

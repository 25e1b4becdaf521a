// Under `momentum_at_sync: average` a worker that joined or came back was sent the averaged momentum, and began with none.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include "tests/support/point_data.hpp"
#include "tests/support/run.hpp"

namespace state_of_comers_test {

using namespace straggler;
using namespace straggler::test;

namespace {

constexpr double rate = 0.1, momentum = 0.9, start = 8;
const std::vector<double> point = {1, -2, 3};

/// Worker 0 is 10 times as fast as worker 1, so it is back, and has made its step, before worker 1 has.
std::string scenario(const std::string& scheme, int updates, const std::string& data) {
  return scenario_text({.node = "{compute: {affine: {overhead: 10ms}}}",
                        .workers = "[{count: 1, device: node}, {count: 1, device: node, slowdown: 10}]",
                        .model = fmt::format("{{kind: quadratic, condition: {}, start: {}}}", condition, start),
                        .data = data,
                        .scheme = "{" + scheme + ", momentum_at_sync: average}",
                        .batch = "{per_worker: 4}",
                        .optimizer = fmt::format("{{kind: sgd, learning_rate: {}, momentum: {}}}", rate, momentum),
                        .stop = fmt::format("{{updates: {}}}", updates)});
}

/// The workers have the same point and take as many steps, so all have the same weights and momentum: those of one worker alone.
std::vector<double> alone(int steps) {
  std::vector<double> weights(point_dimensions, start), v(point_dimensions);
  for (int step = 0; step < steps; ++step)
    for (std::size_t j = 0; j < point_dimensions; ++j) {
      v[j] = momentum * v[j] + curvature(j) * (weights[j] - point[j]);
      weights[j] -= rate * v[j];
    }
  return weights;
}

}  // namespace

TEST_CASE("who joins or comes back takes up the averaged momentum that it is sent") {
  const PointData points({{4, point}, {4, point}});
  constexpr int updates = 6;
  for (const std::string scheme :
       {"kind: fedavg, local_steps: 1", "kind: fedprox, mu: 0, local_steps: 1", "kind: hierarchical, local_steps: 1, edge_rounds: 1",
        "kind: hierarchical, local_steps: 1, edge_rounds: 1, aggregators: 2", "kind: local_sgd, steps: 1, via: server",
        "kind: local_sgd, steps: 1, via: all_reduce", "kind: nonblocking, minibatch: 4, interrupt: boundary",
        "kind: slow_momentum, steps: 1, beta: 0", "kind: post_local_sgd, steps: 1, start: {epochs: 0}"})
    for (const std::string fault : {"{kind: crash, worker: 0, at: 205ms, restart_after: 3ms}", "{kind: join, worker: 0, at: 215ms}"})
      for (const std::string on_failure : {"wait", "drop"}) {
        CAPTURE(scheme);
        CAPTURE(fault);
        CAPTURE(on_failure);
        const Result result =
            run(scenario(scheme + ", on_failure: " + on_failure, updates, points.data(true)), {"cluster.faults=[" + fault + "]"});
        REQUIRE(result.record.updates == updates);
        // Rounding at weights and momenta up to 8, carried on by momentum.
        CHECK(farthest_from(result.weights, alone(updates)) < 1e-4);
      }
}

}  // namespace state_of_comers_test

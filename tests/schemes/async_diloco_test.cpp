// DiLoCo without a barrier: delayed momentum, steps by speed; a quorum of learners that never stop, and what their changes count.
#include <doctest/doctest.h>

#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "tests/schemes/course.hpp"
#include "tests/support/point_data.hpp"

using namespace straggler;
using namespace straggler::test;

namespace {

const std::vector<Client> two = {{16, {1, -2, 3}}, {16, {-4, 5, 0}}};
constexpr double first_weight = 10, inner_rate = 0.1;

/// The share of a worker's distance that so many local steps take off.
double way(std::size_t j, double steps) { return 1 - std::pow(1 - inner_rate * curvature(j), steps); }

}  // namespace

TEST_CASE("asynchronous DiLoCo with one worker and a buffer of one is DiLoCo with Nesterov's momentum, up to rounding") {
  const auto of = [](const std::string& scheme) {
    return run(cluster(1), {"training.scheme=" + scheme, "training.stop.updates=8"}).weights;
  };
  const std::vector<float> one = of("{kind: async_diloco, steps: 3, buffer: 1}"), other = of("{kind: diloco, steps: 3}");
  REQUIRE(one.size() == other.size());
  double largest = 0, scale = 0;
  for (std::size_t i = 0; i < one.size(); ++i) {
    largest = std::max(largest, std::abs(static_cast<double>(one[i]) - other[i]));
    scale = std::max(scale, std::abs(static_cast<double>(other[i])));
  }
  CHECK(largest <= 8 * 10 * 0x1p-23 * scale);  // some ten roundings a round, which later steps carry on
}

TEST_CASE("asynchronous DiLoCo applies its momentum once in n changes: three updates by hand") {
  // Worker 0 takes 2 steps of 8 ms, and worker 1 of 12 ms: they come at 16, 24 and 32 ms, with n = 2.
  const PointData points(two);
  const double lr = 0.7, beta = 0.9;
  const Result result = run(equal_bowl(2, "{kind: async_diloco, steps: 2, dynamic_steps: false}", points.data(true), inner_rate, 3),
                            {"cluster.workers=[{count: 1, device: node}, {count: 1, device: node, slowdown: 1.5}]"});
  for (std::size_t j = 0; j < point_dimensions; ++j) {
    const auto change = [&](double from, std::size_t k) { return way(j, 2) * (from - two[k].point[j]); };
    const double first = change(first_weight, 0), theta_1 = first_weight - lr * first / 2;
    const double second = change(first_weight, 1), m = (first + second) / 2, theta_2 = theta_1 - lr * second / 2 - lr * beta * m;
    const double theta_3 = theta_2 - lr * change(theta_1, 0) / 2;
    CHECK(result.weights[j] == doctest::Approx(theta_3).epsilon(1e-5));
  }
}

TEST_CASE("steps by speed: a worker that is s times slower takes H / s steps, rounded down, and at least one") {
  const auto steps_of = [](const std::string& more) {
    std::map<Rank, std::uint32_t> steps;
    const Result result = run_timing(
        cluster(4), {"cluster.workers=[{count: 1, device: node}, {count: 1, device: node, slowdown: 3}, {count: 1, device: node, slowdown: "
                     "4}, {count: 1, device: node, slowdown: 50}]",
                     "training.stop.updates=40", "training.scheme={kind: async_diloco, steps: 6" + more + "}"});
    for (const OrderRow& row : result.sink.order) steps[row.worker] = row.steps;
    return steps;
  };
  CHECK(steps_of("") == std::map<Rank, std::uint32_t>{{0, 6}, {1, 2}, {2, 1}, {3, 1}});
  CHECK(steps_of(", dynamic_steps: false").at(1) == 6);
}

TEST_CASE("learners of a quorum never stop: no time is idle, and each change has at least H steps") {
  const Result result = run_timing(cluster(4), with_scheme(uneven_four, "{kind: diloco, steps: 3, quorum: 2, grace: 20ms}"));
  for (const WorkerRecord& worker : result.record.workers) {
    CHECK(worker.split[Phase::idle] == Time());
    CHECK(worker.split[Phase::communication] == Time());
    CHECK(worker.split[Phase::wasted] == Time());
  }
  for (const OrderRow& row : result.sink.order) CHECK(row.steps >= 3);
  CHECK(result.record.dropped.contributions == 0);
  const Result dropped = run_timing(cluster(4), with_scheme(uneven_four, "{kind: diloco, steps: 3, quorum: 2, late: drop}"));
  CHECK(dropped.record.dropped.contributions > 0);
}

TEST_CASE("a change of a quorum counts as any other, by its samples, or by samples times samples a step") {
  // Batches of 8 and 4 on 8 and 8 ms a step (4 ms a batch, half as fast a worker): 2 steps each, 16 and 8 samples.
  const PointData points({{16, {1, -2, 3}}, {16, {-4, 5, 0}}});
  const auto after_one = [&](const std::string& average) {
    return run(equal_bowl(2, "{kind: diloco, steps: 2, quorum: 2, average: " + average + ", outer: {momentum: 0, nesterov: false}}",
                          points.data(true), inner_rate, 1),
               {"cluster.workers=[{count: 1, device: node, batch: 8}, {count: 1, device: node, batch: 4, slowdown: 2}]"})
        .weights;
  };
  // Stated batches weigh plain means, too: 8 to 4.
  for (const auto& [average, share] : {std::pair("plain", 2.0 / 3), std::pair("by_samples", 2.0 / 3),
                                       std::pair("by_samples_times_rate", 16.0 * 8 / (16.0 * 8 + 8.0 * 4))}) {
    CAPTURE(average);
    const std::vector<float> weights = after_one(average);
    for (std::size_t j = 0; j < point_dimensions; ++j) {
      const double mean = share * two[0].point[j] + (1 - share) * two[1].point[j];
      CHECK(weights[j] == doctest::Approx(first_weight - 0.7 * way(j, 2) * (first_weight - mean)).epsilon(1e-5));
    }
  }
}

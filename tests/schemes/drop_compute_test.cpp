// DropCompute: what is done by the timeout, how long an update takes, and synchronous SGD where nobody reaches it.
#include <doctest/doctest.h>

#include <cmath>
#include <string>
#include <vector>

#include "tests/schemes/course.hpp"
#include "tests/support/sanitized.hpp"
#include "tests/support/scenarios.hpp"

using namespace straggler;
using namespace straggler::test;

namespace {

std::string drop_compute(int micro_batches, const std::string& timeout) {
  return "{kind: drop_compute, micro_batches: " + std::to_string(micro_batches) + ", timeout: " + timeout + "}";
}

}  // namespace

TEST_CASE("DropCompute: an update takes as long as the timeout; micro-batches in progress are wasted, those that end with it count") {
  // Batches of 100 ms in four parts. 60 ms: two parts; the third has run for 10 ms. 50 ms: the second ends at that instant.
  struct {
    const char* timeout;
    double seconds, wasted;
    std::uint64_t samples;
  } const cases[] = {
      {"60ms", 0.060, 0.010, 50}, {"50ms", 0.050, 0, 50}, {"49ms", 0.049, 0.024, 25}, {"99ms", 0.099, 0.024, 75}, {"1h", 0.1, 0, 100}};
  for (const auto& each : cases) {
    CAPTURE(each.timeout);
    const int updates = 10, p = 3;
    const Result result =
        run_timing(cluster(p), {"training.scheme=" + drop_compute(4, each.timeout), "training.stop.updates=" + std::to_string(updates)});
    CHECK(result.record.end.seconds() == doctest::Approx(updates * each.seconds).epsilon(1e-6));
    CHECK(result.record.samples == updates * p * each.samples);
    CHECK(result.record.samples_drawn == updates * p * 100);
    for (const WorkerRecord& worker : result.record.workers)
      CHECK(worker.split[Phase::wasted].seconds() == doctest::Approx(updates * each.wasted).epsilon(1e-6));
    for (const OrderRow& row : result.sink.order) CHECK(row.steps == each.samples / 25);
  }
}

TEST_CASE("DropCompute, exponential times: E[min(timeout, max X_i)] an update, and parts are done with P(m X / M < timeout)" * long_case) {
  // One factor a batch: part m of M is done if X < M t / m, in batch times. The mean of min(t, max) is the integral of 1 - F^p up to t.
  const int p = 4, parts = 5, updates = 20'000;
  const double t = 1.5;
  const Result result = run_long(p, drop_compute(parts, "150ms"), "{kind: exponential}", updates);
  double update = 0, square = 0;
  const int steps = 10'000;
  for (int i = 0; i < steps; ++i) {
    const double x = (i + 0.5) * t / steps, beyond = 1 - std::pow(1 - std::exp(-x), p);
    update += beyond * t / steps;
    square += 2 * x * beyond * t / steps;
  }
  CHECK(std::abs(mean_update(result) - update) < 5 * std::sqrt((square - update * update) / updates));
  double done = 0;
  for (int m = 1; m <= parts; ++m) done += 1 - std::exp(-parts * t / m);
  const double measured = static_cast<double>(result.record.samples) / (100.0 / parts) / (1.0 * p * updates);
  INFO("update: expected " << update << ", measured " << mean_update(result) << "; parts: expected " << done << ", measured " << measured);
  CHECK(std::abs(measured - done) < 5 * parts / 2.0 / std::sqrt(1.0 * p * updates));  // parts lie in [0, M]
}

TEST_CASE("DropCompute that stops no worker is synchronous SGD: in one part bit for bit, in several up to rounding") {
  const Result ssgd = run(cluster(4), with_scheme(uneven_four, "ssgd")),
               one = run(cluster(4), with_scheme(uneven_four, drop_compute(1, "1000h"))),
               several = run(cluster(4), with_scheme(uneven_four, drop_compute(4, "1000h")));
  check_same_course(one, ssgd);
  CHECK(one.weights == ssgd.weights);
  CHECK(several.record.end.seconds() == doctest::Approx(ssgd.record.end.seconds()).epsilon(1e-9));
  CHECK(several.record.samples == ssgd.record.samples);
  // Each update rounds a gradient a few times more; 60 of them at a rate of 0.1 on a loss of moderate curvature.
  REQUIRE(several.weights.size() == ssgd.weights.size());
  for (std::size_t i = 0; i < ssgd.weights.size(); ++i) CHECK(std::abs(several.weights[i] - ssgd.weights[i]) < 60 * 10 * 0x1p-23);
}

TEST_CASE("DropCompute averages by samples: who has done half counts half") {
  // Worker 1 takes three times as long. At rate 1 the new weights are the mean of the samples looked at, of which each part has 20.
  const auto mean_of = [](const std::string& scheme, int batch) {
    return run(scenario_text({.name = "bowls",
                              .workers = "[{count: 1, device: node}, {count: 1, device: node, slowdown: 3}]",
                              .servers = "",
                              .model = "{kind: quadratic, condition: 1, start: 10}",
                              .data = "{kind: gaussian, features: 3, classes: 1, samples: 40, test_samples: 10}",
                              .scheme = scheme,
                              .batch = "{per_worker: " + std::to_string(batch) + "}",
                              .optimizer = "{kind: sgd, learning_rate: 1}",
                              .stop = "{updates: 1}"}))
        .weights;
  };
  const std::vector<float> first_half = mean_of(drop_compute(2, "15ms"), 20),  // of worker 0; worker 1 has done nothing
      first = mean_of(drop_compute(2, "25ms"), 20),                            // all of worker 0
      halves = mean_of("ssgd", 10),                                            // the first halves of both
      both = mean_of(drop_compute(2, "35ms"), 20);                             // all of worker 0, half of worker 1
  for (std::size_t j = 0; j < both.size(); ++j) {
    const double second_half = 2.0 * halves[j] - first_half[j];
    CHECK(both[j] == doctest::Approx((20.0 * first[j] + 10 * second_half) / 30).epsilon(1e-5));
    CHECK(std::abs(both[j] - (first[j] + second_half) / 2) > 1e-3);
  }
}

TEST_CASE("DropCompute: if no worker has finished a part by the timeout, the weights stay") {
  const auto after = [](int updates) {
    return run(cluster(2), {"training.scheme=" + drop_compute(2, "10ms"), "training.stop.updates=" + std::to_string(updates)});
  };
  const Result one = after(1), three = after(3);
  CHECK(three.record.samples == 0);
  CHECK(three.record.end.seconds() == doctest::Approx(0.03).epsilon(1e-6));
  CHECK(three.weights == one.weights);
}

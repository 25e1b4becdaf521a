// What asynchronous SGD makes of stale gradients, and Downpour of local steps.
#include <doctest/doctest.h>

#include <cmath>
#include <string>
#include <vector>

#include "tests/schemes/course.hpp"
#include "tests/support/scenarios.hpp"

using namespace straggler;
using namespace straggler::test;

namespace {

/// Two workers with all of their part as one batch: worker i's gradient at w is w - m_i.
std::string two_bowls(const std::string& scheme, int updates, double slowdown = 1) {
  return scenario_text({.name = "bowls",
                        .workers = "[{count: 1, device: node}, {count: 1, device: node, slowdown: " + std::to_string(slowdown) + "}]",
                        .model = "{kind: quadratic, condition: 1, start: 10}",
                        .data = "{kind: gaussian, features: 3, classes: 1, samples: 40, test_samples: 10}",
                        .scheme = scheme,
                        .batch = "{per_worker: 20}",
                        .stop = "{updates: " + std::to_string(updates) + "}"});
}

std::vector<double> weights_after(const std::string& scheme, int updates, double slowdown = 1) {
  const std::vector<float> weights = run(two_bowls(scheme, updates, slowdown)).weights;
  return {weights.begin(), weights.end()};
}

}  // namespace

TEST_CASE("asynchronous SGD with a largest delay that is never reached is asynchronous SGD, bit for bit") {
  check_same_course(run(cluster(4), with_scheme(uneven_four, "{kind: asgd, max_delay: 1000000}")),
                    run(cluster(4), with_scheme(uneven_four, "{kind: asgd}")));
}

TEST_CASE("asynchronous SGD of p equal workers with a largest delay of 1: one gradient of p counts, the others are wasted") {
  const int p = 5, updates = 20;
  const Result result =
      run_timing(cluster(p), {"training.scheme={kind: asgd, max_delay: 1}", "training.stop.updates=" + std::to_string(updates)});
  CHECK(mean_update(result) == doctest::Approx(1).epsilon(1e-6));
  const std::uint64_t dropped = (updates - 1) * (p - 1);  // the last update ends the run
  CHECK(result.record.dropped.contributions == dropped);
  CHECK(result.record.dropped.samples == 100 * dropped);
  CHECK(result.record.dropped.bytes == 4 * (2 * 16 + 16 + 16 * 4 + 4) * dropped);
  double wasted = 0;
  for (const WorkerRecord& worker : result.record.workers) wasted += worker.split[Phase::wasted].seconds();
  CHECK(wasted == doctest::Approx(0.1 * static_cast<double>(dropped)).epsilon(1e-6));
  for (const OrderRow& row : result.sink.order) CHECK(row.read_version + 1 == row.update);
}

TEST_CASE("delay-adaptive steps: p equal workers never have τ > p, and step as without") {
  const std::vector<std::string> sets = {"training.stop.updates=40"};
  check_same_course(run(cluster(4), with_scheme(sets, "{kind: asgd, staleness: adaptive}")),
                    run(cluster(4), with_scheme(sets, "{kind: asgd}")));
}

TEST_CASE("delay-adaptive steps: a gradient that is τ > p updates old makes a step of p/τ") {
  // Worker 1 takes 5.5 times as long: five updates of worker 0, then its gradient, five updates old.
  const std::vector<double> before = weights_after("asgd", 5, 5.5), plain = weights_after("asgd", 6, 5.5),
                            damped = weights_after("{kind: asgd, staleness: adaptive}", 6, 5.5);
  for (std::size_t j = 0; j < before.size(); ++j) {
    CHECK(std::abs(plain[j] - before[j]) > 0.1);
    CHECK(damped[j] - before[j] == doctest::Approx(2.0 / 5 * (plain[j] - before[j])).epsilon(1e-5));
  }
}

TEST_CASE("delay compensation: g + λ g⊙g⊙(w - w_read) for g, update by update") {
  // The gradients w - m_i are known from two plain updates: w1 = w0 - lr (w0 - m0), w2 = w1 - lr (w0 - m1). With two equal workers update n
  // takes the gradient at the weights from two updates before.
  const double lr = 0.1, lambda = 0.05;
  const std::vector<double> w1 = weights_after("asgd", 1), w2 = weights_after("asgd", 2);
  const int updates = 9;
  const std::vector<double> run_to_end = weights_after("{kind: asgd, staleness: delay_compensated, lambda: 0.05}", updates);
  for (std::size_t j = 0; j < w1.size(); ++j) {
    const double w0 = 10, mean[] = {w0 - (w0 - w1[j]) / lr, w0 - (w1[j] - w2[j]) / lr};
    std::vector<double> w = {w0, w1[j]};
    for (int n = 2; n <= updates; ++n) {
      const double now = w.back(), read = w[w.size() - 2], g = read - mean[(n - 1) % 2];
      w.push_back(now - lr * (g + lambda * g * g * (now - read)));
    }
    CHECK(run_to_end[j] == doctest::Approx(w.back()).epsilon(1e-4));
    CHECK(std::abs(run_to_end[j] - weights_after("asgd", updates)[j]) > 0.01);
  }
}

TEST_CASE("delay compensation without strength is asynchronous SGD") {
  const Result compensated = run(cluster(4), with_scheme(uneven_four, "{kind: asgd, staleness: delay_compensated, lambda: 0}")),
               plain = run(cluster(4), with_scheme(uneven_four, "{kind: asgd}"));
  CHECK(compensated.sink.order == plain.sink.order);
  CHECK(compensated.weights == plain.weights);
}

TEST_CASE("Downpour with a push and a fetch in every step is asynchronous SGD plus the time of the request") {
  std::vector<std::string> sets = {"cluster.workers=[{count: 3, device: node}, {count: 1, device: node, slowdown: 3}]",
                                   "devices.node.jitter={kind: gamma, shape: 3}", "training.stop.updates=200"};
  const Result downpour = run(cluster(4), with_scheme(sets, "{kind: downpour}")), asgd = run(cluster(4), with_scheme(sets, "{kind: asgd}"));
  CHECK(downpour.record.weights_key == asgd.record.weights_key);
  CHECK(downpour.weights == asgd.weights);
  REQUIRE(downpour.sink.order.size() == asgd.sink.order.size());
  for (std::size_t i = 0; i < asgd.sink.order.size(); ++i) {
    CHECK(downpour.sink.order[i].worker == asgd.sink.order[i].worker);
    CHECK(downpour.sink.order[i].read_version == asgd.sink.order[i].read_version);
  }
  // Eight bytes a request: of the last gradients up to four have not been answered.
  const std::uint64_t more = downpour.record.bytes_sent - asgd.record.bytes_sent;
  CHECK(more % 8 == 0);
  CHECK(more <= 8 * 200);
  CHECK(more >= 8 * 196);
}

TEST_CASE("Downpour of one worker is plain SGD between fetches too: its local steps are those of the server") {
  const std::vector<std::string> sets = {"training.stop.updates=40", "training.optimizer.momentum=0.9"};
  const Result downpour = run(cluster(1), with_scheme(sets, "{kind: downpour, fetch_every: 7}")),
               plain = run(cluster(1), with_scheme(sets, "sequential"));
  CHECK(downpour.weights == plain.weights);
  CHECK(downpour.record.weights_key == plain.record.weights_key);
  CHECK(downpour.record.staleness.back().first == 6);
}

TEST_CASE("Downpour of one worker: pushes overlap computing, and a fetch waits for the push before it, its own way, and the answer") {
  // Four steps a round, pushes after the second and the fourth. S: a model over both links, which a message fills at once.
  const double bandwidth = 12'500, model = 4 * (2 * 16 + 16 + 16 * 4 + 4), compute = 0.1, push = model / bandwidth, request = 8 / bandwidth;
  const int rounds = 5;
  REQUIRE(push < 2 * compute);
  const Result result = run_timing(cluster(1), {"cluster.network.link={bandwidth: 12.5kB/s, latency: 0s}",
                                                "training.scheme={kind: downpour, push_every: 2, fetch_every: 4}",
                                                "training.stop.updates=" + std::to_string(2 * rounds)});
  const double end = rounds * (4 * compute + push) + (rounds - 1) * (request + push);
  CHECK(result.record.end.seconds() == doctest::Approx(end).epsilon(1e-9));
  CHECK(result.record.samples == static_cast<std::uint64_t>(rounds) * 400);
  for (const OrderRow& row : result.sink.order) {
    CHECK(row.steps == 2);
    CHECK(row.read_version == 2 * ((row.update - 1) / 2));
  }
}

TEST_CASE("delay compensation corrects a fresh gradient where the worker holds an estimate of the weights") {
  // One worker: no gradient is stale. Weight decay moves all weights from w0 to w1. The answer carries the change of one of them, the
  // largest; in the others w_read is w0. The second gradient q has one element, and the step is along q + decay w1. Corrected, it is also
  // along lambda q^2 (w1 - w_read). Up to there both runs are the same.
  const double rate = 0.1, decay = 0.1, lambda = 0.5, start = 10;
  const auto after = [](const std::string& scheme, int updates) {
    const std::vector<float> weights =
        run(two_bowls(scheme, updates), {"cluster.workers=[{count: 1, device: node}]", "training.optimizer.weight_decay=0.1",
                                         "training.compression={kind: top_k, fraction: 0.33, error_feedback: true, direction: both}"})
            .weights;
    return std::vector<double>(weights.begin(), weights.end());
  };
  const std::string compensated = "{kind: asgd, staleness: delay_compensated, lambda: 0.5}";
  const std::vector<double> first = after("asgd", 1), plain = after("asgd", 2), corrected = after(compensated, 2);
  CHECK(after(compensated, 1) == first);
  const auto change = [&](std::size_t j) { return first[j] - start; };
  std::size_t carried = 0;
  for (std::size_t j = 1; j < first.size(); ++j)
    if (std::abs(change(j)) > std::abs(change(carried))) carried = j;
  double moved = 0;
  for (std::size_t j = 0; j < first.size(); ++j) {
    const double q = (first[j] - plain[j]) / rate - decay * first[j], drift = j == carried ? 0 : change(j);
    const double expected = -rate * lambda * q * q * drift;
    CHECK(std::abs(corrected[j] - plain[j] - expected) < 1e-4);
    moved = std::max(moved, std::abs(expected));
  }
  CHECK(moved > 0.1);
}

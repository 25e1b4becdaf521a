// Schemes that step on the first gradients: the time of an update, the staleness, and which schemes they are at their ends.
#include <doctest/doctest.h>

#include <cmath>
#include <string>

#include "tests/schemes/course.hpp"
#include "tests/support/sanitized.hpp"

using namespace straggler;
using namespace straggler::test;

namespace {

const std::string exponential = "{kind: exponential}";
constexpr int many = 100'000;  // updates; the data are whole batches for four and for eight workers

struct Law {
  double mean = 0, variance = 0;  // of one update, in batch times
};

/// The k-th smallest of p exponential times of mean 1: the gaps between them are exponential with means 1/p, 1/(p-1), …
Law order_statistic(int k, int p) {
  Law law;
  for (int left = p; left > p - k; --left) {
    law.mean += 1.0 / left;
    law.variance += 1.0 / (static_cast<double>(left) * left);
  }
  return law;
}

/// Within 5 standard errors of independent updates; the network adds nanoseconds.
void check_mean_update(const Result& result, const Law& law) {
  const double error = std::sqrt(law.variance / static_cast<double>(result.record.updates));
  INFO("expected " << law.mean << ", measured " << mean_update(result) << ", standard error " << error);
  CHECK(std::abs(mean_update(result) - law.mean) < 5 * error + 1e-6);
}

/// Staleness that follows from counting: off by what the last gradients in progress have read, which is less than 100 updates old.
void check_mean_staleness(const Result& result, int p, double expected) {
  const double bound = 100.0 * p / static_cast<double>(result.sink.order.size());
  INFO("expected staleness " << expected << ", measured " << mean_staleness(result) << ", bound " << bound);
  CHECK(std::abs(mean_staleness(result) - expected) < bound);
}

}  // namespace

TEST_CASE("K-sync SGD, exponential times: E[X_{k:p}] = H_p - H_{p-k} an update, late workers are interrupted" * long_case) {
  const int p = 8, k = 3;
  const Result result = run_long(p, "{kind: k_sync, k: 3}", exponential, many);
  check_mean_update(result, order_statistic(k, p));
  std::uint64_t late = 0;
  for (const OrderRow& row : result.sink.order) late += row.read_version + 1 != row.update;
  CHECK(late == 0);
}

TEST_CASE("K-sync SGD, uniform times: the k-th of p fresh ones, since an interrupted mini-batch is not taken up again" * long_case) {
  // Of p uniform on [0.5, 1.5] the k-th is 0.5 + Beta(k, p + 1 - k). Times that went on would have less left.
  const double p = 4, k = 2;
  const Law law = {0.5 + k / (p + 1), k * (p + 1 - k) / ((p + 1) * (p + 1) * (p + 2))};
  check_mean_update(run_long(4, "{kind: k_sync, k: 2}", "{kind: uniform, low: 0.5, high: 1.5}", 20'000), law);
}

TEST_CASE("K-sync SGD with k = p is synchronous SGD by a server, bit for bit") {
  check_same_course(run(cluster(4), with_scheme(uneven_four, "{kind: k_sync, k: 4}")),
                    run(cluster(4), with_scheme(uneven_four, "{kind: ssgd, via: server}")));
}

TEST_CASE("K-sync SGD: time of interrupted mini-batches and of late gradients is wasted, and their samples are in no version") {
  std::vector<std::string> sets = with_scheme(uneven_four, "{kind: k_sync, k: 2}");
  RunOptions options;
  options.trace = true;
  const Result result = run(cluster(4), sets, options);
  CHECK(result.record.samples == 60 * 2 * 100);
  CHECK(result.record.samples_drawn >= result.record.samples + result.record.dropped.samples);
  CHECK(result.record.samples_drawn > result.record.samples);
  CHECK(result.record.dropped.contributions > 0);  // it had left when the weights came, on this network
  CHECK(result.record.workers[3].split[Phase::wasted] > Time());
}

TEST_CASE("K-batch-sync SGD, exponential times: k E[X] / p an update" * long_case) {
  // Without memory p workers together make gradients at rate p / E[X].
  const int p = 4, k = 3;
  const Result result = run_long(p, "{kind: k_batch_sync, k: 3}", exponential, many);
  check_mean_update(result, {1.0 * k / p, 1.0 * k / (p * p)});
  for (const OrderRow& row : result.sink.order) REQUIRE(row.read_version + 1 == row.update);
}

TEST_CASE("Rennala SGD, p equal workers and a batch of p: (2 - 1/p) X an update") {
  // Update j of a cycle of p comes 2 rounds after the one before, when j - 1 gradients of the round before count already; p of them take
  // 2 p - 1 rounds, since the last one leaves all workers at one version.
  for (const int p : {1, 2, 5, 8}) {
    CAPTURE(p);
    const int cycles = 10;
    const Result result = run_timing(cluster(p), {"training.scheme={kind: rennala, batch: " + std::to_string(p) + "}",
                                                  "training.stop.updates=" + std::to_string(cycles * p)});
    CHECK(mean_update(result) == doctest::Approx(2 - 1.0 / p).epsilon(1e-6));
    // Of (2 p - 1) p gradients p² count.
    if (p > 1) CHECK(result.record.dropped.contributions > 0);
    CHECK(result.record.dropped.contributions <= static_cast<std::uint64_t>(cycles * p * (p - 1)));
    for (const OrderRow& row : result.sink.order) CHECK(row.read_version + 1 == row.update);
  }
}

TEST_CASE("Rennala SGD with a batch of one is asynchronous SGD that drops every stale gradient, bit for bit") {
  check_same_course(run(cluster(4), with_scheme(uneven_four, "{kind: rennala, batch: 1}")),
                    run(cluster(4), with_scheme(uneven_four, "{kind: asgd, max_delay: 1}")));
}

TEST_CASE("K-async SGD, exponential times: H_p - H_{p-k} an update, mean staleness p/k - 1" * long_case) {
  // Who goes on has a fresh exponential time left. Each update takes k workers: a worker is in every p/k-th one.
  const int p = 8, k = 3;
  const Result result = run_long(p, "{kind: k_async, k: 3}", exponential, many);
  check_mean_update(result, order_statistic(k, p));
  check_mean_staleness(result, p, 1.0 * p / k - 1);
}

TEST_CASE("K-async SGD with k = 1 is asynchronous SGD, bit for bit") {
  check_same_course(run(cluster(4), with_scheme(uneven_four, "{kind: k_async, k: 1}")),
                    run(cluster(4), with_scheme(uneven_four, "{kind: asgd}")));
}

TEST_CASE("n-softsync: mean staleness (p - 1) / c for any times, and c E[X] / p per update" * long_case) {
  // Between two gradients of a worker come p - 1 others in the mean, each 1/c of an update. With exponential times gradients come at rate
  // p.
  const int p = 8, c = 4;
  const Result result = run_long(p, "{kind: softsync, n: 2}", exponential, 50'000);
  check_mean_staleness(result, p, (p - 1.0) / c);
  check_mean_update(result, {1.0 * c / p, 1.0 * c / (p * p)});
  check_mean_staleness(run_long(p, "{kind: softsync, n: 3}", "{kind: uniform, low: 0.2, high: 1.8}", 20'000), p, (p - 1.0) / 2);
}

TEST_CASE("n-softsync without damping is K-batch-async SGD of floor(p / n), bit for bit; with one gradient an update it damps as ASGD") {
  check_same_course(run(cluster(4), with_scheme(uneven_four, "{kind: softsync, n: 2}")),
                    run(cluster(4), with_scheme(uneven_four, "{kind: k_batch_async, k: 2}")));
  const Result softsync = run(cluster(4), with_scheme(uneven_four, "{kind: softsync, n: 4, staleness: inverse}")),
               asgd = run(cluster(4), with_scheme(uneven_four, "{kind: asgd, staleness: inverse}"));
  CHECK(softsync.sink.order == asgd.sink.order);
  CHECK(softsync.weights == asgd.weights);
}

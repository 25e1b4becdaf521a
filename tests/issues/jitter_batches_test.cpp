// Jitter has one factor for each batch, in every epoch: laws of the strongest of many, and batches one by one.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "sim/base/quantity.hpp"
#include "tests/support/folder.hpp"
#include "tests/support/run.hpp"
#include "tests/support/sanitized.hpp"

using namespace straggler;
using namespace straggler::test;

namespace {

/// Counts updates, and those whose gradient was taken at the version just before.
class FreshGradients final : public RecordSink {
 public:
  std::uint64_t updates = 0, fresh = 0;

 private:
  void contribution(std::uint64_t update, Time, Rank, std::uint64_t read_version, std::uint64_t, std::uint32_t, std::uint64_t) override {
    ++updates;
    if (read_version + 1 == update) ++fresh;
  }
  void choice(Rank, std::int32_t) override {}
  void span(Rank, Phase, Time, Time) override {}
};

RunRecord run_into(RecordSink* sink, const std::string& yaml, const std::vector<std::string>& sets) {
  RunOptions options;
  options.timing_only = true;
  return Experiment(read_scenario_text(yaml, "test.yaml", sets), options).run(sink, nullptr);
}

constexpr int workers = 16;

/// Seconds of a synchronous step over the mean seconds that a worker computes in it. A part of 3,750 samples at batch 32 is 117 batches
/// and one of 6; a sample takes 1 ms.
double synchronous_step(const std::string& jitter, std::uint64_t steps) {
  const RunRecord record = run_into(nullptr, cluster(workers),
                                    {"workload.data.samples=60000", "training.batch.per_worker=32", "devices.node.jitter=" + jitter,
                                     "training.stop={updates: " + std::to_string(steps) + "}"});
  REQUIRE(record.updates == steps);
  return record.end.seconds() / (1e-3 * static_cast<double>(record.samples) / workers);
}

}  // namespace

TEST_CASE("synchronous SGD: the slowest of 16 exponential batches takes H_16 times the mean, where the batch does not divide the part" *
          long_case) {
  // The longest of 16 exponential times of mean 1 has mean H_16 = sum 1/k = 3.381 and variance sum 1/k^2 = 1.584. So the mean of 10^5 has a
  // standard error of 0.12 %, and 1 % is eight of them.
  double harmonic = 0;
  for (int k = 1; k <= workers; ++k) harmonic += 1.0 / k;
  CHECK(synchronous_step("exponential", 100'000) == doctest::Approx(harmonic).epsilon(0.01));
}

TEST_CASE("synchronous SGD: the slowest of 16 Pareto batches, where the batch does not divide the part" * long_case) {
  // P(X > x) = (m / x)^3 above m = 2/3, so that the mean is 1. With U uniform X = m U^(-1/3), and the longest of n has the smallest U, of
  // density n (1 - u)^(n-1): E max = m n B(2/3, n) = m Γ(n+1) Γ(2/3) / Γ(n + 2/3) = 2.298, E max^2 = m^2 Γ(n+1) Γ(1/3) / Γ(n + 1/3) = 7.6.
  // So the mean of 10^5 has a standard error of 0.21 %, and 1 % is nearly five of them.
  const double m = 2.0 / 3;
  const double expected = m * std::exp(std::lgamma(workers + 1.0) + std::lgamma(2.0 / 3) - std::lgamma(workers + 2.0 / 3));
  CHECK(synchronous_step("{kind: pareto, alpha: 3}", 100'000) == doctest::Approx(expected).epsilon(0.01));
}

TEST_CASE("asynchronous SGD: one gradient in 16 is fresh, where the batch does not divide the part" * long_case) {
  // Exponential times have no memory: after each update all 16 workers are equally likely to come next, and a gradient is fresh if its
  // worker made the update before, too. The whole time is overhead, so that the last, smaller batch of an epoch takes as long as the
  // others. Of n updates the share has the standard error sqrt(1/16 · 15/16 / n), 0.31 % of 1/16 for the 10^5 updates of each worker: 1 %
  // is three of them.
  FreshGradients sink;
  run_into(&sink, cluster(workers),
           {"workload.data.samples=60000", "training.batch.per_worker=32", "training.scheme=asgd",
            "devices.node={compute: {affine: {overhead: 32ms, per_sample: 0s}}, jitter: exponential}", "training.stop={updates: 1600000}"});
  REQUIRE(sink.updates == 1'600'000);
  CHECK(static_cast<double>(sink.fresh) / static_cast<double>(sink.updates) == doctest::Approx(1.0 / workers).epsilon(0.01));
}

namespace {

/// Factors 1, 2, 3, … of the worker's batches, as a trace.
class Rising {
 public:
  Rising() {
    std::string rows;
    for (int k = 1; k <= 1000; ++k) rows += std::to_string(k) + "\n";
    folder_.write("rising.csv", rows);
  }
  std::string jitter(const std::string& more = "") const {
    return "devices.node.jitter={kind: trace, path: " + (folder_ / "rising.csv").string() + ", offset: none" + more + "}";
  }

 private:
  TemporaryFolder folder_;
};

/// In milliseconds, to a microsecond.
double milliseconds(Time span) { return std::round(span.seconds() * 1e6) / 1e3; }

/// Milliseconds between the updates of worker `worker`.
std::vector<double> steps_of(const Result& result, Rank worker) {
  std::vector<double> steps;
  Time before;
  for (const OrderRow& row : result.sink.order) {
    if (row.worker != worker) continue;
    steps.push_back(milliseconds(row.time - before));
    before = row.time;
  }
  return steps;
}

std::string text(const std::vector<double>& numbers) {
  std::string out;
  for (const double number : numbers) out += (out.empty() ? "" : " ") + format_number(number);
  return out;
}

}  // namespace

TEST_CASE("the k-th batch of a worker has the k-th factor, at any size") {
  const Rising rising;
  // A part of 80 samples: batches of 32, 32 and 16 in every epoch. A sample takes 1 ms.
  Result result = run_timing(cluster(1), {"workload.data.samples=80", "training.batch.per_worker=32", rising.jitter(),
                                          "training.scheme=sequential", "training.stop={updates: 7}"});
  CHECK(text(steps_of(result, 0)) == "32 64 48 128 160 96 224");
  // With drop_last nothing but the two whole ones.
  result = run_timing(cluster(1), {"workload.data.samples=80", "training.batch={per_worker: 32, drop_last: true}", rising.jitter(),
                                   "training.scheme=sequential", "training.stop={updates: 5}"});
  CHECK(text(steps_of(result, 0)) == "32 64 96 128 160");
  // A part that is smaller than the batch.
  result =
      run_timing(cluster(2), {"workload.data.samples=40", "training.batch.per_worker=32", rising.jitter(), "training.stop={updates: 3}"});
  CHECK(text(steps_of(result, 0)) == "20 40 60");
}

TEST_CASE("workers of one pool have a factor for each batch that they draw themselves") {
  const Rising rising;
  // Both draw at 0: 32 samples each, and 16 are left for worker 0, which is told of its update first. Then both have all 80 before them.
  const Result result =
      run_timing(cluster(2), {"workload.data={kind: coordinates, samples: 80, partition: shared}", "training.batch.per_worker=32",
                              rising.jitter(), "training.scheme=asgd", "training.stop={updates: 8}"});
  for (const Rank worker : {0, 1}) {
    std::vector<double> samples;
    for (const OrderRow& row : result.sink.order)
      if (row.worker == worker) samples.push_back(static_cast<double>(row.samples));
    const std::vector<double> steps = steps_of(result, worker);
    REQUIRE(steps.size() >= 3);
    for (std::size_t k = 0; k < steps.size(); ++k)
      CHECK(steps[k] == doctest::Approx(samples[k] * static_cast<double>(k + 1)).epsilon(1e-4));
  }
  CHECK(std::any_of(result.sink.order.begin(), result.sink.order.end(), [](const OrderRow& row) { return row.samples == 16; }));
}

TEST_CASE("a global batch that the workers do not divide: each has a factor for its own share") {
  const Rising rising;
  // 100 over three workers: 34, 33, 33 of parts of 50, then 16, 17, 17. The slowest decides.
  const Result result =
      run_timing(cluster(3), {"workload.data.samples=150", "training.batch={global: 100}", rising.jitter(), "training.stop={updates: 4}"});
  CHECK(text(steps_of(result, 0)) == "34 34 102 68");
}

TEST_CASE("fedavg: each batch of a local epoch has its factor") {
  const Rising rising;
  // 80 samples: (32 · 1 + 32 · 2 + 16 · 3), then (32 · 4 + 32 · 5 + 16 · 6).
  const Result result = run_timing(cluster(1), {"workload.data.samples=80", "training.batch.per_worker=32", rising.jitter(),
                                                "training.scheme=fedavg", "training.stop={updates: 2}"});
  CHECK(text(steps_of(result, 0)) == "144 384");
}

TEST_CASE("data_parallel: the process that draws for all devices keeps each one's batches apart") {
  const Rising rising;
  // Parts of 40 at batch 32: 32, then 8, on both devices.
  const Result result = run_timing(cluster(2), {"workload.data.samples=80", "training.batch.per_worker=32", rising.jitter(),
                                                "training.scheme=data_parallel", "training.stop={updates: 4}"});
  CHECK(text(steps_of(result, 0)) == "32 16 96 32");
}

TEST_CASE("non-blocking SGD: a batch has one factor across the end of an epoch, whole or in mini-batches") {
  const Rising rising;
  // One worker, batches of 32 of a part of 80: the third is 16 samples of one epoch and 16 of the next, 32 · 3 ms in all.
  for (const int minibatch : {32, 8, 7, 1}) {
    CAPTURE(minibatch);
    const Result result = run_timing(
        cluster(1), {"workload.data.samples=80", "training.batch.per_worker=32", rising.jitter(),
                     "training.scheme={kind: nonblocking, minibatch: " + std::to_string(minibatch) + "}", "training.stop={updates: 6}"});
    CHECK(text(steps_of(result, 0)) == "32 64 96 128 160 192");
  }
}

TEST_CASE("cutting a batch into mini-batches changes no tick, where nothing divides anything") {
  const auto end = [](int minibatch, const char* jitter) {
    return run_timing(cluster(1),
                      {"workload.data.samples=1000", "training.batch.per_worker=96", "devices.node.jitter=" + std::string(jitter),
                       "devices.node.compute={affine: {overhead: 0s, per_sample: 333333.3333ns}}",
                       "training.scheme={kind: nonblocking, minibatch: " + std::to_string(minibatch) + "}", "cluster.network.sharing=none",
                       "workload.cost={bytes: 1B}", "training.stop={updates: 50}"})
        .record;
  };
  for (const char* jitter : {"exponential", "{kind: pareto, alpha: 1.5}", "{kind: markov, factor: 7}"}) {
    CAPTURE(jitter);
    const RunRecord whole = end(96, jitter);
    for (const int minibatch : {32, 25, 7}) {
      const RunRecord pieces = end(minibatch, jitter);
      CHECK(pieces.workers[0].split[Phase::compute] == whole.workers[0].split[Phase::compute]);
      CHECK(pieces.end == whole.end);
    }
  }
}

TEST_CASE("with reset counters an interrupted mini-batch takes as long again, and the next draw has a new factor") {
  const Rising rising;
  // Batches of 40 in mini-batches of 10 and samples of 1 ms. Worker 1 is 2.5 times slower. Worker 0 signals at 40 ms: worker 1 has done 10
  // samples (25 ms), and is 15 ms into the next 10. With `reset` it redoes those at factor 1 (25 ms), then draws 30 at factor 2 (50 ms for
  // 10).
  const std::vector<std::string> sets = {"cluster.workers=[{count: 1, device: node}, {count: 1, device: node, slowdown: 2.5}]",
                                         "workload.data.samples=20000", "training.batch.per_worker=40", rising.jitter(),
                                         "training.stop={updates: 2}"};
  for (const bool reset : {true, false}) {
    std::vector<std::string> all = sets;
    all.push_back("training.scheme={kind: nonblocking, minibatch: 10, counters: " + std::string(reset ? "reset" : "persist") + "}");
    const Result result = run_timing(cluster(2), all);
    std::vector<double> spans;
    for (const Span& span : result.sink.spans)
      if (span.worker == 1 && (span.phase == Phase::compute || span.phase == Phase::wasted))
        spans.push_back(milliseconds(span.end - span.start));
    // Worker 0 has its second batch, at factor 2, after another 80 ms; with `persist` worker 1 is through with its 30 after 75.
    CHECK(text(spans) == (reset ? "25 15 25 50 5" : "25 15 25 25 25"));
  }
}

TEST_CASE("every: {samples: N} cuts a worker's sequence of samples, wherever its batches end") {
  const Rising rising;
  // Batches of 32, 32, 16: samples 0..31, 32..63, 64..79, 80..111, …; quantum 2 is 64..95.
  const Result result =
      run_timing(cluster(1), {"workload.data.samples=80", "training.batch.per_worker=32", rising.jitter(", every: {samples: 32}"),
                              "training.scheme=sequential", "training.stop={updates: 5}"});
  CHECK(text(steps_of(result, 0)) == "32 64 48 112 144");
}

// Batches in micro-batches: overlap, jitter of each call and batch norm's statistics; and backward that slows beside its buckets.
#include <doctest/doctest.h>

#include <cmath>

#include "scenarios/experiment/blueprint.hpp"
#include "tests/support/folder.hpp"
#include "tests/support/run.hpp"

namespace accumulation_test {

using namespace straggler;
using namespace straggler::test;

namespace {

using Sets = std::vector<std::string>;

// Of the network 2-16-4 from the end: 68 values, then 48. Backward has the first bucket when it is through the second layer, with 64 of its
// 96 multiplications.
constexpr double batch = 0.1, last_layer = 64.0 / 96, latency = 1e-3;
constexpr int p = 3, updates = 10, first_bytes = 4 * 68, second_bytes = 4 * 48;

/// Of pieces of whole bytes.
double ring(int bytes, double bandwidth) { return 2 * (p - 1) * (2 * latency + (bytes + p - 1) / p / bandwidth); }

/// Seconds of an update, and of computing in it.
std::pair<double, double> overlapped(double bandwidth, const std::string& collective, Sets sets = {}) {
  sets.push_back("training.scheme={kind: ssgd, via: all_reduce}");
  sets.push_back("cluster.network.link={latency: 1ms, bandwidth: " + std::to_string(std::llround(bandwidth)) + "B/s}");
  sets.push_back("cluster.network.collective={algorithm: ring, bucket: 100B, overlap: true" + collective + "}");
  const Result result = run_timing(cluster(p), sets);
  return {result.record.end.seconds() / updates, result.record.workers[0].split[Phase::compute].seconds() / updates};
}

}  // namespace

TEST_CASE("with overlap buckets leave during the backward of the last micro-batch, not before") {
  for (const int pieces : {1, 4, 5}) {
    CAPTURE(pieces);
    const double last = batch / pieces, ready = batch - last + last * (1.0 / 3 + 2.0 / 3 * last_layer), slow = 10e3;
    const auto [update, computing] = overlapped(slow, "", {"training.batch.accumulate=" + std::to_string(pieces)});
    REQUIRE(ready + ring(first_bytes, slow) > batch);
    CHECK(update == doctest::Approx(ready + ring(first_bytes, slow) + ring(second_bytes, slow)).epsilon(1e-9));
    CHECK(computing == doctest::Approx(batch).epsilon(1e-9));
  }
}

TEST_CASE("backward slows by a share while a bucket is in flight, and only then") {
  const double ready = batch * (1.0 / 3 + 2.0 / 3 * last_layer);
  for (const double share : {0.25, 1.0})
    for (const char* fidelity : {"", ", fidelity: stepwise"}) {
      CAPTURE(share);
      CAPTURE(fidelity);
      const std::string slows = ", interference: " + std::to_string(share) + fidelity;
      // The bucket is over before backward ends: in its time g the device does g / (1 + share) of its work.
      const double fast = 1e6, g = ring(first_bytes, fast);
      REQUIRE(ready + g < batch);
      const auto [update, computing] = overlapped(fast, slows);
      CHECK(computing == doctest::Approx(batch + g * share / (1 + share)).epsilon(1e-9));
      CHECK(update == doctest::Approx(batch + g * share / (1 + share) + ring(second_bytes, fast)).epsilon(1e-9));
      // It outlasts backward: the rest takes (1 + share) times as long, which the bucket hides.
      const double slow = 3e3;
      REQUIRE(ready + ring(first_bytes, slow) > ready + (1 + share) * (batch - ready));
      const auto [hidden, slowed] = overlapped(slow, slows);
      CHECK(slowed == doctest::Approx(ready + (1 + share) * (batch - ready)).epsilon(1e-9));
      CHECK(hidden == doctest::Approx(ready + ring(first_bytes, slow) + ring(second_bytes, slow)).epsilon(1e-9));
    }
  CHECK(overlapped(1e6, ", interference: 0") == overlapped(1e6, ""));
}

TEST_CASE("jitter of each call draws a factor for each micro-batch, jitter of the batch one for all") {
  // Of 100 samples in 4 and 3 micro-batches: 25 each; 34, 33, 33. The trace's column is the worker's alone, so it begins at its beginning.
  const TemporaryFolder folder;
  const std::string path = folder.write("factors.csv", "a,b\n1,1\n2,1\n3,1\n5,1\n7,1\n11,1\n13,1\n17,1\n").string();
  const double factors[] = {1, 2, 3, 5, 7, 11, 13, 17};
  const auto seconds = [&](int pieces, const char* every) {
    return run_timing(cluster(2),
                      {"cluster.workers=[{count: 1, device: node}]", "devices.node.jitter={kind: trace, path: " + path + every + "}",
                       "training.batch.accumulate=" + std::to_string(pieces), "training.stop.updates=2"})
        .record.end.seconds();
  };
  const auto both = [&](const std::vector<int>& sizes) {
    double sum = 0;
    for (std::size_t i = 0; i < 2 * sizes.size(); ++i) sum += factors[i] * 1e-3 * sizes[i % sizes.size()];
    return sum;
  };
  CHECK(seconds(4, ", every: call") == doctest::Approx(both({25, 25, 25, 25})).epsilon(1e-9));
  CHECK(seconds(3, ", every: call") == doctest::Approx(both({34, 33, 33})).epsilon(1e-9));
  CHECK(seconds(4, "") == doctest::Approx(0.1 * (1 + 2)).epsilon(1e-9));
}

TEST_CASE("each micro-batch moves batch norm's running statistics once, as an update of its own would") {
  // With a rate that moves no weight, k micro-batches in an update have the statistics of k updates of a micro-batch each.
  const std::string text = scenario_text(
      {.workers = "[{count: 1, device: node}]",
       .servers = "",
       .model =
           "{kind: layers, layers: [{conv: 4, window: 3, bias: false}, batch_norm, relu, global_average_pool, flatten, {linear: classes}]}",
       .data = "{kind: synthetic_images, channels: 3, height: 5, width: 5, classes: 10, samples: 240, test_samples: 10}",
       .batch = "{per_worker: 60}",
       .optimizer = "{kind: sgd, learning_rate: 1e-30}",
       .stop = "{updates: 2}"});
  const Sets exchange = {"workload.batch_norm={exchange: true}"};
  const Result whole = run(text, exchange);
  for (const int pieces : {2, 3}) {
    CAPTURE(pieces);
    Sets parts = exchange, apart = exchange;
    parts.push_back("training.batch.accumulate=" + std::to_string(pieces));
    apart.push_back("training.batch.per_worker=" + std::to_string(60 / pieces));
    apart.push_back("training.stop.updates=" + std::to_string(2 * pieces));
    const Result one = run(text, parts), many = run(text, apart);
    REQUIRE(one.weights.size() == many.weights.size());
    double most = 0, other = 0;
    for (std::size_t i = 0; i < one.weights.size(); ++i) {
      most = std::max(most, std::abs(static_cast<double>(one.weights[i]) - many.weights[i]));
      other = std::max(other, std::abs(static_cast<double>(one.weights[i]) - whole.weights[i]));
    }
    CHECK(most < 1e-5);
    CHECK(other > 1e-3);  // the statistics of whole batches are others
  }
}

}  // namespace accumulation_test

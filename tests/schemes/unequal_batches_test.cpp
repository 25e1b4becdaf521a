// Batches that differ between workers, and batches in micro-batches: what is computed, and how long it takes.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "tests/schemes/bowl.hpp"
#include "tests/support/run.hpp"
#include "tests/support/scenarios.hpp"

using namespace straggler;
using namespace straggler::test;

namespace {

using Sets = std::vector<std::string>;

/// Four workers that draw from one pool of 1,000 samples; a gradient of all of them is w - c, c the mean of the pool.
std::string bowl(const std::string& workers, const std::string& scheme = "{kind: ssgd}", const std::string& batch = "{per_worker: 250}") {
  return scenario_text({.name = "bowl",
                        .workers = workers,
                        .model = "{kind: quadratic, condition: 1, start: " + std::to_string(bowl_start) + "}",
                        .data = "{kind: gaussian, features: 3, classes: 1, samples: 1000, test_samples: 10, partition: {kind: shared}}",
                        .scheme = scheme,
                        .batch = batch,
                        .optimizer = "{kind: sgd, learning_rate: " + std::to_string(step_rate) + "}",
                        .stop = "{updates: 6}"});
}

constexpr const char* unequal = "[{count: 2, device: node, batch: 300}, {count: 2, device: node, batch: 200}]";
constexpr const char* slower = "[{count: 2, device: node, batch: 300}, {count: 2, device: node, slowdown: 1.5, batch: 200}]";

double apart(const std::vector<float>& a, const std::vector<float>& b) {
  REQUIRE(a.size() == b.size());
  double most = 0;
  for (std::size_t i = 0; i < a.size(); ++i) most = std::max(most, std::abs(static_cast<double>(a[i]) - b[i]));
  return most;
}

/// Each of so many roundings is off by half a unit in the last place of numbers up to the start.
double rounding(int count) { return count * bowl_start * std::ldexp(1.0, -23); }

}  // namespace

TEST_CASE("an update of batches of 300, 300, 200 and 200 is one of 1,000") {
  const Sets off = {"workload.fuse=off"};
  const Result one = run(bowl("[{count: 1, device: node}]", "{kind: ssgd}", "{per_worker: 1000}"), off);
  const Result four = run(bowl(unequal), off);
  CHECK(apart(four.weights, one.weights) < rounding(6 * 2000));
  CHECK(four.record.samples == 6 * 1000);
  CHECK(four.record.epochs == doctest::Approx(6));
  // Plain means of unequal batches are not that: the test would see it.
  const Result plain = run(bowl(unequal, "{kind: dpsgd}"), off);
  CHECK(apart(plain.weights, one.weights) > 1e-3);
  // By a server, and with the parts in the order of arrival.
  CHECK(apart(run(bowl(unequal, "{kind: ssgd, via: server}"), off).weights, one.weights) < rounding(6 * 2000));
}

TEST_CASE("with batches that are stated and equal the mean is the plain one, up to rounding") {
  const Result stated = run(bowl("[{count: 4, device: node, batch: 250}]"), {"workload.fuse=off"});
  CHECK(apart(stated.weights, run(bowl(equal_workers(4)), {"workload.fuse=off"}).weights) < rounding(6 * 8));
}

TEST_CASE("local SGD of one step is synchronous SGD with any batches, and DiLoCo with plain outer steps") {
  const Result ssgd = run(bowl(unequal), {"workload.fuse=off"});
  for (const char* scheme :
       {"{kind: local_sgd, steps: 1}", "{kind: local_sgd, steps: 1, via: server}", "{kind: post_local_sgd, steps: 1, start: {epochs: 2}}",
        "{kind: slow_momentum, steps: 1, beta: 0}", "{kind: diloco, steps: 1, outer: {learning_rate: 1, momentum: 0, nesterov: false}}"}) {
    CAPTURE(scheme);
    CHECK(apart(run(bowl(unequal, scheme)).weights, ssgd.weights) < rounding(6 * 24));
  }
}

TEST_CASE("the first k gradients count their batches, and the rate that scales with workers their sum in mean batches") {
  // The two workers of 300 samples are the faster ones here: 2 x 300 / 250 mean batches count.
  const std::string fast = "[{count: 2, device: node, batch: 300}, {count: 2, device: node, slowdown: 9, batch: 200}]";
  const Result scaled =
      run(bowl(fast, "{kind: k_sync, k: 2}"), {"training.schedule={scale_with_workers: linear}", "training.stop.updates=1"});
  const Result same = run(bowl(fast, "{kind: k_sync, k: 2}"),
                          {"training.optimizer.learning_rate=" + std::to_string(step_rate * 2 * 300 / 250), "training.stop.updates=1"});
  CHECK(apart(scaled.weights, same.weights) < rounding(8));
  const Result root =
      run(bowl(fast, "{kind: k_sync, k: 2}"), {"training.schedule={scale_with_workers: square_root}", "training.stop.updates=1"});
  const Result by_root = run(bowl(fast, "{kind: k_sync, k: 2}"),
                             {"training.optimizer.learning_rate=" + std::to_string(step_rate * std::sqrt(2.4)), "training.stop.updates=1"});
  CHECK(apart(root.weights, by_root.weights) < 1e-4);  // of a rate with six decimals
}

TEST_CASE("an update of the first k gradients, of any scheme, is one batch of their samples; of 300, 300, 200 and 200 one of 1,000") {
  const Sets one_update = {"workload.fuse=off", "training.stop.updates=1"};
  const auto alone = [&](int samples) {
    return run(bowl("[{count: 1, device: node}]", "{kind: ssgd}", "{per_worker: " + std::to_string(samples) + "}"), one_update).weights;
  };
  // Samples 0 to 299 and 300 to 499 of the pool come first.
  const std::string fast =
      "[{count: 1, device: node, batch: 300}, {count: 1, device: node, batch: 200}, "
      "{count: 2, device: node, slowdown: 50, batch: 250}]";
  for (const char* scheme : {"{kind: k_sync, k: 2}", "{kind: k_async, k: 2}", "{kind: k_batch_sync, k: 2}", "{kind: k_batch_async, k: 2}",
                             "{kind: rennala, batch: 2}", "{kind: softsync, n: 2}", "{kind: backup_workers, backups: 2}"}) {
    CAPTURE(scheme);
    CHECK(apart(run(bowl(fast, scheme), one_update).weights, alone(500)) < rounding(1000));
  }
  const std::string late =
      "[{count: 2, device: node, batch: 300}, {count: 2, device: node, batch: 200}, "
      "{count: 1, device: node, slowdown: 50, batch: 100}]";
  for (const char* scheme : {"{kind: k_sync, k: 4}", "{kind: k_async, k: 4}", "{kind: k_batch_sync, k: 4}", "{kind: k_batch_async, k: 4}",
                             "{kind: rennala, batch: 4}", "{kind: backup_workers, backups: 1}"}) {
    CAPTURE(scheme);
    CHECK(apart(run(bowl(late, scheme), one_update).weights, alone(1000)) < rounding(2000));
  }
  CHECK(apart(run(bowl(unequal, "{kind: softsync, n: 1}"), one_update).weights, alone(1000)) < rounding(2000));
}

TEST_CASE("asynchronous SGD scales its rate by the batch over the mean batch only where it is told to") {
  const std::string two = "[{count: 1, device: node, batch: 300}, {count: 1, device: node, slowdown: 9, batch: 100}]";
  const Sets one_update = {"training.stop.updates=1"};
  const auto with_rate = [&](double times) {
    return run(bowl(two, "asgd"), {"training.stop.updates=1", "training.optimizer.learning_rate=" + std::to_string(step_rate * times)})
        .weights;
  };
  CHECK(apart(run(bowl(two, "asgd"), one_update).weights, with_rate(1)) == 0);
  CHECK(apart(run(bowl(two, "{kind: asgd, scale_with_batch: true}"), one_update).weights, with_rate(1.5)) < rounding(8));
}

TEST_CASE("two devices of 1 ms a sample with 300 and two of 1.5 ms with 200 do 3,333 samples a second; so does by_speed of 1,000") {
  const double expected = 1000 / 0.3;
  const Result stated = run_timing(bowl(slower));
  CHECK(static_cast<double>(stated.record.samples) / stated.record.end.seconds() == doctest::Approx(expected));
  const std::string even = "[{count: 2, device: node}, {count: 2, device: node, slowdown: 1.5}]";
  const Result by_speed = run_timing(bowl(even, "{kind: ssgd}", "{global: 1000, split: by_speed}"));
  CHECK(by_speed.record.end == stated.record.end);
  const std::vector<OrderRow> order(by_speed.sink.order.begin(), by_speed.sink.order.begin() + 4);
  std::vector<std::uint64_t> samples;
  for (const OrderRow& row : order) samples.push_back(row.samples);
  CHECK(samples == std::vector<std::uint64_t>{300, 300, 200, 200});
  // A copy of 12 bytes a sample to the device of the slow ones takes 0.5 ms: 2 ms a sample there, so 333.3 and 166.7 of 1,000.
  const Result copied =
      run_timing(bowl("[{count: 2, device: node}, {count: 2, device: other}]", "{kind: ssgd}", "{global: 1000, split: by_speed}"),
                 {"devices.other={compute: {affine: {per_sample: 1.5ms}}, host_to_device: 24000B/s}", "training.stop.updates=1"});
  std::uint64_t most = 0, least = 1000;
  for (const OrderRow& row : copied.sink.order) most = std::max(most, row.samples), least = std::min(least, row.samples);
  CHECK(most == 334);
  CHECK(least == 166);
  // 200 each: 1000 / (250 x 1.5 ms).
  const Result equal = run_timing(bowl(even, "{kind: ssgd}", "{global: 1000, split: equal}"));
  CHECK(static_cast<double>(equal.record.samples) / equal.record.end.seconds() == doctest::Approx(1000 / 0.375));
}

TEST_CASE("parts of the data are in proportion to the batches, so that all workers end an epoch together") {
  const Result result = run_timing(bowl(unequal), {"workload.data.partition=iid", "training.stop={epochs: 3}"});
  CHECK(result.record.updates == 3);
  CHECK(result.record.samples == 3000);
  for (const OrderRow& row : result.sink.order) CHECK(row.samples == (row.worker < 2 ? 300 : 200));
}

TEST_CASE("accumulation changes no weights beyond rounding, whatever the scheme that sends gradients; and no samples") {
  const std::string jitter = "devices.node.jitter={kind: lognormal, sigma: 0.3}";
  for (const char* scheme : {"{kind: ssgd}", "{kind: ssgd, via: server}", "{kind: asgd}", "{kind: k_sync, k: 3}", "{kind: softsync, n: 2}"})
    for (const char* pieces : {"4", "7"}) {
      CAPTURE(scheme);
      CAPTURE(pieces);
      const Result whole = run(bowl(unequal, scheme), {jitter, "workload.fuse=off"});
      const Result parts = run(bowl(unequal, scheme), {jitter, "workload.fuse=off", std::string("training.batch.accumulate=") + pieces});
      CHECK(apart(parts.weights, whole.weights) < rounding(6 * 2000));
      CHECK(parts.record.samples == whole.record.samples);
      // One jitter factor a batch and no overhead: the same times, but for a tick of rounding in each piece.
      CHECK(parts.record.end.seconds() == doctest::Approx(whole.record.end.seconds()).epsilon(1e-9));
    }
}

TEST_CASE("accumulation pays the overhead of each micro-batch") {
  const Sets node = {"devices.node.compute={affine: {overhead: 20ms, per_sample: 1ms}}", "cluster.servers.count=0"};
  const auto seconds = [&](Sets more) {
    more.insert(more.end(), node.begin(), node.end());
    return run_timing(bowl(equal_workers(2), "{kind: ssgd}", "{per_worker: 103}"), more).record.end.seconds();
  };
  CHECK(seconds({}) == doctest::Approx(6 * 0.123));
  CHECK(seconds({"training.batch.accumulate=4"}) == doctest::Approx(6 * (0.103 + 4 * 0.020)));
  CHECK(seconds({"training.batch.accumulate=200"}) == doctest::Approx(6 * 103 * 0.021));  // a sample each
}

TEST_CASE("what a batch is that counts, or is cut, is refused where it means nothing") {
  const auto refusal = [](const std::string& yaml, const Sets& sets) -> std::string {
    try {
      run_timing(yaml, sets);
    } catch (const ScenarioErrors& wrong) {
      return wrong.what();
    }
    return {};
  };
  const auto says = [&](const std::string& yaml, const Sets& sets, const char* words) {
    const std::string said = refusal(yaml, sets);
    CHECK_MESSAGE(said.find(words) != std::string::npos, said);
  };
  says(bowl(unequal, "{kind: ssgd}", "{global: 1000}"), {}, "cluster.workers[0].batch: gives these workers a batch of their own");
  says(bowl(equal_workers(4), "{kind: ssgd}", "{split: by_speed}"), {}, "training.batch.split: says how a global batch is divided");
  CHECK(refusal(bowl(equal_workers(4), "{kind: ssgd}", "{split: by_speed}"), {}).find("has neither") == std::string::npos);
  says(bowl(equal_workers(4)), {"training.batch.split=by_speed"}, "training.batch.split: says how a global batch is divided");
  says(bowl(unequal), {"training.compression={kind: signsgd}"}, "training.compression: ");
  says(bowl("[{count: 4, device: node, batch: 2000}]"), {}, "cluster.workers[0].batch: a batch of 2000 samples is larger than the data");
  const Sets accumulate = {"training.batch.accumulate=2"};
  for (const char* scheme : {"{kind: local_sgd, steps: 2}", "{kind: drop_compute, micro_batches: 2, timeout: 1s}", "{kind: nonblocking}",
                             "{kind: rennala, batch: 3}", "{kind: dpsgd}"})
    says(bowl(equal_workers(4), scheme), accumulate, "training.batch.accumulate: ");
}

TEST_CASE("the price of being distributed comes after backward, in each update of several workers") {
  const Sets price = {"cluster.network.collective.per_step=3ms",
                      "cluster.network.collective.per_tensor=1ms"};  // the quadratic is one tensor
  const auto seconds = [&](int workers, const Sets& sets) {
    return run_timing(bowl(equal_workers(workers), "{kind: ssgd}", "{per_worker: 100}"), sets).record.end.seconds();
  };
  CHECK(seconds(4, price) - seconds(4, {}) == doctest::Approx(6 * 0.004));
  CHECK(seconds(1, price) == seconds(1, {}));
  Sets overlapped = price;
  overlapped.emplace_back("cluster.network.collective.overlap=true");
  CHECK(seconds(4, overlapped) - seconds(4, {}) == doctest::Approx(6 * 0.004));
}

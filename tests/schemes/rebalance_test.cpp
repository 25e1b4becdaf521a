// Batches that follow the times of their workers, by known times.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "scenarios/experiment/device_memory.hpp"
#include "tests/schemes/bowl.hpp"
#include "tests/support/replay.hpp"
#include "tests/support/run.hpp"

namespace rebalance_test {

using namespace straggler;
using namespace straggler::test;

namespace {

using Sets = std::vector<std::string>;

/// Workers that draw from one pool of 1,000 samples; 1 ms a sample.
std::string pool(const std::string& workers, const std::string& batch, int updates, const std::string& scheme = "{kind: ssgd}") {
  return scenario_text({.name = "pool",
                        .workers = workers,
                        .model = "{kind: quadratic, condition: 1, start: " + std::to_string(bowl_start) + "}",
                        .data = "{kind: gaussian, features: 3, classes: 1, samples: 1000, test_samples: 10, partition: {kind: shared}}",
                        .scheme = scheme,
                        .batch = batch,
                        .optimizer = "{kind: sgd, learning_rate: " + std::to_string(step_rate) + "}",
                        .stop = "{updates: " + std::to_string(updates) + "}"});
}

constexpr const char* mixed = "[{count: 2, device: node}, {count: 2, device: node, slowdown: 1.5}]";
const std::string every_2 = "{per_worker: 250, rebalance: {every: {updates: 2}}}";

/// Samples of each worker in that update.
std::map<Rank, std::uint64_t> batches_of(const Result& result, std::uint64_t update) {
  std::map<Rank, std::uint64_t> samples;
  for (const OrderRow& row : result.sink.order)
    if (row.update == update) samples[row.worker] += row.samples;
  return samples;
}

using Sizes = std::map<Rank, std::uint64_t>;

std::uint64_t sum_of(const Sizes& batches) {
  return std::accumulate(batches.begin(), batches.end(), std::uint64_t{0}, [](auto sum, const auto& one) { return sum + one.second; });
}

}  // namespace

TEST_CASE("batches follow known times: 250 each at 1 and 1.5 ms a sample become 300 and 200, after each period, by any way") {
  for (const char* scheme : {"{kind: ssgd}", "{kind: ssgd, via: server}"}) {
    CAPTURE(scheme);
    const Result result = run_timing(pool(mixed, every_2, 6, scheme));
    for (std::uint64_t update = 1; update <= 6; ++update) {
      CAPTURE(update);
      const Sizes expected = update <= 2 ? Sizes{{0, 250}, {1, 250}, {2, 250}, {3, 250}} : Sizes{{0, 300}, {1, 300}, {2, 200}, {3, 200}};
      CHECK(batches_of(result, update) == expected);
    }
    CHECK(result.record.end.seconds() == doctest::Approx(2 * 0.375 + 4 * 0.3));
    CHECK(result.record.samples == 6 * 1000);
  }
}

TEST_CASE("the batches in force are the weights: an update is one of all samples, before and after") {
  const auto apart = [](const std::vector<float>& a, const std::vector<float>& b) {
    double most = 0;
    for (std::size_t i = 0; i < a.size(); ++i) most = std::max(most, std::abs(static_cast<double>(a[i]) - b[i]));
    return most;
  };
  const Result one = run(pool("[{count: 1, device: node}]", "{per_worker: 1000}", 6), {"workload.fuse=off"});
  for (const char* sets : {"training.batch.accumulate=1", "training.batch.accumulate=3"}) {
    const Result four = run(pool(mixed, every_2, 6), {sets});
    REQUIRE(four.weights.size() == one.weights.size());
    CHECK(apart(four.weights, one.weights) < 6 * 2000 * bowl_start * std::ldexp(1.0, -23));
  }
}

TEST_CASE("two mixed devices with overheads settle where by_speed of the same global batch is, within a sample") {
  const Sets devices = {"devices.node.compute={affine: {overhead: 20ms, per_sample: 1ms}}",
                        "devices.other={compute: {affine: {overhead: 5ms, per_sample: 2.3ms}}}"};
  const std::string two = "[{count: 1, device: node}, {count: 1, device: other}]";
  const Result live = run_timing(pool(two, "{global: 200, rebalance: {every: {updates: 1}}}", 12), devices);
  const Sizes by_speed = batches_of(run_timing(pool(two, "{global: 200, split: by_speed}", 1), devices), 1);
  for (std::uint64_t update = 6; update <= 12; ++update) {
    const Sizes settled = batches_of(live, update);
    CHECK(sum_of(settled) == 200);
    CHECK(settled == batches_of(live, 12));
    CHECK(std::abs(static_cast<double>(settled.at(0)) - static_cast<double>(by_speed.at(0))) <= 1);
  }
}

TEST_CASE("a slow spell moves samples away while it lasts, and back afterwards") {
  const Result result = run_timing(pool("[{count: 4, device: node}]", "{per_worker: 50, rebalance: {every: {updates: 1}}}", 20),
                                   {"cluster.faults=[{kind: slow, worker: 1, from: 200ms, to: 800ms, times_slower: 3}]"});
  // Of 200 samples three of speed 1 and one of a third have 60 and 20.
  CHECK(batches_of(result, 9) == Sizes{{0, 60}, {1, 20}, {2, 60}, {3, 60}});
  CHECK(batches_of(result, 20) == Sizes{{0, 50}, {1, 50}, {2, 50}, {3, 50}});
}

TEST_CASE("jitter does not make batches wander: each period estimates anew") {
  // The mean of 4 factors of deviation 0.3 has 0.15; of two equal workers the first one's share is 1/2 (1 ± 0.15 / √2) then.
  const Result result = run_timing(pool("[{count: 2, device: node}]", "{per_worker: 100, rebalance: {every: {updates: 4}}}", 800),
                                   {"devices.node.jitter={kind: lognormal, sigma: 0.3}"});
  double sum = 0, squares = 0;
  int count = 0;
  for (std::uint64_t update = 5; update <= 800; update += 4, ++count) {
    const Sizes batches = batches_of(result, update);
    const double off = static_cast<double>(batches.at(0)) - 100;
    CHECK(std::abs(off) < 6 * 0.15 / std::sqrt(2) * 100);
    sum += off;
    squares += off * off;
  }
  const double deviation = std::sqrt(squares / count);
  CHECK(deviation == doctest::Approx(0.15 / std::sqrt(2) * 100).epsilon(0.25));
  CHECK(std::abs(sum / count) < 5 * deviation / std::sqrt(count));
}

TEST_CASE("a replay has the batches of the run, whatever its own times are") {
  const Sets fast = {}, slow = {"cluster.workers=[{count: 4, device: node}]"};
  const Result first = run_timing(pool(mixed, every_2, 6), fast);
  const Result again = replay_timing(pool(mixed, every_2, 6), fast, first);
  CHECK(again.record.weights_key == first.record.weights_key);
  CHECK(again.record.end == first.record.end);
  // Four equal workers would keep 250 each.
  const TemporaryFolder folder;
  write_choices(folder, pool(mixed, every_2, 6), fast, first);
  RunOptions options;
  options.timing_only = true;
  options.replay = folder.path();
  const Result other = run(pool(mixed, every_2, 6), slow, options);
  CHECK(batches_of(other, 6) == Sizes{{0, 300}, {1, 300}, {2, 200}, {3, 200}});
  CHECK(other.record.weights_key == first.record.weights_key);
}

TEST_CASE("without data there are no parts, so batches may move; memory and a crash bound them") {
  const std::string two = "[{count: 1, device: node}, {count: 1, device: node, slowdown: 3}]";
  const Sets timed = {"workload.data={kind: none}", "workload.cost={model: resnet8}"};
  const std::string batch = "{per_worker: 100, rebalance: {every: {updates: 1}}}";
  CHECK(batches_of(run_timing(pool(two, batch, 3), timed), 3) == Sizes{{0, 150}, {1, 50}});
  // A device that holds 120 samples at most has 120.
  const Scenario scenario = read_scenario_text(pool(two, batch, 3), "test.yaml", timed);
  const Blueprint blueprint(scenario, "auto");
  Sets small = timed;
  small.push_back("devices.node.memory=" + std::to_string(std::llround(training_memory(scenario, blueprint).with(120).total())) + "B");
  CHECK(batches_of(run_timing(pool(two, batch, 3), small), 3) == Sizes{{0, 120}, {1, 80}});
}

TEST_CASE("rebalancing is refused where batches are no weights or data are in parts") {
  const auto says = [](const std::string& yaml, const Sets& sets, const char* words) {
    std::string said;
    try {
      run_timing(yaml, sets);
    } catch (const ScenarioErrors& wrong) {
      said = wrong.what();
    }
    CHECK_MESSAGE(said.find(words) != std::string::npos, said);
  };
  for (const char* scheme : {"{kind: asgd}", "{kind: local_sgd, steps: 1}", "{kind: k_sync, k: 2}", "{kind: backup_workers, backups: 1}",
                             "{kind: dpsgd}", "{kind: diloco, steps: 2}"})
    says(pool(mixed, every_2, 6, scheme), {}, "training.batch.rebalance: ");
  says(pool(mixed, every_2, 6), {"workload.data.partition=iid"}, "write partition: shared");
  says(pool(mixed, "{per_worker: 250, rebalance: {}}", 6), {}, "is empty; write rebalance: {every: {updates: 100}}");
  says(pool(mixed, "{per_worker: 250, rebalance: {every: {}}}", 6), {}, "is empty; write rebalance: {every: {updates: 100}}");
  says(pool(mixed, "{per_worker: 250, rebalance: {every: {updates: 0}}}", 6), {}, "training.batch.rebalance.every.updates");
}

}  // namespace rebalance_test

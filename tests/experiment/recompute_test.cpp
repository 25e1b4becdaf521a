// workload.recompute: what a device holds, and how long a batch takes, in closed form; the numbers of training are the same.
#include <doctest/doctest.h>

#include <cmath>

#include "tests/support/run.hpp"
#include "tests/support/text.hpp"

namespace recompute_runs_test {

using namespace straggler;
using namespace straggler::test;

namespace {

using Sets = std::vector<std::string>;

/// Two workers of 1 ms a sample and 3 ms a batch, batches of 97: 100 ms.
constexpr double batch = 0.1;
std::string two_workers(const std::string& cost, const std::string& network = "{link: {bandwidth: 1000GB/s, latency: 0s}}") {
  return scenario_text({.node = "{compute: {affine: {overhead: 3ms, per_sample: 1ms}}}",
                        .workers = equal_workers(2),
                        .servers = "{count: 0}",
                        .network = network,
                        .model = {},
                        .data = {},
                        .cost = cost,
                        .batch = "{per_worker: 97}",
                        .stop = "{updates: 4}"});
}

std::string recompute(const char* what) { return std::string("workload.recompute=") + what; }

double seconds(const std::string& yaml, const Sets& sets) { return run_timing(yaml, sets).record.end.seconds() / 4; }

DeviceMemory held(const std::string& yaml, const Sets& sets) {
  RunOptions options;
  options.timing_only = true;
  return Experiment(read_scenario_text(yaml, "test.yaml", sets), options).explain().groups[0].held;
}

/// Blocks of 64 x 256 and 256 x 64 weights, and an output layer of 64 x 10.
constexpr const char* two_blocks =
    "{model: {kind: layers, input: [64], layers: [{repeat: {times: 2, layers: [{residual: [{linear: 256, bias: false}, relu, "
    "{linear: 64, bias: false}]}]}}, {linear: classes, bias: false}]}}";
constexpr double of_block = 2 * 64 * 256, of_output = 64 * 10;

}  // namespace

TEST_CASE("recomputing blocks takes 4/3 of the time, where all layers are in blocks") {
  const std::string even = two_workers("{model: {kind: even, parameters: 1M, layers: 24, flops: 1G}}");
  CHECK(seconds(even, {recompute("none")}) == doctest::Approx(batch).epsilon(1e-4));
  CHECK(seconds(even, {recompute("blocks")}) == doctest::Approx(batch * 4 / 3).epsilon(1e-4));
  // Forward is what is computed again, however long it is.
  CHECK(seconds(even, {recompute("blocks"), "devices.node.compute.forward_fraction=0.25"}) == doctest::Approx(batch * 1.25).epsilon(1e-4));
  // Layers outside of blocks are not.
  const double share = 2 * of_block / (2 * of_block + of_output);
  CHECK(seconds(two_workers(two_blocks), {recompute("blocks")}) == doctest::Approx(batch * (1 + share / 3)).epsilon(1e-4));
}

TEST_CASE("attention's products again: their part of a forward pass") {
  const double n = 32, c = 64;
  const std::string yaml = two_workers(
      "{model: {kind: layers, input: {tokens: 32}, vocabulary: 100, layers: [{embedding: 64, rows: vocabulary}, {attention: {heads: "
      "4}}]}}");
  const double products = 2 * n * n * c, all = products + 4 * n * c * c;
  CHECK(seconds(yaml, {recompute("attention")}) == doctest::Approx(batch * (1 + products / all / 3)).epsilon(1e-4));
}

TEST_CASE("a device holds each block's input, and one block") {
  const std::string yaml = two_workers(two_blocks);
  // The ReLU's output and the sum in each block, the scores, and the sample.
  const double sum = 64, block = 256 + sum, scores = 10, sample = 64;
  CHECK(held(yaml, {recompute("none")}).activations == 97 * 4 * (2 * block + scores + sample));
  CHECK(held(yaml, {recompute("blocks")}).activations == 97 * 4 * (block + sum + scores + sample));
  // Of micro-batches, one.
  CHECK(held(yaml, {recompute("blocks"), "training.batch={per_worker: 96, accumulate: 4}"}).activations ==
        24 * 4 * (block + sum + scores + sample));
}

TEST_CASE("gradients of a block are ready when it was computed again") {
  // Forward takes T/3, backward of each of two blocks T/3, and their forward again T/6 each. A block is a bucket, and its all-reduce of n
  // bytes between two takes n β: the first hides behind the second block, where it is shorter than that.
  constexpr const char* cost =
      "{model: {kind: layers, input: [64], layers: [{repeat: {times: 2, layers: [{residual: [{linear: 256, bias: false}, relu, {linear: "
      "64, "
      "bias: false}]}]}}]}}";
  const double bytes = 4 * of_block;
  for (const double transfer : {0.02, 0.06}) {
    CAPTURE(transfer);
    const std::string yaml = two_workers(cost, "{link: {bandwidth: " + std::to_string(bytes / transfer) +
                                                   "B/s, latency: 0s}, collective: {algorithm: ring, "
                                                   "overlap: true, bucket: " +
                                                   std::to_string(static_cast<int>(bytes)) + "B}}");
    const double first_ready = batch / 3 + batch / 2, end = batch * 4 / 3;
    CHECK(seconds(yaml, {recompute("blocks")}) == doctest::Approx(std::max(end, first_ready + transfer) + transfer).epsilon(1e-3));
    CHECK(seconds(yaml, {}) == doctest::Approx(std::max(batch, batch * 2 / 3 + transfer) + transfer).epsilon(1e-3));
  }
}

TEST_CASE("the numbers of training are the same bits") {
  const std::string yaml = scenario_text({.model = "{kind: mlp, hidden: [16, 16]}"});
  const Result kept = run(yaml), again = run(yaml, {recompute("blocks")});
  CHECK(kept.weights == again.weights);
  CHECK(kept.record.weights_key == again.record.weights_key);
  CHECK(kept.record.end < again.record.end);
}

TEST_CASE("what cannot be computed again is refused") {
  const auto refused = [](const std::string& cost, const char* what) {
    return error_of<ScenarioErrors>([&] { seconds(two_workers(cost), {recompute(what)}); });
  };
  CHECK(refused("{bytes: 1MB}", "blocks").find("workload.recompute: is of a model's layers") != std::string::npos);
  CHECK(refused(two_blocks, "attention").find("of which no layer of this model is known; write blocks") != std::string::npos);
  CHECK(refused(two_blocks, "block").find("workload.recompute: unknown") != std::string::npos);
}

TEST_CASE("gradients that leave in buckets lie there, too; one in one piece does not") {
  const std::string yaml = two_workers(two_blocks);
  const double parameters = 2 * of_block + of_output;
  CHECK(held(yaml, {}).buckets == 0);
  CHECK(held(yaml, {"cluster.network.collective={overlap: true}"}).buckets == 4 * parameters);
  CHECK(held(yaml, {"cluster.network.collective={overlap: true}", "workload.precision=bf16"}).buckets == 2 * parameters);
  CHECK(held(yaml, {"cluster.network.collective={overlap: true}", "cluster.workers[0].count=1"}).buckets == 0);
}

TEST_CASE("a batch that does not fit is refused with the micro-batches that would") {
  const std::string yaml = two_workers(two_blocks);
  const DeviceMemory whole = held(yaml, {});
  const double sample = whole.activations / 97, states = whole.total() - whole.activations;
  const std::string tight = "devices.node.memory=" + std::to_string(static_cast<long long>(states + 20.5 * sample)) + "B";
  const auto refused = [&](int pieces) {
    return error_of<ScenarioErrors>([&] {
      held(yaml, {tight, "training.batch={per_worker: 97, accumulate: " + std::to_string(pieces) + "}"});
    });
  };
  CHECK(refused(1).find("a worker's batch may have 20 samples at most; or write training.batch.accumulate: 5") != std::string::npos);
  CHECK(refused(4).find("a worker's micro-batch may have 20 samples at most; or write training.batch.accumulate: 5") != std::string::npos);
  CHECK(refused(5) == "");
  // Of two devices that are too small, the smaller one's figure holds for both.
  const std::string two =
      "devices.small={compute: {affine: {per_sample: 1ms}}, memory: " + std::to_string(static_cast<long long>(states + 10.5 * sample)) +
      "B}";
  const std::string both = error_of<ScenarioErrors>([&] {
    held(yaml, {tight, two, "cluster.workers=[{count: 1, device: node}, {count: 1, device: small}]"});
  });
  CHECK(both.find("and small has ") != std::string::npos);
  CHECK(both.find("may have 10 samples at most; or write training.batch.accumulate: 10") != std::string::npos);
  CHECK(both.find("(weights ") != std::string::npos);
}

}  // namespace recompute_runs_test

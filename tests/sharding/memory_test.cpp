// What a worker holds of shared states, as `check` has it: by stage, workers and hosts; and the stage that a refusal names.
#include <doctest/doctest.h>

#include <cmath>

#include "tests/support/run.hpp"

namespace shared_memory_test {

using namespace straggler;
using namespace straggler::test;

namespace {

using Sets = std::vector<std::string>;

constexpr double unit = 1'000'000, n = 4 * unit;

/// `workers` with four equal units, hosts of four.
std::string job(int workers, const std::string& optimizer = "{kind: adam, learning_rate: 0.001}") {
  return scenario_text({.workers = "[{count: " + std::to_string(workers) + ", device: node, per_host: 4}]",
                        .servers = "{count: 0}",
                        .model = {},
                        .data = {},
                        .cost = "{model: {kind: even, parameters: 4M, layers: 4, flops: 1G}}",
                        .batch = "{per_worker: 8}",
                        .optimizer = optimizer});
}

DeviceMemory held(const std::string& yaml, const Sets& sets) {
  RunOptions options;
  options.timing_only = true;
  return Experiment(read_scenario_text(yaml, "test.yaml", sets), options).explain().groups[0].held;
}

std::string sharding(const std::string& how) { return "training.sharding={" + how + "}"; }

/// Empty: it fits.
std::string refusal(const std::string& yaml, const Sets& sets) {
  try {
    held(yaml, sets);
  } catch (const ScenarioErrors& errors) {
    return errors.what();
  }
  return "";
}

bool says(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

double states(const DeviceMemory& memory) { return memory.weights + memory.gradients + memory.optimizer; }

}  // namespace

TEST_CASE("bytes of states, by stage, precision and workers") {
  for (const int p : {2, 5, 8}) {
    CAPTURE(p);
    const auto at = [&](const char* stage, const char* precision) {
      return states(held(job(p), {sharding(std::string("stage: ") + stage), std::string("workload.precision=") + precision}));
    };
    CHECK(states(held(job(p), {})) == 16 * n);
    CHECK(at("1", "fp32") == doctest::Approx(8 * n + 8 * n / p));
    CHECK(at("2", "fp32") == doctest::Approx(4 * n + 12 * n / p));
    CHECK(at("3", "fp32") == doctest::Approx(16 * n / p));
    CHECK(at("1", "bf16") == doctest::Approx(4 * n + 12 * n / p));
    CHECK(at("2", "bf16") == doctest::Approx(2 * n + 14 * n / p));
    CHECK(at("3", "bf16") == doctest::Approx(16 * n / p));
  }
  // Among the four workers of a host.
  CHECK(states(held(job(8), {sharding("stage: 3, across: host")})) == doctest::Approx(16 * n / 4));
}

TEST_CASE("gathered units, and gradients that wait") {
  const auto at = [](const std::string& how, const Sets& more = {}) {
    Sets sets = {sharding("stage: 3" + how)};
    sets.insert(sets.end(), more.begin(), more.end());
    return held(job(8), sets);
  };
  CHECK(at("").gathered == 4 * (2 * unit + unit));
  CHECK(at(", prefetch: 2").gathered == 4 * (3 * unit + unit));
  CHECK(at(", units: 8MB").gathered == 4 * (2 * 2 * unit + 2 * unit));
  CHECK(at(", keep_gathered: true").gathered == 4 * (n + unit));
  CHECK(at(", secondary: host").gathered == 4 * 3 * unit + 4 * n / 4);
  const Sets micro = {"training.batch={per_worker: 8, accumulate: 4}"};
  CHECK(at(", reduce: last", micro).gradients == 4 * n);
  CHECK(at(", reduce: each", micro).gradients == 4 * n / 8);
  CHECK(at(", reduce: last").gradients == 4 * n / 8);  // of one micro-batch there is nothing to wait for
  CHECK(at("", {"cluster.network.collective.overlap=true"}).buckets == 0);
}

TEST_CASE("a refusal names the first stage that fits, for the device that is too small") {
  const auto refused = [](double memory, const Sets& more = {}) {
    Sets sets = {"devices.node.memory=" + std::to_string(static_cast<long long>(memory)) + "B"};
    sets.insert(sets.end(), more.begin(), more.end());
    return refusal(job(8), sets);
  };
  CHECK(says(refused(15.9 * n), "not one sample fits; write training.sharding: {stage: 1}"));
  CHECK(refused(15.9 * n, {sharding("stage: 1")}) == "");
  CHECK(says(refused(8.9 * n), "write training.sharding: {stage: 2}"));
  CHECK(says(refused(8.9 * n, {sharding("stage: 1")}), "write training.sharding.stage: 2"));
  const double third = 16 * n / 8 + 4 * 3 * unit;
  CHECK(says(refused(third + 1), "write training.sharding: {stage: 3}"));
  CHECK(refused(third + 1, {sharding("stage: 3")}) == "");
  CHECK(says(refused(third - 1), "not one sample fits: use a device with more memory"));
  // Where states cannot be shared, no stage is named.
  CHECK(!says(refused(15.9 * n, {"training.scheme={kind: local_sgd, steps: 4}"}), "sharding"));
}

TEST_CASE("a refusal names what backward may compute again, where that suffices") {
  // Three blocks of a linear layer and a GELU, 64 wide, behind a linear layer: each keeps its input and what its GELU reads.
  const std::string block = "{residual: [{linear: 64}, gelu, {linear: 64}]}";
  const Sets blocks = {"workload.cost={model: {kind: layers, input: [64], layers: [{linear: 64}, " + block + ", " + block + ", " + block +
                       ", {linear: 8}]}}"};
  const auto with = [&](const Sets& more) {
    Sets sets = blocks;
    sets.insert(sets.end(), more.begin(), more.end());
    return sets;
  };
  const double kept = held(job(1), blocks).total(), again = held(job(1), with({"workload.recompute=blocks"})).total();
  REQUIRE(again < kept);
  const auto memory = [](double bytes) { return "devices.node.memory=" + std::to_string(static_cast<long long>(bytes)) + "B"; };
  const Sets enough = with({memory(again)}), little = with({memory(again - 1)});
  CHECK(says(refusal(job(1), enough), "workload.recompute: blocks"));
  Sets taken = enough;
  taken.push_back("workload.recompute=blocks");
  CHECK(refusal(job(1), taken) == "");
  CHECK(refusal(job(1), little) != "");
  CHECK(!says(refusal(job(1), little), "recompute"));
  // Where not one sample fits, it names what lets some fit.
  const DeviceMemory all = held(job(1), blocks), less = held(job(1), with({"workload.recompute=blocks"}));
  const double states_alone = all.total() - all.activations;
  REQUIRE(less.activations / 8 < 0.9 * all.activations / 8);
  CHECK(says(refusal(job(1), with({memory(states_alone + 0.99 * all.activations / 8)})),
             "not one sample fits; write workload.recompute: blocks, where 1 sample fits"));
}

TEST_CASE("one sample is one sample") {
  const Sets sizes = {"workload.cost={model: {kind: sizes, layers: [{parameters: 100, activations: 1000}]}}"};
  const double states = held(job(1), sizes).total() - held(job(1), sizes).activations, sample = held(job(1), sizes).activations / 8;
  const auto with = [&](double samples) {
    Sets sets = sizes;
    sets.push_back("devices.node.memory=" + std::to_string(static_cast<long long>(states + samples * sample)) + "B");
    return refusal(job(1), sets);
  };
  CHECK(says(with(1), "may have 1 sample at most"));
  CHECK(says(with(2), "may have 2 samples at most"));
}

TEST_CASE("blocks are computed again with the weights that backward gathers") {
  // Four equal units of 100,000 parameters on 1 Gbit/s: but for the first gather and the last reduction, moves hide; nothing else moves.
  const Sets sets = {sharding("stage: 3"), "workload.cost={model: {kind: even, parameters: 400k, layers: 4, flops: 1G}}",
                     "cluster.workers=[{count: 4, device: node}]", "training.batch={per_worker: 100}",
                     "cluster.network={link: {bandwidth: 1Gbps, latency: 50us}, collective: {algorithm: ring}}"};
  Sets again = sets;
  again.push_back("workload.recompute=blocks");
  const double move = 3 * 100e-6 + 0.75 * 400'000 / 125e6;
  const Result kept = run_timing(job(4), sets), recomputed = run_timing(job(4), again);
  CHECK(kept.record.end.seconds() / 10 == doctest::Approx(0.1 + 2 * move).epsilon(1e-3));
  CHECK(recomputed.record.end.seconds() / 10 == doctest::Approx(0.1 * 4 / 3 + 2 * move).epsilon(1e-3));
}

}  // namespace shared_memory_test

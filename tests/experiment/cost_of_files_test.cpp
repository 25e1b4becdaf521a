// workload.cost.model: {kind: file | sizes | even}: messages, buckets and rooflines of networks that the user describes.
#include <doctest/doctest.h>

#include <algorithm>

#include "scenarios/schema/writer.hpp"
#include "tests/support/folder.hpp"
#include "tests/support/run.hpp"
#include "tests/support/text.hpp"

using namespace straggler;
using namespace straggler::test;

namespace {

const std::string files = std::string(STRAGGLER_SOURCE_DIR) + "/tests/formats/files/";

/// Four workers, batches of 8; an H100-like roofline that memory never bounds.
std::vector<std::string> sets_with(const std::string& model, std::vector<std::string> more = {}) {
  std::vector<std::string> sets = {
      "devices={node: {compute: {roofline: {peak: 10TFLOPS, efficiency: 0.5, memory_bandwidth: 1000000GB/s, launch: 1ms}}, memory: 80GB}}",
      "workload.cost={model: " + model + "}", "training.batch={per_worker: 8}",
      "cluster.network.collective={algorithm: ring, overlap: true, bucket: 25MiB, first_bucket: 1MiB}"};
  sets.insert(sets.end(), more.begin(), more.end());
  return sets;
}

Explanation explained(const std::string& model, const std::vector<std::string>& more = {}) {
  RunOptions options;
  options.timing_only = true;
  return Experiment(read_scenario_text(cluster(4), "test.yaml", sets_with(model, more)), options).explain();
}

std::string refused(const std::string& model) {
  return error_of<ScenarioErrors>([&] { explained(model); });
}

bool warns(const Explanation& explanation, const std::string& part) {
  return std::ranges::any_of(explanation.warnings, [&](const std::string& each) { return each.find(part) != std::string::npos; });
}

}  // namespace

TEST_CASE("even: 350M parameters in 24 layers are 24 buckets of 58 MB, and 90 GFLOP forward are 270 a sample") {
  const Explanation even = explained("{kind: even, parameters: 350M, layers: 24, flops: 90G}");
  CHECK(even.cost_parameters == 350'000'000);
  CHECK(even.message_bytes == 4 * 350'000'000u);
  CHECK(even.layers.size() == 24);
  REQUIRE(even.bucket_bytes.size() == 24);
  // 350,000,000 = 24 * 14,583,333 + 8: the first eight layers, whose gradients come last, have one more.
  for (std::size_t i = 0; i < 24; ++i) CHECK(even.bucket_bytes[i] == 4 * (14'583'333u + (i >= 16 ? 1 : 0)));
  CHECK(even.groups.at(0).batch_seconds == doctest::Approx(1e-3 + 8 * 3 * 90e9 / (10e12 * 0.5)).epsilon(1e-12));
  CHECK(!even.groups.at(0).counts_activations);
  const Explanation half = explained("{kind: even, parameters: 350M, layers: 24, flops: 90G}", {"workload.precision=bf16"});
  CHECK(half.message_bytes == 2 * 350'000'000u);
  CHECK(warns(explained("{kind: even, parameters: 1M, layers: 2}"), "even: assumed: FLOPs forward are 2 per parameter"));
}

TEST_CASE("sizes: a list in the scenario and the same list in a file") {
  const Explanation list = explained(
      "{kind: sizes, layers: [{name: \"stem, wide\", parameters: 1M, flops: 2G}, {parameters: 250k}, {name: head, parameters: 10M, flops: "
      "20M}]}");
  CHECK(list.cost_parameters == 11'250'000);
  REQUIRE(list.layers.size() == 3);
  CHECK(list.layers[0].name == "stem, wide");
  CHECK(list.layers[1].name == "layer 2");
  CHECK(list.groups.at(0).batch_seconds == doctest::Approx(1e-3 + 8 * 3 * (2e9 + 2 * 250e3 + 20e6) / 5e12).epsilon(1e-12));
  // The last layer's 40 MB fill the first bucket; the others are together less than 25 MiB.
  CHECK(list.bucket_bytes == std::vector<std::uint64_t>{40'000'000, 5'000'000});
  const TemporaryFolder folder;
  const std::string csv = folder.write("layers.csv", "name,parameters,flops\n\"stem, wide\",1M,2G\n,250k,\nhead,10M,20M\n").string();
  const Explanation file = explained("{kind: sizes, layers: " + csv + "}");
  CHECK(file.bucket_bytes == list.bucket_bytes);
  CHECK(file.groups.at(0).batch_seconds == list.groups.at(0).batch_seconds);
}

TEST_CASE("file: GPT-2's config.json gives messages, times of tokens and buckets of its tensors") {
  const Explanation gpt2 = explained("{kind: file, path: " + files + "config_gpt2.json, sequence: 128}");
  CHECK(gpt2.cost_parameters == 124'439'808);
  const double forward = 128 * (2.0 * (12.0 * 12 * 768 * 768 + 50257.0 * 768) + 4.0 * 12 * 128 * 768);
  CHECK(gpt2.groups.at(0).batch_seconds == doctest::Approx(1e-3 + 8 * 3 * forward / 5e12).epsilon(1e-9));
  std::uint64_t bytes = 0;
  for (const std::uint64_t each : gpt2.bucket_bytes) bytes += each;
  CHECK(bytes == 4 * 124'439'808u);
  CHECK(gpt2.bucket_bytes.back() >= 4 * 50257u * 768);  // the words, last in backward
  CHECK(gpt2.groups.at(0).counts_activations);
  CHECK(warns(gpt2, "config_gpt2.json: assumed: attention keeps"));
}

TEST_CASE("cost models with lists and amounts are written so that they read back") {
  for (const std::string model :
       {"{kind: even, parameters: 350M, layers: 24, flops: 90G}", "{kind: even, parameters: 7, layers: 2}",
        "{kind: sizes, layers: [{name: 'true', parameters: 1.5k}, {name: \"a, \\\"b\\\": {c}\", parameters: 0, flops: 1T}, {parameters: "
        "3}]}",
        "{kind: sizes, layers: /some where/layers.csv}", "{kind: file, path: /a/b.onnx, sequence: 12, fused_attention: true}"}) {
    CAPTURE(model);
    const Scenario scenario = read_scenario_text(cluster(4), "test.yaml", sets_with(model));
    const std::string text = write_scenario(scenario);
    CAPTURE(text);
    const Scenario again = read_scenario_text(text, "scenario.yaml");
    CHECK(again.workload.cost == scenario.workload.cost);
    CHECK(write_scenario(again) == text);
  }
}

TEST_CASE("what does not fit is refused at its place") {
  const auto says = [](const std::string& model, const std::string& part) {
    const std::string said = refused(model);
    CHECK_MESSAGE(said.find(part) != std::string::npos, said);
  };
  says("{kind: file, path: /nowhere/config.json}", "workload.cost.model.path: /nowhere/config.json: no such file");
  says("{kind: file, path: " + files + "config_gpt2.json, sequence: 2048}",
       "workload.cost.model.sequence: " + files + "config_gpt2.json: has positions for 1024 tokens");
  says("{kind: file}", "workload.cost.model.path: is missing");
  says("{kind: even, parameters: 350MB, layers: 24}", "workload.cost.model.parameters: '350MB' has an unknown unit 'MB'");
  says("{kind: even, parameters: 7B, layers: 24}", "did you mean 'G'? units of an amount: k, M, G, T");
  says("{kind: sizes, layers: []}", "workload.cost.model.layers: is an empty list");
  says("{kind: sizes, layers: [{name: a}]}", "workload.cost.model.layers[0].parameters: is missing");
  says("{kind: sizes, layers: [{parameters: 5}, {parameters: 1.5}]}",
       "workload.cost.model.layers[1].parameters: '1.5' is not a whole number; write an amount such as 350M");
  says("{kind: sizes, layers: [{parameters: 5, flop: 3}]}", "did you mean 'flops'?");
  says("{kind: sizes, layers: [conv]}", "workload.cost.model.layers[0]: is 'conv'; write a map");
  says("{kind: sizes, layers: [{parameters: 0}]}", "has no parameters, so there is nothing to send");
  says("{kind: sizes, layers: /nowhere.csv}", "workload.cost.model.layers: /nowhere.csv: no such file");
}

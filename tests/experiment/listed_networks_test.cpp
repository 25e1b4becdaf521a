// Networks that a scenario lists go wherever built-in ones go: the same times, bytes and bits.
#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "models/safetensors/safetensors.hpp"
#include "scenarios/experiment/blueprint.hpp"
#include "scenarios/schema/errors.hpp"
#include "tests/support/replay.hpp"
#include "tests/support/text.hpp"

namespace straggler::test::listed_networks_test {
namespace {

using Sets = std::vector<std::string>;

const std::string perceptron = "{kind: layers, layers: [{linear: 16}, relu, {linear: classes}]}";
const std::string built_in = "{kind: mlp, hidden: [16]}";
const std::string roofline = "{compute: {roofline: {peak: 1GFLOPS, memory_bandwidth: 1GB/s, launch: 10us, issue: 3us}}}";

ScenarioText small(const std::string& model) {
  return {.node = roofline, .network = "{link: {bandwidth: 1MB/s, latency: 1ms}}", .model = model, .batch = "{per_worker: 5}"};
}

void check_equal(const Result& one, const Result& other) {
  CHECK(one.record.end == other.record.end);
  CHECK(one.record.bytes_sent == other.record.bytes_sent);
  CHECK(one.sink.order == other.sink.order);
  CHECK(one.weights == other.weights);
}

/// GPT-2's smallest, by its published sizes: twelve blocks of width 768, 1,024 places, 50,257 tokens.
const std::string gpt2 =
    "{kind: layers, input: {tokens: 1024}, vocabulary: 50257, layers: [{embedding: 768, rows: vocabulary, positions: learned, name: wte}, "
    "{repeat: {times: 12, layers: [{residual: [layer_norm, {attention: {heads: 12, causal: true}}]}, "
    "{residual: [layer_norm, {linear: 3072}, {gelu: tanh}, {linear: 768}]}]}}, layer_norm, "
    "{linear: vocabulary, bias: false, tied: wte}]}";

CostTable cost_of_text(const std::string& model) {
  const std::string yaml = scenario_text({.model = "", .data = "", .cost = "{model: " + model + "}"});
  return Blueprint(read_scenario_text(yaml, "test.yaml"), "auto").cost;
}

std::string refusal(const std::string& model) {
  return error_of<ScenarioErrors>([&] { cost_of_text(model); });
}

}  // namespace

TEST_CASE("rooflines, buckets, overlap, compression and narrow formats see a list as the built-in network") {
  const Sets ring = {"cluster.network.collective={algorithm: ring, bucket: 100B, overlap: true}"};
  const std::vector<std::pair<std::string, Sets>> ways = {
      {"{count: 1}", {}},
      {"", ring},
      {"", {"cluster.network.collective={algorithm: ring, overlap: true, merge: mg_wfbp}"}},
      {"{count: 1}", {"training.scheme=asgd", "training.compression=top_k"}},
      {"{count: 1}", {"training.compression={kind: powersgd, rank: 1}"}},
      {"{count: 1}", {"training.compression=terngrad"}},
      {"{count: 1}", {"workload.precision=bf16"}},
      {"", {"training.scheme={kind: local_sgd, steps: 3}"}}};
  for (const auto& [servers, sets] : ways) {
    CAPTURE((sets.empty() ? "" : sets.front()));
    ScenarioText listed = small(perceptron), known = small(built_in);
    listed.servers = known.servers = servers;
    check_equal(run(scenario_text(listed), sets), run(scenario_text(known), sets));
  }
}

TEST_CASE("PowerSGD's matrices, buckets and messages of listed convolutions, norms and a tied output are those of their tensors") {
  // 16 x 3 x 3 x 3 weights as 16 x 27, norms of 16 and 16, 16 x 10 of the output: of rank 1 each matrix n x m has 4 (n + m) bytes.
  const std::string images =
      "{kind: layers, layers: [{conv: 16, window: 3, bias: false}, batch_norm, relu, global_average_pool, flatten, {linear: classes}]}";
  ScenarioText text = small(images);
  text.data = "{kind: synthetic_images, channels: 3, height: 5, width: 5, classes: 10, samples: 100, test_samples: 10}";
  text.workers = "[{count: 1, device: node}]";
  text.scheme = "asgd";
  text.stop = "{updates: 1}";
  const Result sent = run(scenario_text(text), {"training.compression={kind: powersgd, rank: 1}"});
  CHECK(sent.record.bytes_up == 4 * ((16 + 27) + 16 + 16 + (16 + 10) + 10));
  const CostTable tied = cost_of_text(
      "{kind: layers, input: {tokens: 4}, vocabulary: 9, layers: [{embedding: 6, rows: vocabulary, name: t}, {linear: vocabulary, tied: "
      "t}]}");
  CHECK(tied.parameters() == 9 * 6 + 9);  // one table, and the output's biases
  REQUIRE(tied.layers.size() == 2);
  CHECK(tied.layers[1].forward_flops == 2.0 * 4 * 6 * 9);
}

TEST_CASE("weights are loaded into a list by the names of its tensors") {
  const TemporaryFolder folder;
  const std::string named = "{kind: layers, layers: [{linear: 16, name: first}, relu, {linear: classes}]}";
  const Scenario scenario = read_scenario_text(scenario_text(small(named)), "test.yaml");
  const Blueprint blueprint(scenario, "auto");
  std::vector<float> weights(blueprint.model->length());
  for (std::size_t i = 0; i < weights.size(); ++i) weights[i] = static_cast<float>(i) / 1024;
  const std::vector<TensorInfo> tensors = blueprint.model->tensors();
  CHECK(tensors.front().name == "first.weight");
  CHECK(tensors.back().name == "2.bias");
  write_safetensors(folder / "own.safetensors", tensors, weights, {});
  const auto from = [&](const std::string& model) {
    ScenarioText text = small(model.substr(0, model.size() - 1) + ", weights: " + (folder / "own.safetensors").string() + "}");
    return Blueprint(read_scenario_text(scenario_text(text), "test.yaml"), "auto");
  };
  CHECK(from(named).start.values == weights);
  CHECK(has(error_of<ScenarioErrors>([&] { from(built_in); }), "0.weight"));  // named otherwise
}

TEST_CASE("a run of a list is replayed, and continues from its checkpoint, to the same bits on any number of threads") {
  ScenarioText text = small(perceptron);
  text.scheme = "asgd";
  text.workers = "[{count: 2, device: node}, {count: 1, device: node, slowdown: 3}]";
  const std::string yaml = scenario_text(text);
  const Result first = run(yaml);
  const TemporaryFolder folder;
  write_choices(folder, yaml, {}, first);
  RunOptions options;
  options.replay = folder.path();
  options.threads = 4;
  check_equal(run(yaml, {}, options), first);
  options.replay.reset();
  options.checkpoint = CheckpointRequest();
  options.checkpoint->file = folder / "run.checkpoint";
  options.checkpoint->interval.updates = 4;
  options.checkpoint->build = "this one";
  struct Killed {};
  options.checkpoint->tell = [](const CheckpointNote& note) {
    if (note.what == CheckpointNote::What::written) throw Killed();
  };
  CHECK_THROWS_AS(run(yaml, {}, options), Killed);
  options.checkpoint->resume = true;
  std::uint64_t reached = 0;
  options.checkpoint->tell = [&](const CheckpointNote& note) {
    if (note.what == CheckpointNote::What::reached) reached = note.version;
  };
  check_equal(run(yaml, {}, options), first);
  CHECK(reached > 0);
}

TEST_CASE("GPT-2 as a list of tokens has its published parameters; its output is tied to its embedding") {
  const CostTable table = cost_of_text(gpt2);
  CHECK(table.parameters() == 124'439'808);  // Radford et al. 2019, as Hugging Face's gpt2 has them
  CHECK(table.input_bytes == 4.0 * 1024);
  CHECK(table.tensors()[0].name == "wte.weight");
  CHECK(table.tensors()[1].name == "wte.positions");
  // Of a place: 12 blocks of 12 d² projections, and the output's; of attention 2 n d for each of n places, in each block.
  const double d = 768, n = 1024, tokens = 50257;
  CHECK(table.forward_flops() == 2 * n * (12 * (12 * d * d + 2 * n * d) + d * tokens));
}

TEST_CASE("inputs of a list that is costed: a shape, or tokens") {
  const auto with_input = [](const std::string& input) { return "{kind: layers, " + input + "layers: [flatten, {linear: classes}]}"; };
  CHECK(cost_of_text(with_input("input: [7], ")).parameters() == 70 + 10);
  CHECK(cost_of_text(with_input("input: [3, 4], ")).parameters() == 120 + 10);
  CHECK(cost_of_text(with_input("input: {tokens: 5}, ")).parameters() == 50 + 10);
  CHECK(has(refusal(with_input("")), "workload.cost.model.input: is missing; write [features]"));
  CHECK(has(refusal(with_input("input: [1, 2, 3, 4], ")), "workload.cost.model.input: has 4 numbers; write [features]"));
  CHECK(has(refusal(with_input("input: {token: 5}, ")), "workload.cost.model.input.token: unknown key 'token'; did you mean 'tokens'?"));
  CHECK(has(refusal(with_input("input: {tokens: 0}, ")), "workload.cost.model.input.tokens: 0 is out of range"));
  CHECK(has(refusal(with_input("input: 5, ")), "workload.cost.model.input: is '5'; write a list of whole numbers"));
  const Scenario scenario = read_scenario_text(
      scenario_text({.model = "", .data = "", .cost = "{model: " + with_input("input: {tokens: 5}, ") + "}"}), "test.yaml");
  CHECK(has(write_scenario(scenario), "input: {tokens: 5}"));
  CHECK(read_scenario_text(write_scenario(scenario), "written.yaml") == scenario);
}

TEST_CASE("a network that no engine trains is refused by the name of its layer, wherever it is from") {
  const std::string yaml = scenario_text(small("bert_base"));
  CHECK(has(error_of<ScenarioErrors>([&] { Blueprint(read_scenario_text(yaml, "test.yaml"), "auto"); }),
            "workload.model: the layer 'encoder.layer.11.attention.self.context' is cost-only and cannot be trained"));
}

}  // namespace straggler::test::listed_networks_test

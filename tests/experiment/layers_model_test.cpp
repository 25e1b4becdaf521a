// `model: {kind: layers}`: what scenarios with it train, cost, write and refuse.
#include <doctest/doctest.h>

#include <algorithm>
#include <string>

#include "scenarios/experiment/blueprint.hpp"
#include "scenarios/reasons/check_text.hpp"
#include "scenarios/schema/errors.hpp"
#include "scenarios/schema/reader.hpp"
#include "scenarios/schema/writer.hpp"
#include "tests/support/folder.hpp"
#include "tests/support/run.hpp"
#include "tests/support/scenarios.hpp"
#include "tests/support/text.hpp"

namespace straggler::test::layers_model_test {
namespace {

const std::string perceptron = "{kind: layers, layers: [{linear: 16}, relu, {linear: classes}]}";
const std::string images = "{kind: synthetic_images, channels: 3, height: 8, width: 8, samples: 200, test_samples: 50}";

std::string with_model(const std::string& model, const std::string& data = "{kind: coordinates}") {
  return scenario_text({.servers = "", .model = model, .data = data, .batch = "{per_worker: 5}", .stop = "{updates: 20}"});
}

std::string refusal(const std::string& yaml) {
  return error_of<ScenarioErrors>([&] { Experiment(read_scenario_text(yaml, "test.yaml"), {}); });
}

Explanation explained(const std::string& yaml) { return Experiment(read_scenario_text(yaml, "test.yaml"), {}).explain(); }

}  // namespace

TEST_CASE("a perceptron of layers ends with the bits of the built-in one") {
  const Result own = run(with_model(perceptron)), built_in = run(with_model("{kind: mlp, hidden: [16]}"));
  REQUIRE(own.weights.size() == 2 * 16 + 16 + 16 * 4 + 4);
  CHECK(own.weights == built_in.weights);
  CHECK(own.record.bytes_sent == built_in.record.bytes_sent);
  CHECK(own.record.weights_key != built_in.record.weights_key);  // another model, whose values are kept apart
}

TEST_CASE("a scenario with layers is written so that it reads back, and its layers are part of every key") {
  const Scenario scenario = read_scenario_text(with_model(perceptron), "test.yaml");
  const std::string written = write_scenario(scenario);
  CHECK(has(written, "layers: [{linear: 16}, relu, {linear: classes}]"));
  CHECK(read_scenario_text(written, "written.yaml") == scenario);
  const Scenario wider = read_scenario_text(with_model(perceptron), "test.yaml", {"workload.model.layers[0].linear=17"});
  CHECK_FALSE(wider == scenario);
  CHECK(Blueprint(wider, "auto").root_key(wider, std::nullopt) != Blueprint(scenario, "auto").root_key(scenario, std::nullopt));
}

TEST_CASE("a list may be a file of its own") {
  const TemporaryFolder folder;
  folder.write("net.yaml", "- {linear: 16}\n- relu\n- {linear: classes}\n");
  folder.write("test.yaml", with_model("{kind: layers, layers: net.yaml}"));
  const Scenario scenario = read_scenario(folder / "test.yaml");
  CHECK(scenario.workload.model == read_scenario_text(with_model(perceptron), "test.yaml").workload.model);
  folder.write("net.yaml", "linear: 16\n");
  const std::string refused = error_of<ScenarioErrors>([&] { read_scenario(folder / "test.yaml"); });
  CHECK(has(refused, "net.yaml:1:1"));
  CHECK(has(refused, "is a map; write a list"));
}

TEST_CASE("a line that does not fit is refused at its own line, with both shapes") {
  const std::string block = R"(
    kind: layers
    layers:
      - {conv: 4, window: 3}
      - relu
      - {conv: 4,
         window: 7}
      - flatten
      - {linear: classes})";
  std::string yaml = with_model(block, images);
  const std::string before = yaml.substr(0, yaml.find("- {conv: 4,\n"));
  const auto line = 1 + std::count(before.begin(), before.end(), '\n');
  const std::string refused = refusal(yaml);
  CAPTURE(refused);
  CHECK(has(refused, "test.yaml:" + std::to_string(line) +
                         ":9: workload.model.layers[2]: 2: the window is wider than its padded input: 7 x 7 on 4 x 6 x 6"));
}

TEST_CASE("a network that cannot be trained on these data is refused") {
  const auto layers = [](const std::string& list) { return "{kind: layers, layers: [" + list + "]}"; };
  CHECK(has(refusal(with_model(layers("{linear: 16}, softmax, {linear: classes}"))), "the layer '1' is cost-only and cannot be trained"));
  CHECK(has(refusal(with_model(layers("{conv: 4}"), images)), "the network makes 4 x 8 x 8 of a sample"));
  CHECK(has(refusal(with_model(layers("{linear: 16}, {linear: 3}"))), "workload.model.layers[1]: the network makes 3 x 1 x 1 of a sample"));
  CHECK(has(refusal(with_model("{kind: layers}")), "workload.model.layers: is missing"));
  CHECK(has(refusal(with_model("{kind: layers, layers: {linear: 3}}")), "workload.model.layers: is a map; write a list"));
}

TEST_CASE("a branch that nothing reads does not train; for timing it is another output") {
  const std::string dead = "[{conv: 8, name: dead}, {conv: 4, from: input}, flatten, {linear: classes}]";
  CHECK(
      has(refusal(with_model("{kind: layers, layers: " + dead + "}", images)),
          "workload.model.layers[0]: no later line reads 'dead', so it would not learn; read it by from, add or concat, or leave it out"));
  const std::string timed = scenario_text({.servers = "",
                                           .model = perceptron,
                                           .data = "{kind: coordinates}",
                                           .cost = "{model: {kind: layers, input: [3, 8, 8], layers: " + dead + "}}",
                                           .batch = "{per_worker: 5}",
                                           .stop = "{updates: 20}"});
  CHECK(explained(timed).cost_parameters == (3 * 8 + 8) + (3 * 4 + 4) + (4 * 64 * 10 + 10));
}

TEST_CASE("a file of a list may be the map that list models prints") {
  const TemporaryFolder folder;
  folder.write("net.yaml", "# a comment\nkind: layers\nlayers:\n  - {linear: 16}\n  - relu\n  - {linear: classes}\n");
  folder.write("test.yaml", with_model("{kind: layers, layers: net.yaml}"));
  CHECK(read_scenario(folder / "test.yaml").workload.model == read_scenario_text(with_model(perceptron), "test.yaml").workload.model);
  CHECK(has(refusal(with_model("net.yaml")),
            "unknown model 'net.yaml'; of a file with a list of layers write {kind: layers, layers: net.yaml}"));
}

TEST_CASE("check names the engine, and warns where it is the plain one and was not asked for") {
  const std::string dropping = "layers: [{linear: 16, name: a}, {dropout: 0.1, name: b}, {concat: [a, b]}, {linear: classes}]}";
  const Explanation fast = explained(with_model(perceptron)), plain = explained(with_model("{kind: layers, " + dropping)),
                    asked = explained(with_model("{kind: layers, engine: reference, " + dropping));
  CHECK(fast.engine == "panels");
  CHECK(check_warnings(fast, false).empty());
  CHECK(plain.engine == "reference");
  REQUIRE(check_warnings(plain, false).size() == 1);
  CHECK(has(check_warnings(plain, false).front(), "no fast engine computes this network"));
  CHECK(check_warnings(plain, true).empty());
  CHECK(asked.engine == "reference");
  CHECK(check_warnings(asked, false).empty());
  CHECK(run(with_model("{kind: layers, " + dropping)).record.warnings.size() == run(with_model(perceptron)).record.warnings.size() + 1);
}

TEST_CASE("check names the kind of layer without which a faster engine would compute the network, at its first line") {
  const auto warning = [](const std::string& layers) {
    const std::vector<std::string> all = check_warnings(explained(with_model("{kind: layers, layers: [" + layers + "]}", images)), false);
    return all.size() == 1 ? all.front() : std::string();
  };
  const std::string conv = "{conv: 4, window: 3, pad: 1}, relu, ", last = "flatten, {linear: classes}";
  CHECK(has(warning(conv + "{dropout: 0.1, name: first}, {dropout: 0.2, name: second}, " + last),
            "would without dropout (the line 'first')"));
  CHECK(
      !has(warning("{conv: 4, name: a}, {dropout: 0.1, name: b}, {concat: [a, b]}, " + last), "would without"));  // concat is at fault, too
}

TEST_CASE("layers as workload.cost.model give times and bytes, whether or not they train") {
  const std::string model =
      "{kind: layers, input: [3, 8, 8], classes: 7, layers: [{conv: 4, window: 3, bias: false}, gelu, flatten, {linear: classes}]}";
  const Scenario scenario = read_scenario_text(scenario_text({.model = "", .data = "", .cost = "{model: " + model + "}"}), "test.yaml");
  const Blueprint blueprint(scenario, "auto");
  // 6 x 6 places of 4 channels, each of 27 multiply-adds; 144 features to 7 classes.
  CHECK(blueprint.cost.parameters() == 4 * 27 + 7 * 144 + 7);
  CHECK(blueprint.cost.forward_flops() == 2.0 * (36 * 4 * 27 + 144 * 7));
  CHECK(blueprint.cost.input_bytes == 4.0 * 3 * 8 * 8);
  CHECK(blueprint.model_bytes == 4 * blueprint.cost.parameters());
  CHECK(read_scenario_text(write_scenario(scenario), "written.yaml") == scenario);
  const std::string wrong =
      refusal(scenario_text({.model = "", .data = "", .cost = "{model: {kind: layers, input: [3, 8], layers: [{max_pool: 9}]}}"}));
  CHECK(has(wrong, "workload.cost.model.layers[0]: 0: the window is wider than its padded input: 9 x 9 on 1 x 3 x 8"));
}

}  // namespace straggler::test::layers_model_test

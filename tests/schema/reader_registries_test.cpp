// The format's own example, read with the kinds that are linked into this program.
#include <doctest/doctest.h>

#include "scenarios/schema/reader.hpp"
#include "scenarios/schema/writer.hpp"
#include "sim/training/scheme.hpp"

using namespace straggler;

namespace {
const char* const example = R"(straggler: 1                       # version of this format
name: two-slow-workers             # letters, digits, - and _
seed: 1

devices:
  node:
    compute: {affine: {overhead: 2ms, per_sample: 0.35ms}}
    jitter: {kind: lognormal, sigma: 0.2}

cluster:
  workers:                         # groups, ranked in this order
    - {count: 6, device: node}
    - {count: 2, device: node, slowdown: 3}
  servers: {count: 1, update: 2GB/s, per_message: 20us}
  network:
    topology: {kind: star}
    link: {bandwidth: 1Gbps, latency: 50us}
    sharing: max_min
    collective: {algorithm: auto, fidelity: fluid}
  faults: []

workload:
  model: {kind: mlp, hidden: [200, 200]}
  data: {kind: fashion_mnist, partition: {kind: iid}}
  precision: fp32

training:
  scheme: {kind: nonblocking, minibatch: 32}
  batch: {per_worker: 256}
  optimizer: {kind: sgd, learning_rate: 0.1, momentum: 0.9, weight_decay: 1e-4}
  schedule: {kind: constant, warmup: {epochs: 1}, scale_with_workers: linear}
  compression: {kind: none}
  stop: {epochs: 5, target_accuracy: 0.95}
  evaluate: {every: {epochs: 0.25}, thresholds: [0.80, 0.85, 0.88]}
)";
}  // namespace

TEST_CASE("the example of the format is read with the registered kinds, and written so that it reads back") {
  const Scenario scenario = read_scenario_text(example, "example.yaml");
  CHECK(scenario.training.scheme.name == "nonblocking");
  CHECK(scenario.training.scheme.parameters.count("minibatch") == 32);
  CHECK(scenario.training.optimizer.parameters.number("weight_decay") == 1e-4);
  const std::string text = write_scenario(scenario);
  CAPTURE(text);
  const Scenario again = read_scenario_text(text, "scenario.yaml");
  CHECK(again == scenario);
  CHECK(write_scenario(again) == text);
}

TEST_CASE("every registered kind is known with all of its defaults") {
  const Vocabulary& vocabulary = Vocabulary::from_registries();
  for (const auto& [group, words] : vocabulary.words) {
    const std::string group_name(name_of(group));
    CAPTURE(group_name);
    CHECK_FALSE(words.empty());
    for (const Word& word : words) {
      CAPTURE(word.name);
      CHECK_FALSE(word.summary.empty());
      for (const Parameter& parameter : word.parameters) {
        CAPTURE(parameter.name);
        CHECK_FALSE(parameter.meaning.empty());
        CHECK_FALSE((parameter.required && parameter.fallback));
        // A default that its own parameter refuses would make every scenario fail; written out, it reads back to the same.
        if (!parameter.fallback) continue;
        const Value value = parse_value(parameter, *parameter.fallback);
        CHECK(parse_value(parameter, format_value(parameter.type, value)) == value);
      }
    }
  }
}

TEST_CASE("schemes that need a server are refused when there is none") {
  for (const SchemeVariant& variant : all_scheme_variants()) {
    const std::string scheme = variant.text();
    CAPTURE(scheme);
    if (variant.exchange() != Exchange::server) continue;
    CHECK_NOTHROW(read_scenario_text(example, "example.yaml", {"training.scheme=" + scheme}));
    try {
      read_scenario_text(example, "example.yaml", {"cluster.servers.count=0", "training.scheme=" + scheme});
      FAIL("accepted");
    } catch (const ScenarioErrors& refused) {
      REQUIRE(refused.lines().size() == 1);
      CHECK(refused.lines()[0].find(variant.entry->name) != std::string::npos);
      CHECK(refused.lines()[0].find("needs a parameter server, and the cluster has none") != std::string::npos);
    }
  }
}

TEST_CASE("every built-in device can be named by a group alone, and its figures are written out") {
  const std::vector<Word>& devices = Vocabulary::from_registries().words.at(KindGroup::device);
  REQUIRE_FALSE(devices.empty());
  for (const Word& word : devices) {
    CAPTURE(word.name);
    const Scenario scenario = read_scenario_text(example, "example.yaml", {"cluster.workers[0].device=" + word.name});
    REQUIRE(scenario.devices.contains(word.name));
    const DeviceSpec& device = scenario.devices.at(word.name);
    CHECK(device.profile == word.name);
    CHECK(device.compute.form == ComputeSpec::Form::roofline);
    CHECK(device.compute.peak > 0);
    CHECK(device.compute.memory_bandwidth > 0);
    CHECK(device.compute.efficiency > 0);
    CHECK(device.compute.efficiency <= 1);
    const std::string text = write_scenario(scenario);
    CAPTURE(text);
    CHECK(read_scenario_text(text, "scenario.yaml") == scenario);
  }
}

TEST_CASE("costs may be those of every model that can be trained") {
  const Vocabulary& vocabulary = Vocabulary::from_registries();
  for (const Word& word : vocabulary.words.at(KindGroup::model)) {
    CAPTURE(word.name);
    CHECK(vocabulary.find(KindGroup::cost_model, word.name) != nullptr);
  }
  CHECK(vocabulary.words.at(KindGroup::cost_model).size() > vocabulary.words.at(KindGroup::model).size());
}

// A vocabulary of a few kinds and a scenario that uses every part of the format, for the tests of the reader and the writer.
#pragma once
#include <string>

#include "scenarios/schema/reader.hpp"

namespace straggler::test {

inline Parameter parameter(const std::string& name, ValueType type, std::optional<std::string> fallback, Range range = {}) {
  Parameter made;
  made.name = name;
  made.type = type;
  made.required = !fallback;
  made.fallback = std::move(fallback);
  made.range = range;
  return made;
}
inline Parameter choice(const std::string& name, std::vector<std::string> choices, const std::string& fallback) {
  Parameter made = parameter(name, ValueType::choice, fallback);
  made.choices = std::move(choices);
  return made;
}
inline Parameter optional(const std::string& name, ValueType type) {
  Parameter made = parameter(name, type, std::nullopt);
  made.required = false;
  return made;
}

inline const Vocabulary& vocabulary() {
  static const Vocabulary made = [] {
    const auto word = [](const char* name, std::vector<Parameter> parameters = {}) {
      return Word{name, "", std::move(parameters), {}, {}};
    };
    const auto via_server = [](const Parameters& p) { return p.text("via") == "server"; };
    const auto always = [](const Parameters&) { return true; };
    Vocabulary v;
    v.words[KindGroup::scheme] = {
        {"asgd", "", {choice("staleness", {"none", "inverse"}, "none")}, always, {}},
        {"nonblocking", "", {parameter("minibatch", ValueType::count, std::nullopt, Range::at_least(1))}, always, {}},
        {"sequential", "", {}, {}, 1},
        {"ssgd", "", {choice("via", {"all_reduce", "server"}, "all_reduce")}, via_server, {}},
    };
    v.words[KindGroup::collective] = {word("halving_doubling"), word("ring")};
    v.words[KindGroup::topology] = {word("star"),
                                    word("two_level", {parameter("racks", ValueType::count, std::nullopt, Range::at_least(1)),
                                                       parameter("oversubscription", ValueType::number, "1", Range::at_least(1))})};
    v.words[KindGroup::jitter] = {word("lognormal", {parameter("sigma", ValueType::number, "0.2", Range::above(0))}), word("none"),
                                  word("trace", {parameter("file", ValueType::path, std::nullopt)})};
    v.words[KindGroup::model] = {word("mlp", {parameter("hidden", ValueType::counts, "[200, 200]", Range::at_least(1))}), word("resnet50")};
    v.words[KindGroup::data] = {
        word("fashion_mnist", {optional("path", ValueType::path), choice("normalize", {"none", "unit", "standard"}, "standard")})};
    v.words[KindGroup::partition] = {word("iid"), word("shards", {parameter("per_worker", ValueType::count, "2", Range::at_least(1))})};
    v.words[KindGroup::optimizer] = {word("sgd", {parameter("learning_rate", ValueType::number, std::nullopt, Range::above(0)),
                                                  parameter("momentum", ValueType::number, "0", Range{0, 1, false, true}),
                                                  parameter("weight_decay", ValueType::number, "0", Range::at_least(0))})};
    v.words[KindGroup::schedule] = {word("constant"), word("step", {parameter("every", ValueType::number, "30", Range::above(0))})};
    return v;
  }();
  return made;
}

inline ReadOptions options() {
  ReadOptions made;
  made.vocabulary = &vocabulary();
  made.memory = 16'000'000'000;
  made.bytes_per_worker = 2000;
  return made;
}

inline Scenario read(const std::string& text, const std::vector<std::string>& sets = {}) {
  return read_scenario_text(text, "dir/good.yaml", sets, options());
}

/// The lines of the refusal; empty if the text is accepted.
inline std::vector<std::string> errors(const std::string& text, const std::vector<std::string>& sets = {}) {
  try {
    read(text, sets);
  } catch (const ScenarioErrors& refused) {
    return refused.lines;
  }
  return {};
}

inline const std::string good = R"(straggler: 1                       # version of this format
name: two-slow-workers
seed: 1

devices:
  node:
    compute: {affine: {overhead: 2ms, per_sample: 0.35ms}}
    jitter: {kind: lognormal, sigma: 0.2}
  v100:
    compute: {table: {128: 45ms, 32: 13ms, 512: 200ms}, launch: 10us}
    jitter: {kind: lognormal, every: {samples: 32}}
    update: 200GB/s

cluster:
  workers:
    - {count: 6, device: node}
    - {count: 2, device: v100, slowdown: 3, link: {bandwidth: 100Mbps}}
  servers: {count: 1, update: 2GB/s, per_message: 20us}
  network:
    topology: {kind: star}
    link: {bandwidth: 1Gbps, latency: 50us}
    sharing: max_min
    collective: {algorithm: auto, fidelity: fluid, reduce_rate: 20GB/s}
  faults: []

workload:
  model: {kind: mlp, hidden: [200, 100]}
  data: {kind: fashion_mnist, partition: {kind: shards, per_worker: 3}, reshuffle: false, normalize: unit}
  precision: fp32
  cost: {model: resnet50}

training:
  scheme: {kind: nonblocking, minibatch: 32}
  batch: {per_worker: 256}
  optimizer: {kind: sgd, learning_rate: 0.1, momentum: 0.9, weight_decay: 1e-4}
  schedule: {kind: constant, warmup: {epochs: 1}, scale_with_workers: linear}
  compression: {kind: none}
  stop: {epochs: 5, target_accuracy: 95%}
  evaluate: {every: {epochs: 0.25}, thresholds: [0.85, 0.80, 88%]}
)";

}  // namespace straggler::test

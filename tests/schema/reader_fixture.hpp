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

inline WorkerGroup group(std::int64_t count, const std::string& device) {
  WorkerGroup made;
  made.count = count;
  made.device = device;
  return made;
}
inline LinkSpec link(double bytes_per_second, double latency) {
  LinkSpec made;
  made.up = made.down = bytes_per_second;
  made.latency = latency;
  return made;
}

/// Makes a built-in device.
inline void fill(DeviceSpec& spec, const char* name, double peak, double efficiency, double memory_bandwidth, double launch) {
  spec.profile = name;
  spec.compute.form = ComputeSpec::Form::roofline;
  spec.compute.peak = peak;
  spec.compute.efficiency = efficiency;
  spec.compute.memory_bandwidth = memory_bandwidth;
  spec.compute.launch = launch;
}

inline const Vocabulary& vocabulary() {
  static const Vocabulary made = [] {
    const auto word = [](const char* name, std::vector<Parameter> parameters = {}) {
      return Word{name, "", std::move(parameters), {}, {}};
    };
    const auto via_server = [](const Parameters& p) { return p.text("via") == "server"; };
    const auto always = [](const Parameters&) { return true; };
    const Parameter on_failure = choice("on_failure", {"wait", "drop", "abort"}, "wait");
    Vocabulary v;
    v.words[KindGroup::scheme] = {
        {"asgd", "", {choice("staleness", {"none", "inverse"}, "none"), on_failure}, always, {}},
        {"nonblocking", "", {parameter("minibatch", ValueType::count, std::nullopt, Range::at_least(1))}, always, {}},
        {"sequential", "", {}, {}, 1},
        {"ssgd",
         "",
         {choice("via", {"all_reduce", "server"}, "all_reduce"), choice("on_failure", {"drop", "abort"}, "abort")},
         via_server,
         {}},
    };
    v.words[KindGroup::collective] = {word("halving_doubling"), word("ring"),
                                      word("tree", {parameter("pieces", ValueType::count, std::nullopt, Range::at_least(1))})};
    v.words[KindGroup::topology] = {word("star"),
                                    word("two_level", {parameter("racks", ValueType::count, std::nullopt, Range::at_least(1)),
                                                       parameter("oversubscription", ValueType::number, "1", Range::at_least(1))})};
    v.words[KindGroup::sharing] = {word("lv08"), word("max_min"),
                                   word("weighted", {parameter("bias", ValueType::number, "1", Range::above(0))})};
    v.words[KindGroup::device] = {word("cpu_core"), word("h100")};
    v.words[KindGroup::device][0].fill = [](DeviceSpec& spec) { fill(spec, "cpu_core", 40e9, 0.5, 20e9, 0); };
    v.words[KindGroup::device][1].fill = [](DeviceSpec& spec) {
      fill(spec, "h100", 60e12, 0.4, 3e12, 4e-6);
      spec.memory = 80e9;
      spec.host_to_device = 50e9;
    };
    v.words[KindGroup::jitter] = {word("lognormal", {parameter("sigma", ValueType::number, "0.2", Range::above(0))}), word("none"),
                                  word("trace", {parameter("file", ValueType::path, std::nullopt)})};
    v.words[KindGroup::model] = {word("mlp", {parameter("hidden", ValueType::counts, "[200, 200]", Range::at_least(1))}), word("resnet50")};
    v.words[KindGroup::cost_model] = v.words[KindGroup::model];
    v.words[KindGroup::cost_model].push_back(word("vgg16", {parameter("classes", ValueType::count, "1000", Range::at_least(1))}));
    v.words[KindGroup::data] = {
        word("fashion_mnist", {optional("path", ValueType::path), choice("normalize", {"none", "unit", "standard"}, "standard")})};
    v.words[KindGroup::partition] = {word("iid"), word("shards", {parameter("per_worker", ValueType::count, "2", Range::at_least(1))})};
    v.words[KindGroup::optimizer] = {word("sgd", {parameter("learning_rate", ValueType::number, std::nullopt, Range::above(0)),
                                                  parameter("momentum", ValueType::number, "0", Range{0, 1, false, true}),
                                                  parameter("weight_decay", ValueType::number, "0", Range::at_least(0))})};
    v.words[KindGroup::compression] = {word("none"),
                                       word("top_k", {parameter("fraction", ValueType::fraction, "0.01", Range::above_to(0, 1)),
                                                      parameter("error_feedback", ValueType::boolean, "true")})};
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
    return refused.lines();
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

/// The same, with every part that `good` leaves out.
inline const std::string rich = R"(straggler: 1
name: everything
seed: 1

devices:
  node:
    compute: {affine: {overhead: 2ms, per_sample: 0.35ms}, forward_fraction: 40%}
    loader: {per_sample: 100us, workers: 4, prefetch: 3}
    host_to_device: 12GB/s
    memory: 16GB
  gpu:
    compute: {roofline: {peak: 14TFLOPS, efficiency: 0.4, memory_bandwidth: 900GB/s, launch: 5ms}}
  fast:
    profile: h100
    compute: {roofline: {efficiency: 30%}}
    host_to_device: 25GB/s
    jitter: {kind: lognormal}

cluster:
  workers:
    - {count: 4, device: node, per_host: 4, cores_per_host: 2, waiting: busy}
    - {count: 2, device: gpu, link: {up: 10Mbps, down: 50Mbps, latency: 20ms}}
    - {count: 1, device: fast, link: {burst: 64KiB, peak: 4Gbps}}
    - {count: 1, device: cpu_core, link: {burst: 0B}}
  servers: {count: 3, link: {bandwidth: 1.5Gbps}}
  network:
    topology: {kind: two_level, racks: 2, oversubscription: 3}
    link: {bandwidth: 1Gbps, latency: 50us, burst: 128KiB, peak: 2Gbps, duplex: full}
    intra: {bandwidth: 12GB/s, latency: 5us}
    sharing: {kind: weighted, bias: 2}
    protocol:
      per_message: 5us
      copy_rate: 2GB/s
      segments:
        - {up_to: 64KiB, latency_factor: 1.2, bandwidth_factor: 0.8}
        - {up_to: 1MiB, latency_factor: 2}
        - {bandwidth_factor: 0.95}
    background:
      - {from: worker/0, to: server/2, on: 2s, off: 3s, start: 1s, random: true, rate: 10MB/s}
      - {from: server/0, to: worker/7, on: 100ms}
    collective: {algorithm: ring, bucket: 25MiB, first_bucket: 1MiB, overlap: true, reduce_rate: 20GB/s}
  faults:
    - {kind: crash, worker: 3, at: 10s, restart_after: 5s}
    - {kind: crash, worker: 3, at: 15s}
    - {kind: slow, worker: 1, from: 5s, to: 8s, times_slower: 4}
    - {kind: slow, worker: 1, from: 6s, to: 9s, times_slower: 1.5}
    - {kind: link, worker: 2, from: 5s, to: 6s, bandwidth_factor: 10%}
    - {kind: link, server: 1, from: 5s, to: 6s, bandwidth_factor: 0}
    - {kind: link, link: rack/0-core, from: 0s, to: 1ms, bandwidth_factor: 0.5}
    - {kind: join, worker: 7, at: 20s}
    - {kind: leave, worker: 7, at: 30s}

workload:
  model: {kind: mlp, hidden: [200, 100]}
  data: fashion_mnist
  cost: {model: {kind: vgg16, classes: 10}}
  serial_per_epoch: 1.5s

training:
  scheme: {kind: ssgd, on_failure: drop}
  batch: {per_worker: 256}
  optimizer: {kind: sgd, learning_rate: 0.1}
  stop: {epochs: 5}
)";

}  // namespace straggler::test

// The text of a small scenario: a test names what matters to it, and the rest is as here.
#pragma once
#include <cstdint>
#include <string>

namespace straggler::test {

/// Keys whose text is empty are left out.
struct ScenarioText {
  std::string name = "test";
  std::uint64_t seed = 1;
  std::string node = "{compute: {affine: {per_sample: 1ms}}}";  // the device of all workers
  std::string workers = "[{count: 4, device: node}]";
  std::string servers = "{count: 1}";
  std::string network = "{link: {bandwidth: 1000GB/s, latency: 0s}}";  // messages take no time
  std::string faults = {};
  std::string model = "{kind: mlp, hidden: [16]}";
  std::string data = "{kind: coordinates}";
  std::string cost = {};
  std::string scheme = "{kind: ssgd}";
  std::string batch = "{per_worker: 100}";
  std::string optimizer = "{kind: sgd, learning_rate: 0.1}";
  std::string schedule = {};
  std::string stop = "{updates: 10}";
  std::string evaluate = {};
};

inline std::string scenario_text(const ScenarioText& given) {
  const auto line = [](const char* key, const std::string& value) {
    return value.empty() ? std::string() : std::string("  ") + key + ": " + value + "\n";
  };
  return "straggler: 1\nname: " + given.name + "\nseed: " + std::to_string(given.seed) + "\ndevices:\n" + line("node", given.node) +
         "cluster:\n" + line("workers", given.workers) + line("servers", given.servers) + line("network", given.network) +
         line("faults", given.faults) + "workload:\n" + line("model", given.model) + line("data", given.data) + line("cost", given.cost) +
         "training:\n" + line("scheme", given.scheme) + line("batch", given.batch) + line("optimizer", given.optimizer) +
         line("schedule", given.schedule) + line("stop", given.stop) + line("evaluate", given.evaluate);
}

/// `count` equal workers.
inline std::string equal_workers(int count) { return "[{count: " + std::to_string(count) + ", device: node}]"; }

}  // namespace straggler::test

// The registered schemes in all their variants, and a cluster that spares them nothing.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "sim/base/registry.hpp"
#include "sim/training/scheme.hpp"
#include "support/run.hpp"

namespace straggler::test {

/// Required parameters that have no default.
inline const std::map<std::string, std::string> required = {{"local_sgd", ", steps: 3"}};

struct Variant {
  std::string scheme;
  bool one_worker;
};

/// Every scheme with its defaults, and with each choice of each of its parameters.
inline std::vector<Variant> variants() {
  std::vector<Variant> all;
  for (const SchemeEntry& entry : Registry<SchemeEntry>::instance().entries()) {
    const auto extra = required.find(entry.name);
    const std::string start = "{kind: " + entry.name + (extra == required.end() ? "" : extra->second);
    all.push_back({start + "}", entry.only_workers.has_value()});
    for (const Parameter& parameter : entry.parameters)
      for (const std::string& choice : parameter.choices)
        if (choice != parameter.fallback)
          all.push_back({start + ", " + parameter.name + ": " + choice + "}", entry.only_workers.has_value()});
  }
  return all;
}

/// Heterogeneous, jittered, with a network that matters and a server that takes time.
inline std::string uneven(const Variant& variant) {
  return std::string(R"(straggler: 1
name: uneven
seed: 7
devices:
  node:
    compute: {affine: {overhead: 2ms, per_sample: 0.3ms}}
    jitter: {kind: gamma, shape: 2}
    update: 10MB/s
cluster:
  workers: )") +
         (variant.one_worker ? "[{count: 1, device: node}]"
                             : "[{count: 3, device: node}, {count: 2, device: node, slowdown: 3, link: {bandwidth: 10Mbps}}]") +
         R"(
  servers: {count: 1, update: 5MB/s, per_message: 20us}
  network: {link: {bandwidth: 100Mbps, latency: 100us}}
workload:
  model: {kind: mlp, hidden: [16]}
  data: {kind: coordinates, samples: 2000, test_samples: 200}
training:
  scheme: )" +
         variant.scheme + R"(
  batch: {per_worker: 50}
  optimizer: {kind: sgd, learning_rate: 0.05, momentum: 0.9}
  stop: {epochs: 3}
  evaluate: {every: {epochs: 0.5}, thresholds: [0.3]}
)";
}

}  // namespace straggler::test

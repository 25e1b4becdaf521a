// The registered schemes in all their variants, and a cluster that spares them nothing.
#pragma once
#include <string>
#include <vector>

#include "sim/training/scheme.hpp"
#include "tests/support/run.hpp"
#include "tests/support/sanitized.hpp"
#include "tests/support/schemes.hpp"

namespace straggler::test {

struct Variant {
  std::string scheme;
  bool one_worker;
  bool one_host = false;
};

inline Variant on_cluster(const SchemeVariant& variant) {
  return {variant.text(), variant.entry->only_workers.has_value(), variant.one_host()};
}

/// Every scheme with its defaults, with each choice of each of its parameters, and with its own examples.
inline std::vector<Variant> variants() {
  std::vector<Variant> all;
  for (const SchemeVariant& variant : all_scheme_variants()) all.push_back(on_cluster(variant));
  return one_in(sanitized ? 3 : 1, all);  // under sanitizers each is in a third of the cases
}

/// Heterogeneous, jittered, with a network that matters and a server that takes time; on one host, a memory that matters. Five workers;
/// four, one of them slow, where the scheme cannot have five.
inline std::string uneven(const Variant& variant, int slow_workers = 2) {
  const std::string slow = "{count: " + std::to_string(slow_workers) + ", device: node, slowdown: 3, ";
  const std::string yaml =
      scenario_text({.name = "uneven",
                     .seed = 7,
                     .node = "{compute: {affine: {overhead: 2ms, per_sample: 0.3ms}}, jitter: {kind: gamma, shape: 2}, update: 10MB/s}",
                     .workers = variant.one_worker ? equal_workers(1)
                                : variant.one_host ? "[{count: 3, device: node, per_host: 5}, " + slow + "same_host: true}]"
                                                   : "[{count: 3, device: node}, " + slow + "link: {bandwidth: 10Mbps}}]",
                     .servers = "{count: 1, update: 5MB/s, per_message: 20us}",
                     .network = std::string("{link: {bandwidth: 100Mbps, latency: 100us}") +
                                (variant.one_host ? ", intra: {bandwidth: 100kB/s, latency: 50us}" : "") + "}",
                     .data = "{kind: coordinates, samples: 2000, test_samples: 200}",
                     .scheme = variant.scheme,
                     .batch = "{per_worker: 50}",
                     .optimizer = "{kind: sgd, learning_rate: 0.05, momentum: 0.9}",
                     .stop = "{epochs: 3}",
                     .evaluate = "{every: {epochs: 0.5}, thresholds: [0.3]}"});
  if (variant.one_worker || slow_workers == 1) return yaml;
  const auto scheme = read_scenario_text(yaml, "test.yaml").training.scheme;
  return fits(Registry<SchemeEntry>::instance().at(scheme.name), scheme.parameters, 5) ? yaml : uneven(variant, 1);
}

}  // namespace straggler::test

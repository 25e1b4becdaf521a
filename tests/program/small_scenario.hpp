// A scenario of four workers that trains in a moment, for tests of the program.
#pragma once

namespace straggler::test {

inline constexpr const char* small = R"(straggler: 1
name: small
seed: 3
devices:
  node: {compute: {affine: {overhead: 1ms, per_sample: 0.1ms}}, jitter: {kind: lognormal, sigma: 0.4}}
cluster:
  workers: [{count: 3, device: node}, {count: 1, device: node, slowdown: 3}]
  servers: {count: 1}
  network: {link: {bandwidth: 100Mbps, latency: 50us}}
workload:
  model: {kind: mlp, hidden: [16]}
  data: {kind: coordinates, samples: 2000, test_samples: 500}
training:
  scheme: {kind: asgd}
  batch: {per_worker: 50}
  optimizer: {kind: sgd, learning_rate: 0.1, momentum: 0.5}
  stop: {epochs: 3}
  evaluate: {every: {epochs: 0.5}, thresholds: [0.3, 0.4]}
)";

}  // namespace straggler::test

// The schematic of non-blocking SGD as a scenario.
#pragma once

namespace straggler::test {

/// Four workers as in the study's schematic: time per mini-batch 46.8, 31.5, 58 and 46.6 pixels, here milliseconds.
inline constexpr const char* nonblocking_figure = R"(straggler: 1
name: figure
seed: 1
devices:
  w1: {compute: {affine: {overhead: 0s, per_sample: 1462500ns}}}
  w2: {compute: {affine: {overhead: 0s, per_sample: 984375ns}}}
  w3: {compute: {affine: {overhead: 0s, per_sample: 1812500ns}}}
  w4: {compute: {affine: {overhead: 0s, per_sample: 1456250ns}}}
cluster:
  workers: [{count: 1, device: w1}, {count: 1, device: w2}, {count: 1, device: w3}, {count: 1, device: w4}]
  servers: {count: 1}
  network: {link: {bandwidth: 1000GB/s, latency: 1us}}
workload:
  model: {kind: mlp, hidden: [16]}
  data: {kind: coordinates}
training:
  scheme: {kind: nonblocking, minibatch: 32}
  batch: {per_worker: 256}
  optimizer: {kind: sgd, learning_rate: 0.1}
  stop: {updates: 2}
)";

}  // namespace straggler::test

// A run in which a worker crashes, and what becomes of it by the scheme's reaction.
#pragma once

namespace straggler::test {

/// A worker crashes after a second. `abort` ends there, `wait` never goes on, `drop` does all 60 updates, of 1 s each at least.
inline constexpr const char* crash_scenario = R"(straggler: 1
name: crash
devices: {node: {compute: {affine: {per_sample: 10ms}}}}
cluster:
  workers: [{count: 4, device: node}]
  servers: {count: 1}
  network: {link: {bandwidth: 1GB/s, latency: 1ms}}
  faults: [{kind: crash, worker: 1, at: 1500ms}]
workload: {model: {kind: mlp, hidden: [8]}, data: {kind: coordinates, samples: 4000, test_samples: 200}}
training:
  scheme: {kind: ssgd, via: server}
  batch: {per_worker: 100}
  optimizer: {kind: sgd, learning_rate: 0.1}
  stop: {updates: 60}
)";

}  // namespace straggler::test

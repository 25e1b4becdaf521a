// A run in which a worker crashes, and what becomes of it by the scheme's reaction.
#pragma once
#include "tests/support/scenarios.hpp"

namespace straggler::test {

/// A worker crashes after a second. `abort` ends there, `wait` never continues, `drop` does all 60 updates, of 1 s each at least.
inline const std::string crash_scenario = scenario_text({.name = "crash",
                                                         .node = "{compute: {affine: {per_sample: 10ms}}}",
                                                         .network = "{link: {bandwidth: 1GB/s, latency: 1ms}}",
                                                         .faults = "[{kind: crash, worker: 1, at: 1500ms}]",
                                                         .model = "{kind: mlp, hidden: [8]}",
                                                         .data = "{kind: coordinates, samples: 4000, test_samples: 200}",
                                                         .scheme = "{kind: ssgd, via: server}",
                                                         .stop = "{updates: 60}"});

}  // namespace straggler::test

// A scenario of four workers that trains in a moment, for tests of the program.
#pragma once
#include "tests/support/scenarios.hpp"

namespace straggler::test {

inline const std::string small =
    scenario_text({.name = "small",
                   .seed = 3,
                   .node = "{compute: {affine: {overhead: 1ms, per_sample: 0.1ms}}, jitter: {kind: lognormal, sigma: 0.4}}",
                   .workers = "[{count: 3, device: node}, {count: 1, device: node, slowdown: 3}]",
                   .network = "{link: {bandwidth: 100Mbps, latency: 50us}}",
                   .data = "{kind: coordinates, samples: 2000, test_samples: 500}",
                   .scheme = "{kind: asgd}",
                   .batch = "{per_worker: 50}",
                   .optimizer = "{kind: sgd, learning_rate: 0.1, momentum: 0.5}",
                   .stop = "{epochs: 3}",
                   .evaluate = "{every: {epochs: 0.5}, thresholds: [0.3, 0.4]}"});

}  // namespace straggler::test

// Workers on a bowl, for schemes whose weights can be followed by hand.
#pragma once
#include <cmath>
#include <string>

#include "tests/support/scenarios.hpp"

namespace straggler::test {

inline constexpr double bowl_start = 8, step_rate = 0.25;

/// 2^-24 of the largest weight, `operations` times: each operation is off by half a unit in the last place, and what was off before
/// shrinks.
inline double rounding_of(int operations) { return operations * 2 * bowl_start * std::ldexp(1.0, -24); }

/// A bowl of which every gradient is linear in the weights: x - c_i, where c_i is the mean of the worker's part. A worker's gradient is
/// over its whole part, and takes 1 s. Messages take no time. `scheme`: in braces.
inline std::string bowl_scenario(int workers, const std::string& scheme, int updates, bool server = false) {
  return scenario_text({.name = "bowl",
                        .seed = 3,
                        .node = "{compute: {affine: {overhead: 1s}}}",
                        .workers = equal_workers(workers),
                        .servers = server ? "{count: 1}" : "",
                        .model = "{kind: quadratic, condition: 1, start: " + std::to_string(bowl_start) + "}",
                        .data = "{kind: gaussian, features: 3, classes: 1, samples: " + std::to_string(5 * workers) + ", test_samples: 10}",
                        .scheme = scheme,
                        .batch = "{per_worker: 5}",
                        .optimizer = "{kind: sgd, learning_rate: " + std::to_string(step_rate) + "}",
                        .stop = "{updates: " + std::to_string(updates) + "}"});
}

}  // namespace straggler::test

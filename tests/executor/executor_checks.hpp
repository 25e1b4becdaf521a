// What the tests of the executor hold its values against.
#pragma once
#include <doctest/doctest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "tests/executor/executor_fakes.hpp"
#include "tests/support/math_helpers.hpp"
#include "tests/support/text.hpp"

namespace straggler::fake {

/// The mean gradient over batches, in double precision.
inline std::vector<double> expected_gradient(const World& world, const std::vector<float>& weights, const std::vector<Batch>& batches) {
  const std::size_t features = world.data.info.features;
  std::vector<double> gradient(features + 1);
  for (const Batch& batch : batches) {
    std::vector<std::uint32_t> samples;
    world.partition.samples(batch, samples);
    for (const std::uint32_t sample : samples) {
      const float* x = world.data.train.inputs.rows(sample, 1, nullptr);
      double error = double{weights[features]} - world.data.train.labels[sample];
      for (std::size_t j = 0; j < features; ++j) error += double{weights[j]} * x[j];
      const double scale = 1.0 / static_cast<double>(batches.size()) / batch.size;
      for (std::size_t j = 0; j < features; ++j) gradient[j] += scale * error * x[j];
      gradient[features] += scale * error;
    }
  }
  return gradient;
}

inline void check_close(const std::vector<float>& actual, const std::vector<double>& expected, double tolerance = 1e-5) {
  REQUIRE(actual.size() == expected.size());
  for (std::size_t i = 0; i < actual.size(); ++i) CHECK(std::abs(actual[i] - expected[i]) < tolerance);
}

}  // namespace straggler::fake

// What the tests of the gradient math share.
#pragma once
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <vector>

#include "models/kernels/kernels.hpp"
#include "sim/base/random.hpp"

namespace straggler::test {

/// Uniform in [-1, 1), exact in float.
template <class Scalar = float>
std::vector<Scalar> numbers(std::size_t count, std::uint64_t seed) {
  RandomStream stream(seed, "numbers");
  std::vector<Scalar> values(count);
  for (Scalar& value : values) value = static_cast<Scalar>(static_cast<float>(2 * stream.uniform() - 1));
  return values;
}

inline std::vector<std::int32_t> labels_below(std::size_t classes, std::size_t count, std::uint64_t seed) {
  RandomStream stream(seed, "labels");
  std::vector<std::int32_t> labels(count);
  for (std::int32_t& label : labels) label = static_cast<std::int32_t>(stream.below(classes));
  return labels;
}

template <class To, class From>
std::vector<To> as(const std::vector<From>& values) {
  return std::vector<To>(values.begin(), values.end());
}

inline bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0);
}

/// |a - b| / |b| in the Euclidean norm; NaN if either has one.
template <class A, class B>
double distance(const std::vector<A>& a, const std::vector<B>& b) {
  double difference = 0, norm = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double x = static_cast<double>(a[i]), y = static_cast<double>(b[i]);
    difference += (x - y) * (x - y);
    norm += y * y;
  }
  return std::sqrt(difference) / std::sqrt(norm);
}

/// x[rows][features] in panels; the padding lanes hold `padding`.
inline std::vector<float> panels_of(const std::vector<float>& x, std::size_t rows, std::size_t features, float padding) {
  std::vector<float> panels(panel_floats(rows, features), padding);
  for (std::size_t row = 0; row < rows; ++row)
    for (std::size_t i = 0; i < features; ++i)
      panels[(row / panel_rows * features + i) * panel_rows + row % panel_rows] = x[row * features + i];
  return panels;
}

inline std::vector<float> samples_of(const std::vector<float>& panels, std::size_t rows, std::size_t features) {
  std::vector<float> x(rows * features);
  for (std::size_t row = 0; row < rows; ++row)
    for (std::size_t i = 0; i < features; ++i)
      x[row * features + i] = panels[(row / panel_rows * features + i) * panel_rows + row % panel_rows];
  return x;
}

inline std::vector<const Kernels*> all_kernels() {
  std::vector<const Kernels*> sets;
  for (const std::string_view name : available_kernels()) sets.push_back(&select_kernels(name));
  return sets;
}

}  // namespace straggler::test

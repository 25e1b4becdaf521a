// Vectors to compress, and compressors with parameters and a layout.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "models/compression/compressor.hpp"
#include "models/rules/elementwise.hpp"
#include "sim/base/registry.hpp"
#include "tests/support/math_helpers.hpp"

namespace straggler::test {

using Floats = std::vector<float>;

inline Floats apply(std::string_view kernel_set, std::string_view rule, const std::vector<Floats>& inputs,
                    const std::vector<double>& scalars = {}, std::span<const TensorInfo> tensors = {}) {
  std::vector<const float*> all;
  for (const Floats& input : inputs) all.push_back(input.data());
  Floats out(inputs.front().size());
  Extent extent{out.size()};
  extent.tensors = tensors;
  Registry<ElementwiseEntry>::instance().at(rule).apply(select_kernels(kernel_set), extent, all, scalars, out.data());
  return out;
}

/// A compressor with some parameters.
struct Compressor {
  const CompressorEntry* entry;
  bool error_feedback;
  std::vector<double> scalars;

  Compressor(const CompressorEntry& its_entry, const Parameters& given = {})
      : entry(&its_entry),
        error_feedback(complete(its_entry.parameters, given).flag("error_feedback")),
        scalars(its_entry.scalars(complete(its_entry.parameters, given))) {}
  explicit Compressor(std::string_view name, const Parameters& given = {})
      : Compressor(Registry<CompressorEntry>::instance().at(name), given) {}

  /// Those of the rule for the draw of that number.
  std::vector<double> scalars_of(std::uint64_t draw) const {
    std::vector<double> all = scalars;
    if (entry->draws != Draws::none) all.push_back(draw_number(1, Rank{2}, draw));
    return all;
  }
  Floats operator()(const Floats& v, std::uint64_t draw = 0, std::span<const TensorInfo> tensors = {},
                    std::string_view kernel_set = "auto") const {
    return apply(kernel_set, entry->rule->name, {v}, scalars_of(draw), tensors);
  }
};

/// All that compress, with and without error feedback.
inline std::vector<Compressor> all_compressors() {
  std::vector<Compressor> all;
  for (const CompressorEntry& entry : Registry<CompressorEntry>::instance().entries())
    if (entry.rule)
      for (const bool feedback : {true, false}) all.emplace_back(entry, Parameters{{"error_feedback", feedback}});
  return all;
}

/// What the entry states, and what it says for zeros if q has some.
inline bool has_stated_bytes(const CompressorEntry& entry, const std::vector<double>& scalars, const VectorLayout& layout, const Floats& q,
                             const std::vector<std::byte>& message) {
  const std::uint64_t stated = entry.bytes(scalars, layout);
  const bool zeros = entry.for_zeros && std::find(q.begin(), q.end(), 0.0f) != q.end();
  return message.size() == stated || (zeros && message.size() == stated + entry.for_zeros(layout));
}

/// One tensor for each of these sizes.
inline std::vector<TensorInfo> tensors_of_sizes(const std::vector<std::size_t>& sizes) {
  std::vector<TensorInfo> tensors;
  std::size_t offset = 0;
  for (const std::size_t size : sizes) {
    tensors.push_back({std::to_string(tensors.size()), {size}, offset});
    offset += size;
  }
  return tensors;
}

inline double square(const Floats& v) {
  double sum = 0;
  for (const float x : v) sum += static_cast<double>(x) * x;
  return sum;
}

inline Floats difference(const Floats& a, const Floats& b) {
  Floats out(a.size());
  for (std::size_t i = 0; i < a.size(); ++i) out[i] = a[i] - b[i];
  return out;
}

/// Of a kind that gradients are: many small values, few large ones, exact zeros and equal magnitudes among them.
inline Floats gradient_like(std::size_t d, std::mt19937& chance) {
  std::normal_distribution<float> draw(0, 1);
  Floats v(d);
  for (float& x : v) {
    x = draw(chance) * std::exp2(static_cast<float>(chance() % 24) - 12);
    if (chance() % 8 == 0) x = 0;
    if (chance() % 8 == 1) x = chance() % 2 ? 0.5f : -0.5f;
  }
  return v;
}

}  // namespace straggler::test

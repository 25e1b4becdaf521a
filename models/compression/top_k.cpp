// Top-k sends only the k of d gradient parameters that are largest in magnitude, each as its index and its value,
//   C(v)_i = v_i if |v_i| is among the k largest, else 0;   k = max(1, round(fraction d)).
// The selection spans the whole vector. Among equal magnitudes the first are sent; infinity and NaN rank above all numbers.
// |C(v) - v|² ≤ (1 - k/d) |v|². Aji & Heafield, Sparse Communication for Distributed Gradient Descent, EMNLP 2017; with error feedback
// Stich, Cordonnier & Jaggi, Sparsified SGD with Memory, NeurIPS 2018.
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <functional>
#include <stdexcept>

#include "models/compression/parts.hpp"
#include "models/kernels/coding.hpp"
#include "sim/base/registry.hpp"

namespace straggler::compression::top_k {
namespace {

const Rule top_k_rule{"top_k"};  // (v[, e]; fraction) -> the k largest of v + e

constexpr std::size_t index_bytes = sizeof(std::uint32_t), entry_bytes = index_bytes + sizeof(float);

std::uint64_t kept_of(const std::vector<double>& scalars, std::uint64_t parameters) {
  const auto rounded = static_cast<std::uint64_t>(std::llround(scalars.front() * static_cast<double>(parameters)));
  return std::min(std::max<std::uint64_t>(1, rounded), parameters);
}

/// Bits that are ordered as magnitudes; NaN ranks above all numbers.
std::uint32_t magnitude(float value) { return std::bit_cast<std::uint32_t>(value) & 0x7fffffffu; }

/// The k-th largest magnitude, and how many of that magnitude are among the k largest.
struct Threshold {
  std::uint32_t magnitude = 0;
  std::size_t equal = 0;
};

/// Two passes, by upper and lower half of the bits, for any values.
Threshold threshold_of(std::span<const float> values, std::size_t k) {
  std::vector<std::uint32_t> counts(1u << 16);
  std::size_t left = k;
  const auto find = [&] {
    std::uint32_t half = 0xffff;
    while (counts[half] < left) left -= counts[half--];
    return half;
  };
  for (const float value : values) ++counts[magnitude(value) >> 16];
  const std::uint32_t upper = find();
  std::fill(counts.begin(), counts.end(), 0);
  for (const float value : values)
    if (const std::uint32_t own = magnitude(value); own >> 16 == upper) ++counts[own & 0xffff];
  const std::uint32_t lower = find();
  return {upper << 16 | lower, left};
}

constexpr std::size_t sampled = 16384;

/// A magnitude, estimated from a sample, that a few more than k of the values reach; 0: possibly all do.
std::uint32_t guess_least(std::span<const float> values, std::size_t k) {
  const std::size_t stride = values.size() / sampled;
  if (stride < 2) return 0;
  const double expected = static_cast<double>(k) / static_cast<double>(stride);
  const auto rank = static_cast<std::size_t>(1.1 * expected + 4 * std::sqrt(expected) + 1);
  if (rank >= sampled) return 0;
  std::vector<std::uint32_t> sample(sampled);
  for (std::size_t i = 0; i < sampled; ++i) sample[i] = magnitude(values[i * stride]);
  std::nth_element(sample.begin(), sample.begin() + static_cast<std::ptrdiff_t>(rank), sample.end(), std::greater<>());
  return sample[rank];
}

/// Indices of the k largest, in ascending order.
std::vector<std::uint32_t> largest_of(const CodingKernels& coding, std::span<const float> values, std::size_t k) {
  std::vector<std::uint32_t> indices(std::min(values.size(), 2 * k + 1024));
  const std::uint32_t least = guess_least(values, k);
  std::size_t found = least > 0 ? coding.indices_of_large(values.size(), values.data(), least, indices.size(), indices.data()) : 0;
  Threshold threshold;
  if (found >= k && found <= indices.size()) {
    std::vector<float> large(found);
    for (std::size_t i = 0; i < found; ++i) large[i] = values[indices[i]];
    threshold = threshold_of(large, k);
  } else {  // the estimate was off
    threshold = threshold_of(values, k);
    indices.resize(std::max<std::size_t>(indices.size(), 1));
    found = coding.indices_of_large(values.size(), values.data(), threshold.magnitude, indices.size(), indices.data());
    if (found > indices.size()) {  // many equal magnitudes
      indices.resize(found);
      coding.indices_of_large(values.size(), values.data(), threshold.magnitude, found, indices.data());
    }
  }
  std::size_t kept = 0;
  for (std::size_t i = 0; i < found; ++i) {
    const std::uint32_t own = magnitude(values[indices[i]]);
    if (own < threshold.magnitude || (own == threshold.magnitude && threshold.equal == 0)) continue;
    if (own == threshold.magnitude) --threshold.equal;
    indices[kept++] = indices[i];
  }
  indices.resize(kept);
  return indices;
}

void apply_top_k(const Kernels& kernels, const Extent& extent, const std::vector<const float*>& inputs, const std::vector<double>& scalars,
                 float* out) {
  // v itself if nothing is added to it: it is read once.
  std::copy_n(inputs[0] + extent.own, extent.registers, out + extent.own);
  if (inputs.size() > 1) take_inputs(kernels, extent, inputs, out);
  const std::span<const float> values(inputs.size() > 1 ? out : inputs[0], extent.n);
  const std::size_t k = kept_of(scalars, extent.n);
  if (k >= extent.n) {
    if (values.data() != out) std::ranges::copy(values, out);
    return;
  }
  const std::vector<std::uint32_t> indices = largest_of(coding_kernels(kernels.name), values, k);
  std::vector<float> kept(k);
  for (std::size_t i = 0; i < k; ++i) kept[i] = values[indices[i]];
  std::fill_n(out, extent.n, 0.0f);
  for (std::size_t i = 0; i < k; ++i) out[indices[i]] = kept[i];
}

/// All indices, then all values. A zero that was kept may be written with another index.
std::vector<std::byte> encode(const std::vector<double>& scalars, const VectorLayout&, std::span<const float> q) {
  const std::size_t k = kept_of(scalars, q.size());
  std::vector<std::uint32_t> indices(k);
  std::size_t found = coding_kernels().indices_of_set(q.size(), q.data(), k, indices.data());
  if (found > k) throw std::logic_error("a gradient in which top_k has left more values than it keeps");
  for (std::size_t i = 0; found < k; ++i)
    if (std::bit_cast<std::uint32_t>(q[i]) == 0) indices[found++] = static_cast<std::uint32_t>(i);
  std::vector<std::byte> message(k * entry_bytes);
  std::memcpy(message.data(), indices.data(), k * index_bytes);
  for (std::size_t i = 0; i < k; ++i) std::memcpy(message.data() + k * index_bytes + i * sizeof(float), &q[indices[i]], sizeof(float));
  return message;
}

void decode(const std::vector<double>& scalars, const VectorLayout&, std::span<const std::byte> message, std::span<float> q) {
  const std::size_t k = kept_of(scalars, q.size());
  if (message.size() != k * entry_bytes) throw std::logic_error("a message of top_k that has another size than it must");
  std::fill(q.begin(), q.end(), 0.0f);
  for (std::size_t i = 0; i < k; ++i) {
    std::uint32_t index = 0;
    std::memcpy(&index, message.data() + i * index_bytes, index_bytes);
    if (index >= q.size()) throw std::logic_error("a message of top_k with an index beyond the gradient");
    std::memcpy(&q[index], message.data() + k * index_bytes + i * sizeof(float), sizeof(float));
  }
}

// Out of place: after an overflow only that is sent.
const Register<ElementwiseEntry> arithmetic({.name = "top_k",
                                             .summary = "the values of a gradient that are largest in magnitude",
                                             .parameters = {},
                                             .in_place = -1,
                                             .statistics = StatisticsRule::carry,
                                             .gradient = 0,
                                             .apply = apply_top_k});

const Register<CompressorEntry> entry({
    .name = "top_k",
    .summary = "only the largest values of a gradient, each with its index",
    .reference = "Aji & Heafield 2017; Stich et al. 2018",
    .formula = "C(v)_i = v_i if |v_i| is among the k largest, else 0",
    .message = "8 k for d parameters, k = max(1, round(fraction d))",
    .parameters = {{.name = "fraction",
                    .type = ValueType::fraction,
                    .fallback = "0.01",
                    .meaning = "k / d, share of the parameters that a message carries",
                    .range = Range::above_to(0, 1)},
                   error_feedback(true),
                   compressed_direction()},
    .all_reduce = CompressedAllReduce::all_gather,
    .rule = &top_k_rule,
    .scalars = [](const Parameters& parameters) { return std::vector<double>{parameters.number("fraction")}; },
    .bytes = [](const std::vector<double>& scalars,
                const VectorLayout& layout) { return std::uint64_t{entry_bytes} * kept_of(scalars, layout.parameters); },
    .encode = encode,
    .decode = decode,
});

}  // namespace
}  // namespace straggler::compression::top_k

// The arithmetic of sim/lineage's own rules: sums and means, in the order of their inputs, differences and blends, and rounding.
#include <algorithm>
#include <vector>

#include "models/rules/elementwise.hpp"
#include "sim/base/registry.hpp"

namespace straggler::averages {
namespace {

void apply_mean(const Kernels& kernels, const Extent& extent, const std::vector<const float*>& inputs, const std::vector<double>&,
                float* out) {
  kernels.mean(extent.n, inputs.size(), inputs.data(), out);
}

/// Floats [begin, end) of a vector.
struct Piece {
  std::size_t begin, end;
};

/// Equal pieces of the parameters; the last one includes the numbers behind them.
Piece piece_of(const Extent& extent, std::size_t index, std::size_t count) {
  const std::size_t parameters = std::min(extent.own, extent.n);
  return {parameters * index / count, index + 1 == count ? extent.n : parameters * (index + 1) / count};
}

/// Fragment (index, count), the last two scalars.
Piece piece_of(const Extent& extent, const std::vector<double>& scalars) {
  return piece_of(extent, static_cast<std::size_t>(scalars[scalars.size() - 2]),
                  std::max<std::size_t>(1, static_cast<std::size_t>(scalars.back())));
}

void clear_outside(const Piece& piece, std::size_t n, float* out) {
  std::fill(out, out + piece.begin, 0.0f);
  std::fill(out + piece.end, out + n, 0.0f);
}

void copy_registers(const Extent& extent, const float* from, float* out) {
  if (from != out) std::copy_n(from + extent.own, extent.registers, out + extent.own);
}

/// Chunk c of k is [n c / k, n (c + 1) / k). In a ring reduce-scatter it starts at rank c and each next rank adds its own, so it is summed
/// in the order c, c + 1, …, k - 1, 0, …, c - 1 (Patarasuk & Yuan 2009). Separately exchanged numbers have a ring of their own.
void apply_ring_mean(const Kernels& kernels, const Extent& extent, const std::vector<const float*>& inputs,
                     const std::vector<double>& scalars, float* out) {
  const std::size_t ranks = inputs.size(), cut = extent.apart > 0 ? std::min(extent.apart, extent.n) : extent.n;
  std::vector<const float*> rotated(ranks);
  const auto reduce = [&](std::size_t begin, std::size_t n) {
    for (std::size_t chunk = 0; chunk < ranks; ++chunk) {
      const std::size_t from = begin + n * chunk / ranks, to = begin + n * (chunk + 1) / ranks;
      for (std::size_t i = 0; i < ranks; ++i) rotated[i] = inputs[(chunk + i) % ranks] + from;
      kernels.mean(to - from, ranks, rotated.data(), out + from);
    }
  };
  if (!scalars.empty()) {  // a fragment has its own ring
    const Piece piece = piece_of(extent, scalars);
    reduce(piece.begin, piece.end - piece.begin);
    return clear_outside(piece, extent.n, out);
  }
  reduce(0, cut);
  if (cut < extent.n) reduce(cut, extent.n - cut);
}

void apply_weighted_mean(const Kernels& kernels, const Extent& extent, const std::vector<const float*>& inputs,
                         const std::vector<double>& scalars, float* out) {
  const std::vector<float> scale(scalars.begin(), scalars.end());
  kernels.weighted_sum(extent.n, inputs.size(), inputs.data(), scale.data(), out);
}

void apply_add(const Kernels& kernels, const Extent& extent, const std::vector<const float*>& inputs, const std::vector<double>&,
               float* out) {
  const float ones[] = {1.0f, 1.0f};
  kernels.weighted_sum(extent.n, 2, inputs.data(), ones, out);
}

void apply_corrected(const Kernels& kernels, const Extent& extent, const std::vector<const float*>& inputs,
                     const std::vector<double>& scalars, float* out) {
  const std::vector<float> scale(scalars.begin(), scalars.end());
  kernels.weighted_sum(extent.n, inputs.size(), inputs.data(), scale.data(), out);
  copy_registers(extent, inputs[0], out);
}

void apply_product(const Kernels&, const Extent& extent, const std::vector<const float*>& inputs, const std::vector<double>&, float* out) {
  for (std::size_t i = 0; i < extent.n; ++i) {
    float product = inputs[0][i];
    for (std::size_t k = 1; k < inputs.size(); ++k) product *= inputs[k][i];
    out[i] = product;
  }
  copy_registers(extent, inputs[0], out);
}

void apply_difference(const Kernels& kernels, const Extent& extent, const std::vector<const float*>& inputs,
                      const std::vector<double>& scalars, float* out) {
  const Piece piece = piece_of(extent, scalars);
  const float* const terms[] = {inputs[0] + piece.begin, inputs[1] + piece.begin};
  const float signs[] = {1.0f, -1.0f};
  kernels.weighted_sum(piece.end - piece.begin, 2, terms, signs, out + piece.begin);
  clear_outside(piece, extent.n, out);
  copy_registers(extent, inputs[1], out);
}

void apply_blend(const Kernels& kernels, const Extent& extent, const std::vector<const float*>& inputs, const std::vector<double>& scalars,
                 float* out) {
  const Piece piece = piece_of(extent, scalars);
  if (inputs[0] != out) {
    std::copy(inputs[0], inputs[0] + piece.begin, out);
    std::copy(inputs[0] + piece.end, inputs[0] + extent.n, out + piece.end);
  }
  const auto share = static_cast<float>(scalars[0]);
  if (share == 1.0f) {
    std::copy(inputs[1] + piece.begin, inputs[1] + piece.end, out + piece.begin);
    return;
  }
  const float* const terms[] = {inputs[0] + piece.begin, inputs[1] + piece.begin};
  const float shares[] = {1.0f - share, share};
  kernels.weighted_sum(piece.end - piece.begin, 2, terms, shares, out + piece.begin);
}

void apply_part(const Kernels&, const Extent& extent, const std::vector<const float*>& inputs, const std::vector<double>& scalars,
                float* out) {
  const Piece piece = piece_of(extent, scalars);
  if (inputs[0] != out) std::copy(inputs[0] + piece.begin, inputs[0] + piece.end, out + piece.begin);
  clear_outside(piece, extent.n, out);
}

void apply_mixture(const Kernels&, const Extent& extent, const std::vector<const float*>& inputs, const std::vector<double>& scalars,
                   float* out) {
  for (std::size_t k = 0; k < scalars.size(); ++k) {
    const float* const from = inputs[static_cast<std::size_t>(scalars[k])];
    const Piece piece = piece_of(extent, k, scalars.size());
    if (from != out) std::copy(from + piece.begin, from + piece.end, out + piece.begin);
  }
}

void apply_with_statistics(const Kernels&, const Extent& extent, const std::vector<const float*>& inputs, const std::vector<double>&,
                           float* out) {
  if (inputs[0] == out) return;
  std::copy_n(inputs[0], extent.n, out);
  copy_registers(extent, inputs[0], out);
}

template <Precision precision>
void apply_rounding(const Kernels& kernels, const Extent& extent, const std::vector<const float*>& inputs, const std::vector<double>&,
                    float* out) {
  kernels.round(precision, extent.n, inputs[0], 1.0f, out);
  if (inputs[0] != out) std::copy_n(inputs[0] + extent.own, extent.registers, out + extent.own);
}

// A rotated sum reads each input in k pieces, at places that are written in k other steps: never two of them at the same
// place, so the first input's buffer may serve the result there too.
const Register<ElementwiseEntry> mean_entry({.name = "mean",
                                             .summary = "mean, summed in rank order",
                                             .parameters = {},
                                             .in_place = 0,
                                             .apply = apply_mean,
                                             .sparse = SparseForm::rows()});
const Register<ElementwiseEntry> ring_mean_entry(
    {.name = "ring_mean", .summary = "mean, summed as a ring all-reduce does", .parameters = {}, .in_place = 0, .apply = apply_ring_mean});
const Register<ElementwiseEntry> weighted_mean_entry({.name = "weighted_mean",
                                                      .summary = "weighted sum in rank order",
                                                      .parameters = {},
                                                      .in_place = 0,
                                                      .apply = apply_weighted_mean,
                                                      .sparse = SparseForm::rows()});
const Register<ElementwiseEntry> add_entry(
    {.name = "add", .summary = "sum of two", .parameters = {}, .in_place = 0, .apply = apply_add, .sparse = SparseForm::rows()});
const Register<ElementwiseEntry> corrected_entry({.name = "corrected",
                                                  .summary = "a gradient and what corrects it, weighted",
                                                  .parameters = {},
                                                  .in_place = 0,
                                                  .statistics = StatisticsRule::carry,
                                                  .gradient = 0,
                                                  .apply = apply_corrected});
// Out of place, like the next one: the input may still be needed as the previous state.
const Register<ElementwiseEntry> product_entry({.name = "product",
                                                .summary = "the product of vectors, number by number",
                                                .parameters = {},
                                                .in_place = -1,
                                                .statistics = StatisticsRule::carry,
                                                .gradient = 0,
                                                .apply = apply_product});
const Register<ElementwiseEntry> difference_entry({.name = "difference",
                                                   .summary = "the difference of two vectors",
                                                   .parameters = {},
                                                   .in_place = -1,
                                                   .statistics = StatisticsRule::carry,
                                                   .gradient = 1,
                                                   .apply = apply_difference});
const Register<ElementwiseEntry> blend_entry(
    {.name = "blend", .summary = "two vectors, blended", .parameters = {}, .in_place = 0, .apply = apply_blend});
const Register<ElementwiseEntry> part_entry(
    {.name = "part", .summary = "a fragment of a vector", .parameters = {}, .in_place = 0, .apply = apply_part});
const Register<ElementwiseEntry> mixture_entry(
    {.name = "mixture", .summary = "chunks of several vectors", .parameters = {}, .in_place = 0, .apply = apply_mixture});
const Register<ElementwiseEntry> with_statistics_entry({.name = "with_statistics",
                                                        .summary = "weights with the running statistics of another vector",
                                                        .parameters = {},
                                                        .in_place = 0,
                                                        .statistics = StatisticsRule::carry,
                                                        .gradient = 1,
                                                        .apply = apply_with_statistics});
const Register<ElementwiseEntry> fp16_entry({.name = "as_fp16",
                                             .summary = "as a message in FP16 carries it",
                                             .parameters = {},
                                             .in_place = 0,
                                             .statistics = StatisticsRule::carry,
                                             .gradient = 0,
                                             .apply = apply_rounding<Precision::fp16>});
const Register<ElementwiseEntry> bf16_entry({.name = "as_bf16",
                                             .summary = "as a message in bfloat16 carries it",
                                             .parameters = {},
                                             .in_place = 0,
                                             .statistics = StatisticsRule::carry,
                                             .gradient = 0,
                                             .apply = apply_rounding<Precision::bf16>});

}  // namespace
}  // namespace straggler::averages

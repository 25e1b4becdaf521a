// The arithmetic of sim/lineage's own rules: sums and means, in the order of their inputs, and rounding.
#include <algorithm>
#include <vector>

#include "models/optimizers/optimizer.hpp"
#include "sim/base/registry.hpp"

namespace straggler {
namespace {

void apply_mean(const Kernels& kernels, const Extent& extent, const std::vector<const float*>& inputs, const std::vector<double>&,
                float* out) {
  kernels.mean(extent.n, inputs.size(), inputs.data(), out);
}

/// Chunk c of k is [n c / k, n (c + 1) / k). In a ring reduce-scatter it starts at rank c and each next rank adds its own, so
/// it is summed in the order c, c + 1, …, k - 1, 0, …, c - 1 (Patarasuk & Yuan 2009). What is exchanged apart goes around a ring of its
/// own.
void apply_ring_mean(const Kernels& kernels, const Extent& extent, const std::vector<const float*>& inputs, const std::vector<double>&,
                     float* out) {
  const std::size_t ranks = inputs.size(), cut = extent.apart > 0 ? std::min(extent.apart, extent.n) : extent.n;
  std::vector<const float*> rotated(ranks);
  const auto reduce = [&](std::size_t begin, std::size_t n) {
    for (std::size_t chunk = 0; chunk < ranks; ++chunk) {
      const std::size_t from = begin + n * chunk / ranks, to = begin + n * (chunk + 1) / ranks;
      for (std::size_t i = 0; i < ranks; ++i) rotated[i] = inputs[(chunk + i) % ranks] + from;
      kernels.mean(to - from, ranks, rotated.data(), out + from);
    }
  };
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
}  // namespace straggler

// Passes over feature maps that oneDNN has no operator for, or none that keeps NaN: batch normalization with the sum and the ReLU that
// follow it in one pass, backward too; sums, ReLUs and max pools. Compiled once per instruction set, as the kernels beside this folder.
//
// Feature maps lie as oneDNN's layouts nchw, nChw8c and nChw16c have them: [rows][ceil(channels / block)][places][block]. What lies
// past the last channel is zero, and stays so where a channel's weight and shift there are zero.
//
// Sums over rows and places: fp32 within a row, double over the rows, in order. Nothing here starts a thread or allocates.
#pragma once
#include <cstddef>
#include <string_view>

#include "models/kernels/window.hpp"

namespace straggler::onednn {

struct Maps {
  std::size_t rows = 0, channels = 0, places = 0, block = 1;  // block: a power of two
  std::size_t blocks() const { return (channels + block - 1) / block; }
  /// Channels with those past the last: the length of all arrays of a number per channel.
  std::size_t padded() const { return blocks() * block; }
  std::size_t floats() const { return rows * padded() * places; }
};

/// Of each channel, [padded] each: output = (x - mean) factor + shift.
struct ChannelNorm {
  const float *mean, *factor, *shift;
};

/// Where a ReLU that follows the norm let its input pass.
enum class Gate {
  none,    // no ReLU
  output,  // where its output, which is at hand, is not <= 0
  input,   // where (x - mean) factor + shift is not <= 0: nothing was added before the ReLU
};

/// What comes back to the norm: `first`, plus `second` if it is not null, zero where the gate is shut.
struct Arriving {
  const float *first, *second;
  Gate gate;
  const float* output;  // Gate::output only
};

/// x, y and gradients are maps of one shape, which do not overlap unless said so. Each window of a pool meets at least one place.
struct MapKernels {
  std::string_view name;  // of the Kernels that these belong to
  /// Mean and biased variance of each channel over rows and places: two passes over each row's places (Chan, Golub, LeVeque 1983).
  /// sums: 2 x padded numbers of scratch.
  void (*statistics)(const Maps& maps, const float* x, double* sums, float* mean, float* variance);
  /// y = (x - mean) factor + shift [+ residual], then max(0, ·) if `relu` (NaN stays NaN). residual: null for none; may be y.
  void (*normalize)(const Maps& maps, const ChannelNorm& norm, const float* x, const float* residual, bool relu, float* y);
  /// sums[c] = Σ d, sums[padded + c] = Σ d (x - mean) with d what arrives; d itself into `arrived` unless that is null.
  void (*arrivals)(const Maps& maps, const ChannelNorm& norm, const float* x, const Arriving& arriving, double* sums, float* arrived);
  /// dx = factor (d - constant - (x - mean) slope), with numbers per channel [padded].
  void (*norm_backward)(const Maps& maps, const ChannelNorm& norm, const float* x, const Arriving& arriving, const float* constant,
                        const float* slope, float* dx);
  /// y = a [+ b], then max(0, ·) if `relu` (NaN stays NaN), on n floats. b: null for none. y may be a or b.
  void (*add)(std::size_t n, const float* a, const float* b, bool relu, float* y);
  /// dx = (a [+ b]) where y is not <= 0, else 0. dx may be a or b.
  void (*relu_backward)(std::size_t n, const float* y, const float* a, const float* b, float* dx);
  /// y = the largest of each window (a NaN if there is one). maps: x's.
  void (*max_pool)(const Maps& maps, const SlidingWindow& windows, const float* x, float* y);
  /// dx = the sum of dy over the windows whose largest, or first of the largest, x is.
  void (*max_pool_backward)(const Maps& maps, const SlidingWindow& windows, const float* x, const float* y, const float* dy, float* dx);
};

/// Those of the kernels with that name, or null: `generic` has none.
const MapKernels* map_kernels(std::string_view kernels);

}  // namespace straggler::onednn

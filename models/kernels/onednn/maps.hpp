// Passes over feature maps that oneDNN lacks, or whose operator loses NaN: batch normalization fused with the following sum and ReLU,
// backward too; sums, ReLUs and max pools. Compiled once per instruction set, as the kernels of the parent folder.
//
// Feature maps use oneDNN's layouts nchw, nChw8c and nChw16c: [rows][ceil(channels / block)][places][block]. Padding channels are zero, and
// stay zero if their weight and shift are zero.
//
// Sums over rows and places: fp32 within a row, double over the rows, in order. No function starts a thread or allocates.
#pragma once
#include <cstddef>
#include <string_view>

#include "models/kernels/window.hpp"

namespace straggler::onednn {

struct Maps {
  std::size_t rows = 0, channels = 0, places = 0, block = 1;  // block: a power of two
  std::size_t blocks() const { return (channels + block - 1) / block; }
  /// Channels including padding: the length of all per-channel arrays.
  std::size_t padded() const { return blocks() * block; }
  std::size_t floats() const { return rows * padded() * places; }
};

/// Per channel, [padded] each: output = (x - mean) factor + shift.
struct ChannelNorm {
  const float *mean, *factor, *shift;
};

/// Where a ReLU after the norm passed its input.
enum class Gate {
  none,    // no ReLU
  output,  // where its available output is not <= 0
  input,   // where (x - mean) factor + shift is not <= 0: nothing was added before the ReLU
};

/// The gradient that arrives at the norm: `first`, plus `second` if it is not null, zero where the gate is shut.
struct Arriving {
  const float *first, *second;
  Gate gate;
  const float* output;  // Gate::output only
};

/// A convolution of 3x3 windows and stride 1, padded by at most 2.
struct WinogradMaps {
  std::size_t rows, in_channels, out_channels;  // multiples of winograd_channels
  std::size_t block;                            // of the maps: winograd_block
  SlidingWindow slide;
};
inline constexpr std::size_t winograd_channels = 32;

/// x, y and gradients are maps of one shape, which do not overlap unless noted. Each window of a pool meets at least one place.
struct MapKernels {
  std::string_view name;  // of the matching Kernels
  /// Mean and biased variance of each channel over rows and places: two passes over each row's places (Chan, Golub, LeVeque 1983).
  /// sums: 2 x padded numbers of scratch.
  void (*statistics)(const Maps& maps, const float* x, double* sums, float* mean, float* variance);
  /// y = (x - mean) factor + shift [+ residual], then max(0, ·) if `relu` (NaN stays NaN). residual: null for none; may be y.
  void (*normalize)(const Maps& maps, const ChannelNorm& norm, const float* x, const float* residual, bool relu, float* y);
  /// sums[c] = Σ d, sums[padded + c] = Σ d (x - mean) for the arriving gradient d; writes d to `arrived` unless that is null.
  void (*arrivals)(const Maps& maps, const ChannelNorm& norm, const float* x, const Arriving& arriving, double* sums, float* arrived);
  /// dx = factor (d - constant - (x - mean) slope), with numbers per channel [padded].
  void (*norm_backward)(const Maps& maps, const ChannelNorm& norm, const float* x, const Arriving& arriving, const float* constant,
                        const float* slope, float* dx);
  /// y = a [+ b], then max(0, ·) if `relu` (NaN stays NaN), on n floats. b: null for none. y may be a or b.
  void (*add)(std::size_t n, const float* a, const float* b, bool relu, float* y);
  /// dx = (a [+ b]) where y is not <= 0, else 0. dx may be a or b.
  void (*relu_backward)(std::size_t n, const float* y, const float* a, const float* b, float* dx);
  /// y = the maximum of each window (NaN if it contains one). maps: x's.
  void (*max_pool)(const Maps& maps, const SlidingWindow& windows, const float* x, float* y);
  /// dx = the sum of dy over the windows whose maximum, first among ties, x is.
  void (*max_pool_backward)(const Maps& maps, const SlidingWindow& windows, const float* x, const float* y, const float* dy, float* dx);

  // By Winograd's algorithm, F(4x4, 3x3). w, dw: [out][in][3][3]; bias, db: null for none.
  std::size_t winograd_block;  // floats of a block of channels
  /// Floats of scratch of either of the two.
  std::size_t (*winograd_floats)(const WinogradMaps& conv);
  /// y from x, or if `by_source` the gradient of the source from the result's; x and y: of their own shapes.
  void (*winograd)(const WinogradMaps& conv, bool by_source, const float* x, const float* w, const float* bias, float* y, float* scratch);
  /// dw, db: added to the old values if `accumulate`.
  void (*winograd_by_weight)(const WinogradMaps& conv, const float* x, const float* dy, bool accumulate, float* dw, float* db,
                             float* scratch);
};

/// Those of the kernels with that name; null for `generic`.
const MapKernels* map_kernels(std::string_view kernels);

}  // namespace straggler::onednn

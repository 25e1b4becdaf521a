// The hot loops of networks over sequences, for each set of kernels of kernels.hpp. The lanes of a panel are places: a sequence of n places
// is n rows of a batch, so that a layer over the channels of each place is a dense layer. Padding lanes are readable and writable memory
// whose content is ignored. Bits depend on the set alone, as in kernels.hpp.
#pragma once
#include <cstddef>

#include "models/kernels/kernels.hpp"

namespace straggler {

/// An element-wise layer without weights.
enum class Activation { relu, tanh, gelu, gelu_by_tanh, silu };

/// A norm of each row: of its channels less their mean (layer norm), or as they are (RMS norm).
struct RowNorm {
  std::size_t channels = 0;
  bool centred = false;
  float epsilon = 0;  // added to the mean square
};

/// Attention of one sample in one head: queries, keys and values in panels of the sample's places, `width` features each. The first panel
/// begins with the sample's first place; from one panel to the next there are `stride` floats.
struct AttentionHead {
  std::size_t places = 0, width = 0;
  bool causal = false;  // a place sees itself and those before it
  const float *queries = nullptr, *keys = nullptr, *values = nullptr;
  std::size_t stride = 0, context_stride = 0;
  float* scratch = nullptr;  // [scratch_floats]

  /// Two tables of shares for the queries of a panel, and a square.
  static std::size_t scratch_floats(std::size_t places) { return 2 * panel_floats(places, panel_rows) + panel_rows * panel_rows; }
};

struct PlaceKernels {
  /// y = f(x) on n floats. With u in the last place of the result: relu exact; tanh 2 u; silu and gelu_by_tanh 2^-22 |x|; gelu 2^-22 |x|.
  void (*activation_forward)(Activation f, std::size_t n, const float* x, float* y);
  /// dx = dy f'(x), f' within 2^-20. y: f(x). dx may be dy.
  void (*activation_backward)(Activation f, std::size_t n, const float* x, const float* y, const float* dy, float* dx);

  /// y = gain z + bias with z = (x - mean) / √(variance + epsilon), the mean and the variance over the channels of a row; not centred:
  /// z = x / √(mean of x² + epsilon). Sums: channels c, c + 4, c + 8, … in order, then the four. bias: null: none.
  void (*norm_forward)(std::size_t rows, const RowNorm& norm, const float* x, const float* gain, const float* bias, float* y);
  /// dgain += Σ dy z, dbias += Σ dy (null: none), dx = ∂y/∂x dy (null: none), added to the old values if `accumulate`.
  void (*norm_backward)(std::size_t rows, const RowNorm& norm, const float* x, const float* gain, const float* dy, bool accumulate,
                        float* dgain, float* dbias, float* dx);

  /// context[width] of each place = Σ p v, p the softmax over the keys of qᵀk / √width.
  void (*attention_forward)(const AttentionHead& head, float* context);
  /// dqueries = …, dkeys += …, dvalues += …, at the head's `stride`, from dcontext. The shares are computed again.
  void (*attention_backward)(const AttentionHead& head, const float* dcontext, float* dqueries, float* dkeys, float* dvalues);
};

/// Of the same set.
const PlaceKernels& place_kernels(const Kernels& kernels);

}  // namespace straggler

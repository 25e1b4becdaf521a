// The hot loops, on raw pointers. On x86-64 the same source (set.inc.hpp) is compiled once per instruction set (x86-64-v2, -v3,
// -v4), each in an object and a namespace of its own; `generic` (generic.cpp) is written on Eigen and runs everywhere. One set is
// chosen at start.
//
// Results depend on the set (sums are grouped differently), never on the number of threads: nothing here starts one. Nothing
// here allocates but Eigen, which packs blocks of large matrices. NaN and infinity travel as IEEE 754 says: a NaN weight gives
// a NaN loss.
//
// Two layouts of a batch of `rows` vectors of `features` floats:
//  - sample-major: [rows][features], as data sets have it;
//  - panels: [ceil(rows / 32)][features][32], 32 samples side by side, what the dense kernels work on. A panel is contiguous,
//    so matrix products read it in order, and its lanes are samples, so that no width (2, 10, 200) wastes lanes.
//    Lanes past the last row are padding: readable and writable memory whose content is ignored.
// Weights are [out][in], row-major, as PyTorch's nn.Linear has them.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace straggler {

/// Samples in a panel.
inline constexpr std::size_t panel_rows = 32;
/// Floats that hold `rows` vectors of `features` floats in panels.
constexpr std::size_t panel_floats(std::size_t rows, std::size_t features) {
  return (rows + panel_rows - 1) / panel_rows * panel_rows * features;
}

/// Pairs of rows, for negative sampling: each pair has a centre u and `targets` outputs v, of which the first belongs to it (the context)
/// and the others do not (the negatives). Gradients may coincide with each other in any way but centres' with outputs'.
struct PairBlock {
  std::size_t pairs = 0, width = 0, targets = 0;  // width: floats of a row; targets <= most_targets
  const float* const* centres = nullptr;          // [pairs]
  const float* const* outputs = nullptr;          // [pairs][targets]
  const float* scale = nullptr;                   // [pairs]: the weight of each pair's loss; null: 1
  float* const* centre_gradients = nullptr;       // [pairs], added to; null: neither these nor the outputs' are wanted
  float* const* output_gradients = nullptr;       // [pairs][targets], added to
  float* scores = nullptr;                        // [pairs][targets]: u · v; may be null
};
inline constexpr std::size_t most_targets = 64;

/// `rows` is the batch, `in`/`out` the widths of a layer. Unless said otherwise, arrays do not overlap.
struct Kernels {
  std::string_view name;  // "generic", "x86-64-v3"

  // Layouts: x[rows][features] to panels and back.
  void (*to_panels)(std::size_t rows, std::size_t features, const float* x, float* panels);
  void (*from_panels)(std::size_t rows, std::size_t features, const float* panels, float* x);

  // Layers. x, y, dx, dy, scores: panels.
  /// y = w · x + b for every sample, then max(0, ·) if `relu` (NaN stays NaN).
  void (*dense_forward)(std::size_t rows, std::size_t in, std::size_t out, const float* x, const float* w, const float* b, bool relu,
                        float* y);
  /// dw[out][in] = Σ dy xᵀ, db[out] = Σ dy over the samples; added to what is there if `accumulate`.
  void (*dense_backward_weights)(std::size_t rows, std::size_t in, std::size_t out, const float* x, const float* dy, bool accumulate,
                                 float* dw, float* db);
  /// dx = wᵀ · dy for every sample, zeroed where x <= 0 if `relu` (x: the input of this layer, output of a ReLU; else ignored).
  void (*dense_backward_input)(std::size_t rows, std::size_t in, std::size_t out, const float* dy, const float* w, const float* x,
                               bool relu, float* dx);
  /// In place: scores -> scale[row] * (softmax - one-hot). Returns Σ scale[row] * cross entropy. labels[row] < classes.
  double (*softmax_cross_entropy)(std::size_t rows, std::size_t classes, float* scores, const std::int32_t* labels, const float* scale);
  /// Σ cross entropy over rows; adds to `correct` how many rows have their largest score at their label (ties: the first).
  double (*softmax_evaluate)(std::size_t rows, std::size_t classes, const float* scores, const std::int32_t* labels,
                             std::uint64_t* correct);

  // Elementwise on n floats, one pass over memory each; `out` may be one of the inputs.
  /// out = Σ_i scale[i] x_i, summed in order i = 0, 1, …; count >= 1
  void (*weighted_sum)(std::size_t n, std::size_t count, const float* const* x, const float* scale, float* out);
  /// out = (Σ_i x_i) / count, summed in order; count >= 1
  void (*mean)(std::size_t n, std::size_t count, const float* const* x, float* out);
  /// out = momentum v + (g + decay w): the velocity, or with the new velocity as v, Nesterov's direction. v null: g + decay w;
  /// w null: no decay.
  void (*momentum)(std::size_t n, float momentum, float decay, const float* g, const float* w, const float* v, float* out);
  /// out = w - rate d
  void (*descend)(std::size_t n, float rate, const float* w, const float* d, float* out);

  /// Σ scale (log(1 + e^-(u · v of the context)) + Σ log(1 + e^(u · v of a negative))), and its gradient: pair after pair, and of a pair
  /// target after target.
  double (*negative_sampling)(const PairBlock& block);
};

/// The sets that were built and that this processor can run, slowest first: `generic`, then those of its own.
std::vector<std::string_view> available_kernels();
/// `name` as above, or "auto" for the fastest. Throws std::invalid_argument that lists the available ones.
const Kernels& select_kernels(std::string_view name);

}  // namespace straggler

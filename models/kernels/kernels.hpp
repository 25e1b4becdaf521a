// The hot loops, on raw pointers. On x86-64 the same source (set.inc.hpp) is compiled once per instruction set (x86-64-v2, -v3, -v4), each
// in its own object and namespace; `generic` (generic.cpp) is written on Eigen and runs everywhere. One set is chosen at start.
//
// Results depend on the set (sums are grouped differently), never on the number of threads: no function starts one. Only Eigen allocates,
// to pack blocks of large matrices. NaN and infinity propagate by IEEE 754: a NaN weight gives a NaN loss.
//
// Two layouts of a batch of `rows` vectors of `features` floats:
//  - sample-major: [rows][features], as in data sets;
//  - panels: [ceil(rows / 32)][features][32], 32 samples side by side, the layout of the dense kernels. A panel is contiguous, so matrix
//    products read it sequentially, and its lanes are samples, so no width (2, 10, 200) wastes lanes. Lanes past the last row are padding:
//    readable and writable memory whose content is ignored.
// Weights are [out][in], row-major, as in PyTorch's nn.Linear; of a convolution [out][in / groups][height][width]. The features of an image
// are [channels][height][width], so a panel of images is [channels][height][width][32], and a flattened image is the image itself.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "models/kernels/precision.hpp"
#include "models/kernels/window.hpp"

namespace straggler {

/// Samples in a panel.
inline constexpr std::size_t panel_rows = 32;
/// Floats that hold `rows` vectors of `features` floats in panels.
constexpr std::size_t panel_floats(std::size_t rows, std::size_t features) {
  return (rows + panel_rows - 1) / panel_rows * panel_rows * features;
}

/// Floats in a convolution's working set: a share of a first-level cache of 32 KiB.
inline constexpr std::size_t conv_block = 6144;

/// Zero padding. Output channel o reads only the input channels of its group; `groups` divides both numbers of channels.
struct Convolution {
  SlidingWindow slide;
  std::size_t in_channels = 1, out_channels = 1, groups = 1;
  bool direct = false;  // always direct sums of products, even if slower

  std::size_t group_in() const { return in_channels / groups; }
  std::size_t group_out() const { return out_channels / groups; }
  std::size_t weights() const { return out_channels * group_in() * slide.places(); }
  /// Whether forward and backward by the input may use Winograd's algorithm (winograd.inc.hpp).
  bool winograd() const {
    const std::size_t side = slide.height;
    return !direct && (side == 3 || side == 5) && slide.width == side && slide.stride == 1 && slide.pad_height < side &&
           slide.pad_width < side && group_in() >= 12 && group_out() >= 12;
  }
  /// Floats of scratch memory that any of its kernels may need.
  std::size_t scratch_floats() const {
    const std::size_t padded = slide.in_height * (slide.in_width + 2 * slide.pad_width) * panel_rows,
                      rows = 12 * slide.out_width * panel_rows;
    const std::size_t backward = padded + rows + conv_block + 16 * 16 * slide.places();
    const std::size_t side = slide.height + 3;  // of Winograd's tiles
    const std::size_t tiles = winograd() ? side * side * (group_in() * group_out() + (group_in() + group_out()) * panel_rows + 4 * 16) : 0;
    const std::size_t forward = weights() > tiles ? weights() : tiles;
    return forward > backward ? forward : backward;
  }
};

/// The floats that the bytes of an image stand for.
struct PixelMap {
  float values[256];
};

/// For a pool: the index of a place in its window is one byte.
inline constexpr std::size_t most_pooled = 256;

/// A descent step along a direction divided elementwise by the root of a second moment:
///   out = shrink w - rate (d + decay w) / (sqrt(scale v + shift) + epsilon)
struct ScaledDescent {
  float shrink = 1, rate = 0, decay = 0, scale = 1, shift = 0, epsilon = 0;
};
/// Pairs of rows, for negative sampling. Each pair has a centre u and `targets` outputs v: first the context, then the negatives. Gradients
/// may alias each other, except a centre's with an output's.
struct PairBlock {
  std::size_t pairs = 0, width = 0, targets = 0;  // width: floats of a row; targets <= most_targets
  const float* const* centres = nullptr;          // [pairs]
  const float* const* outputs = nullptr;          // [pairs][targets]
  const float* scale = nullptr;                   // [pairs]: the weight of each pair's loss; null: 1
  float* const* centre_gradients = nullptr;       // [pairs], added to; null: no gradients are computed
  float* const* output_gradients = nullptr;       // [pairs][targets], added to; null: in `factors` and `centre_copies`
  float* scores = nullptr;                        // [pairs][targets]: u · v; may be null
  // The values that gradients are added to, if not in the destination: zeros at the first use of a row.
  const float* const* centres_before = nullptr;  // [pairs]; null: centre_gradients
  const float* const* outputs_before = nullptr;  // [pairs][targets]; null: output_gradients
  bool loss = true;                              // whether to compute the sum; else 0 is returned
  // Replaces the outputs' gradients: each is factor x centre.
  float* factors = nullptr;               // [pairs][targets]
  float* const* centre_copies = nullptr;  // [pairs]: copies of the centres
};
inline constexpr std::size_t most_targets = 64;

/// Rows that are sums of terms, each a factor times a source. The terms of a row are linked in the order of addition.
struct RowTerms {
  static constexpr std::uint32_t none = 0xFFFFFFFF;
  std::size_t width = 0, stride = 0;  // floats per row; floats between rows
  float* sources = nullptr;           // [sources][stride]
  float* factors = nullptr;           // [terms]
  std::uint32_t* source = nullptr;    // [terms]
  std::uint32_t* next = nullptr;      // [terms]: next term of the row; none: the last
  std::uint32_t* first = nullptr;     // [rows]
};

/// A step of SGD along g, with the bits of `momentum` and `descend` one after the other:
///   v_out = momentum v + (g + decay w),  w_out = w - rate v_out
struct WeightStep {
  float rate = 0, momentum = 0, decay = 0;
  const float *w = nullptr, *v = nullptr;    // v null: as if zero
  float *w_out = nullptr, *v_out = nullptr;  // v_out null: not stored

  /// From position `offset` on.
  WeightStep at(std::size_t offset) const {
    return {rate, momentum, decay, w + offset, v ? v + offset : nullptr, w_out + offset, v_out ? v_out + offset : nullptr};
  }
};

/// `rows` is the batch, `in`/`out` the widths of a layer. Unless said otherwise, arrays do not overlap.
struct Kernels {
  std::string_view name;  // "generic", "x86-64-v3"

  // Layouts: x[rows][features] to panels and back.
  void (*to_panels)(std::size_t rows, std::size_t features, const float* x, float* panels);
  /// The rows of x that `samples`[rows] numbers, to panels.
  void (*gather_panels)(std::size_t rows, std::size_t features, const float* x, const std::uint32_t* samples, float* panels);
  /// The same of images, [channels][area] bytes each, as the floats that they stand for; maps[channels].
  void (*gather_pixels)(std::size_t rows, std::size_t channels, std::size_t area, const PixelMap* maps, const std::uint8_t* images,
                        const std::uint32_t* samples, float* panels);
  void (*from_panels)(std::size_t rows, std::size_t features, const float* panels, float* x);

  // Layers. x, y, dx, dy, scores: panels.
  /// y = w · x + b for every sample, then max(0, ·) if `relu` (NaN stays NaN).
  void (*dense_forward)(std::size_t rows, std::size_t in, std::size_t out, const float* x, const float* w, const float* b, bool relu,
                        float* y);
  /// dw[out][in] = Σ dy xᵀ, db[out] = Σ dy over the samples; added to the old values if `accumulate`.
  void (*dense_backward_weights)(std::size_t rows, std::size_t in, std::size_t out, const float* x, const float* dy, bool accumulate,
                                 float* dw, float* db);
  /// The same for columns begin .. end - 1 of dw alone, with the same bits: `begin` is a multiple of panel_rows, and so is `end` unless it
  /// is `in`. db: null if not asked for. Null: the set cannot.
  void (*dense_backward_columns)(std::size_t rows, std::size_t in, std::size_t out, std::size_t begin, std::size_t end, const float* x,
                                 const float* dy, bool accumulate, float* dw, float* db);
  /// dx = wᵀ · dy for every sample, zeroed where x <= 0 if `relu` (x: the input of this layer, output of a ReLU; else ignored).
  void (*dense_backward_input)(std::size_t rows, std::size_t in, std::size_t out, const float* dy, const float* w, const float* x,
                               bool relu, float* dx);
  /// The three above, for a convolution. b, db: null without bias. `scratch`: Convolution::scratch_floats.
  void (*conv_forward)(std::size_t rows, const Convolution& conv, const float* x, const float* w, const float* b, bool relu, float* y,
                       float* scratch);
  void (*conv_backward_weights)(std::size_t rows, const Convolution& conv, const float* x, const float* dy, bool accumulate, float* dw,
                                float* db, float* scratch);
  void (*conv_backward_input)(std::size_t rows, const Convolution& conv, const float* dy, const float* w, const float* x, bool relu,
                              float* dx, float* scratch);
  /// y = the maximum of each window, `winner` (bytes in panels) its index there; ties: the first; NaN ranks above any number.
  void (*max_pool_forward)(std::size_t rows, std::size_t channels, const SlidingWindow& slide, const float* x, float* y,
                           std::uint8_t* winner);
  void (*max_pool_backward)(std::size_t rows, std::size_t channels, const SlidingWindow& slide, const float* dy, const std::uint8_t* winner,
                            float* dx);
  /// The sum of each window over its whole size: padding counts as zeros (PyTorch's count_include_pad).
  void (*average_pool_forward)(std::size_t rows, std::size_t channels, const SlidingWindow& slide, const float* x, float* y);
  /// `x`, `relu`: as for dense_backward_input.
  void (*average_pool_backward)(std::size_t rows, std::size_t channels, const SlidingWindow& slide, const float* dy, const float* x,
                                bool relu, float* dx);
  /// In place: scores -> scale[row] * (softmax - one-hot). Returns Σ scale[row] * cross entropy. labels[row] < classes.
  double (*softmax_cross_entropy)(std::size_t rows, std::size_t classes, float* scores, const std::int32_t* labels, const float* scale);
  /// Σ cross entropy over rows; adds to `correct` the number of rows with the largest score at their label (ties: the first).
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
  /// Both in one pass, at `rows` rows of n floats that lie `stride` floats apart in all vectors. w_out may be w or g, and v_out v.
  void (*step)(std::size_t rows, std::size_t n, std::size_t stride, const float* g, const WeightStep& step);
  /// `descend` in place for `count` scattered rows of n floats each.
  void (*descend_rows)(std::size_t count, std::size_t n, float rate, const float* const* d, float* const* w);
  /// out = keep m + share d with d = g + decay w. m null: share d; w null: d = g.
  void (*moment)(std::size_t n, float keep, float share, float decay, const float* g, const float* w, const float* m, float* out);
  /// out = keep v + share d², likewise.
  void (*second_moment)(std::size_t n, float keep, float share, float decay, const float* g, const float* w, const float* v, float* out);
  void (*descend_scaled)(std::size_t n, const ScaledDescent& by, const float* w, const float* d, const float* v, float* out);
  /// Σ x². Summed in float over short pieces, in double from piece to piece.
  double (*squared_norm)(std::size_t n, const float* x);
  /// out = factor * (the number of that format nearest to x), bit for bit as round_to; returns whether all of out is finite.
  bool (*round)(Precision precision, std::size_t n, const float* x, float factor, float* out);

  // Rows of embeddings.
  /// Σ scale (log(1 + e^-(u · v of the context)) + Σ log(1 + e^(u · v of a negative))), and its gradient: pair by pair, and target by
  /// target within a pair.
  double (*negative_sampling)(const PairBlock& block);
  /// out[count][stride]: rows from `first` on, with the bits of terms added to zeros one by one in `negative_sampling`'s order.
  void (*sum_terms)(std::size_t count, const RowTerms& terms, std::size_t first, float* out);
  /// `descend_rows` along these rows.
  void (*descend_terms)(std::size_t count, float rate, const RowTerms& terms, std::size_t first, float* const* w);

  // Quantized inference, exact. Panels of pairs: [ceil(rows / 32)][pairs][32][2], two inputs of each sample side by side.
  /// y = Σ w x for every sample, in panels; w[out][pairs][2]. No partial sum of the products may leave 32 bits.
  void (*integer_products)(std::size_t rows, std::size_t pairs, std::size_t out, const std::int16_t* x, const std::int16_t* w,
                           std::int32_t* y);
};

/// The sets that were built and that this processor can run, slowest first: `generic`, then the processor's own.
std::vector<std::string_view> available_kernels();
/// `name` as above, or "auto" for the fastest. Throws std::invalid_argument that lists the available ones.
const Kernels& select_kernels(std::string_view name);

}  // namespace straggler

// One set of maps.hpp's passes: compiled with STRAGGLER_KERNELS and STRAGGLER_KERNELS_NAME defined and the compiler's flags for its
// instruction set, under the rules of models/kernels/set.inc.hpp.
#include <immintrin.h>

#include <cstddef>
#include <cstdint>
#include <utility>

#include "models/kernels/kernels.hpp"
#include "models/kernels/onednn/maps.hpp"

namespace straggler::onednn::STRAGGLER_KERNELS {
namespace {
#include "models/kernels/vectors.inc.hpp"

constexpr std::size_t width = lanes;

STRAGGLER_INLINE Vector rectified(Vector x) { return x <= Vector{} ? Vector{} : x; }
/// x where y is not <= 0, else 0.
STRAGGLER_INLINE Vector gated(Vector x, Vector y) { return y <= Vector{} ? Vector{} : x; }

/// A strip: places of one row whose channels repeat with the lanes. If a block is wider than a register, a strip is one register's share of
/// it; if narrower, a register holds several places.
struct Strip {
  std::size_t offset;     // of its first float
  std::size_t channel;    // of its first lane
  std::size_t step;       // floats from one register to the next
  std::size_t registers;  // whole ones
  std::size_t left;       // floats after them
  std::size_t channels;   // channels that its lanes repeat
};

/// Calls each(strip) for all strips, rows outermost.
template <class Each>
STRAGGLER_INLINE void for_strips(const Maps& maps, const Each& each) {
  const std::size_t floats = maps.places * maps.block, shares = maps.block > width ? maps.block / width : 1;
  const std::size_t step = maps.block > width ? maps.block : width, channels = maps.block > width ? width : maps.block;
  for (std::size_t row = 0; row < maps.rows; ++row)
    for (std::size_t block = 0; block < maps.blocks(); ++block)
      for (std::size_t share = 0; share < shares; ++share)
        each(Strip{(row * maps.blocks() + block) * floats + share * width, block * maps.block + share * width, step, floats / step,
                   shares > 1 ? 0 : floats % step, channels});
}

/// per_channel[strip.channel + i mod strip.channels] in lane i.
STRAGGLER_INLINE Vector spread(const float* per_channel, const Strip& strip) {
  if (strip.channels == width) return load(per_channel + strip.channel);
  float all_lanes[width];
  for (std::size_t i = 0; i < width; ++i) all_lanes[i] = per_channel[strip.channel + i % strip.channels];
  return load(all_lanes);
}

/// The sum of the lanes of each channel: into `per_channel` [strip.channels].
STRAGGLER_INLINE void gather(Vector sum, const Strip& strip, float* per_channel) {
  float all_lanes[width];
  store(all_lanes, sum);
  for (std::size_t half = width / 2; half >= strip.channels; half /= 2)
    for (std::size_t i = 0; i < half; ++i) all_lanes[i] += all_lanes[i + half];
  for (std::size_t i = 0; i < strip.channels; ++i) per_channel[i] = all_lanes[i];
}

/// Calls step(at, load, store, mask, k) for each register of a strip, k counting modulo 4: several sums hide the latency of addition.
/// mask(x) is x with zeros past the strip's end.
template <class Step>
STRAGGLER_INLINE void for_registers(const Strip& strip, const Step& step) {
  const auto whole_load = [](const float* at) __attribute__((always_inline)) { return load(at); };
  const auto whole_store = [](float* at, Vector x) __attribute__((always_inline)) { store(at, x); };
  const auto whole = [](Vector x) __attribute__((always_inline)) { return x; };
  std::size_t at = strip.offset, i = 0;
  for (; i + 4 <= strip.registers; i += 4) {
    STRAGGLER_UNROLL
    for (int k = 0; k < 4; ++k, at += strip.step) step(at, whole_load, whole_store, whole, k);
  }
  for (; i < strip.registers; ++i, at += strip.step) step(at, whole_load, whole_store, whole, 0);
  if (strip.left == 0) return;
  const std::size_t left = strip.left;
  step(
      at, [left](const float* from) { return load_some(from, left); }, [left](float* to, Vector x) { store_some(to, x, left); },
      [left](Vector x) { return first(x, left); }, 0);
}

void statistics(const Maps& maps, const float* x, double* sums, float* mean, float* variance) {
  double *const means = sums, *const squares = sums + maps.padded();
  for (std::size_t c = 0; c < 2 * maps.padded(); ++c) sums[c] = 0;
  const double places = static_cast<double>(maps.places);
  const std::size_t a_row = maps.padded() * maps.places;
  for_strips(
      maps, [&](const Strip& strip) __attribute__((always_inline)) {
        Vector sum[4] = {}, square[4] = {};
        float per_channel[width];
        for_registers(
            strip, [&](std::size_t at, auto load_at, auto, auto, int k) __attribute__((always_inline)) { sum[k] += load_at(x + at); });
        gather((sum[0] + sum[1]) + (sum[2] + sum[3]), strip, per_channel);
        for (std::size_t i = 0; i < strip.channels; ++i) per_channel[i] /= static_cast<float>(maps.places);
        Strip own = strip;
        own.channel = 0;
        const Vector middle = spread(per_channel, own);
        for_registers(
            strip, [&](std::size_t at, auto load_at, auto, auto mask, int k) __attribute__((always_inline)) {
              const Vector off = mask(load_at(x + at) - middle);
              square[k] = multiply_add(off, off, square[k]);
            });
        float spread_out[width];
        gather((square[0] + square[1]) + (square[2] + square[3]), strip, spread_out);
        const double before = static_cast<double>(strip.offset / a_row) * places;  // numbers per channel so far
        for (std::size_t i = 0; i < strip.channels; ++i) {
          const double off = static_cast<double>(per_channel[i]) - means[strip.channel + i];
          means[strip.channel + i] += off * places / (before + places);
          squares[strip.channel + i] += static_cast<double>(spread_out[i]) + off * off * before * places / (before + places);
        }
      });
  for (std::size_t c = 0; c < maps.padded(); ++c) {
    mean[c] = static_cast<float>(means[c]);
    variance[c] = static_cast<float>(squares[c] / (static_cast<double>(maps.rows) * places));
  }
}

template <bool residual_too, bool relu>
void normalize_so(const Maps& maps, const ChannelNorm& norm, const float* x, const float* residual, float* y) {
  for_strips(
      maps, [&](const Strip& strip) __attribute__((always_inline)) {
        const Vector mean = spread(norm.mean, strip), factor = spread(norm.factor, strip), shift = spread(norm.shift, strip);
        for_registers(
            strip, [&](std::size_t at, auto load_at, auto store_at, auto, int) __attribute__((always_inline)) {
              Vector out = multiply_add(load_at(x + at) - mean, factor, shift);
              if constexpr (residual_too) out += load_at(residual + at);
              if constexpr (relu) out = rectified(out);
              store_at(y + at, out);
            });
      });
}

void normalize(const Maps& maps, const ChannelNorm& norm, const float* x, const float* residual, bool relu, float* y) {
  if (residual)
    relu ? normalize_so<true, true>(maps, norm, x, residual, y) : normalize_so<true, false>(maps, norm, x, residual, y);
  else
    relu ? normalize_so<false, true>(maps, norm, x, residual, y) : normalize_so<false, false>(maps, norm, x, residual, y);
}

/// Calls use(gate, two) with the gate and the presence of a second gradient as constants.
template <class Use>
STRAGGLER_INLINE void with_kind(const Arriving& arriving, const Use& use) {
  const auto with_gate = [&]<Gate gate>(std::integral_constant<Gate, gate> constant) __attribute__((always_inline)) {
    arriving.second ? use(constant, std::true_type()) : use(constant, std::false_type());
  };
  switch (arriving.gate) {
    case Gate::none:
      return with_gate(std::integral_constant<Gate, Gate::none>());
    case Gate::output:
      return with_gate(std::integral_constant<Gate, Gate::output>());
    case Gate::input:
      return with_gate(std::integral_constant<Gate, Gate::input>());
  }
}

struct NormVectors {
  Vector mean, factor, shift;
};

template <Gate gate, bool two, class Load>
STRAGGLER_INLINE Vector arrived_at(std::size_t at, const Arriving& arriving, Vector off, const NormVectors& norm, const Load& load_at) {
  Vector d = load_at(arriving.first + at);
  if constexpr (two) d += load_at(arriving.second + at);
  if constexpr (gate == Gate::output) d = gated(d, load_at(arriving.output + at));
  if constexpr (gate == Gate::input) d = gated(d, multiply_add(off, norm.factor, norm.shift));
  return d;
}

template <Gate gate, bool two, bool keep>
void arrivals_so(const Maps& maps, const ChannelNorm& norm, const float* x, const Arriving& arriving, double* sums, float* arrived) {
  for (std::size_t c = 0; c < 2 * maps.padded(); ++c) sums[c] = 0;
  for_strips(
      maps, [&](const Strip& strip) __attribute__((always_inline)) {
        const NormVectors vectors = {spread(norm.mean, strip), spread(norm.factor, strip), spread(norm.shift, strip)};
        Vector sum[4] = {}, product[4] = {};
        for_registers(
            strip, [&](std::size_t at, auto load_at, auto store_at, auto mask, int k) __attribute__((always_inline)) {
              const Vector off = load_at(x + at) - vectors.mean;
              const Vector d = mask(arrived_at<gate, two>(at, arriving, off, vectors, load_at));
              if constexpr (keep) store_at(arrived + at, d);
              sum[k] += d;
              product[k] = multiply_add(d, off, product[k]);
            });
        float per_channel[width];
        gather((sum[0] + sum[1]) + (sum[2] + sum[3]), strip, per_channel);
        for (std::size_t i = 0; i < strip.channels; ++i) sums[strip.channel + i] += static_cast<double>(per_channel[i]);
        gather((product[0] + product[1]) + (product[2] + product[3]), strip, per_channel);
        for (std::size_t i = 0; i < strip.channels; ++i) sums[maps.padded() + strip.channel + i] += static_cast<double>(per_channel[i]);
      });
}

void arrivals(const Maps& maps, const ChannelNorm& norm, const float* x, const Arriving& arriving, double* sums, float* arrived) {
  with_kind(arriving, [&](auto gate, auto two) {
    arrived ? arrivals_so<gate.value, two.value, true>(maps, norm, x, arriving, sums, arrived)
            : arrivals_so<gate.value, two.value, false>(maps, norm, x, arriving, sums, arrived);
  });
}

template <Gate gate, bool two>
void norm_backward_so(const Maps& maps, const ChannelNorm& norm, const float* x, const Arriving& arriving, const float* constant,
                      const float* slope, float* dx) {
  for_strips(
      maps, [&](const Strip& strip) __attribute__((always_inline)) {
        const NormVectors vectors = {spread(norm.mean, strip), spread(norm.factor, strip), spread(norm.shift, strip)};
        const Vector level = spread(constant, strip), down = Vector{} - spread(slope, strip);
        for_registers(
            strip, [&](std::size_t at, auto load_at, auto store_at, auto, int) __attribute__((always_inline)) {
              const Vector off = load_at(x + at) - vectors.mean;
              const Vector d = arrived_at<gate, two>(at, arriving, off, vectors, load_at);
              store_at(dx + at, vectors.factor * multiply_add(off, down, d - level));
            });
      });
}

void norm_backward(const Maps& maps, const ChannelNorm& norm, const float* x, const Arriving& arriving, const float* constant,
                   const float* slope, float* dx) {
  with_kind(arriving, [&](auto gate, auto two) { norm_backward_so<gate.value, two.value>(maps, norm, x, arriving, constant, slope, dx); });
}

template <bool two, bool relu>
void add_so(std::size_t n, const float* a, const float* b, float* y) {
  for_registers(
      {0, 0, width, n / width, n % width, 1}, [&](std::size_t at, auto load_at, auto store_at, auto, int) __attribute__((always_inline)) {
        Vector out = load_at(a + at);
        if constexpr (two) out += load_at(b + at);
        if constexpr (relu) out = rectified(out);
        store_at(y + at, out);
      });
}

void add(std::size_t n, const float* a, const float* b, bool relu, float* y) {
  if (b)
    relu ? add_so<true, true>(n, a, b, y) : add_so<true, false>(n, a, b, y);
  else
    relu ? add_so<false, true>(n, a, b, y) : add_so<false, false>(n, a, b, y);
}

template <bool two>
void relu_backward_so(std::size_t n, const float* y, const float* a, const float* b, float* dx) {
  for_registers(
      {0, 0, width, n / width, n % width, 1}, [&](std::size_t at, auto load_at, auto store_at, auto, int) __attribute__((always_inline)) {
        Vector d = load_at(a + at);
        if constexpr (two) d += load_at(b + at);
        store_at(dx + at, gated(d, load_at(y + at)));
      });
}

void relu_backward(std::size_t n, const float* y, const float* a, const float* b, float* dx) {
  b ? relu_backward_so<true>(n, y, a, b, dx) : relu_backward_so<false>(n, y, a, b, dx);
}

/// Calls each(out, in, first) for all places of all windows, a window's places in order: offsets of the first lane of a block. Calls
/// begin(out) before each window.
template <class Begin, class Each>
STRAGGLER_INLINE void for_windows(const Maps& maps, const SlidingWindow& w, const Begin& begin, const Each& each) {
  const std::size_t planes = maps.rows * maps.blocks();
  for (std::size_t plane = 0; plane < planes; ++plane)
    for (std::size_t oy = 0; oy < w.out_height; ++oy)
      for (std::size_t ox = 0; ox < w.out_width; ++ox) {
        const std::size_t top = oy * w.stride, left = ox * w.stride;  // plus the padding
        const std::size_t y0 = top < w.pad_height ? 0 : top - w.pad_height, x0 = left < w.pad_width ? 0 : left - w.pad_width;
        const std::size_t y1 = top + w.height - w.pad_height, x1 = left + w.width - w.pad_width;
        const std::size_t bottom = y1 < w.in_height ? y1 : w.in_height, right = x1 < w.in_width ? x1 : w.in_width;
        begin(((plane * w.out_height + oy) * w.out_width + ox) * maps.block, ((plane * w.in_height + y0) * w.in_width + x0) * maps.block);
        for (std::size_t y = y0; y < bottom; ++y)
          for (std::size_t x = x0; x < right; ++x) each(((plane * w.in_height + y) * w.in_width + x) * maps.block);
      }
}

/// Calls use(lanes of a register, its offset in the block) for the registers of a block.
template <class Use>
STRAGGLER_INLINE void for_shares(const Maps& maps, const Use& use) {
  if (maps.block < width)
    use([&maps](const float* at) { return load_some(at, maps.block); }, [&maps](float* at, Vector x) { store_some(at, x, maps.block); }, 0);
  else
    for (std::size_t share = 0; share < maps.block; share += width)
      use([](const float* at) { return load(at); }, [](float* at, Vector x) { store(at, x); }, share);
}

void max_pool(const Maps& maps, const SlidingWindow& windows, const float* x, float* y) {
  for_shares(maps, [&](auto load_at, auto store_at, std::size_t share) {
    std::size_t out = 0;
    Vector largest{};
    for_windows(
        maps, windows,
        [&](std::size_t at, std::size_t in) {
          out = at + share;
          largest = load_at(x + in + share);
        },
        [&](std::size_t in) {
          const Vector next = load_at(x + in + share);
          largest = ((next <= largest) | (largest != largest)) ? largest : next;
          store_at(y + out, largest);
        });
  });
}

void max_pool_backward(const Maps& maps, const SlidingWindow& windows, const float* x, const float* y, const float* dy, float* dx) {
  for (std::size_t i = 0; i < maps.floats(); ++i) dx[i] = 0;
  for_shares(maps, [&](auto load_at, auto store_at, std::size_t share) {
    Vector largest{}, left{};  // left: gradients not yet assigned
    for_windows(
        maps, windows,
        [&](std::size_t out, std::size_t) {
          largest = load_at(y + out + share);
          left = load_at(dy + out + share);
        },
        [&](std::size_t in) {
          const Vector here = load_at(x + in + share);
          const auto found = (here == largest) | (here != here);
          store_at(dx + in + share, load_at(dx + in + share) + (found ? left : Vector{}));
          left = found ? Vector{} : left;
        });
  });
}

// In this order: each builds on the ones before it.
// clang-format off
#include "models/kernels/tiles.inc.hpp"
#include "models/kernels/winograd_transforms.inc.hpp"
#include "models/kernels/onednn/winograd.inc.hpp"
// clang-format on

}  // namespace

extern const MapKernels table;
const MapKernels table = {
    .name = STRAGGLER_KERNELS_NAME,
    .statistics = statistics,
    .normalize = normalize,
    .arrivals = arrivals,
    .norm_backward = norm_backward,
    .add = add,
    .relu_backward = relu_backward,
    .max_pool = max_pool,
    .max_pool_backward = max_pool_backward,
    .winograd_block = lanes > 8 ? lanes : 8,
    .winograd_floats = winograd_floats,
    .winograd = winograd,
    .winograd_by_weight = winograd_by_weight,
};
}  // namespace straggler::onednn::STRAGGLER_KERNELS

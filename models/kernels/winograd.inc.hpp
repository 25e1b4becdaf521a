// Convolutions on panels by minimal filtering (Winograd 1980; Lavin, Gray, Fast Algorithms for Convolutional Neural Networks, 2016):
// y = Aᵀ [(G w Gᵀ) ⊙ (Bᵀ x B)] A on tiles of 6x6 places for a 3x3 window, and of 8x8 for a 5x5 one. Gives 4x4 results for 36 or 64
// multiplications instead of 144 or 400. Lanes are samples, so transforms shuffle nothing. Included by set.inc.hpp only.

/// One group of a convolution with a square window and stride 1, or its gradient by the input: the window turned, channels exchanged.
struct Winograd {
  bool backward;
  std::size_t sources, results, height, width, source_height, source_width, pad_height, pad_width;
  std::size_t weight_stride, source_stride, result_stride;  // floats between consecutive places of a tile; not powers of two
  float *u, *v, *m;

  Winograd(const Convolution& conv, bool by_input, float* scratch)
      : backward(by_input), sources(by_input ? conv.group_out() : conv.group_in()), results(by_input ? conv.group_in() : conv.group_out()) {
    const SlidingWindow& s = conv.slide;
    height = backward ? s.in_height : s.out_height;
    width = backward ? s.in_width : s.out_width;
    source_height = backward ? s.out_height : s.in_height;
    source_width = backward ? s.out_width : s.in_width;
    pad_height = backward ? s.height - 1 - s.pad_height : s.pad_height;
    pad_width = backward ? s.width - 1 - s.pad_width : s.pad_width;
    weight_stride = quotient_up(sources * results, 16) * 16 + 16;
    source_stride = sources * panel_rows + 16;
    result_stride = results * panel_rows + 16;
    const auto places = static_cast<std::size_t>(tile_places(static_cast<int>(s.height)));
    u = scratch;
    v = u + places * weight_stride;
    m = v + places * source_stride;
  }
};

/// u at `count` kernels side by side.
template <int taps>
[[gnu::noinline]] void spread_kernels(const Winograd& win, const float (&numbers)[taps * taps][lanes], std::size_t count, float* to) {
  Vector kernel[taps][taps], spread[tile_places(taps)];
  for (int tap = 0; tap < taps * taps; ++tap) kernel[tap / taps][tap % taps] = load(numbers[tap]);
  spread_tile<tile_side(taps)>(
      kernel, [](const auto& line, auto& transformed) __attribute__((always_inline)) { transform_weights(line, transformed); },
      reinterpret_cast<float*>(spread), lanes);
  for (std::size_t place = 0; place < static_cast<std::size_t>(tile_places(taps)); ++place)
    store_some(to + place * win.weight_stride, spread[place], count);
}

/// u: for each place of the tile and each tile of results, [sources][results of the tile]. w: of the group.
template <int taps>
struct TransformWeights {
  const Winograd& win;
  const float* w;

  template <int height>
  void operator()(std::size_t row) const {
    constexpr int window = taps * taps;
    for (std::size_t source = 0; source < win.sources; ++source)
      for (int from = 0; from < height; from += lanes) {
        const std::size_t count = height - from < lanes ? height - from : lanes;
        alignas(64) float numbers[window][lanes] = {};
        for (std::size_t i = 0; i < count; ++i) {
          const std::size_t result = row + from + i;
          const float* const kernel = w + (win.backward ? source * win.results + result : result * win.sources + source) * window;
          for (int tap = 0; tap < window; ++tap) numbers[win.backward ? window - 1 - tap : tap][i] = kernel[tap];
        }
        spread_kernels<taps>(win, numbers, count, win.u + row * win.sources + source * height + from);
      }
  }
};

/// v at one vector of samples: the tile that starts at (top, left) of the padded plane.
template <int taps>
[[gnu::noinline]] void transform_tile(const Winograd& win, const float* x, std::size_t top, std::size_t left, std::size_t lane) {
  constexpr int side = tile_side(taps);
  const std::size_t plane = win.source_height * win.source_width * panel_rows;
  for (std::size_t source = 0; source < win.sources; ++source) {
    Vector d[side][side];
    read_tile({x + source * plane + lane, win.source_height, win.source_width, panel_rows}, top - win.pad_height, left - win.pad_width, d);
    spread_tile<side>(
        d, [](const auto& line, auto& transformed) __attribute__((always_inline)) { transform_input(line, transformed); },
        win.v + source * panel_rows + lane, win.source_stride);
  }
}

/// m = u v at one place of the tile.
template <int width>
struct MultiplyPlace {
  std::size_t sources;
  const float *u, *v;
  float* m;

  template <int height>
  void operator()(std::size_t row) const {
    Vector acc[height][width];
    for_registers<height, width>([&](int i, int j) __attribute__((always_inline)) { acc[i][j] = Vector{}; });
    multiply_taps<height, width>(sources, u + row * sources, height, v, panel_rows, acc);
    for_registers<height, width>([&](int i, int j)
                                     __attribute__((always_inline)) { store(m + (row + i) * panel_rows + j * lanes, acc[i][j]); });
  }
};

/// The destination of results, and their epilogue.
struct WinogradResult {
  const float *bias, *gate;  // null: none; gate, y: of the group
  bool relu;
  float* y;
};

/// From m, at one vector of samples, to the result's places from (top, left) on.
template <int taps>
[[gnu::noinline]] void give_results(const Winograd& win, const WinogradResult& to, std::size_t top, std::size_t left, std::size_t lane) {
  const std::size_t plane = win.height * win.width * panel_rows;
  for (std::size_t result = 0; result < win.results; ++result) {
    Vector tile[tile_outputs][tile_outputs];
    collect_tile<tile_side(taps)>(
        win.m + result * panel_rows + lane, win.result_stride,
        [](const auto& line, auto& transformed) __attribute__((always_inline)) { transform_output(line, transformed); }, tile);
    const Vector bias = to.bias ? all(to.bias[result]) : Vector{};
    for (std::size_t i = 0; i < least(tile_outputs, win.height - top); ++i)
      for (std::size_t j = 0; j < least(tile_outputs, win.width - left); ++j) {
        const std::size_t at = result * plane + ((top + i) * win.width + left + j) * panel_rows + lane;
        Vector value = tile[i][j] + bias;
        if (to.relu) value = value < 0.0f ? Vector{} : value;
        if (to.gate) value = load(to.gate + at) <= 0.0f ? Vector{} : value;
        store(to.y + at, value);
      }
  }
}

template <int taps>
[[gnu::noinline]] void winograd_panels(std::size_t rows, const Winograd& win, const float* x, std::size_t x_floats, const float* w,
                                       WinogradResult to, std::size_t y_floats) {
  for_even_tiles(win.results, TransformWeights<taps>{win, w});
  for (std::size_t p = 0; p < panels_of(rows); ++p) {
    const std::size_t valid = rows_in(rows, p), at = p * y_floats;
    for (std::size_t top = 0; top < win.height; top += tile_outputs)
      for (std::size_t left = 0; left < win.width; left += tile_outputs) {
        for (std::size_t lane = 0; lane < valid; lane += lanes) transform_tile<taps>(win, x + p * x_floats, top, left, lane);
        for (std::size_t place = 0; place < static_cast<std::size_t>(tile_places(taps)); ++place)
          for_vectors(quotient_up(valid, lanes), [&]<int width>(std::size_t lane) {
            for_even_tiles(win.results,
                           MultiplyPlace<width>{win.sources, win.u + place * win.weight_stride, win.v + place * win.source_stride + lane,
                                                win.m + place * win.result_stride + lane});
          });
        for (std::size_t lane = 0; lane < valid; lane += lanes)
          give_results<taps>(win, {to.bias, to.gate ? to.gate + at : nullptr, to.relu, to.y + at}, top, left, lane);
      }
  }
}

void winograd(std::size_t rows, const Winograd& win, std::size_t taps, const float* x, std::size_t x_floats, const float* w,
              const WinogradResult& to, std::size_t y_floats) {
  if (taps == 3)
    winograd_panels<3>(rows, win, x, x_floats, w, to, y_floats);
  else
    winograd_panels<5>(rows, win, x, x_floats, w, to, y_floats);
}

// Convolutions on panels by minimal filtering (Winograd 1980; Lavin, Gray, Fast Algorithms for Convolutional Neural Networks, 2016):
// y = Aᵀ [(G w Gᵀ) ⊙ (Bᵀ x B)] A on tiles of 6x6 places, at the points 0, ±1, ±2, ∞. Gives 2x2 places of a 5x5 window or 4x4 of a 3x3
// one for 36 multiplications instead of 100 or 144. Lanes are samples, so transforms shuffle nothing. Included by set.inc.hpp only.

/// One group of a convolution with a square window and stride 1, or its gradient by the input: the window turned, channels exchanged.
struct Winograd {
  bool backward;
  std::size_t sources, results, height, width, source_height, source_width, pad_height, pad_width;
  std::size_t weight_stride, source_stride, result_stride;  // floats between consecutive ones of the 36 places; not powers of two
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
    u = scratch;
    v = u + tile_places * weight_stride;
    m = v + tile_places * source_stride;
  }
};

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
        Vector half[tile_side][taps];  // G w
        for (int column = 0; column < taps; ++column) {
          Vector line[taps], transformed[tile_side];
          for (int i = 0; i < taps; ++i) line[i] = load(numbers[i * taps + column]);
          transform_weights<taps>(line, transformed);
          for (int i = 0; i < tile_side; ++i) half[i][column] = transformed[i];
        }
        float* const to = win.u + row * win.sources + source * height + from;
        for (int i = 0; i < tile_side; ++i) {
          Vector transformed[tile_side];
          transform_weights<taps>(half[i], transformed);
          for (int j = 0; j < tile_side; ++j) store_some(to + (i * tile_side + j) * win.weight_stride, transformed[j], count);
        }
      }
  }
};

/// v at one vector of samples: the tile that starts at (top, left) of the padded plane.
STRAGGLER_INLINE void transform_tile(const Winograd& win, const float* x, std::size_t top, std::size_t left, int vector) {
  const std::size_t plane = win.source_height * win.source_width * panel_rows;
  for (std::size_t source = 0; source < win.sources; ++source, x += plane) {
    Vector half[tile_side][tile_side];  // d B, row by row
    for (std::size_t i = 0; i < tile_side; ++i) {
      const std::size_t row = top + i - win.pad_height;  // wraps (unsigned) beyond the plane if negative
      Vector line[tile_side] = {};
      if (row < win.source_height)
        for (std::size_t j = 0; j < tile_side; ++j) {
          const std::size_t column = left + j - win.pad_width;
          if (column < win.source_width) line[j] = load(x + (row * win.source_width + column) * panel_rows);
        }
      transform_input(line, half[i]);
    }
    float* const to = win.v + source * panel_rows + vector * lanes;
    STRAGGLER_UNROLL
    for (int j = 0; j < tile_side; ++j) {
      Vector column[tile_side], transformed[tile_side];
      STRAGGLER_UNROLL
      for (int i = 0; i < tile_side; ++i) column[i] = half[i][j];
      transform_input(column, transformed);
      STRAGGLER_UNROLL
      for (int i = 0; i < tile_side; ++i) store(to + (i * tile_side + j) * static_cast<int>(win.source_stride), transformed[i]);
    }
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
  const float *bias, *gate;  // null: none; gate, y: of the group, at the panel's vector
  bool relu;
  float* y;
};

/// From m, at one vector of samples, to the result's places from (top, left) on.
template <int outputs>
STRAGGLER_INLINE void give_results(const Winograd& win, const WinogradResult& to, std::size_t top, std::size_t left, int vector) {
  const std::size_t plane = win.height * win.width * panel_rows;
  for (std::size_t result = 0; result < win.results; ++result) {
    const float* const from = win.m + result * panel_rows + vector * lanes;
    Vector half[outputs][tile_side];
    STRAGGLER_UNROLL
    for (int j = 0; j < tile_side; ++j) {
      Vector column[tile_side], transformed[outputs];
      STRAGGLER_UNROLL
      for (int i = 0; i < tile_side; ++i) column[i] = load(from + (i * tile_side + j) * static_cast<int>(win.result_stride));
      transform_output<outputs>(column, transformed);
      STRAGGLER_UNROLL
      for (int i = 0; i < outputs; ++i) half[i][j] = transformed[i];
    }
    const Vector bias = to.bias ? all(to.bias[result]) : Vector{};
    STRAGGLER_UNROLL
    for (int i = 0; i < outputs; ++i) {
      if (top + i >= win.height) break;
      Vector line[outputs];
      transform_output<outputs>(half[i], line);
      STRAGGLER_UNROLL
      for (int j = 0; j < outputs; ++j) {
        if (left + j >= win.width) break;
        const std::size_t at = result * plane + ((top + i) * win.width + left + j) * panel_rows;
        Vector value = line[j] + bias;
        if (to.relu) value = value < 0.0f ? Vector{} : value;
        if (to.gate) value = load(to.gate + at) <= 0.0f ? Vector{} : value;
        store(to.y + at, value);
      }
    }
  }
}

template <int taps>
STRAGGLER_INLINE void winograd_panels(std::size_t rows, const Winograd& win, const float* x, std::size_t x_floats, const float* w,
                                      WinogradResult to, std::size_t y_floats) {
  constexpr int outputs = tile_side + 1 - taps;
  for_even_tiles(win.results, TransformWeights<taps>{win, w});
  for (std::size_t p = 0; p < panels_of(rows); ++p)
    for_vectors(quotient_up(rows_in(rows, p), lanes), [&]<int width>(std::size_t lane) {
      for (std::size_t top = 0; top < win.height; top += outputs)
        for (std::size_t left = 0; left < win.width; left += outputs) {
          for (int vector = 0; vector < width; ++vector) transform_tile(win, x + p * x_floats + lane + vector * lanes, top, left, vector);
          for (std::size_t place = 0; place < tile_places; ++place)
            for_even_tiles(win.results, MultiplyPlace<width>{win.sources, win.u + place * win.weight_stride,
                                                             win.v + place * win.source_stride, win.m + place * win.result_stride});
          for (int vector = 0; vector < width; ++vector) {
            const std::size_t at = p * y_floats + lane + vector * lanes;
            give_results<outputs>(win, {to.bias, to.gate ? to.gate + at : nullptr, to.relu, to.y + at}, top, left, vector);
          }
        }
    });
}

STRAGGLER_INLINE void winograd(std::size_t rows, const Winograd& win, std::size_t taps, const float* x, std::size_t x_floats,
                               const float* w, const WinogradResult& to, std::size_t y_floats) {
  if (taps == 3)
    winograd_panels<3>(rows, win, x, x_floats, w, to, y_floats);
  else
    winograd_panels<5>(rows, win, x, x_floats, w, to, y_floats);
}

// Convolutions on panels, forward and backward by the input. Included by set.inc.hpp only.
//
// Lanes are samples, so any number of channels fills the registers. A tile is one place of tile_rows result channels x tile_vectors, and
// each tap of the window is a rank-1 update: one or two vectors of the source times one broadcast weight per result channel. The weights
// are packed first, so a tile reads its own sequentially. The gradient by the input is the same sum with channels exchanged and taps
// reversed: place i of the input meets output o at tap i + pad - stride o.

/// The contributions to one place of the result along one axis: the taps first, first + step, …, `count` of them, from the places `source`,
/// source + source_step, ….
struct Taps {
  std::size_t first, count, step, source;
  std::ptrdiff_t source_step;
};

STRAGGLER_INLINE Taps forward_taps(std::size_t at, std::size_t side, std::size_t window, std::size_t stride, std::size_t pad) {
  const std::size_t low = at * stride, first = low < pad ? pad - low : 0;
  const std::size_t end = side + pad > low ? least(window, side + pad - low) : 0;
  if (first >= end) return {0, 0, 1, 0, 1};
  return {first, end - first, 1, low + first - pad, 1};
}

STRAGGLER_INLINE Taps backward_taps(std::size_t at, std::size_t outputs, std::size_t window, std::size_t stride, std::size_t pad) {
  const std::size_t reach = at + pad, last = (outputs - 1) * stride;  // reach = stride o + tap
  std::size_t first = stride == 1 ? 0 : reach % stride;
  if (reach > last && reach - last > first) first = reach - last;
  const std::size_t end = least(window, reach + 1);
  if (first >= end) return {0, 0, 1, 0, 1};
  if (stride == 1) return {first, end - first, 1, reach - first, -1};
  return {first, quotient_up(end - first, stride), stride, (reach - first) / stride, -1};
}

/// One group of a convolution: `results` channels from `sources` channels.
struct Slide {
  SlidingWindow window;
  bool backward;
  std::size_t sources, results;

  std::size_t source_width() const { return backward ? window.out_width : window.in_width; }
  std::size_t source_plane() const { return backward ? window.outputs() : window.inputs(); }
  std::size_t height() const { return backward ? window.in_height : window.out_height; }
  std::size_t width() const { return backward ? window.in_width : window.out_width; }
  std::size_t plane() const { return backward ? window.inputs() : window.outputs(); }
  [[gnu::always_inline]] inline Taps row_taps(std::size_t at) const {
    return backward ? backward_taps(at, window.out_height, window.height, window.stride, window.pad_height)
                    : forward_taps(at, window.in_height, window.height, window.stride, window.pad_height);
  }
  [[gnu::always_inline]] inline Taps column_taps(std::size_t at) const {
    return backward ? backward_taps(at, window.out_width, window.width, window.stride, window.pad_width)
                    : forward_taps(at, window.in_width, window.width, window.stride, window.pad_width);
  }
};

/// packed: for each tile of results, [sources][window][results of the tile].
struct PackWeights {
  const Slide& slide;
  std::size_t in_channels;  // of the group
  const float* w;           // of the group
  float* packed;

  template <int height>
  void operator()(std::size_t row) const {
    const std::size_t window = slide.window.places();
    const std::size_t source_step = (slide.backward ? in_channels : 1) * window, result_step = (slide.backward ? 1 : in_channels) * window;
    float* to = packed + row * slide.sources * window;
    for (std::size_t source = 0; source < slide.sources; ++source)
      for (std::size_t tap = 0; tap < window; ++tap, to += height)
        for (int i = 0; i < height; ++i) to[i] = w[source * source_step + (row + i) * result_step + tap];
  }
};

/// acc[i][j] += Σ w[k * w_step + i] * (vector j of x + k * x_step), k in order.
template <int height, int width>
STRAGGLER_INLINE void multiply_taps(std::size_t steps, const float* w, std::size_t w_step, const float* x, std::ptrdiff_t x_step,
                                    Vector (&acc)[height][width]) {
  for (; steps > 0; --steps, w += w_step, x += x_step) {
    Vector b[width];
    STRAGGLER_UNROLL
    for (int j = 0; j < width; ++j) b[j] = load(x + j * lanes);
    STRAGGLER_UNROLL
    for (int i = 0; i < height; ++i) {
      const Vector weight = all(w[i]);
      STRAGGLER_UNROLL
      for (int j = 0; j < width; ++j) acc[i][j] = multiply_add(weight, b[j], acc[i][j]);
    }
  }
}

/// The same for a constant number of steps, unrolled.
template <int steps, int height, int width>
STRAGGLER_INLINE void multiply_row(const float* w, std::size_t w_step, const float* x, std::ptrdiff_t x_step,
                                   Vector (&acc)[height][width]) {
  STRAGGLER_UNROLL
  for (int k = 0; k < steps; ++k, w += w_step, x += x_step) multiply_taps<height, width>(1, w, 0, x, 0, acc);
}

/// One row of the result, from the sources first .. first + count - 1.
template <int width>
struct SlidePass {
  const Slide& slide;
  std::size_t at, first, count;
  const float *x, *packed, *bias, *gate;  // x, gate, y: of the group, at the panel's lane; gate: null for none
  bool relu;
  float* y;

  template <int height>
  void operator()(std::size_t row) const {
    // Copies: a store to the result must not make the compiler read them again.
    const Slide slide = this->slide;
    const SlidingWindow& s = slide.window;
    const std::size_t at = this->at, first = this->first, count = this->count;
    const float *const bias = this->bias, *const gate = this->gate;
    const bool relu = this->relu;
    float* const y = this->y;
    const std::size_t window = s.places(), plane = slide.plane() * panel_rows, source_plane = slide.source_plane() * panel_rows;
    const std::size_t places = slide.width();
    const Taps rows = slide.row_taps(at);
    const std::ptrdiff_t source_row = static_cast<std::ptrdiff_t>(slide.source_width() * panel_rows);
    const float* const w = packed + (row * slide.sources + first * height) * window;
    const float* const source = x + first * source_plane + rows.source * slide.source_width() * panel_rows;
    const bool begin = first == 0, end = first + count == slide.sources;
    for (std::size_t place = 0; place < places; ++place) {
      const Taps columns = slide.column_taps(place);
      const std::size_t to = row * plane + (at * places + place) * panel_rows;
      Vector acc[height][width];
      for_registers<height, width>([&](int i, int j) __attribute__((always_inline)) {
        acc[i][j] = !begin ? load(y + to + i * plane + j * lanes) : bias ? all(bias[row + i]) : Vector{};
      });
      const float* tap_rows = w + (rows.first * s.width + columns.first) * height;
      const float* from = source + columns.source * panel_rows;
      const std::size_t w_row = rows.step * s.width * height, w_step = columns.step * height;
      const std::ptrdiff_t x_row = rows.source_step * source_row, x_step = columns.source_step * static_cast<std::ptrdiff_t>(panel_rows);
      const auto sum_rows = [&](const auto& sum_row) __attribute__((always_inline)) {
        for (std::size_t c = 0; c < count; ++c, tap_rows += window * height, from += source_plane) {
          const float *tap = tap_rows, *x = from;
          for (std::size_t r = 0; r < rows.count; ++r, tap += w_row, x += x_row) sum_row(tap, x);
        }
      };
      if (columns.count == 5)
        sum_rows([&](const float* tap, const float* x)
                     __attribute__((always_inline)) { multiply_row<5, height, width>(tap, w_step, x, x_step, acc); });
      else
        sum_rows([&](const float* tap, const float* x)
                     __attribute__((always_inline)) { multiply_taps<height, width>(columns.count, tap, w_step, x, x_step, acc); });
      for_registers<height, width>([&](int i, int j) __attribute__((always_inline)) {
        Vector value = acc[i][j];
        if (end && relu) value = value < 0.0f ? Vector{} : value;
        if (end && gate) value = load(gate + to + i * plane + j * lanes) <= 0.0f ? Vector{} : value;
        store(y + to + i * plane + j * lanes, value);
      });
    }
  }
};

/// Every panel of one group. `x_floats`, `y_floats`: of a whole panel.
STRAGGLER_INLINE void slide_panels(std::size_t rows, const Slide& slide, const float* x, std::size_t x_floats, const float* packed,
                                   const float* bias, const float* gate, bool relu, float* y, std::size_t y_floats) {
  const std::size_t window_rows = slide.window.height * slide.source_width() * panel_rows;
  const std::size_t block = window_rows < conv_block ? conv_block / window_rows : 1;
  const std::size_t blocks = quotient_up(slide.sources, block);
  for (std::size_t p = 0; p < panels_of(rows); ++p)
    for_vectors(quotient_up(rows_in(rows, p), lanes), [&]<int width>(std::size_t lane) {
      const float* const gate_lane = gate ? gate + p * y_floats + lane : nullptr;
      for (std::size_t at = 0; at < slide.height(); ++at)
        for (std::size_t b = 0; b < blocks; ++b) {
          const std::size_t first = slide.sources * b / blocks, count = slide.sources * (b + 1) / blocks - first;
          for_even_tiles(slide.results, SlidePass<width>{slide, at, first, count, x + p * x_floats + lane, packed, bias, gate_lane, relu,
                                                         y + p * y_floats + lane});
        }
    });
}

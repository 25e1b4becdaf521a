// Dense layers on panels. Included by set.inc.hpp only.
//
// All three products are tiles of tile_rows x tile_vectors registers that take one rank-1 update per step: one or two vectors of the right
// matrix, contiguous in a panel, times one broadcast number of the left matrix per row. No matrix is copied except the activations,
// transposed panel by panel for the weights' gradient.

/// Steps of one pass over a panel: 256 x 32 floats fill a first-level cache of 32 KiB. With AVX-512 the second-level cache is fast enough,
/// and fewer passes load and store their sums less often.
constexpr std::size_t block_steps = lanes < 16 ? 256 : 800;
/// Whether rows of this width are far apart for the processor: a page or more. Those with AVX-512 know the addresses of more pages, and are
/// faster (Zen 5) if they treat these rows like others.
constexpr bool far_rows(std::size_t width) { return lanes < 16 && width >= 1024; }
/// Steps over rows of the weights: half of a first-level cache, or all of it; over far ones, as many pages as a buffer of addresses holds.
constexpr std::size_t row_steps(std::size_t width) { return far_rows(width) ? 48 : lanes < 16 ? 128 : 256; }
/// Panels in one pass over the weights' gradient: 4 x 4 KiB of transposed activations.
constexpr std::size_t group_panels = 4;

template <int width>
struct ForwardPass {
  std::size_t in, first, steps;  // inputs first .. first + steps - 1
  const float *x, *w, *b;        // x: at the panel's lane
  bool relu;
  float* y;

  template <int height>
  void operator()(std::size_t row) const {
    Vector acc[height][width];
    float* const at = y + row * panel_rows;
    for_registers<height, width>([&](int i, int j) __attribute__((always_inline)) {
      acc[i][j] = first == 0 ? all(b[row + i]) : load(at + i * static_cast<int>(panel_rows) + j * lanes);
    });
    multiply<height, width>(steps, w + row * in + first, in, 1, x + first * panel_rows, acc);
    const bool rectify = relu && first + steps == in;
    for_registers<height, width>([&](int i, int j) __attribute__((always_inline)) {
      store(at + i * static_cast<int>(panel_rows) + j * lanes, rectify ? (acc[i][j] < 0.0f ? Vector{} : acc[i][j]) : acc[i][j]);
    });
  }
};

template <int width>
struct BackwardInputPass {
  std::size_t in, first, steps;  // outputs first .. first + steps - 1
  const float *dy, *w, *x;       // x: null without ReLU
  float* dx;
  bool last;

  template <int height>
  void operator()(std::size_t row) const {
    Vector acc[height][width];
    float* const at = dx + row * panel_rows;
    for_registers<height, width>([&](int i, int j) __attribute__((always_inline)) {
      acc[i][j] = first == 0 ? Vector{} : load(at + i * static_cast<int>(panel_rows) + j * lanes);
    });
    multiply<height, width>(steps, w + first * in + row, 1, in, dy + first * panel_rows, acc);
    for_registers<height, width>([&](int i, int j) __attribute__((always_inline)) {
      Vector value = acc[i][j];
      if (last && x) value = load(x + (row + i) * panel_rows + j * lanes) <= 0.0f ? Vector{} : value;
      store(at + i * static_cast<int>(panel_rows) + j * lanes, value);
    });
  }
};

/// Columns first .. of dw, from the samples of one group of panels: width * lanes of them, or (if partial) `kept` < lanes less
/// in the last vector.
template <int width, bool partial>
struct BackwardWeightsPass {
  std::size_t rows, in, out, first, kept;
  const float *dy, *samples;  // samples[rows][panel_rows]: the inputs at these columns
  bool accumulate;
  float* dw;

  template <int height>
  void operator()(std::size_t row) const {
    Vector acc[height][width];
    float* const at = dw + row * in + first;
    for_registers<height, width>([&](int i, int j) __attribute__((always_inline)) {
      const float* const from = at + i * in + j * lanes;
      acc[i][j] = !accumulate ? Vector{} : partial && j == width - 1 ? load_some(from, kept) : load(from);
    });
    for (std::size_t p = 0; p < panels_of(rows); ++p)
      multiply<height, width>(rows_in(rows, p), dy + (p * out + row) * panel_rows, panel_rows, 1, samples + p * panel_rows * panel_rows,
                              acc);
    for_registers<height, width>([&](int i, int j) __attribute__((always_inline)) {
      float* const to = at + i * in + j * lanes;
      if (partial && j == width - 1)
        store_some(to, acc[i][j], kept);
      else
        store(to, acc[i][j]);
    });
  }
};

void dense_forward(std::size_t rows, std::size_t in, std::size_t out, const float* x, const float* w, const float* b, bool relu, float* y) {
  const std::size_t blocks = quotient_up(in, block_steps), size = quotient_up(in, blocks);
  for (std::size_t p = 0; p < panels_of(rows); ++p)
    for_vectors(quotient_up(rows_in(rows, p), lanes), [&]<int width>(std::size_t lane) {
      for (std::size_t first = 0; first < in; first += size)
        for_tiles(out, ForwardPass<width>{in, first, least(size, in - first), x + p * in * panel_rows + lane, w, b, relu,
                                          y + p * out * panel_rows + lane});
    });
}

/// A tile of one panel, all of its lanes: they share the tile's weights, which lie `in` floats apart.
struct BackwardInputTile {
  std::size_t rows, in, first, steps;
  const float *dy, *w, *x;
  float* dx;
  bool last;

  template <int height>
  void operator()(std::size_t row) const {
    constexpr std::size_t ahead = 32;  // floats: no processor foresees steps of a page
    for (std::size_t k = first; far_rows(in) && k < first + steps; ++k) __builtin_prefetch(w + k * in + row + ahead);
    for_vectors(quotient_up(rows, lanes), [&]<int width>(std::size_t lane) {
      BackwardInputPass<width>{in, first, steps, dy + lane, w, x ? x + lane : nullptr, dx + lane, last}.template operator()<height>(row);
    });
  }
};

void dense_backward_input(std::size_t rows, std::size_t in, std::size_t out, const float* dy, const float* w, const float* x, bool relu,
                          float* dx) {
  const std::size_t blocks = quotient_up(out, row_steps(in)), size = quotient_up(out, blocks);
  for (std::size_t p = 0; p < panels_of(rows); ++p)
    for (std::size_t first = 0; first < out; first += size)
      for_tiles(in, BackwardInputTile{rows_in(rows, p), in, first, least(size, out - first), dy + p * out * panel_rows, w,
                                      relu ? x + p * in * panel_rows : nullptr, dx + p * in * panel_rows, first + size >= out});
}

/// to[sample][panel_rows] = from[feature][panel_rows] transposed, `features` <= panel_rows of them (the rest: zeros).
STRAGGLER_INLINE void transpose_panel(std::size_t features, const float* from, float* to) {
  for (std::size_t feature = 0; feature < features; feature += lanes)
    for (std::size_t sample = 0; sample < panel_rows; sample += lanes) {
      Vector square[lanes];
      STRAGGLER_UNROLL
      for (int i = 0; i < lanes; ++i) square[i] = feature + i < features ? load(from + (feature + i) * panel_rows + sample) : Vector{};
      transpose(square);
      STRAGGLER_UNROLL
      for (int i = 0; i < lanes; ++i) store(to + (sample + i) * panel_rows + feature, square[i]);
    }
}

/// Σ over the samples of a[lane] * b[lane], lane by lane; a and b: one feature each, in panels of `a_floats` and `b_floats`
/// floats.
STRAGGLER_INLINE Vector products(std::size_t rows, const float* a, std::size_t a_floats, const float* b, std::size_t b_floats) {
  Vector sum{};
  for (std::size_t p = 0; p < panels_of(rows); ++p, a += a_floats, b += b_floats)
    for (std::size_t lane = 0; lane < rows_in(rows, p); lane += lanes) {
      const std::size_t valid = rows_in(rows, p) - lane;
      if (valid >= lanes)
        sum = multiply_add(load(a + lane), load(b + lane), sum);
      else
        sum = multiply_add(first(load(a + lane), valid), first(load(b + lane), valid), sum);
    }
  return sum;
}

/// Writes value(i), summed over its lanes, to to[i], i < count.
template <class Value>
STRAGGLER_INLINE void reduce_to(std::size_t count, bool accumulate, float* to, const Value& value) {
  for (std::size_t i = 0; i < count; i += lanes) {
    const std::size_t kept = least(lanes, count - i);
    Vector partial[lanes];
    for (std::size_t j = 0; j < lanes; ++j) partial[j] = j < kept ? value(i + j) : Vector{};
    const Vector sum = sums(partial);
    store_some(to + i, accumulate ? load_some(to + i, kept) + sum : sum, kept);
  }
}

/// Columns begin .. end - 1 of the weights' gradient, from one group of panels.
STRAGGLER_INLINE void backward_columns_group(std::size_t rows, std::size_t in, std::size_t out, std::size_t begin, std::size_t end,
                                             const float* x, const float* dy, bool accumulate, float* dw) {
  alignas(64) float samples[group_panels * panel_rows * panel_rows];
  for (std::size_t feature = begin; feature < end; feature += panel_rows) {
    const std::size_t columns = least(panel_rows, end - feature);
    for (std::size_t p = 0; p < panels_of(rows); ++p)
      transpose_panel(columns, x + (p * in + feature) * panel_rows, samples + p * panel_rows * panel_rows);
    for_vectors(quotient_up(columns, lanes), [&]<int width>(std::size_t lane) {
      const std::size_t kept = columns - lane - (width - 1) * lanes, at = feature + lane;
      if (kept >= lanes)
        for_tiles(out, BackwardWeightsPass<width, false>{rows, in, out, at, lanes, dy, samples + lane, accumulate, dw});
      else
        for_tiles(out, BackwardWeightsPass<width, true>{rows, in, out, at, kept, dy, samples + lane, accumulate, dw});
    });
  }
}

/// The weights' gradient of one group of panels.
STRAGGLER_INLINE void backward_weights_group(std::size_t rows, std::size_t in, std::size_t out, const float* x, const float* dy,
                                             bool accumulate, float* dw) {
  backward_columns_group(rows, in, out, 0, in, x, dy, accumulate, dw);
}

void dense_backward_columns(std::size_t rows, std::size_t in, std::size_t out, std::size_t begin, std::size_t end, const float* x,
                            const float* dy, bool accumulate, float* dw, float* db) {
  alignas(64) static constexpr float ones[panel_rows] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
                                                         1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
  const std::size_t x_floats = in * panel_rows, dy_floats = out * panel_rows;
  if (db) reduce_to(out, accumulate, db, [&](std::size_t i) { return products(rows, dy + i * panel_rows, dy_floats, ones, 0); });
  // So few inputs leave most lanes of a tile empty: lanes become samples, and are summed.
  if (in * 4 <= lanes) {
    reduce_to(out * in, accumulate, dw,
              [&](std::size_t i) { return products(rows, dy + i / in * panel_rows, dy_floats, x + i % in * panel_rows, x_floats); });
    return;
  }
  for (std::size_t p = 0; p < panels_of(rows); p += group_panels)
    backward_columns_group(least(group_panels * panel_rows, rows - p * panel_rows), in, out, begin, end, x + p * x_floats,
                           dy + p * dy_floats, accumulate || p > 0, dw);
}

void dense_backward_weights(std::size_t rows, std::size_t in, std::size_t out, const float* x, const float* dy, bool accumulate, float* dw,
                            float* db) {
  dense_backward_columns(rows, in, out, 0, in, x, dy, accumulate, dw, db);
}

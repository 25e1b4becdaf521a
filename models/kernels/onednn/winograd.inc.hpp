// Convolutions of 3x3 windows and stride 1 on maps by Winograd's algorithm F(4x4, 3x3) (models/kernels/winograd.inc.hpp), with lanes of
// channels. For each of the 36 places of a tile a product of matrices, tiles x sources by sources x results, 32 results at a time.
// Included by maps.inc.hpp only.

constexpr std::size_t columns = panel_rows;  // results of one product
constexpr std::size_t forward_tiles = 48;    // tiles transformed together: their places stay in a second- or third-level cache
constexpr std::size_t weights_tiles = 128;   // the same for the gradient by the weights, which sums over them
constexpr std::size_t off_power = 16;        // floats between places, so that these do not meet in one set of a cache
constexpr int taps = 3, window = taps * taps;
constexpr int side = tile_side(taps), places = tile_places(taps);

/// One side of a convolution: maps of a block that lanes divide.
struct Planes {
  std::size_t channels, height, width, block;

  Plane plane(const float* maps, std::size_t row, std::size_t channel) const { return {maps + offset(row, channel), height, width, block}; }
  std::size_t offset(std::size_t row, std::size_t channel) const {
    return (row * channels + channel / block * block) * height * width + channel % block;
  }
};

/// Tiles of 4x4 results over the planes of all rows, and the 6x6 sources of each.
struct TileGrid {
  std::size_t rows, high, wide, pad_height, pad_width;

  TileGrid(std::size_t all_rows, const Planes& results, std::size_t pad_rows, std::size_t pad_columns)
      : rows(all_rows),
        high(quotient_up(results.height, tile_outputs)),
        wide(quotient_up(results.width, tile_outputs)),
        pad_height(pad_rows),
        pad_width(pad_columns) {}
  std::size_t count() const { return rows * high * wide; }
  std::size_t row(std::size_t tile) const { return tile / (high * wide); }
  std::size_t top(std::size_t tile) const { return tile / wide % high * tile_outputs; }
  std::size_t left(std::size_t tile) const { return tile % wide * tile_outputs; }
};

/// `height` rows of a product at one place: to[row][columns] = Σ_k left[row * left_row + k * left_step] right[k][columns], two vectors
/// wide.
template <int width>
struct PlaceProduct {
  std::size_t steps;
  const float* left;
  std::size_t left_row, left_step;
  const float* right;
  bool accumulate;
  float* to;

  template <int height>
  void operator()(std::size_t row) const {
    Vector acc[height][width];
    float* const at = to + row * columns;
    for_registers<height, width>([&](int i, int j) __attribute__((always_inline)) {
      acc[i][j] = accumulate ? load(at + i * static_cast<int>(columns) + j * lanes) : Vector{};
    });
    multiply<height, width>(steps, left + row * left_row, left_row, left_step, right, acc);
    for_registers<height, width>([&](int i, int j)
                                     __attribute__((always_inline)) { store(at + i * static_cast<int>(columns) + j * lanes, acc[i][j]); });
  }
};

[[gnu::noinline]] void place_products(std::size_t rows, std::size_t steps, const float* left, std::size_t left_row, std::size_t left_step,
                                      const float* right, bool accumulate, float* to) {
  for (std::size_t lane = 0; lane < columns; lane += tile_vectors * lanes)
    for_even_tiles(rows, PlaceProduct<tile_vectors>{steps, left, left_row, left_step, right + lane, accumulate, to + lane});
}

/// The maps that are read and made: forward, or by the source, where the window is turned and channels are exchanged.
struct WinogradSides {
  Planes sources, results;
  TileGrid grid;

  WinogradSides(const WinogradMaps& conv, bool by_source)
      : sources(by_source ? of_out(conv) : of_in(conv)),
        results(by_source ? of_in(conv) : of_out(conv)),
        grid(conv.rows, results, by_source ? 2 - conv.slide.pad_height : conv.slide.pad_height,
             by_source ? 2 - conv.slide.pad_width : conv.slide.pad_width) {}
  static Planes of_in(const WinogradMaps& conv) { return {conv.in_channels, conv.slide.in_height, conv.slide.in_width, conv.block}; }
  static Planes of_out(const WinogradMaps& conv) { return {conv.out_channels, conv.slide.out_height, conv.slide.out_width, conv.block}; }
};

/// v[place][tile][channels] of `count` tiles from tile `first` on.
[[gnu::noinline]] void spread_sources(const WinogradSides& sides, std::size_t first, std::size_t count, const float* x, float* v,
                                      std::size_t stride) {
  const TileGrid& grid = sides.grid;
  for (std::size_t i = 0; i < count; ++i)
    for (std::size_t channel = 0; channel < sides.sources.channels; channel += lanes) {
      Vector d[side][side];
      read_tile(sides.sources.plane(x, grid.row(first + i), channel), grid.top(first + i) - grid.pad_height,
                grid.left(first + i) - grid.pad_width, d);
      spread_tile<side>(
          d, [](const auto& line, auto& transformed) __attribute__((always_inline)) { transform_input(line, transformed); },
          v + i * sides.sources.channels + channel, stride);
    }
}

/// Calls use(tap, count) for the taps of a window, as many at a time as there are lanes.
template <class Use>
STRAGGLER_INLINE void for_taps(const Use& use) {
  STRAGGLER_UNROLL
  for (int tap = 0; tap < window; tap += lanes) use(tap, window - tap < lanes ? window - tap : lanes);
}

/// u[place][sources][columns] of the results from `result` on; w: [out][in][3][3].
[[gnu::noinline]] void spread_weights(const WinogradSides& sides, bool by_source, std::size_t result, const float* w, float* u,
                                      std::size_t stride) {
  const std::size_t sources = sides.sources.channels, step = by_source ? window : sources * window;
  for (std::size_t source = 0; source < sources; ++source)
    for (std::size_t lane = 0; lane < columns; lane += lanes) {
      const float* const from =
          w + (by_source ? source * sides.results.channels + result + lane : (result + lane) * sources + source) * window;
      Vector kernel[taps][taps];
      for_taps([&](int tap, int count) __attribute__((always_inline)) {
        Vector square[lanes];
        STRAGGLER_UNROLL
        for (int i = 0; i < lanes; ++i)
          square[i] = load_some(from + static_cast<std::size_t>(i) * step + tap, static_cast<std::size_t>(count));
        transpose(square);
        STRAGGLER_UNROLL
        for (int i = 0; i < count; ++i) {
          const int at = by_source ? window - 1 - tap - i : tap + i;
          kernel[at / taps][at % taps] = square[i];
        }
      });
      spread_tile<side>(
          kernel, [](const auto& line, auto& transformed) __attribute__((always_inline)) { transform_weights(line, transformed); },
          u + source * columns + lane, stride);
    }
}

/// y at the results from `result` on, from m[place][tile][columns].
[[gnu::noinline]] void give_maps(const WinogradSides& sides, std::size_t first, std::size_t count, std::size_t result, const float* m,
                                 std::size_t stride, const float* bias, float* y) {
  const Planes& to = sides.results;
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t top = sides.grid.top(first + i), left = sides.grid.left(first + i);
    for (std::size_t lane = 0; lane < columns; lane += lanes) {
      Vector tile[tile_outputs][tile_outputs];
      collect_tile<side>(
          m + i * columns + lane, stride,
          [](const auto& line, auto& transformed) __attribute__((always_inline)) { transform_output(line, transformed); }, tile);
      const Vector shift = bias ? load(bias + result + lane) : Vector{};
      float* const plane = y + to.offset(sides.grid.row(first + i), result + lane);
      for (std::size_t r = 0; r < least(tile_outputs, to.height - top); ++r)
        for (std::size_t c = 0; c < least(tile_outputs, to.width - left); ++c)
          store(plane + ((top + r) * to.width + left + c) * to.block, tile[r][c] + shift);
    }
  }
}

std::size_t tiles_together(std::size_t tiles, std::size_t most) { return tiles <= most * 4 / 3 ? tiles : most; }

/// The scratch of a pass: v, then one buffer per 32 results, or one for all of them in turns if all tiles are transformed together.
struct WinogradBlocks {
  std::size_t tiles, together, source_stride, result_stride, weight_stride, weights;
  bool once;

  WinogradBlocks(const WinogradSides& sides, std::size_t most)
      : tiles(sides.grid.count()),
        together(tiles_together(tiles, most)),
        source_stride(together * sides.sources.channels + off_power),
        result_stride(together * columns + off_power),
        weight_stride(sides.sources.channels * columns + off_power),
        weights(places * weight_stride),
        once(together == tiles) {}
  std::size_t floats(const WinogradSides& sides) const {
    return places * (source_stride + result_stride) + weights * (once ? 1 : sides.results.channels / columns);
  }
};

std::size_t winograd_floats(const WinogradMaps& conv) {
  const WinogradSides forward(conv, false), backward(conv, true);
  const std::size_t floats[] = {WinogradBlocks(forward, forward_tiles).floats(forward),
                                WinogradBlocks(backward, forward_tiles).floats(backward),
                                WinogradBlocks(forward, weights_tiles).floats(forward)};
  std::size_t most = 0;
  for (const std::size_t one : floats) most = one > most ? one : most;
  return most;
}

void winograd(const WinogradMaps& conv, bool by_source, const float* x, const float* w, const float* bias, float* y, float* scratch) {
  const WinogradSides sides(conv, by_source);
  const WinogradBlocks blocks(sides, forward_tiles);
  const std::size_t sources = sides.sources.channels;
  float *const v = scratch, *const m = v + places * blocks.source_stride, *const u = m + places * blocks.result_stride;
  const auto weights_at = [&](std::size_t result) { return u + (blocks.once ? 0 : result / columns * blocks.weights); };
  for (std::size_t result = 0; result < sides.results.channels && !blocks.once; result += columns)
    spread_weights(sides, by_source, result, w, weights_at(result), blocks.weight_stride);
  for (std::size_t first = 0; first < blocks.tiles; first += blocks.together) {
    const std::size_t count = least(blocks.together, blocks.tiles - first);
    spread_sources(sides, first, count, x, v, blocks.source_stride);
    for (std::size_t result = 0; result < sides.results.channels; result += columns) {
      float* const own = weights_at(result);
      if (blocks.once) spread_weights(sides, by_source, result, w, own, blocks.weight_stride);
      for (std::size_t place = 0; place < places; ++place)
        place_products(count, sources, v + place * blocks.source_stride, sources, 1, own + place * blocks.weight_stride, false,
                       m + place * blocks.result_stride);
      give_maps(sides, first, count, result, m, blocks.result_stride, bias, y);
    }
  }
}

/// d[place][tile][columns] of the results from `result` on.
[[gnu::noinline]] void spread_derivatives(const WinogradSides& sides, std::size_t first, std::size_t count, std::size_t result,
                                          const float* dy, float* d, std::size_t stride) {
  for (std::size_t i = 0; i < count; ++i)
    for (std::size_t lane = 0; lane < columns; lane += lanes) {
      Vector tile[tile_outputs][tile_outputs];
      read_tile(sides.results.plane(dy, sides.grid.row(first + i), result + lane), sides.grid.top(first + i), sides.grid.left(first + i),
                tile);
      spread_tile<side>(
          tile, [](const auto& line, auto& transformed) __attribute__((always_inline)) { transform_derivative(line, transformed); },
          d + i * columns + lane, stride);
    }
}

/// dw at the results from `result` on, from du[place][sources][columns].
[[gnu::noinline]] void collect_weights(std::size_t sources, std::size_t result, const float* du, std::size_t stride, bool accumulate,
                                       float* dw) {
  for (std::size_t source = 0; source < sources; ++source)
    for (std::size_t lane = 0; lane < columns; lane += lanes) {
      Vector kernel[taps][taps];
      collect_tile<side>(
          du + source * columns + lane, stride,
          [](const auto& line, auto& transformed) __attribute__((always_inline)) { transform_gradient(line, transformed); }, kernel);
      float* const to = dw + ((result + lane) * sources + source) * window;
      for_taps([&](int tap, int count) __attribute__((always_inline)) {
        Vector square[lanes];
        STRAGGLER_UNROLL
        for (int i = 0; i < lanes; ++i) square[i] = i < count ? kernel[(tap + i) / taps][(tap + i) % taps] : Vector{};
        transpose(square);
        const auto kept = static_cast<std::size_t>(count);
        STRAGGLER_UNROLL
        for (int i = 0; i < lanes; ++i) {
          float* const at = to + static_cast<std::size_t>(i) * sources * window + tap;
          store_some(at, accumulate ? load_some(at, kept) + square[i] : square[i], kept);
        }
      });
    }
}

/// db = Σ dy: fp32 within a row, double over the rows.
void sum_maps(const Planes& planes, std::size_t rows, const float* dy, bool accumulate, float* db) {
  for (std::size_t channel = 0; channel < planes.channels; channel += lanes) {
    double total[lanes] = {};
    for (std::size_t row = 0; row < rows; ++row) {
      const float* const plane = dy + planes.offset(row, channel);
      Vector sum[4] = {};
      for (std::size_t place = 0; place < planes.height * planes.width; ++place) sum[place % 4] += load(plane + place * planes.block);
      const Vector whole = (sum[0] + sum[1]) + (sum[2] + sum[3]);
      for (int i = 0; i < lanes; ++i) total[i] += static_cast<double>(whole[i]);
    }
    for (int i = 0; i < lanes; ++i) {
      float& to = db[channel + static_cast<std::size_t>(i)];
      to = static_cast<float>(accumulate ? static_cast<double>(to) + total[i] : total[i]);
    }
  }
}

void winograd_by_weight(const WinogradMaps& conv, const float* x, const float* dy, bool accumulate, float* dw, float* db, float* scratch) {
  const WinogradSides sides(conv, false);
  const WinogradBlocks blocks(sides, weights_tiles);
  const std::size_t sources = sides.sources.channels, all = sides.results.channels / columns;
  float *const v = scratch, *const d = v + places * blocks.source_stride, *const du = d + places * blocks.result_stride;
  for (std::size_t first = 0; first < blocks.tiles; first += blocks.together) {
    const std::size_t count = least(blocks.together, blocks.tiles - first);
    spread_sources(sides, first, count, x, v, blocks.source_stride);
    for (std::size_t column = 0; column < all; ++column) {
      float* const own = du + (blocks.once ? 0 : column * blocks.weights);
      spread_derivatives(sides, first, count, column * columns, dy, d, blocks.result_stride);
      for (std::size_t place = 0; place < places; ++place)
        place_products(sources, count, v + place * blocks.source_stride, 1, sources, d + place * blocks.result_stride, first > 0,
                       own + place * blocks.weight_stride);
      if (first + count == blocks.tiles) collect_weights(sources, column * columns, own, blocks.weight_stride, accumulate, dw);
    }
  }
  if (db) sum_maps(sides.results, conv.rows, dy, accumulate, db);
}

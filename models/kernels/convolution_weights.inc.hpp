// Convolutions on panels, backward by the weights. Included by set.inc.hpp only.
//
// dw[o][i][tap] = Σ over samples and places of dy[o][place] x[i][stride place + tap - pad]. A tile covers some output channels x some
// neighbouring taps of one window row, with one register of partial sums (lanes are samples) each. A step handles one place and vector of
// samples. The sums wait in memory while a few rows of dy, which fit the first-level cache, meet every row of the window.

constexpr int registers = lanes == 16 ? 32 : 16;
constexpr int most_taps = 5;  // columns of a tile
/// Output channels of a tile with this many columns; registers hold the sums, one column of dy and one vector of x.
constexpr int weights_rows(int columns) { return (registers - 1) / (columns + 1) < 12 ? (registers - 1) / (columns + 1) : 12; }

/// Copies the first `valid` lanes of each of `places` panel rows; the others are zero.
STRAGGLER_INLINE void copy_valid(std::size_t places, std::size_t valid, const float* from, float* to) {
  for (std::size_t place = 0; place < places; ++place, from += panel_rows, to += panel_rows)
    for (std::size_t lane = 0; lane < valid; lane += lanes) store(to + lane, first(load(from + lane), valid - lane));
}

/// A plane zero-padded at the left and right of each row, and in the lanes without a sample.
STRAGGLER_INLINE void pad_plane(const SlidingWindow& s, std::size_t valid, const float* x, float* padded) {
  const std::size_t edge = s.pad_width * panel_rows;
  for (std::size_t row = 0; row < s.in_height; ++row, x += s.in_width * panel_rows) {
    for (std::size_t i = 0; i < edge; i += lanes) store(padded + i, Vector{});
    padded += edge;
    copy_valid(s.in_width, valid, x, padded);
    padded += s.in_width * panel_rows;
    for (std::size_t i = 0; i < edge; i += lanes) store(padded + i, Vector{});
    padded += edge;
  }
}

/// Rows of one padded input plane and of some output planes that meet at one row of the window.
struct MeetingRows {
  std::size_t count, places, vectors;
  const float* x;
  std::size_t x_row, x_place;  // floats from one output's row and place to the next one's
  const float* dy;
  std::size_t dy_row, dy_plane;
};

/// sums[tap][output channel][lanes] += the products of these rows at the taps 0 .. columns - 1.
template <int height, int columns>
STRAGGLER_INLINE void meet(const MeetingRows& rows, float* sums) {
  Vector acc[height][columns];
  for_registers<height, columns>([&](int i, int j) __attribute__((always_inline)) { acc[i][j] = load(sums + (j * height + i) * lanes); });
  for (std::size_t row = 0; row < rows.count; ++row)
    for (std::size_t v = 0; v < rows.vectors; ++v) {
      const float *x = rows.x + row * rows.x_row + v * lanes, *dy = rows.dy + row * rows.dy_row + v * lanes;
      for (std::size_t place = 0; place < rows.places; ++place, x += rows.x_place, dy += panel_rows) {
        Vector left[height];
        STRAGGLER_UNROLL
        for (int i = 0; i < height; ++i) left[i] = load(dy + static_cast<std::size_t>(i) * rows.dy_plane);
        STRAGGLER_UNROLL
        for (int j = 0; j < columns; ++j) {
          const Vector right = in_register(load(x + j * static_cast<int>(panel_rows)));
          STRAGGLER_UNROLL
          for (int i = 0; i < height; ++i) acc[i][j] = multiply_add(left[i], right, acc[i][j]);
        }
      }
    }
  for_registers<height, columns>([&](int i, int j) __attribute__((always_inline)) { store(sums + (j * height + i) * lanes, acc[i][j]); });
}

/// The gradient of the weights between one input channel and some output channels, from one panel.
template <int columns>
struct ConvWeightsPass {
  const SlidingWindow& s;
  std::size_t valid;
  const float* x;  // the padded plane; x_row floats per row
  std::size_t x_row;
  const float* dy;  // of the panel and group
  bool accumulate;
  float* dw;  // from the input channel on
  std::size_t dw_step;
  float *block_rows, *sums;

  template <int height>
  void operator()(std::size_t row) const {
    const std::size_t dy_row = s.out_width * panel_rows, window = s.places();
    for (std::size_t i = 0; i < window * height; ++i) store(sums + i * lanes, Vector{});
    const std::size_t block = conv_block / (height * dy_row) > 1 ? conv_block / (height * dy_row) : 1;
    for (std::size_t first = 0; first < s.out_height; first += block) rows<height>(row, first, least(block, s.out_height - first));
    for (int i = 0; i < height; ++i)
      reduce_to(window, accumulate, dw + (row + i) * dw_step,
                [&](std::size_t tap) { return load(sums + (tap * height + static_cast<std::size_t>(i)) * lanes); });
  }

 private:
  template <int height>
  [[gnu::always_inline]] inline void rows(std::size_t row, std::size_t first, std::size_t count) const {
    const std::size_t dy_row = s.out_width * panel_rows;
    const float* from = dy + row * s.outputs() * panel_rows + first * dy_row;
    std::size_t dy_plane = s.outputs() * panel_rows;
    if (valid < panel_rows) {
      for (std::size_t i = 0; i < height; ++i) copy_valid(count * s.out_width, valid, from + i * dy_plane, block_rows + i * count * dy_row);
      from = block_rows;
      dy_plane = count * dy_row;
    }
    for (std::size_t r = 0; r < s.height; ++r) {
      std::size_t low = first, high = first + count;  // outputs whose row r of the window lies in the plane
      while (low < high && low * s.stride + r < s.pad_height) ++low;
      while (low < high && (high - 1) * s.stride + r >= s.in_height + s.pad_height) --high;
      if (low == high) continue;
      const std::size_t at = low * s.stride + r - s.pad_height;
      MeetingRows meeting{high - low,       s.out_width,           quotient_up(valid, lanes),     x + at * x_row,
                          s.stride * x_row, s.stride * panel_rows, from + (low - first) * dy_row, dy_row,
                          dy_plane};
      float* const sum = sums + r * s.width * height * lanes;
      const std::size_t chunks = quotient_up(s.width, most_taps);
      for (std::size_t chunk = 0; chunk < chunks; ++chunk) {
        const std::size_t tap = s.width * chunk / chunks, taps = s.width * (chunk + 1) / chunks - tap;
        MeetingRows part = meeting;
        part.x += tap * panel_rows;
        if (taps == columns)
          meet<height, columns>(part, sum + tap * height * lanes);
        else if constexpr (columns > 1)
          meet<height, columns - 1>(part, sum + tap * height * lanes);
      }
    }
  }
};

/// Calls body.operator()<height>(row) for tiles of about the same height, at most `most`, that cover rows `from` to `to`.
template <int most, class Body>
STRAGGLER_INLINE void for_low_tiles(std::size_t from, std::size_t to, const Body& body) {
  const std::size_t tiles = quotient_up(to - from, most);
  for (std::size_t tile = 0; tile < tiles; ++tile) {
    const std::size_t row = from + (to - from) * tile / tiles;
    last_tile<most>(from + (to - from) * (tile + 1) / tiles - row, row, body);
  }
}

/// One panel and group.
template <int columns>
void conv_weights_panel(const Convolution& conv, std::size_t valid, const float* x, const float* dy, bool accumulate, float* dw,
                        float* scratch) {
  const SlidingWindow& s = conv.slide;
  const std::size_t in = conv.group_in(), out = conv.group_out(), window = s.places();
  const bool copy = s.pad_width > 0 || valid < panel_rows;
  const std::size_t x_row = (s.in_width + (copy ? 2 * s.pad_width : 0)) * panel_rows;
  float *const padded = scratch, *const rows = padded + s.in_height * (s.in_width + 2 * s.pad_width) * panel_rows,
               *const sums = rows + 12 * s.out_width * panel_rows + conv_block;
  // The number of output channels that stay in a second-level cache while every input channel passes.
  const std::size_t together = 65536 / (s.outputs() * panel_rows) + weights_rows(columns), blocks = quotient_up(out, together);
  for (std::size_t block = 0; block < blocks; ++block)
    for (std::size_t channel = 0; channel < in; ++channel) {
      const float* plane = x + channel * s.inputs() * panel_rows;
      if (copy) {
        pad_plane(s, valid, plane, padded);
        plane = padded;
      }
      for_low_tiles<weights_rows(columns)>(
          out * block / blocks, out * (block + 1) / blocks,
          ConvWeightsPass<columns>{s, valid, plane, x_row, dy, accumulate, dw + channel * window, in * window, rows, sums});
    }
}

/// Σ over samples and places of the channel's plane, lane by lane.
STRAGGLER_INLINE Vector plane_sum(std::size_t rows, std::size_t places, const float* plane, std::size_t panel) {
  Vector sum[4] = {};
  for (std::size_t p = 0; p < panels_of(rows); ++p, plane += panel) {
    const std::size_t valid = rows_in(rows, p);
    for (std::size_t lane = 0; lane < valid; lane += lanes) {
      const auto value_at = [&](std::size_t place) __attribute__((always_inline)) {
        const Vector value = load(plane + place * panel_rows + lane);
        return valid - lane >= lanes ? value : first(value, valid - lane);
      };
      std::size_t place = 0;
      for (; place + 4 <= places; place += 4) {
        STRAGGLER_UNROLL
        for (int k = 0; k < 4; ++k) sum[k] += value_at(place + k);
      }
      STRAGGLER_UNROLL
      for (int k = 0; k < 3; ++k)
        if (place + k < places) sum[k] += value_at(place + k);
    }
  }
  return (sum[0] + sum[1]) + (sum[2] + sum[3]);
}

template <int columns>
STRAGGLER_INLINE void conv_weights(std::size_t rows, const Convolution& conv, const float* x, const float* dy, bool accumulate, float* dw,
                                   float* scratch) {
  const std::size_t in = conv.group_in(), out = conv.group_out();
  const std::size_t plane = conv.slide.inputs() * panel_rows, out_plane = conv.slide.outputs() * panel_rows;
  for (std::size_t p = 0; p < panels_of(rows); ++p)
    for (std::size_t group = 0; group < conv.groups; ++group)
      conv_weights_panel<columns>(conv, rows_in(rows, p), x + (p * conv.in_channels + group * in) * plane,
                                  dy + (p * conv.out_channels + group * out) * out_plane, accumulate || p > 0,
                                  dw + group * out * in * conv.slide.places(), scratch);
}

/// dw of one group by Winograd's algorithm, from u[place][out][in]: lanes are input channels.
template <int taps>
STRAGGLER_INLINE void collect_weights(const Winograd& win, bool accumulate, float* dw) {
  constexpr std::size_t window = taps * taps;
  for (std::size_t out = 0; out < win.results; ++out)
    for (std::size_t in = 0; in < win.sources; in += lanes) {
      const std::size_t kept = least(lanes, win.sources - in);
      Vector kernel[taps][taps];
      collect_tile<tile_side(taps)>(
          win.u + out * win.sources + in, win.weight_stride,
          [](const auto& line, auto& transformed) __attribute__((always_inline)) { transform_gradient(line, transformed); }, kernel);
      float* const to = dw + (out * win.sources + in) * window;
      for (std::size_t tap = 0; tap < window; ++tap)
        for (std::size_t i = 0; i < kept; ++i) {
          const float value = kernel[tap / taps][tap % taps][i];
          to[i * window + tap] = accumulate ? to[i * window + tap] + value : value;
        }
    }
}

/// dw of one group by Winograd's algorithm: at each place of a tile the product of dense layers, over samples, summed over the tiles.
template <int taps>
void winograd_weights(std::size_t rows, const Winograd& win, const float* x, std::size_t x_floats, const float* dy, std::size_t dy_floats,
                      bool accumulate, float* dw) {
  bool more = false;
  for (std::size_t p = 0; p < panels_of(rows); ++p)
    for (std::size_t top = 0; top < win.height; top += tile_outputs)
      for (std::size_t left = 0; left < win.width; left += tile_outputs) {
        for (std::size_t lane = 0; lane < rows_in(rows, p); lane += lanes) {
          transform_tile<taps>(win, x + p * x_floats, top, left, lane);
          for (std::size_t out = 0; out < win.results; ++out) {
            Vector tile[tile_outputs][tile_outputs];
            read_tile({dy + p * dy_floats + out * win.height * win.width * panel_rows + lane, win.height, win.width, panel_rows}, top, left,
                      tile);
            spread_tile<tile_side(taps)>(
                tile, [](const auto& line, auto& transformed) __attribute__((always_inline)) { transform_derivative(line, transformed); },
                win.m + out * panel_rows + lane, win.result_stride);
          }
        }
        for (std::size_t place = 0; place < static_cast<std::size_t>(tile_places(taps)); ++place)
          backward_weights_group(rows_in(rows, p), win.sources, win.results, win.v + place * win.source_stride,
                                 win.m + place * win.result_stride, more, win.u + place * win.weight_stride);
        more = true;
      }
  collect_weights<taps>(win, accumulate, dw);
}

void conv_backward_weights(std::size_t rows, const Convolution& conv, const float* x, const float* dy, bool accumulate, float* dw,
                           float* db, float* scratch) {
  const std::size_t places = conv.slide.outputs(), plane = places * panel_rows;
  if (db)
    reduce_to(conv.out_channels, accumulate, db,
              [&](std::size_t channel) { return plane_sum(rows, places, dy + channel * plane, conv.out_channels * plane); });
  const std::size_t width = conv.slide.width;
  if (conv.winograd()) {
    const std::size_t in = conv.group_in(), out = conv.group_out(), in_plane = conv.slide.inputs() * panel_rows;
    for (std::size_t group = 0; group < conv.groups; ++group)
      (width == 3 ? winograd_weights<3> : winograd_weights<5>)(rows, Winograd(conv, false, scratch), x + group * in * in_plane,
                                                               conv.in_channels * in_plane, dy + group * out * plane,
                                                               conv.out_channels * plane, accumulate,
                                                               dw + group * out * in * conv.slide.places());
    return;
  }
  switch (quotient_up(width, quotient_up(width, most_taps))) {  // the widest piece of a window row
    case 1:
      return conv_weights<1>(rows, conv, x, dy, accumulate, dw, scratch);
    case 2:
      return conv_weights<2>(rows, conv, x, dy, accumulate, dw, scratch);
    case 3:
      return conv_weights<3>(rows, conv, x, dy, accumulate, dw, scratch);
    case 4:
      return conv_weights<4>(rows, conv, x, dy, accumulate, dw, scratch);
    default:
      return conv_weights<5>(rows, conv, x, dy, accumulate, dw, scratch);
  }
}

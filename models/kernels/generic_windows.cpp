#include "models/kernels/generic_windows.hpp"

#include <algorithm>

namespace straggler::generic {
namespace {

constexpr std::size_t lanes = panel_rows;

std::size_t panels_of(std::size_t rows) { return (rows + lanes - 1) / lanes; }
std::size_t rows_in(std::size_t rows, std::size_t panel) { return std::min(lanes, rows - panel * lanes); }

/// Calls body(out, in, tap) for every output place, the input places in its window, and their index in it. Offsets in floats.
template <class Body>
void for_places(const SlidingWindow& s, const Body& body) {
  for (std::size_t row = 0; row < s.out_height; ++row)
    for (std::size_t column = 0; column < s.out_width; ++column)
      for (std::size_t i = 0; i < s.height; ++i)
        for (std::size_t j = 0; j < s.width; ++j) {
          const std::size_t y = row * s.stride + i, x = column * s.stride + j;
          if (y < s.pad_height || y >= s.in_height + s.pad_height || x < s.pad_width || x >= s.in_width + s.pad_width) continue;
          body((row * s.out_width + column) * lanes, ((y - s.pad_height) * s.in_width + x - s.pad_width) * lanes, i * s.width + j);
        }
}

void add_scaled(float scale, const float* from, float* to) {
  for (std::size_t lane = 0; lane < lanes; ++lane) to[lane] += scale * from[lane];
}
void rectify(std::size_t count, float* y) {
  for (std::size_t i = 0; i < count; ++i) y[i] = y[i] < 0.0f ? 0.0f : y[i];
}
void pass_where_positive(std::size_t count, const float* x, float* dx) {
  for (std::size_t i = 0; i < count; ++i) dx[i] = x[i] <= 0.0f ? 0.0f : dx[i];
}

/// One pair of an input and an output channel of the same group, in one panel; offsets in floats.
struct ChannelPair {
  std::size_t panel, in_channel, out_channel, in, out, weight;
};
template <class Body>
void for_pairs(std::size_t rows, const Convolution& c, const Body& body) {
  const std::size_t in = c.group_in(), out = c.group_out(), plane = c.slide.inputs() * lanes, out_plane = c.slide.outputs() * lanes;
  for (std::size_t p = 0; p < panels_of(rows); ++p)
    for (std::size_t o = 0; o < c.out_channels; ++o)
      for (std::size_t i = 0; i < in; ++i) {
        const std::size_t channel = o / out * in + i;
        body(ChannelPair{p, channel, o, (p * c.in_channels + channel) * plane, (p * c.out_channels + o) * out_plane,
                         (o * in + i) * c.slide.places()});
      }
}

}  // namespace

void conv_forward(std::size_t rows, const Convolution& c, const float* x, const float* w, const float* b, bool relu, float* y, float*) {
  const std::size_t plane = c.slide.outputs() * lanes, count = panels_of(rows) * c.out_channels;
  for (std::size_t i = 0; i < count; ++i) std::fill_n(y + i * plane, plane, b ? b[i % c.out_channels] : 0.0f);
  for_pairs(rows, c, [&](const ChannelPair& pair) {
    for_places(c.slide, [&](std::size_t out, std::size_t in, std::size_t tap) {
      add_scaled(w[pair.weight + tap], x + pair.in + in, y + pair.out + out);
    });
  });
  if (relu) rectify(count * plane, y);
}

void conv_backward_weights(std::size_t rows, const Convolution& c, const float* x, const float* dy, bool accumulate, float* dw, float* db,
                           float*) {
  if (!accumulate) std::fill_n(dw, c.weights(), 0.0f);
  for_pairs(rows, c, [&](const ChannelPair& pair) {
    for_places(c.slide, [&](std::size_t out, std::size_t in, std::size_t tap) {
      float sum = 0;
      for (std::size_t lane = 0; lane < rows_in(rows, pair.panel); ++lane) sum += dy[pair.out + out + lane] * x[pair.in + in + lane];
      dw[pair.weight + tap] += sum;
    });
  });
  if (!db) return;
  if (!accumulate) std::fill_n(db, c.out_channels, 0.0f);
  for (std::size_t p = 0; p < panels_of(rows); ++p)
    for (std::size_t o = 0; o < c.out_channels; ++o)
      for (std::size_t place = 0; place < c.slide.outputs(); ++place, dy += lanes) {
        float sum = 0;
        for (std::size_t lane = 0; lane < rows_in(rows, p); ++lane) sum += dy[lane];
        db[o] += sum;
      }
}

void conv_backward_input(std::size_t rows, const Convolution& c, const float* dy, const float* w, const float* x, bool relu, float* dx,
                         float*) {
  const std::size_t floats = panels_of(rows) * c.in_channels * c.slide.inputs() * lanes;
  std::fill_n(dx, floats, 0.0f);
  for_pairs(rows, c, [&](const ChannelPair& pair) {
    for_places(c.slide, [&](std::size_t out, std::size_t in, std::size_t tap) {
      add_scaled(w[pair.weight + tap], dy + pair.out + out, dx + pair.in + in);
    });
  });
  if (relu) pass_where_positive(floats, x, dx);
}

void max_pool_forward(std::size_t rows, std::size_t channels, const SlidingWindow& s, const float* x, float* y, std::uint8_t* winner) {
  for (std::size_t i = 0; i < panels_of(rows) * channels; ++i) {
    const float* const plane = x + i * s.inputs() * lanes;
    const std::size_t to = i * s.outputs() * lanes;
    std::size_t begun = static_cast<std::size_t>(-1);  // the output of the current window
    for_places(s, [&](std::size_t out, std::size_t in, std::size_t tap) {
      for (std::size_t lane = 0; lane < lanes; ++lane) {
        const float value = plane[in + lane];
        float& top = y[to + out + lane];
        if (out == begun && !(value > top) && value == value) continue;
        top = value;
        winner[to + out + lane] = static_cast<std::uint8_t>(tap);
      }
      begun = out;
    });
  }
}

void max_pool_backward(std::size_t rows, std::size_t channels, const SlidingWindow& s, const float* dy, const std::uint8_t* winner,
                       float* dx) {
  std::fill_n(dx, panels_of(rows) * channels * s.inputs() * lanes, 0.0f);
  for (std::size_t i = 0; i < panels_of(rows) * channels; ++i)
    for_places(s, [&](std::size_t out, std::size_t in, std::size_t tap) {
      const std::size_t from = i * s.outputs() * lanes + out;
      for (std::size_t lane = 0; lane < lanes; ++lane)
        if (winner[from + lane] == tap) dx[i * s.inputs() * lanes + in + lane] += dy[from + lane];
    });
}

void average_pool_forward(std::size_t rows, std::size_t channels, const SlidingWindow& s, const float* x, float* y) {
  const float divisor = static_cast<float>(s.places());
  const std::size_t floats = panels_of(rows) * channels * s.outputs() * lanes;
  std::fill_n(y, floats, 0.0f);
  for (std::size_t i = 0; i < panels_of(rows) * channels; ++i)
    for_places(s, [&](std::size_t out, std::size_t in, std::size_t) {
      add_scaled(1, x + i * s.inputs() * lanes + in, y + i * s.outputs() * lanes + out);
    });
  for (std::size_t i = 0; i < floats; ++i) y[i] /= divisor;
}

void average_pool_backward(std::size_t rows, std::size_t channels, const SlidingWindow& s, const float* dy, const float* x, bool relu,
                           float* dx) {
  const float divisor = static_cast<float>(s.places());
  const std::size_t floats = panels_of(rows) * channels * s.inputs() * lanes;
  std::fill_n(dx, floats, 0.0f);
  for (std::size_t i = 0; i < panels_of(rows) * channels; ++i)
    for_places(s, [&](std::size_t out, std::size_t in, std::size_t) {
      add_scaled(1, dy + i * s.outputs() * lanes + out, dx + i * s.inputs() * lanes + in);
    });
  for (std::size_t i = 0; i < floats; ++i) dx[i] /= divisor;
  if (relu) pass_where_positive(floats, x, dx);
}

}  // namespace straggler::generic

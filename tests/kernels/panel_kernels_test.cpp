// Convolutions and pools of every set of kernels against plain loops in double.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "tests/support/math_helpers.hpp"
#include "tests/support/sanitized.hpp"

namespace straggler::test::panel_kernels_test {
namespace {

constexpr float nan = std::numeric_limits<float>::quiet_NaN();

SlidingWindow window(std::size_t height, std::size_t width, std::size_t side_y, std::size_t side_x, std::size_t stride, std::size_t pad_y,
                     std::size_t pad_x) {
  return {{side_y, side_x, stride, pad_y, pad_x},
          height,
          width,
          (height + 2 * pad_y - side_y) / stride + 1,
          (width + 2 * pad_x - side_x) / stride + 1};
}

struct Case {
  std::size_t rows;
  Convolution conv;
};

/// Around the sizes of tiles (12, 6, 5), of pieces of a window's row (5), of panels (32) and of blocks.
std::vector<Case> cases() {
  return {
      {32, {window(8, 8, 5, 5, 1, 2, 2), 1, 6, 1}},
      {5, {window(7, 9, 5, 5, 1, 0, 0), 3, 16, 1}},
      {33, {window(5, 6, 3, 3, 1, 1, 1), 4, 13, 1}},
      {40, {window(6, 5, 3, 3, 2, 1, 1), 6, 9, 3}},
      {17, {window(9, 7, 1, 1, 1, 0, 0), 5, 25, 1}},
      {16, {window(9, 7, 1, 1, 2, 0, 0), 5, 7, 1}},
      {31, {window(11, 10, 7, 7, 2, 3, 3), 2, 5, 1}},
      {64, {window(4, 4, 4, 2, 3, 2, 1), 4, 4, 4}},
      {70, {window(3, 12, 2, 11, 1, 1, 5), 2, 3, 1}},
      {3, {window(2, 2, 5, 5, 1, 2, 2), 2, 2, 2}},
      {8, {window(6, 6, 3, 3, 1, 1, 1), 24, 28, 2}},
      {1, {window(1, 1, 1, 1, 1, 0, 0), 1, 1, 1}},
      {34, {window(10, 3, 4, 2, 1, 1, 0), 1, 2, 1}},
      {2, {window(30, 30, 3, 3, 1, 1, 1), 9, 3, 1}},
      {12, {window(13, 13, 3, 3, 3, 0, 0), 2, 12, 1}},
      // Enough channels for Winograd: tiles that fit and that do not, and every padding that its gradient has.
      {33, {window(7, 9, 5, 5, 1, 2, 2), 12, 13, 1}},
      {5, {window(6, 6, 5, 5, 1, 0, 0), 16, 12, 1}},
      {5, {window(6, 6, 5, 5, 1, 2, 2), 14, 12, 1, true}},
      {17, {window(9, 10, 3, 3, 1, 1, 1), 12, 40, 1}},
      {3, {window(5, 4, 3, 3, 1, 2, 0), 24, 24, 2}},
  };
}

/// Calls meet(output, input, tap) for every place of the output and each input in its window.
template <class Meet>
void for_meetings(const SlidingWindow& w, const Meet& meet) {
  for (std::size_t oy = 0; oy < w.out_height; ++oy)
    for (std::size_t ox = 0; ox < w.out_width; ++ox)
      for (std::size_t ky = 0; ky < w.height; ++ky)
        for (std::size_t kx = 0; kx < w.width; ++kx) {
          const long y = static_cast<long>(oy * w.stride + ky) - static_cast<long>(w.pad_height);
          const long x = static_cast<long>(ox * w.stride + kx) - static_cast<long>(w.pad_width);
          if (y < 0 || x < 0 || y >= static_cast<long>(w.in_height) || x >= static_cast<long>(w.in_width)) continue;
          meet(oy * w.out_width + ox, static_cast<std::size_t>(y) * w.in_width + static_cast<std::size_t>(x), ky * w.width + kx);
        }
}

/// Calls meet(output, input, weight) for every product of one sample: indices into its output, its input and the weights.
template <class Meet>
void for_products(const Convolution& c, const Meet& meet) {
  for (std::size_t o = 0; o < c.out_channels; ++o)
    for (std::size_t i = 0; i < c.group_in(); ++i)
      for_meetings(c.slide, [&](std::size_t output, std::size_t input, std::size_t tap) {
        meet(o * c.slide.outputs() + output, (o / c.group_out() * c.group_in() + i) * c.slide.inputs() + input,
             (o * c.group_in() + i) * c.slide.places() + tap);
      });
}

struct Numbers {
  std::size_t in, out;
  std::vector<float> x, w, b, dy;

  explicit Numbers(const Case& one)
      : in(one.conv.in_channels * one.conv.slide.inputs()),
        out(one.conv.out_channels * one.conv.slide.outputs()),
        x(numbers(one.rows * in, 1)),
        w(numbers(one.conv.weights(), 2)),
        b(numbers(one.conv.out_channels, 3)),
        dy(numbers(one.rows * out, 4)) {
    for (std::size_t i = 0; i < x.size(); i += 3) x[i] = 0;  // as a ReLU leaves them
  }
};

std::vector<float> scratch_of(const Convolution& conv) { return std::vector<float>(conv.scratch_floats(), nan); }

/// Sums of n products of numbers below 1 in any order.
double bound(double terms) { return 0x1p-24 * 4 * (terms + 4); }

/// Forward or by the input. Winograd's transforms enlarge numbers (Bᵀ up to 10 times in each direction) and take differences of them.
double slide_bound(const Convolution& conv, std::size_t channels) {
  return bound(static_cast<double>(channels * conv.slide.places())) * (conv.winograd() ? 4 : 1);
}

void check_close(const std::vector<float>& actual, const std::vector<double>& expected, double error) {
  REQUIRE(actual.size() == expected.size());
  double worst = 0;
  for (std::size_t i = 0; i < actual.size(); ++i) {
    const double off = std::abs(static_cast<double>(actual[i]) - expected[i]);
    worst = std::isnan(off) ? std::numeric_limits<double>::infinity() : std::max(worst, off);
  }
  CHECK(worst <= error);
}

template <class Body>
void for_sets_and_cases(const Body& body) {
  for (const Case& one : cases())
    for (const Kernels* kernels : tried(all_kernels())) {
      CAPTURE(kernels->name);
      CAPTURE(one.rows);
      CAPTURE(one.conv.slide.in_height);
      CAPTURE(one.conv.slide.in_width);
      CAPTURE(one.conv.slide.height);
      CAPTURE(one.conv.slide.width);
      CAPTURE(one.conv.out_channels);
      body(*kernels, one, Numbers(one));
    }
}

}  // namespace

TEST_CASE("convolution forward equals plain loops, for any padding lanes") {
  for_sets_and_cases([](const Kernels& kernels, const Case& one, const Numbers& n) {
    const std::vector<float> x = panels_of(n.x, one.rows, n.in, nan);
    for (const bool relu : {false, true}) {
      std::vector<double> expected(one.rows * n.out);
      for (std::size_t row = 0; row < one.rows; ++row) {
        double* const y = expected.data() + row * n.out;
        for (std::size_t i = 0; i < n.out; ++i) y[i] = relu ? static_cast<double>(n.b[i / one.conv.slide.outputs()]) : 0;
        for_products(one.conv, [&](std::size_t out, std::size_t in, std::size_t weight) {
          y[out] += static_cast<double>(n.x[row * n.in + in]) * static_cast<double>(n.w[weight]);
        });
        for (std::size_t i = 0; relu && i < n.out; ++i) y[i] = std::max(y[i], 0.0);
      }
      std::vector<float> y(panel_floats(one.rows, n.out), nan), scratch = scratch_of(one.conv);
      kernels.conv_forward(one.rows, one.conv, x.data(), n.w.data(), relu ? n.b.data() : nullptr, relu, y.data(), scratch.data());
      check_close(samples_of(y, one.rows, n.out), expected, slide_bound(one.conv, one.conv.group_in()));
    }
  });
}

TEST_CASE("convolution backward by the input equals plain loops, for any padding lanes") {
  for_sets_and_cases([](const Kernels& kernels, const Case& one, const Numbers& n) {
    const std::vector<float> x = panels_of(n.x, one.rows, n.in, nan), dy = panels_of(n.dy, one.rows, n.out, nan);
    for (const bool relu : {false, true}) {
      std::vector<double> expected(one.rows * n.in);
      for (std::size_t row = 0; row < one.rows; ++row) {
        double* const dx = expected.data() + row * n.in;
        for_products(one.conv, [&](std::size_t out, std::size_t in, std::size_t weight) {
          dx[in] += static_cast<double>(n.dy[row * n.out + out]) * static_cast<double>(n.w[weight]);
        });
        for (std::size_t i = 0; relu && i < n.in; ++i)
          if (n.x[row * n.in + i] <= 0) dx[i] = 0;
      }
      std::vector<float> dx(panel_floats(one.rows, n.in), nan), scratch = scratch_of(one.conv);
      kernels.conv_backward_input(one.rows, one.conv, dy.data(), n.w.data(), relu ? x.data() : nullptr, relu, dx.data(), scratch.data());
      check_close(samples_of(dx, one.rows, n.in), expected, slide_bound(one.conv, one.conv.group_out()));
    }
  });
}

TEST_CASE("Winograd's convolutions are as exact as direct ones up to a small factor") {
  // The widths of the FedAvg CNN's second layer and of a residual network's: sums of 800 and 576 products.
  for (const Case& one : {Case{2, {window(14, 14, 5, 5, 1, 2, 2), 32, 24, 1}}, Case{2, {window(8, 8, 3, 3, 1, 1, 1), 64, 24, 1}}}) {
    REQUIRE(one.conv.winograd());
    const Numbers n(one);
    const std::vector<float> x = panels_of(n.x, one.rows, n.in, 0);
    std::vector<double> expected(one.rows * n.out, 0.0);
    for (std::size_t row = 0; row < one.rows; ++row)
      for_products(one.conv, [&](std::size_t out, std::size_t in, std::size_t weight) {
        expected[row * n.out + out] += static_cast<double>(n.x[row * n.in + in]) * static_cast<double>(n.w[weight]);
      });
    for (const Kernels* kernels : all_kernels()) {
      CAPTURE(kernels->name);
      std::vector<float> y(panel_floats(one.rows, n.out)), scratch = scratch_of(one.conv);
      kernels->conv_forward(one.rows, one.conv, x.data(), n.w.data(), nullptr, false, y.data(), scratch.data());
      CHECK(distance(samples_of(y, one.rows, n.out), expected) < (kernels->name == "generic" ? 5e-7 : 4e-6));
    }
  }
}

TEST_CASE("convolution backward by the weights equals plain loops, overwrites or accumulates, for any padding lanes") {
  for_sets_and_cases([](const Kernels& kernels, const Case& one, const Numbers& n) {
    const std::vector<float> x = panels_of(n.x, one.rows, n.in, nan), dy = panels_of(n.dy, one.rows, n.out, nan);
    for (const bool accumulate : {false, true}) {
      std::vector<float> dw = numbers(n.w.size(), 5), db = numbers(n.b.size(), 6), scratch = scratch_of(one.conv);
      std::vector<double> expected = as<double>(dw), expected_db = as<double>(db);
      if (!accumulate) {
        std::fill(expected.begin(), expected.end(), 0.0);
        std::fill(expected_db.begin(), expected_db.end(), 0.0);
        std::fill(dw.begin(), dw.end(), nan);
        std::fill(db.begin(), db.end(), nan);
      }
      for (std::size_t row = 0; row < one.rows; ++row) {
        for_products(one.conv, [&](std::size_t out, std::size_t in, std::size_t weight) {
          expected[weight] += static_cast<double>(n.dy[row * n.out + out]) * static_cast<double>(n.x[row * n.in + in]);
        });
        for (std::size_t i = 0; i < n.out; ++i) expected_db[i / one.conv.slide.outputs()] += static_cast<double>(n.dy[row * n.out + i]);
      }
      const double error = bound(static_cast<double>(one.rows * one.conv.slide.outputs()));
      kernels.conv_backward_weights(one.rows, one.conv, x.data(), dy.data(), accumulate, dw.data(), db.data(), scratch.data());
      check_close(dw, expected, error * (one.conv.winograd() ? 8 : 1));  // A enlarges dy up to 15 times in each direction
      check_close(db, expected_db, error);
      // Without a bias: the same weights' gradient.
      std::vector<float> alone = accumulate ? numbers(n.w.size(), 5) : std::vector<float>(n.w.size(), nan);
      kernels.conv_backward_weights(one.rows, one.conv, x.data(), dy.data(), accumulate, alone.data(), nullptr, scratch.data());
      CHECK(alone == dw);
    }
  });
}

namespace {

struct PoolCase {
  std::size_t rows, channels;
  SlidingWindow slide;
};
std::vector<PoolCase> pool_cases() {
  return {{32, 3, window(8, 6, 2, 2, 2, 0, 0)}, {45, 2, window(7, 9, 2, 2, 2, 0, 0)}, {17, 4, window(7, 7, 3, 3, 2, 1, 1)},
          {3, 1, window(5, 4, 3, 2, 1, 1, 0)},  {33, 5, window(6, 6, 6, 6, 1, 0, 0)}, {64, 1, window(9, 9, 2, 2, 3, 0, 0)}};
}

}  // namespace

TEST_CASE("max pools give the first of the largest and send its derivative there") {
  for (const Kernels* kernels : all_kernels())
    for (const PoolCase& one : pool_cases()) {
      CAPTURE(kernels->name);
      CAPTURE(one.rows);
      CAPTURE(one.slide.in_height);
      const std::size_t plane = one.slide.inputs(), out_plane = one.slide.outputs(), in = one.channels * plane,
                        out = one.channels * out_plane;
      std::vector<float> x = numbers(one.rows * in, 1);
      for (float& value : x) value = std::round(value * 3);  // many equals
      const std::vector<float> dy = numbers(one.rows * out, 2);
      std::vector<double> y(one.rows * out, -1e9), dx(one.rows * in, 0.0);
      std::vector<std::size_t> winner(y.size());
      for (std::size_t c = 0; c < one.rows * one.channels; ++c) {
        for_meetings(one.slide, [&](std::size_t to, std::size_t from, std::size_t) {
          const double value = static_cast<double>(x[c * plane + from]);
          if (value <= y[c * out_plane + to]) return;
          y[c * out_plane + to] = value;
          winner[c * out_plane + to] = c * plane + from;
        });
        for (std::size_t i = c * out_plane; i < (c + 1) * out_plane; ++i) dx[winner[i]] += static_cast<double>(dy[i]);
      }
      std::vector<float> y_panels(panel_floats(one.rows, out), nan), dx_panels(panel_floats(one.rows, in), nan);
      std::vector<std::uint8_t> winners(y_panels.size(), 255);
      kernels->max_pool_forward(one.rows, one.channels, one.slide, panels_of(x, one.rows, in, nan).data(), y_panels.data(), winners.data());
      CHECK(as<double>(samples_of(y_panels, one.rows, out)) == y);
      kernels->max_pool_backward(one.rows, one.channels, one.slide, panels_of(dy, one.rows, out, nan).data(), winners.data(),
                                 dx_panels.data());
      check_close(samples_of(dx_panels, one.rows, in), dx, 1e-6);
    }
}

TEST_CASE("average pools count the places beyond the edges") {
  for (const Kernels* kernels : all_kernels())
    for (const PoolCase& one : pool_cases())
      for (const bool relu : {false, true}) {
        CAPTURE(kernels->name);
        CAPTURE(one.rows);
        CAPTURE(one.slide.in_height);
        const std::size_t plane = one.slide.inputs(), out_plane = one.slide.outputs(), in = one.channels * plane,
                          out = one.channels * out_plane;
        const std::vector<float> x = numbers(one.rows * in, 1), dy = numbers(one.rows * out, 2);
        std::vector<double> y(one.rows * out, 0.0), dx(one.rows * in, 0.0);
        for (std::size_t c = 0; c < one.rows * one.channels; ++c)
          for_meetings(one.slide, [&](std::size_t to, std::size_t from, std::size_t) {
            const double share = 1 / static_cast<double>(one.slide.places());
            y[c * out_plane + to] += static_cast<double>(x[c * plane + from]) * share;
            if (!relu || x[c * plane + from] > 0) dx[c * plane + from] += static_cast<double>(dy[c * out_plane + to]) * share;
          });
        const std::vector<float> x_panels = panels_of(x, one.rows, in, nan);
        std::vector<float> y_panels(panel_floats(one.rows, out), nan), dx_panels(x_panels.size(), nan);
        kernels->average_pool_forward(one.rows, one.channels, one.slide, x_panels.data(), y_panels.data());
        check_close(samples_of(y_panels, one.rows, out), y, 1e-6);
        kernels->average_pool_backward(one.rows, one.channels, one.slide, panels_of(dy, one.rows, out, nan).data(),
                                       relu ? x_panels.data() : nullptr, relu, dx_panels.data());
        check_close(samples_of(dx_panels, one.rows, in), dx, 1e-6);
      }
}

TEST_CASE("NaN travels through convolutions, their ReLU and max pools") {
  for (const Kernels* kernels : all_kernels()) {
    CAPTURE(kernels->name);
    const Case one = {3, {window(4, 4, 3, 3, 1, 1, 1), 2, 3, 1}};
    const Numbers n(one);
    std::vector<float> samples = n.x, y(panel_floats(3, n.out)), pooled(panel_floats(3, 3 * 4)), scratch = scratch_of(one.conv);
    samples[1 * n.in + 5] = nan;  // of sample 1, place (1, 1)
    kernels->conv_forward(3, one.conv, panels_of(samples, 3, n.in, 0).data(), n.w.data(), n.b.data(), true, y.data(), scratch.data());
    std::vector<std::uint8_t> winners(pooled.size());
    kernels->max_pool_forward(3, 3, window(4, 4, 2, 2, 2, 0, 0), y.data(), pooled.data(), winners.data());
    const std::vector<float> out = samples_of(y, 3, n.out), tops = samples_of(pooled, 3, 12);
    for (std::size_t row = 0; row < 3; ++row)
      for (std::size_t i = 0; i < n.out; ++i) CHECK(std::isnan(out[row * n.out + i]) == (row == 1 && i / 4 % 4 <= 2 && i % 4 <= 2));
    for (std::size_t i = 0; i < tops.size(); ++i) CHECK(std::isnan(tops[i]) == (i / 12 == 1));
  }
}

}  // namespace straggler::test::panel_kernels_test

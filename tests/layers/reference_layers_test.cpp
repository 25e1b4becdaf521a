// Every plain layer in double against central differences and against values worked out by hand; convolutions as matrix products
// against the plain ones.
#include <doctest/doctest.h>

#include <array>
#include <limits>

#include "models/layers/convolution_products.hpp"
#include "models/layers/reference.hpp"
#include "sim/base/key.hpp"
#include "tests/layers/derivatives.hpp"
#include "tests/support/math_helpers.hpp"

namespace straggler::test::reference_layers_test {
namespace {

struct Shapes {
  const char* what;
  reference::Convolution layer;
};

SlidingWindow sliding(std::size_t in_height, std::size_t in_width, std::size_t height, std::size_t width, std::size_t stride,
                      std::size_t pad_height, std::size_t pad_width) {
  return {{height, width, stride, pad_height, pad_width},
          in_height,
          in_width,
          (in_height + 2 * pad_height - height) / stride + 1,
          (in_width + 2 * pad_width - width) / stride + 1};
}

const std::array<Shapes, 11> convolutions = {{
    {"3x3 with padding", {2, 3, 4, 1, sliding(5, 6, 3, 3, 1, 1, 1)}},
    {"stride 2 that leaves a row over", {2, 2, 3, 1, sliding(6, 5, 3, 3, 2, 0, 0)}},
    {"stride 2 with padding", {1, 3, 2, 1, sliding(7, 8, 3, 3, 2, 1, 1)}},
    {"1x1", {3, 4, 5, 1, sliding(3, 3, 1, 1, 1, 0, 0)}},
    {"1x1 of stride 2", {2, 4, 5, 1, sliding(5, 4, 1, 1, 2, 0, 0)}},
    {"a window wider than its input", {2, 2, 3, 1, sliding(2, 2, 5, 5, 1, 2, 2)}},
    {"1x7 rows", {1, 2, 2, 1, sliding(3, 8, 1, 7, 1, 0, 3)}},
    {"stride 3 past a pad of 2", {2, 1, 2, 1, sliding(4, 7, 2, 3, 3, 1, 2)}},
    {"groups", {2, 6, 4, 2, sliding(4, 4, 3, 3, 1, 1, 1)}},
    {"a group for each channel, twice as many out", {2, 3, 6, 3, sliding(5, 5, 3, 3, 2, 1, 1)}},
    {"a dense layer", {4, 7, 5, 1, sliding(1, 1, 1, 1, 1, 0, 0)}},
}};

std::size_t inputs(const reference::Convolution& layer) { return layer.rows * layer.in * layer.window.inputs(); }
std::size_t outputs(const reference::Convolution& layer) { return layer.rows * layer.out * layer.window.outputs(); }
std::size_t weights(const reference::Convolution& layer) { return layer.out * layer.group_in() * layer.window.places(); }

/// The definition, place by place.
double convolved(const reference::Convolution& layer, const Doubles& x, const Doubles& w, std::size_t row, std::size_t o, std::size_t y,
                 std::size_t column) {
  const SlidingWindow& window = layer.window;
  double sum = 0;
  for (std::size_t c = 0; c < layer.in / layer.groups; ++c)
    for (std::size_t ky = 0; ky < window.height; ++ky)
      for (std::size_t kx = 0; kx < window.width; ++kx) {
        const auto at_y = static_cast<long>(y * window.stride + ky) - static_cast<long>(window.pad_height);
        const auto at_x = static_cast<long>(column * window.stride + kx) - static_cast<long>(window.pad_width);
        if (at_y < 0 || at_x < 0 || at_y >= static_cast<long>(window.in_height) || at_x >= static_cast<long>(window.in_width)) continue;
        const std::size_t channel = o / (layer.out / layer.groups) * (layer.in / layer.groups) + c;
        sum += w[((o * (layer.in / layer.groups) + c) * window.height + ky) * window.width + kx] *
               x[((row * layer.in + channel) * window.in_height + static_cast<std::size_t>(at_y)) * window.in_width +
                 static_cast<std::size_t>(at_x)];
      }
  return sum;
}

}  // namespace

TEST_CASE("a convolution equals its definition, position by position") {
  for (const Shapes& shapes : convolutions) {
    CAPTURE(shapes.what);
    const reference::Convolution& layer = shapes.layer;
    const Doubles x = numbers<double>(inputs(layer), 1), w = numbers<double>(weights(layer), 2), b = numbers<double>(layer.out, 3);
    Doubles y(outputs(layer));
    reference::convolution_forward(layer, x.data(), w.data(), b.data(), y.data());
    std::size_t at = 0;
    for (std::size_t row = 0; row < layer.rows; ++row)
      for (std::size_t o = 0; o < layer.out; ++o)
        for (std::size_t i = 0; i < layer.window.out_height; ++i)
          for (std::size_t j = 0; j < layer.window.out_width; ++j, ++at)
            CHECK(y[at] == doctest::Approx(convolved(layer, x, w, row, o, i, j) + b[o]).epsilon(1e-12));
  }
}

TEST_CASE("a convolution's derivatives equal central differences, with stride, padding and groups") {
  for (const Shapes& shapes : convolutions) {
    CAPTURE(shapes.what);
    const reference::Convolution& layer = shapes.layer;
    const Doubles x = numbers<double>(inputs(layer), 1), w = numbers<double>(weights(layer), 2), b = numbers<double>(layer.out, 3),
                  dy = numbers<double>(outputs(layer), 4);
    const auto loss = [&](const Doubles& input, const Doubles& weight, const Doubles& bias) {
      Doubles y(outputs(layer));
      reference::convolution_forward(layer, input.data(), weight.data(), bias.data(), y.data());
      return dot(dy, y);
    };
    Doubles dx(x.size()), dw(w.size()), db(b.size());
    reference::convolution_backward_weights(layer, x.data(), dy.data(), dw.data(), db.data());
    reference::convolution_backward_input(layer, dy.data(), w.data(), dx.data());
    check_derivative(x, dx, [&](const Doubles& v) { return loss(v, w, b); });
    check_derivative(w, dw, [&](const Doubles& v) { return loss(x, v, b); });
    check_derivative(b, db, [&](const Doubles& v) { return loss(x, w, v); });
  }
}

TEST_CASE("convolutions as matrix products equal the plain ones in double, to the rounding of float, and add to the buffer") {
  for (const Shapes& shapes : convolutions) {
    CAPTURE(shapes.what);
    const reference::Convolution& layer = shapes.layer;
    const std::vector<float> x = numbers(inputs(layer), 1), w = numbers(weights(layer), 2), b = numbers(layer.out, 3),
                             dy = numbers(outputs(layer), 4);
    const Doubles x2 = as<double>(x), w2 = as<double>(w), b2 = as<double>(b), dy2 = as<double>(dy);
    std::vector<float> y(outputs(layer), 9.0f), dx = numbers(x.size(), 5), dw = numbers(w.size(), 6), db = numbers(b.size(), 7);
    Doubles y2(y.size()), dx_2 = as<double>(dx), dw2 = as<double>(dw), db2 = as<double>(db);
    const ConvolutionProducts products(layer);
    std::vector<float> columns(products.column_floats());
    for (const bool bias : {true, false}) {
      products.forward(x.data(), w.data(), bias ? b.data() : nullptr, y.data(), columns.data());
      reference::convolution_forward<double>(layer, x2.data(), w2.data(), bias ? b2.data() : nullptr, y2.data());
      CHECK(distance(y, y2) < 1e-6);
      products.backward_weights(x.data(), dy.data(), dw.data(), bias ? db.data() : nullptr, columns.data());
      reference::convolution_backward_weights<double>(layer, x2.data(), dy2.data(), dw2.data(), bias ? db2.data() : nullptr);
    }
    products.backward_input(dy.data(), w.data(), dx.data(), columns.data());
    reference::convolution_backward_input(layer, dy2.data(), w2.data(), dx_2.data());
    CHECK(distance(dx, dx_2) < 1e-6);
    CHECK(distance(dw, dw2) < 1e-6);
    CHECK(distance(db, db2) < 1e-6);
  }
}

TEST_CASE("pools' derivatives equal central differences; padding never wins and counts as zeros") {
  for (const SlidingWindow& window : {sliding(4, 6, 2, 2, 2, 0, 0), sliding(5, 5, 3, 3, 2, 1, 1), sliding(4, 5, 3, 2, 1, 1, 0),
                                      sliding(5, 7, 2, 2, 2, 0, 0), sliding(4, 3, 4, 3, 1, 0, 0)}) {
    constexpr std::size_t planes = 3;
    CAPTURE(window.in_width);
    CAPTURE(window.height);
    const Doubles x = numbers<double>(planes * window.inputs(), 1), dy = numbers<double>(planes * window.outputs(), 2);
    std::vector<std::uint32_t> winners(dy.size());
    const auto largest = [&](const Doubles& v) {
      Doubles y(dy.size());
      reference::max_pool_forward(planes, window, v.data(), y.data(), winners.data());
      return dot(dy, y);
    };
    const auto average = [&](const Doubles& v) {
      Doubles y(dy.size());
      reference::average_pool_forward(planes, window, v.data(), y.data());
      return dot(dy, y);
    };
    Doubles by_largest(x.size()), by_average(x.size());
    largest(x);
    reference::max_pool_backward(planes, window, winners.data(), dy.data(), by_largest.data());
    reference::average_pool_backward(planes, window, dy.data(), by_average.data());
    check_derivative(x, by_largest, largest);
    check_derivative(x, by_average, average);

    Doubles below(x), y(dy.size());
    for (double& value : below) value -= 10;  // negative throughout: zeros of the padding would win
    reference::max_pool_forward(planes, window, below.data(), y.data(), winners.data());
    for (const double value : y) CHECK(value < -8);
  }
}

TEST_CASE("a max pool takes the first of equals, and NaN before all") {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const Doubles x = {3, 3, 1, nan, 3, 3, 5, 2};
  Doubles y(2);
  std::array<std::uint32_t, 2> winners{};
  reference::max_pool_forward(1, sliding(2, 4, 2, 2, 2, 0, 0), x.data(), y.data(), winners.data());
  CHECK(y[0] == 3);
  CHECK(winners[0] == 0);
  CHECK(std::isnan(y[1]));
  CHECK(winners[1] == 3);
}

TEST_CASE("an average pool over the plane is its mean; with padding the corner counts zeros") {
  const Doubles x = {1, 2, 3, 4, 5, 9};
  Doubles mean(1), corner(6);
  reference::average_pool_forward(1, sliding(2, 3, 2, 3, 1, 0, 0), x.data(), mean.data());
  CHECK(mean[0] == doctest::Approx(4.0));
  reference::average_pool_forward(1, sliding(2, 3, 3, 3, 1, 1, 1), x.data(), corner.data());
  CHECK(corner[0] == doctest::Approx((1.0 + 2 + 4 + 5) / 9));
}

TEST_CASE("norms' derivatives by input, gain and bias equal central differences") {
  constexpr std::size_t rows = 4, channels = 5, places = 3;
  const Doubles x = numbers<double>(rows * channels * places, 1), gain = numbers<double>(channels, 2), bias = numbers<double>(channels, 3),
                dy = numbers<double>(x.size(), 4);
  for (const bool batch : {true, false}) {
    CAPTURE(batch);
    const auto loss = [&](const Doubles& input, const Doubles& g, const Doubles& b) {
      Doubles y(x.size()), mean(channels), variance(channels);
      if (batch)
        reference::batch_norm_forward(rows, channels, places, input.data(), g.data(), b.data(), y.data(), mean.data(), variance.data());
      else
        reference::layer_norm_forward(rows, channels, places, input.data(), g.data(), b.data(), y.data());
      return dot(dy, y);
    };
    Doubles dx(x.size()), dgain(channels), dbias(channels), again_gain(channels), again_bias(channels);
    const auto backward = [&](double* by_gain, double* by_bias, double* by_input) {
      if (batch)
        reference::batch_norm_backward(rows, channels, places, x.data(), gain.data(), dy.data(), by_gain, by_bias, by_input);
      else
        reference::layer_norm_backward(rows, channels, places, x.data(), gain.data(), dy.data(), by_gain, by_bias, by_input);
    };
    backward(dgain.data(), dbias.data(), dx.data());
    check_derivative(x, dx, [&](const Doubles& v) { return loss(v, gain, bias); });
    check_derivative(gain, dgain, [&](const Doubles& v) { return loss(x, v, bias); });
    check_derivative(bias, dbias, [&](const Doubles& v) { return loss(x, gain, v); });
    backward(again_gain.data(), again_bias.data(), nullptr);  // a first layer has nobody to tell
    CHECK(again_gain == dgain);
    CHECK(again_bias == dbias);
  }
}

TEST_CASE("batch norm reports the batch's mean and unbiased variance, and evaluates with the given ones") {
  // One channel, 2 rows of 2 places: 1, 3, 5, 7 have mean 4, squares 20: variance 5 over all, 20 / 3 unbiased.
  const Doubles x = {1, 3, 5, 7};
  const double gain = 2, bias = 1;
  Doubles y(4);
  double mean = 0, variance = 0;
  reference::batch_norm_forward<double>(2, 1, 2, x.data(), &gain, &bias, y.data(), &mean, &variance);
  CHECK(mean == 4);
  CHECK(variance == doctest::Approx(20.0 / 3));
  CHECK(y[0] == doctest::Approx(2 * -3 / std::sqrt(5 + 1e-5) + 1));
  const double running_mean = 1, running_variance = 4;
  reference::batch_norm_evaluate<double>(2, 1, 2, x.data(), &gain, &bias, &running_mean, &running_variance, y.data());
  CHECK(y[3] == doctest::Approx(2 * 6 / std::sqrt(4 + 1e-5) + 1));
  // A single number: all of it is mean, and its variance is no estimate of anything.
  reference::batch_norm_forward<double>(1, 1, 1, x.data(), &gain, &bias, y.data(), &mean, &variance);
  CHECK(y[0] == bias);
  CHECK(variance == 0);
}

TEST_CASE("elementwise layers' derivatives equal central differences") {
  const Doubles x = numbers<double>(40, 1), dy = numbers<double>(40, 2);
  Doubles y(40), by_relu(40), by_tanh(40);
  reference::relu_forward(x.size(), x.data(), y.data());
  reference::relu_backward(x.size(), y.data(), dy.data(), by_relu.data());
  check_derivative(x, by_relu, [&](const Doubles& v) {
    Doubles out(40);
    reference::relu_forward(v.size(), v.data(), out.data());
    return dot(dy, out);
  });
  reference::tanh_forward(x.size(), x.data(), y.data());
  reference::tanh_backward(x.size(), y.data(), dy.data(), by_tanh.data());
  check_derivative(x, by_tanh, [&](const Doubles& v) {
    Doubles out(40);
    reference::tanh_forward(v.size(), v.data(), out.data());
    return dot(dy, out);
  });
  const float nan = std::numeric_limits<float>::quiet_NaN();
  float out = 0;
  reference::relu_forward(1, &nan, &out);
  CHECK(std::isnan(out));
}

TEST_CASE("dropout keeps the share that it should, rescaled, and draws by sample, layer and element") {
  constexpr std::size_t rows = 40, size = 500;
  std::vector<std::uint64_t> draws(rows);
  for (std::size_t row = 0; row < rows; ++row) draws[row] = Hasher().add(std::uint64_t{row}).key().low;
  const auto masks = [&](std::size_t layer, double rate) {
    const Doubles ones(rows * size, 1.0);
    Doubles y(ones.size());
    reference::dropout(rows, size, draws.data(), layer, rate, ones.data(), y.data());
    return y;
  };
  for (const double rate : {0.1, 0.5, 0.9}) {
    const Doubles y = masks(3, rate);
    std::size_t kept = 0;
    for (const double value : y) {
      if (value != 0) CHECK(value == doctest::Approx(1 / (1 - rate)));
      kept += value != 0;
    }
    // Binomial: five deviations.
    const double expected = static_cast<double>(y.size()) * (1 - rate), deviation = std::sqrt(expected * rate);
    CHECK(std::abs(static_cast<double>(kept) - expected) < 5 * deviation);
  }
  const Doubles mask = masks(3, 0.5);
  CHECK(masks(4, 0.5) != mask);
  CHECK(!std::equal(mask.begin(), mask.begin() + size, mask.begin() + size));
  // The same sample in another batch.
  std::swap(draws[0], draws[7]);
  const Doubles other = masks(3, 0.5);
  CHECK(std::equal(mask.begin(), mask.begin() + size, other.begin() + 7 * size));
  // The mask is linear, so its derivative is itself.
  const Doubles x = numbers<double>(rows * size, 1), dy = numbers<double>(rows * size, 2);
  Doubles y(x.size()), dx(x.size());
  reference::dropout(rows, size, draws.data(), 3, 0.3, x.data(), y.data());
  reference::dropout(rows, size, draws.data(), 3, 0.3, dy.data(), dx.data());
  CHECK(dot(dy, y) == doctest::Approx(dot(dx, x)).epsilon(1e-12));
}

TEST_CASE("an embedding's derivative equals central differences, and tokens that it does not have are refused") {
  constexpr std::size_t rows = 3, places = 4, table_rows = 6, channels = 5;
  const Doubles table = numbers<double>(table_rows * channels, 1), dy = numbers<double>(rows * channels * places, 2);
  const std::vector<std::int32_t> tokens = labels_below(table_rows, rows * places, 3);
  Doubles x = as<double>(tokens), derivative(table.size()), y(dy.size());
  reference::embedding_backward(rows, places, table_rows, channels, x.data(), dy.data(), derivative.data());
  check_derivative(table, derivative, [&](const Doubles& v) {
    reference::embedding_forward(rows, places, table_rows, channels, x.data(), v.data(), y.data());
    return dot(dy, y);
  });
  CHECK(y[2 * places + 1] == doctest::Approx(table[static_cast<std::size_t>(tokens[1]) * channels + 2]));  // row 0, channel 2, place 1
  for (const double wrong : {-1.0, 6.0, 2.5, std::numeric_limits<double>::quiet_NaN()}) {
    x[0] = wrong;
    CHECK_THROWS_AS(reference::embedding_forward(rows, places, table_rows, channels, x.data(), table.data(), y.data()),
                    std::invalid_argument);
  }
}

}  // namespace straggler::test::reference_layers_test

// The kernels of networks over sequences, in every set, against the plain implementations in double.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <vector>

#include "models/kernels/places.hpp"
#include "tests/support/math_helpers.hpp"

namespace straggler::test::place_kernels_test {
namespace {

constexpr float nan = std::numeric_limits<float>::quiet_NaN(), infinity = std::numeric_limits<float>::infinity();
constexpr Activation activations[] = {Activation::relu, Activation::tanh, Activation::gelu, Activation::gelu_by_tanh, Activation::silu};

double logistic(double x) { return 1 / (1 + std::exp(-x)); }
double gelu_inner(double x) { return 2 * std::sqrt(2 / std::numbers::pi) * (x + 0.044715 * x * x * x); }

double value_of(Activation f, double x) {
  if (f == Activation::relu) return std::max(x, 0.0);
  if (f == Activation::tanh) return std::tanh(x);
  if (f == Activation::gelu) return x * std::erfc(-x / std::numbers::sqrt2) / 2;
  return x * logistic(f == Activation::silu ? x : gelu_inner(x));
}
double slope_of(Activation f, double x) {
  if (f == Activation::relu) return x > 0 ? 1 : 0;
  if (f == Activation::tanh) return 1 / std::pow(std::cosh(x), 2);
  if (f == Activation::gelu) return std::erfc(-x / std::numbers::sqrt2) / 2 + x * std::exp(-x * x / 2) / std::sqrt(2 * std::numbers::pi);
  const double share = logistic(f == Activation::silu ? x : gelu_inner(x)), rest = logistic(f == Activation::silu ? -x : -gelu_inner(x));
  return share + x * share * rest * (f == Activation::silu ? 1 : 2 * std::sqrt(2 / std::numbers::pi) * (1 + 3 * 0.044715 * x * x));
}

/// Of size 2^-20 to 2^5, both signs, and zero; an odd number of them.
std::vector<float> places_to_look() {
  std::vector<float> x = {0};
  for (float size = 0x1p-20f; size < 32; size *= 1.0007f) {
    x.push_back(size);
    x.push_back(-size);
  }
  return x;
}

/// One unit in the last place of a float as large as x.
double unit(double x) {
  int exponent = 0;
  std::frexp(x, &exponent);
  return std::ldexp(1.0, std::max(exponent, -125) - 24);
}

/// One head of a sample, its places side by side in panels that other features share.
struct Head {
  std::size_t places, width, features;
  bool causal;
  std::vector<float> projected, context;  // panels

  Head(std::size_t n, std::size_t of, bool looks_back)
      : places(n),
        width(of),
        features(3 * of + 2),
        causal(looks_back),
        projected(panels_of(numbers(n * features, 1), n, features, nan)),
        context(panels_of(numbers(n * of, 2), n, of, nan)) {
    for (float& each : projected) each *= 2;
  }
  AttentionHead at(float* scratch) const {
    return {.places = places,
            .width = width,
            .causal = causal,
            .queries = projected.data(),
            .keys = projected.data() + (width + 1) * panel_rows,
            .values = projected.data() + (2 * width + 2) * panel_rows,
            .stride = features * panel_rows,
            .context_stride = width * panel_rows,
            .scratch = scratch};
  }
};

/// By plain loops in double, [places][feature].
struct PlainHead {
  std::vector<double> q, k, v, by, context, dq, dk, dv;

  explicit PlainHead(const Head& head) {
    const std::size_t n = head.places, d = head.width;
    const std::vector<double> all = as<double>(samples_of(head.projected, n, head.features));
    const auto part = [&](std::size_t first) {
      std::vector<double> values;
      for (std::size_t i = 0; i < n; ++i)
        for (std::size_t c = 0; c < d; ++c) values.push_back(all[i * head.features + first + c]);
      return values;
    };
    q = part(0), k = part(d + 1), v = part(2 * d + 2), by = as<double>(samples_of(head.context, n, d));
    context = dq = dk = dv = std::vector<double>(n * d);
    const double scale = 1 / std::sqrt(static_cast<double>(d));
    for (std::size_t i = 0; i < n; ++i) {
      const std::size_t seen = head.causal ? i + 1 : n;
      std::vector<double> p(seen), slope(seen);
      double sum = 0, mean = 0;
      for (std::size_t j = 0; j < seen; ++j) {
        for (std::size_t c = 0; c < d; ++c) p[j] += q[i * d + c] * k[j * d + c];
        sum += p[j] = std::exp(p[j] * scale);
      }
      for (std::size_t j = 0; j < seen; ++j) {
        p[j] /= sum;
        for (std::size_t c = 0; c < d; ++c) {
          context[i * d + c] += p[j] * v[j * d + c];
          slope[j] += by[i * d + c] * v[j * d + c];
          dv[j * d + c] += p[j] * by[i * d + c];
        }
        mean += p[j] * slope[j];
      }
      for (std::size_t j = 0; j < seen; ++j)
        for (std::size_t c = 0; c < d; ++c) {
          dq[i * d + c] += p[j] * (slope[j] - mean) * scale * k[j * d + c];
          dk[j * d + c] += p[j] * (slope[j] - mean) * scale * q[i * d + c];
        }
    }
  }
};

}  // namespace

TEST_CASE("element-wise layers are as exact as they say, at every remainder of a vector") {
  const std::vector<float> x = places_to_look();
  for (const Kernels* kernels : all_kernels()) {
    const PlaceKernels& places = place_kernels(*kernels);
    CAPTURE(kernels->name);
    for (const Activation f : activations) {
      CAPTURE(static_cast<int>(f));
      std::vector<float> y(x.size(), nan), dx(x.size(), nan);
      const std::vector<float> dy(x.size(), 1);
      places.activation_forward(f, x.size(), x.data(), y.data());
      places.activation_backward(f, x.size(), x.data(), y.data(), dy.data(), dx.data());
      double worst = 0, worst_slope = 0;
      for (std::size_t i = 0; i < x.size(); ++i) {
        const double at = static_cast<double>(x[i]), exact = value_of(f, at);
        const double allowed = f == Activation::relu   ? 0x1p-60
                               : f == Activation::tanh ? 2 * unit(exact)
                                                       : std::abs(at) * 0x1p-22 + 0x1p-126;
        worst = std::max(worst, std::abs(static_cast<double>(y[i]) - exact) / allowed);
        worst_slope = std::max(worst_slope, std::abs(static_cast<double>(dx[i]) - slope_of(f, at)) / 0x1p-20);
      }
      CHECK(worst <= 1);
      CHECK(worst_slope <= 1);
      for (std::size_t n = 0; n < 20; ++n) {
        std::vector<float> some(n + 1, 3), back(n + 1, 3);
        places.activation_forward(f, n, x.data(), some.data());
        places.activation_backward(f, n, x.data(), y.data(), dy.data(), back.data());
        CHECK(std::equal(some.begin(), some.end() - 1, y.begin()));
        CHECK(std::equal(back.begin(), back.end() - 1, dx.begin()));
        CHECK(some.back() == 3);
        CHECK(back.back() == 3);
      }
    }
  }
}

TEST_CASE("element-wise layers beyond all shares, and NaN") {
  for (const Kernels* kernels : all_kernels()) {
    const PlaceKernels& places = place_kernels(*kernels);
    CAPTURE(kernels->name);
    for (const Activation f : activations) {
      CAPTURE(static_cast<int>(f));
      const float x[] = {1e30f, -1e30f, nan, infinity}, dy[] = {1, 1, 1, 1};
      float y[4], dx[4];
      places.activation_forward(f, 4, x, y);
      places.activation_backward(f, 4, x, y, dy, dx);
      CHECK(y[0] == (f == Activation::tanh ? 1.0f : 1e30f));
      CHECK(y[1] == (f == Activation::tanh ? -1.0f : 0.0f));
      CHECK(std::isnan(y[2]));
      CHECK(dx[0] == (f == Activation::tanh ? 0.0f : 1.0f));
      CHECK(dx[1] == 0);
      CHECK((f == Activation::relu || std::isnan(dx[2])));
    }
  }
}

TEST_CASE("norms of rows and their derivatives, for any padding lanes, assigned or added") {
  constexpr float epsilon = 1e-5f;
  for (const Kernels* kernels : all_kernels())
    for (const auto& [rows, channels] : {std::pair<std::size_t, std::size_t>{1, 1}, {3, 5}, {32, 16}, {33, 18}, {130, 7}, {20, 131}})
      for (const bool centred : {true, false})
        for (const bool add : {false, true}) {
          CAPTURE(kernels->name);
          CAPTURE(rows);
          CAPTURE(channels);
          CAPTURE(centred);
          const PlaceKernels& places = place_kernels(*kernels);
          const RowNorm norm{channels, centred, epsilon};
          const std::vector<float> x = numbers(rows * channels, 1), gain = numbers(channels, 2), bias = numbers(channels, 3),
                                   dy = numbers(rows * channels, 4), before = numbers(rows * channels, 5);
          std::vector<double> y(x.size()), dx(x.size()), dgain = as<double>(gain), dbias = as<double>(bias);
          for (std::size_t row = 0; row < rows; ++row) {
            const float *const at = x.data() + row * channels, *const by = dy.data() + row * channels;
            const auto n = static_cast<double>(channels);
            double mean = 0, square = 0, sum = 0, product = 0;
            for (std::size_t c = 0; centred && c < channels; ++c) mean += static_cast<double>(at[c]) / n;
            for (std::size_t c = 0; c < channels; ++c) square += std::pow(static_cast<double>(at[c]) - mean, 2) / n;
            const double scale = 1 / std::sqrt(square + static_cast<double>(epsilon));
            const auto z = [&](std::size_t c) { return (static_cast<double>(at[c]) - mean) * scale; };
            const auto dz = [&](std::size_t c) { return static_cast<double>(by[c]) * static_cast<double>(gain[c]); };
            for (std::size_t c = 0; c < channels; ++c) {
              y[row * channels + c] = z(c) * static_cast<double>(gain[c]) + (centred ? static_cast<double>(bias[c]) : 0);
              dgain[c] += static_cast<double>(by[c]) * z(c);
              dbias[c] += static_cast<double>(by[c]);
              sum += centred ? dz(c) / n : 0;
              product += dz(c) * z(c) / n;
            }
            for (std::size_t c = 0; c < channels; ++c)
              dx[row * channels + c] = (dz(c) - sum - z(c) * product) * scale + (add ? static_cast<double>(before[row * channels + c]) : 0);
          }
          std::vector<float> out(panel_floats(rows, channels), nan), back = panels_of(before, rows, channels, nan), by_gain = gain,
                                                                     by_bias = bias;
          const std::vector<float> in = panels_of(x, rows, channels, nan), down = panels_of(dy, rows, channels, nan);
          places.norm_forward(rows, norm, in.data(), gain.data(), centred ? bias.data() : nullptr, out.data());
          places.norm_backward(rows, norm, in.data(), gain.data(), down.data(), add, by_gain.data(), centred ? by_bias.data() : nullptr,
                               back.data());
          if (channels > 1) CHECK(distance(samples_of(back, rows, channels), dx) < 1e-5);
          CHECK(distance(samples_of(out, rows, channels), y) < 2e-6);
          if (channels > 1 || !centred) CHECK(distance(by_gain, dgain) < 2e-6);
          CHECK(distance(by_bias, centred ? dbias : as<double>(bias)) < 2e-6);
          std::vector<float> alone = gain;  // without dx
          places.norm_backward(rows, norm, in.data(), gain.data(), down.data(), false, alone.data(), nullptr, nullptr);
          CHECK(same_bits(alone, by_gain));
        }
}

TEST_CASE("attention of one head and its derivatives, for any padding lanes") {
  for (const Kernels* kernels : all_kernels())
    for (const auto& [places, width] :
         {std::pair<std::size_t, std::size_t>{1, 1}, {5, 3}, {32, 16}, {33, 13}, {64, 32}, {100, 7}, {17, 25}})
      for (const bool causal : {false, true}) {
        CAPTURE(kernels->name);
        CAPTURE(places);
        CAPTURE(width);
        CAPTURE(causal);
        const Head head(places, width, causal);
        const PlainHead plain(head);
        std::vector<float> scratch(AttentionHead::scratch_floats(places), nan), context(panel_floats(places, width), nan),
            by(panel_floats(places, head.features));
        place_kernels(*kernels).attention_forward(head.at(scratch.data()), context.data());
        CHECK(distance(samples_of(context, places, width), plain.context) < 2e-6);
        std::fill(scratch.begin(), scratch.end(), nan);
        float *const dq = by.data(), *const dk = dq + (width + 1) * panel_rows, *const dv = dq + (2 * width + 2) * panel_rows;
        for (const float already : {0.0f, 1.0f}) {
          std::fill(by.begin(), by.end(), already);
          place_kernels(*kernels).attention_backward(head.at(scratch.data()), head.context.data(), dq, dk, dv);
          const std::vector<float> all = samples_of(by, places, head.features);
          const auto part = [&](std::size_t first, float less) {
            std::vector<float> values;
            for (std::size_t i = 0; i < places; ++i)
              for (std::size_t c = 0; c < width; ++c) values.push_back(all[i * head.features + first + c] - less);
            return values;
          };
          if (places > 1) CHECK(distance(part(0, 0), plain.dq) < 5e-6);  // of one place there is one share
          if (places > 1) CHECK(distance(part(width + 1, already), plain.dk) < 5e-6);
          CHECK(distance(part(2 * width + 2, already), plain.dv) < 5e-6);
          for (std::size_t i = 0; i < places; ++i) CHECK(all[i * head.features + width] == already);  // the feature between
        }
      }
}

}  // namespace straggler::test::place_kernels_test

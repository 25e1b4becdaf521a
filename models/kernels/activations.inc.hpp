// Element-wise layers and norms of rows. Included by set.inc.hpp only.

STRAGGLER_INLINE Vector absolute(Vector x) { return x < 0.0f ? -x : x; }
/// Beyond ±14 all shares are 0 or 1 in float, and their slopes 0. NaN stays NaN.
STRAGGLER_INLINE Vector clamped(Vector x) {
  const Vector least = x < -14.0f ? all(-14.0f) : x;
  return least > 14.0f ? all(14.0f) : least;
}

/// σ(x) = 1 / (1 + e^-x), and 1 - σ(x).
struct Logistic {
  Vector share, rest;
};
STRAGGLER_INLINE Logistic logistic(Vector x) {
  const Vector e = exponential(-absolute(x)), large = 1.0f / (1.0f + e), small = e * large;
  return {x < 0.0f ? small : large, x < 0.0f ? large : small};
}

/// The standard normal distribution at x in ±14, and its density times √(2π), e^(-x²/2). Φ(-z) = e^(-z²/2) t P(t) with t = 1 / (1 + 0.3 z)
/// for z >= 0, as Hastings (1955) has it; P of degree 9 fits erfcx(z / √2) / 2 to 3.5e-9 relative.
struct Normal {
  Vector share, density;
};
STRAGGLER_INLINE Normal normal(Vector x) {
  const Vector z = absolute(x), t = 1.0f / multiply_add(z, all(0.3f), all(1.0f)), density = exponential(x * x * -0.5f);
  Vector p = all(-2.058472598e-02f);
  for (const float coefficient : {1.122175089e-01f, -2.276804744e-01f, 1.910432879e-01f, -7.877876087e-02f, 9.579380595e-02f,
                                  7.852168291e-02f, 1.102055806e-01f, 1.195756101e-01f, 1.196864832e-01f})
    p = multiply_add(p, t, all(coefficient));
  const Vector tail = density * (t * p);
  return {x < 0.0f ? tail : 1.0f - tail, density};
}

/// Below 0.625 by the polynomial of Cephes' tanhf (Moshier 1989).
STRAGGLER_INLINE Vector hyperbolic_tangent(Vector x) {
  const Vector z = absolute(x), e = exponential(z * -2.0f), large = (1.0f - e) / (1.0f + e), s = x * x;
  Vector p = all(-5.70498872745e-3f);
  for (const float coefficient : {2.06390887954e-2f, -5.37397155531e-2f, 1.33314422036e-1f, -3.33332819422e-1f})
    p = multiply_add(p, s, all(coefficient));
  const Vector small = multiply_add(p * s, x, x);
  return z < 0.625f ? small : x < 0.0f ? -large : large;
}

constexpr float gelu_slope = 1.5957691216057308f;  // 2 √(2/π): x (1 + tanh(u)) / 2 = x σ(2u)
constexpr float gelu_cubic = 0.044715f;
/// √(1 / (2π))
constexpr float normal_peak = 0.3989422804014327f;

void activation_forward(Activation f, std::size_t n, const float* x, float* y) {
  const auto map = [&](const auto& value) __attribute__((always_inline)) {
    for_positions(
        n, [&](const auto& get, const auto& put) __attribute__((always_inline)) { put(y, value(get(x))); });
  };
  switch (f) {
    case Activation::relu:
      return map([](Vector v) __attribute__((always_inline)) { return v < 0.0f ? Vector{} : v; });
    case Activation::tanh:
      return map([](Vector v) __attribute__((always_inline)) { return hyperbolic_tangent(v); });
    case Activation::gelu:
      return map([](Vector v) __attribute__((always_inline)) { return v * normal(clamped(v)).share; });
    case Activation::gelu_by_tanh:
      return map([](Vector v) __attribute__((always_inline)) {
        const Vector c = clamped(v);
        return v * logistic(multiply_add(c * c, all(gelu_slope * gelu_cubic), all(gelu_slope)) * c).share;
      });
    case Activation::silu:
      return map([](Vector v) __attribute__((always_inline)) { return v * logistic(v).share; });
  }
}

void activation_backward(Activation f, std::size_t n, const float* x, const float* y, const float* dy, float* dx) {
  const auto map = [&](const float* by, const auto& slope) __attribute__((always_inline)) {
    for_positions(
        n, [&](const auto& get, const auto& put) __attribute__((always_inline)) { put(dx, slope(get(by), get(dy))); });
  };
  switch (f) {
    case Activation::relu:
      return map(
          y, [](Vector v, Vector d) __attribute__((always_inline)) { return v > 0.0f ? d : Vector{}; });
    case Activation::tanh:
      return map(
          y, [](Vector v, Vector d) __attribute__((always_inline)) { return d * (1.0f - v * v); });
    case Activation::gelu:
      return map(
          x, [](Vector v, Vector d) __attribute__((always_inline)) {
            const Vector c = clamped(v);
            const Normal at = normal(c);
            return d * multiply_add(c * normal_peak, at.density, at.share);
          });
    case Activation::gelu_by_tanh:
      return map(
          x, [](Vector v, Vector d) __attribute__((always_inline)) {
            const Vector c = clamped(v), s = c * c;
            const Logistic at = logistic(multiply_add(s, all(gelu_slope * gelu_cubic), all(gelu_slope)) * c);
            const Vector inner = multiply_add(s, all(3 * gelu_slope * gelu_cubic), all(gelu_slope)) * c;  // x times the slope of 2u
            return d * multiply_add(at.share * at.rest, inner, at.share);
          });
    case Activation::silu:
      return map(
          x, [](Vector v, Vector d) __attribute__((always_inline)) {
            const Logistic at = logistic(v);
            return d * multiply_add(at.share * at.rest, v, at.share);
          });
  }
}

/// Σ term(c) over the channels, in four partial sums: an addition waits for the one before it.
template <class Term>
STRAGGLER_INLINE Vector channel_sum(std::size_t channels, const Term& term) {
  Vector sum[4]{};
  std::size_t c = 0;
  for (; c + 4 <= channels; c += 4) {
    STRAGGLER_UNROLL
    for (std::size_t i = 0; i < 4; ++i) sum[i] += term(c + i);
  }
  for (std::size_t i = 0; c < channels; ++c, ++i) sum[i] += term(c);
  return (sum[0] + sum[1]) + (sum[2] + sum[3]);
}

/// Of the rows in one vector; x: their first channel.
struct RowMoments {
  Vector mean, scale;  // 1 / deviation
};
STRAGGLER_INLINE RowMoments row_moments(const RowNorm& norm, const float* x) {
  const auto at = [x](std::size_t c) __attribute__((always_inline)) { return load(x + c * panel_rows); };
  const Vector count = all(static_cast<float>(norm.channels));
  const Vector mean = norm.centred ? channel_sum(norm.channels, at) / count : Vector{};
  const Vector square = channel_sum(
      norm.channels, [&](std::size_t c) __attribute__((always_inline)) {
        const Vector off = at(c) - mean;
        return off * off;
      });
  return {mean, 1.0f / square_root(square / count + norm.epsilon)};
}

void norm_forward(std::size_t rows, const RowNorm& norm, const float* x, const float* gain, const float* bias, float* y) {
  for (std::size_t row = 0; row < rows; row += lanes) {
    const std::size_t from = row / panel_rows * panel_rows * norm.channels + row % panel_rows;
    const RowMoments of = row_moments(norm, x + from);
    for (std::size_t c = 0; c < norm.channels; ++c) {
      const Vector z = (load(x + from + c * panel_rows) - of.mean) * of.scale;
      store(y + from + c * panel_rows, bias ? multiply_add(z, all(gain[c]), all(bias[c])) : z * gain[c]);
    }
  }
}

/// Of one panel.
STRAGGLER_INLINE void norm_backward_panel(std::size_t rows, const RowNorm& norm, const float* x, const float* gain, const float* dy,
                                          bool accumulate, float* dgain, float* dbias, float* dx) {
  const std::size_t channels = norm.channels;
  RowMoments moments[panel_rows / lanes];
  for (std::size_t row = 0; row < rows; row += lanes) {
    const float *const in = x + row, *const by = dy + row;
    const RowMoments of = moments[row / lanes] = row_moments(norm, in);
    if (!dx) continue;
    const auto z = [&](std::size_t c) __attribute__((always_inline)) { return (load(in + c * panel_rows) - of.mean) * of.scale; };
    const auto dz = [&](std::size_t c) __attribute__((always_inline)) { return load(by + c * panel_rows) * gain[c]; };
    const Vector count = all(static_cast<float>(channels));
    const Vector mean = norm.centred ? channel_sum(channels, dz) / count : Vector{};
    const Vector product = channel_sum(
                               channels, [&](std::size_t c) __attribute__((always_inline)) { return dz(c) * z(c); }) /
                           count;
    float* const to = dx + row;
    for (std::size_t c = 0; c < channels; ++c) {
      const Vector value = (multiply_add(z(c), -product, dz(c)) - mean) * of.scale;
      store(to + c * panel_rows, accumulate ? load(to + c * panel_rows) + value : value);
    }
  }
  const auto summed = [&](float* to, const auto& term) __attribute__((always_inline)) {
    reduce_to(channels, true, to, [&](std::size_t c) {
      Vector sum{};
      for (std::size_t row = 0; row < rows; row += lanes) {
        const std::size_t at = row + c * panel_rows;
        sum += first(term(at, moments[row / lanes]), least(lanes, rows - row));
      }
      return sum;
    });
  };
  summed(
      dgain, [&](std::size_t at, const RowMoments& of)
                 __attribute__((always_inline)) { return load(dy + at) * ((load(x + at) - of.mean) * of.scale); });
  if (dbias)
    summed(
        dbias, [&](std::size_t at, const RowMoments&) __attribute__((always_inline)) { return load(dy + at); });
}

void norm_backward(std::size_t rows, const RowNorm& norm, const float* x, const float* gain, const float* dy, bool accumulate, float* dgain,
                   float* dbias, float* dx) {
  for (std::size_t row = 0; row < rows; row += panel_rows) {
    const std::size_t at = row * norm.channels;
    norm_backward_panel(least(panel_rows, rows - row), norm, x + at, gain, dy + at, accumulate, dgain, dbias, dx ? dx + at : nullptr);
  }
}

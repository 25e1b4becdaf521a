// The transforms of Winograd's algorithm (winograd.inc.hpp) along one direction: Bᵀ, G, Aᵀ, and for the gradient by the weights, which is
// dw = Gᵀ [(A dy Aᵀ) ⊙ (Bᵀ x B)] G, A and Gᵀ. Included by sets only, after vectors.inc.hpp.

/// Results along one side of a tile.
constexpr int tile_outputs = 4;
/// Sources along one side of a tile: 6 for windows of 3x3, at the points 0, ±1, ±2, ∞; 8 for 5x5, at 0, ±1, ±2, ±1/2, ∞.
constexpr int tile_side(int taps) { return taps + tile_outputs - 1; }
constexpr int tile_places(int taps) { return tile_side(taps) * tile_side(taps); }

/// Bᵀ d
STRAGGLER_INLINE void transform_input(const Vector (&d)[6], Vector (&t)[6]) {
  const Vector four = all(4.0f), minus_four = all(-4.0f), minus_five = all(-5.0f);
  t[0] = multiply_add(four, d[0], multiply_add(minus_five, d[2], d[4]));
  t[5] = multiply_add(four, d[1], multiply_add(minus_five, d[3], d[5]));
  const Vector even = multiply_add(minus_four, d[2], d[4]), odd = multiply_add(minus_four, d[1], d[3]);
  t[1] = even + odd;
  t[2] = even - odd;
  const Vector difference = d[4] - d[2], twice = (d[3] - d[1]) * 2.0f;
  t[3] = difference + twice;
  t[4] = difference - twice;
}
STRAGGLER_INLINE void transform_input(const Vector (&d)[8], Vector (&t)[8]) {
  t[0] = multiply_add(all(5.25f), d[4] - d[2], d[0] - d[6]);
  t[7] = multiply_add(all(5.25f), d[3] - d[5], d[7] - d[1]);
  const Vector even = multiply_add(all(-4.25f), d[4], d[2] + d[6]), odd = multiply_add(all(-4.25f), d[3], d[1] + d[5]);
  t[1] = even + odd;
  t[2] = even - odd;
  const Vector even_two = multiply_add(all(0.25f), d[2], multiply_add(all(-1.25f), d[4], d[6])),
               odd_two = multiply_add(all(0.5f), d[1], multiply_add(all(-2.5f), d[3], d[5] * 2.0f));
  t[3] = even_two + odd_two;
  t[4] = even_two - odd_two;
  const Vector even_half = multiply_add(all(4.0f), d[2], multiply_add(all(-5.0f), d[4], d[6])),
               odd_half = multiply_add(all(2.0f), d[1], multiply_add(all(-2.5f), d[3], d[5] * 0.5f));
  t[5] = even_half + odd_half;
  t[6] = even_half - odd_half;
}

/// Aᵀ m
template <int side>
STRAGGLER_INLINE void transform_output(const Vector (&m)[side], Vector (&y)[tile_outputs]) {
  const Vector sum = m[1] + m[2], difference = m[1] - m[2], far_sum = m[3] + m[4], far_difference = m[3] - m[4];
  y[0] = m[0] + sum + far_sum;
  y[1] = multiply_add(all(2.0f), far_difference, difference);
  y[2] = multiply_add(all(4.0f), far_sum, sum);
  y[3] = multiply_add(all(8.0f), far_difference, difference) + m[side - 1];
  if constexpr (side == 8) {
    const Vector near_sum = m[5] + m[6], near_difference = m[5] - m[6];
    y[0] += near_sum;
    y[1] = multiply_add(all(0.5f), near_difference, y[1]);
    y[2] = multiply_add(all(0.25f), near_sum, y[2]);
    y[3] = multiply_add(all(0.125f), near_difference, y[3]);
  }
}

/// G w
STRAGGLER_INLINE void transform_weights(const Vector (&w)[3], Vector (&u)[6]) {
  const Vector even = w[0] + w[2], odd = w[1], far_even = multiply_add(all(4.0f), w[2], w[0]), far_odd = w[1] * 2.0f;
  u[0] = w[0] * 0.25f;
  u[1] = (even + odd) * (-1.0f / 6);
  u[2] = (even - odd) * (-1.0f / 6);
  u[3] = (far_even + far_odd) * (1.0f / 24);
  u[4] = (far_even - far_odd) * (1.0f / 24);
  u[5] = w[2];
}
STRAGGLER_INLINE void transform_weights(const Vector (&w)[5], Vector (&u)[8]) {
  const Vector even = w[0] + w[2] + w[4], odd = w[1] + w[3];
  const Vector even_two = multiply_add(all(16.0f), w[4], multiply_add(all(4.0f), w[2], w[0])),
               odd_two = multiply_add(all(8.0f), w[3], w[1] * 2.0f);
  const Vector even_half = multiply_add(all(0.0625f), w[4], multiply_add(all(0.25f), w[2], w[0])),
               odd_half = multiply_add(all(0.125f), w[3], w[1] * 0.5f);
  u[0] = w[0];
  u[1] = (even + odd) * (-2.0f / 9);
  u[2] = (even - odd) * (-2.0f / 9);
  u[3] = (even_two + odd_two) * (1.0f / 90);
  u[4] = (even_two - odd_two) * (1.0f / 90);
  u[5] = (even_half + odd_half) * (32.0f / 45);
  u[6] = (even_half - odd_half) * (32.0f / 45);
  u[7] = w[4];
}

/// A y: the transpose of transform_output.
template <int side>
STRAGGLER_INLINE void transform_derivative(const Vector (&y)[tile_outputs], Vector (&m)[side]) {
  const Vector even = y[0] + y[2], odd = y[1] + y[3], far_even = multiply_add(all(4.0f), y[2], y[0]),
               far_odd = multiply_add(all(8.0f), y[3], y[1] * 2.0f);
  m[0] = y[0];
  m[1] = even + odd;
  m[2] = even - odd;
  m[3] = far_even + far_odd;
  m[4] = far_even - far_odd;
  if constexpr (side == 8) {
    const Vector near_even = multiply_add(all(0.25f), y[2], y[0]), near_odd = multiply_add(all(0.125f), y[3], y[1] * 0.5f);
    m[5] = near_even + near_odd;
    m[6] = near_even - near_odd;
  }
  m[side - 1] = y[3];
}

/// Gᵀ u: the transpose of transform_weights.
STRAGGLER_INLINE void transform_gradient(const Vector (&u)[6], Vector (&w)[3]) {
  const Vector sum = (u[1] + u[2]) * (-1.0f / 6), difference = (u[1] - u[2]) * (-1.0f / 6), far_sum = (u[3] + u[4]) * (1.0f / 24),
               far_difference = (u[3] - u[4]) * (1.0f / 24);
  w[0] = multiply_add(all(0.25f), u[0], sum + far_sum);
  w[1] = multiply_add(all(2.0f), far_difference, difference);
  w[2] = multiply_add(all(4.0f), far_sum, sum) + u[5];
}
STRAGGLER_INLINE void transform_gradient(const Vector (&u)[8], Vector (&w)[5]) {
  const Vector sum = (u[1] + u[2]) * (-2.0f / 9), difference = (u[1] - u[2]) * (-2.0f / 9), two_sum = (u[3] + u[4]) * (1.0f / 90),
               two_difference = (u[3] - u[4]) * (1.0f / 90), half_sum = (u[5] + u[6]) * (32.0f / 45),
               half_difference = (u[5] - u[6]) * (32.0f / 45);
  w[0] = u[0] + sum + two_sum + half_sum;
  w[1] = multiply_add(all(0.5f), half_difference, multiply_add(all(2.0f), two_difference, difference));
  w[2] = multiply_add(all(0.25f), half_sum, multiply_add(all(4.0f), two_sum, sum));
  w[3] = multiply_add(all(0.125f), half_difference, multiply_add(all(8.0f), two_difference, difference));
  w[4] = multiply_add(all(0.0625f), half_sum, multiply_add(all(16.0f), two_sum, sum)) + u[7];
}

/// A plane of vectors: [height][width], `step` floats from one place to the next.
struct Plane {
  const float* at;
  std::size_t height, width, step;
};

/// d = the places from (top, left) on, zero beyond the plane; `top` and `left` wrap (unsigned) if negative.
template <int side>
STRAGGLER_INLINE void read_tile(const Plane& plane, std::size_t top, std::size_t left, Vector (&d)[side][side]) {
  const bool inside = top < plane.height && left < plane.width && top + side <= plane.height && left + side <= plane.width;
  for (int i = 0; i < side; ++i)
    for (int j = 0; j < side; ++j) {
      const std::size_t row = top + static_cast<std::size_t>(i), column = left + static_cast<std::size_t>(j);
      const bool there = inside || (row < plane.height && column < plane.width);
      d[i][j] = there ? load(plane.at + (row * plane.width + column) * plane.step) : Vector{};
    }
}

/// to[place * stride] = along(along(d)ᵀ)ᵀ
template <int tile, int side, class Along>
STRAGGLER_INLINE void spread_tile(const Vector (&d)[side][side], const Along& along, float* to, std::size_t stride) {
  Vector half[tile][side];
  for (int j = 0; j < side; ++j) {
    Vector line[side], transformed[tile];
    STRAGGLER_UNROLL
    for (int i = 0; i < side; ++i) line[i] = d[i][j];
    along(line, transformed);
    STRAGGLER_UNROLL
    for (int i = 0; i < tile; ++i) half[i][j] = transformed[i];
  }
  for (int i = 0; i < tile; ++i) {
    Vector transformed[tile];
    along(half[i], transformed);
    STRAGGLER_UNROLL
    for (int j = 0; j < tile; ++j) store(to + static_cast<std::size_t>(i * tile + j) * stride, transformed[j]);
  }
}

/// result[side][side] = along(along(from)ᵀ)ᵀ for the places from[place * stride].
template <int tile, int side, class Along>
STRAGGLER_INLINE void collect_tile(const float* from, std::size_t stride, const Along& along, Vector (&result)[side][side]) {
  Vector half[side][tile];
  for (int j = 0; j < tile; ++j) {
    Vector line[tile], transformed[side];
    STRAGGLER_UNROLL
    for (int i = 0; i < tile; ++i) line[i] = load(from + static_cast<std::size_t>(i * tile + j) * stride);
    along(line, transformed);
    STRAGGLER_UNROLL
    for (int i = 0; i < side; ++i) half[i][j] = transformed[i];
  }
  for (int i = 0; i < side; ++i) along(half[i], result[i]);
}

// The transforms of Winograd's algorithm (winograd.inc.hpp) along one direction: Bᵀ, G, Aᵀ, and for the gradient by the weights, which is
// dw = Gᵀ [(A dy Aᵀ) ⊙ (Bᵀ x B)] G, A and Gᵀ. Included by sets only, after vectors.inc.hpp.

constexpr int tile_side = 6;
constexpr int tile_places = tile_side * tile_side;

/// Bᵀ d
STRAGGLER_INLINE void transform_input(const Vector (&d)[tile_side], Vector (&t)[tile_side]) {
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

/// Aᵀ m
template <int outputs>
STRAGGLER_INLINE void transform_output(const Vector (&m)[tile_side], Vector (&y)[outputs]) {
  const Vector sum = m[1] + m[2], difference = m[1] - m[2], far_sum = m[3] + m[4], far_difference = m[3] - m[4];
  y[0] = m[0] + sum + far_sum;
  if constexpr (outputs == 2) {
    y[1] = multiply_add(all(2.0f), far_difference, difference) + m[5];
  } else {
    y[1] = multiply_add(all(2.0f), far_difference, difference);
    y[2] = multiply_add(all(4.0f), far_sum, sum);
    y[3] = multiply_add(all(8.0f), far_difference, difference) + m[5];
  }
}

/// G w
template <int taps>
STRAGGLER_INLINE void transform_weights(const Vector (&w)[taps], Vector (&u)[tile_side]) {
  Vector even = w[0] + w[2], odd = w[1], far_even = multiply_add(all(4.0f), w[2], w[0]), far_odd = w[1] * 2.0f;
  if constexpr (taps == 5) {
    even += w[4];
    odd += w[3];
    far_even = multiply_add(all(16.0f), w[4], far_even);
    far_odd = multiply_add(all(8.0f), w[3], far_odd);
  }
  u[0] = w[0] * 0.25f;
  u[1] = (even + odd) * (-1.0f / 6);
  u[2] = (even - odd) * (-1.0f / 6);
  u[3] = (far_even + far_odd) * (1.0f / 24);
  u[4] = (far_even - far_odd) * (1.0f / 24);
  u[5] = w[taps - 1];
}

/// A y: the transpose of transform_output.
template <int outputs>
STRAGGLER_INLINE void transform_derivative(const Vector (&y)[outputs], Vector (&m)[tile_side]) {
  Vector even = y[0], odd = y[1], far_even = y[0], far_odd = y[1] * 2.0f;
  if constexpr (outputs == 4) {
    even += y[2];
    odd += y[3];
    far_even = multiply_add(all(4.0f), y[2], far_even);
    far_odd = multiply_add(all(8.0f), y[3], far_odd);
  }
  m[0] = y[0];
  m[1] = even + odd;
  m[2] = even - odd;
  m[3] = far_even + far_odd;
  m[4] = far_even - far_odd;
  m[5] = y[outputs - 1];
}

/// Gᵀ u: the transpose of transform_weights.
template <int taps>
STRAGGLER_INLINE void transform_gradient(const Vector (&u)[tile_side], Vector (&w)[taps]) {
  const Vector sum = (u[1] + u[2]) * (-1.0f / 6), difference = (u[1] - u[2]) * (-1.0f / 6), far_sum = (u[3] + u[4]) * (1.0f / 24),
               far_difference = (u[3] - u[4]) * (1.0f / 24);
  w[0] = multiply_add(all(0.25f), u[0], sum + far_sum);
  w[1] = multiply_add(all(2.0f), far_difference, difference);
  w[2] = multiply_add(all(4.0f), far_sum, sum);
  if constexpr (taps == 5) {
    w[3] = multiply_add(all(8.0f), far_difference, difference);
    w[4] = multiply_add(all(16.0f), far_sum, sum);
  }
  w[taps - 1] += u[5];
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
template <int side, class Along>
STRAGGLER_INLINE void spread_tile(const Vector (&d)[side][side], const Along& along, float* to, std::size_t stride) {
  Vector half[tile_side][side];
  for (int j = 0; j < side; ++j) {
    Vector line[side], transformed[tile_side];
    STRAGGLER_UNROLL
    for (int i = 0; i < side; ++i) line[i] = d[i][j];
    along(line, transformed);
    STRAGGLER_UNROLL
    for (int i = 0; i < tile_side; ++i) half[i][j] = transformed[i];
  }
  for (int i = 0; i < tile_side; ++i) {
    Vector transformed[tile_side];
    along(half[i], transformed);
    STRAGGLER_UNROLL
    for (int j = 0; j < tile_side; ++j) store(to + static_cast<std::size_t>(i * tile_side + j) * stride, transformed[j]);
  }
}

/// result[side][side] = along(along(from)ᵀ)ᵀ for the 36 places from[place * stride].
template <int side, class Along>
STRAGGLER_INLINE void collect_tile(const float* from, std::size_t stride, const Along& along, Vector (&result)[side][side]) {
  Vector half[side][tile_side];
  for (int j = 0; j < tile_side; ++j) {
    Vector line[tile_side], transformed[side];
    STRAGGLER_UNROLL
    for (int i = 0; i < tile_side; ++i) line[i] = load(from + static_cast<std::size_t>(i * tile_side + j) * stride);
    along(line, transformed);
    STRAGGLER_UNROLL
    for (int i = 0; i < side; ++i) half[i][j] = transformed[i];
  }
  for (int i = 0; i < side; ++i) along(half[i], result[i]);
}

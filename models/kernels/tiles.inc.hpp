// Products in tiles of tile_rows x tile_vectors registers, each of which takes one rank-1 update per step. Included by sets only, after
// vectors.inc.hpp.

constexpr std::size_t least(std::size_t a, std::size_t b) { return a < b ? a : b; }
constexpr std::size_t quotient_up(std::size_t a, std::size_t b) { return (a + b - 1) / b; }

/// Calls body.operator()<r>(row) for tiles that cover `rows` rows, tile_rows at a time, with one smaller last tile.
template <int height = tile_rows, class Body>
STRAGGLER_INLINE void last_tile(std::size_t rows, std::size_t row, const Body& body) {
  if constexpr (height > 0) {
    if (rows == height)
      body.template operator()<height>(row);
    else
      last_tile<height - 1>(rows, row, body);
  }
}
template <class Body>
STRAGGLER_INLINE void for_tiles(std::size_t rows, const Body& body) {
  std::size_t row = 0;
  for (; row + tile_rows <= rows; row += tile_rows) body.template operator()<tile_rows>(row);
  last_tile<tile_rows - 1>(rows - row, row, body);
}

/// Calls body(i, j) for every register of a tile, unrolled: the registers must have constant indices.
template <int height, int width, class Body>
STRAGGLER_INLINE void for_registers(const Body& body) {
  STRAGGLER_UNROLL
  for (int i = 0; i < height; ++i) {
    STRAGGLER_UNROLL
    for (int j = 0; j < width; ++j) body(i, j);
  }
}

/// acc[i][j] += Σ_k a[i * a_row + k * a_step] * (vector j of right + k * panel_rows), k in order.
template <int height, int width>
STRAGGLER_INLINE void multiply(std::size_t steps, const float* a, std::size_t a_row, std::size_t a_step, const float* right,
                               Vector (&acc)[height][width]) {
  for (std::size_t k = 0; k < steps; ++k, a += a_step, right += panel_rows) {
    Vector b[width];
    STRAGGLER_UNROLL
    for (int j = 0; j < width; ++j) b[j] = load(right + j * lanes);
    STRAGGLER_UNROLL
    for (int i = 0; i < height; ++i) {
      const Vector left = all(a[static_cast<std::size_t>(i) * a_row]);
      STRAGGLER_UNROLL
      for (int j = 0; j < width; ++j) acc[i][j] = multiply_add(left, b[j], acc[i][j]);
    }
  }
}

/// Calls body.operator()<width>(vector) for `count` vectors, tile_vectors at a time, then one by one.
template <class Body>
STRAGGLER_INLINE void for_vectors(std::size_t count, const Body& body) {
  std::size_t at = 0;
  for (; at + tile_vectors <= count; at += tile_vectors) body.template operator()<tile_vectors>(at * lanes);
  for (; at < count; ++at) body.template operator()<1>(at * lanes);
}

/// Calls body.operator()<height>(row) for tiles of nearly equal height, at most tile_rows, that cover `rows` rows.
template <class Body>
STRAGGLER_INLINE void for_even_tiles(std::size_t rows, const Body& body) {
  const std::size_t tiles = quotient_up(rows, tile_rows);
  for (std::size_t tile = 0; tile < tiles; ++tile) {
    const std::size_t row = rows * tile / tiles;
    last_tile<tile_rows>(rows * (tile + 1) / tiles - row, row, body);
  }
}

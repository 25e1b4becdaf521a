// Integer products for quantized inference. Included by set.inc.hpp only. Sums of 32 bits are exact, so every set gives the same.

/// acc + a · b of the two 16-bit integers in each lane.
STRAGGLER_INLINE Integers multiply_add_pairs(Integers acc, Integers a, Integers b) {
#if defined(__AVX512F__)
  return acc + reinterpret_cast<Integers>(_mm512_madd_epi16(reinterpret_cast<__m512i>(a), reinterpret_cast<__m512i>(b)));
#elif defined(__AVX2__)
  return acc + reinterpret_cast<Integers>(_mm256_madd_epi16(reinterpret_cast<__m256i>(a), reinterpret_cast<__m256i>(b)));
#elif defined(__wasm_simd128__)
  return acc + reinterpret_cast<Integers>(wasm_i32x4_dot_i16x8(reinterpret_cast<v128_t>(a), reinterpret_cast<v128_t>(b)));
#else
  return acc + reinterpret_cast<Integers>(_mm_madd_epi16(reinterpret_cast<__m128i>(a), reinterpret_cast<__m128i>(b)));
#endif
}

typedef std::int32_t UnalignedIntegers __attribute__((vector_size(lanes * 4), aligned(2), may_alias));
typedef std::int32_t UnalignedPair __attribute__((aligned(2), may_alias));

template <int width>
struct IntegerPass {
  std::size_t pairs;
  const std::int16_t *x, *w;  // x: at the panel's lane
  std::int32_t* y;

  template <int height>
  void operator()(std::size_t row) const {
    Integers acc[height][width];
    for_registers<height, width>([&](int i, int j) __attribute__((always_inline)) { acc[i][j] = Integers{}; });
    const std::int16_t *right = x, *left = w + row * pairs * 2;
    for (std::size_t k = 0; k < pairs; ++k, right += 2 * panel_rows, left += 2) {
      Integers b[width];
      STRAGGLER_UNROLL
      for (int j = 0; j < width; ++j) b[j] = *reinterpret_cast<const UnalignedIntegers*>(right + j * 2 * lanes);
      STRAGGLER_UNROLL
      for (int i = 0; i < height; ++i) {
        const Integers a = Integers{} + *reinterpret_cast<const UnalignedPair*>(left + static_cast<std::size_t>(i) * pairs * 2);
        STRAGGLER_UNROLL
        for (int j = 0; j < width; ++j) acc[i][j] = multiply_add_pairs(acc[i][j], a, b[j]);
      }
    }
    for_registers<height, width>([&](int i, int j) __attribute__((always_inline)) {
      *reinterpret_cast<UnalignedIntegers*>(y + (row + static_cast<std::size_t>(i)) * panel_rows + j * lanes) = acc[i][j];
    });
  }
};

void integer_products(std::size_t rows, std::size_t pairs, std::size_t out, const std::int16_t* x, const std::int16_t* w, std::int32_t* y) {
  for (std::size_t p = 0; p < panels_of(rows); ++p)
    for_vectors(quotient_up(rows_in(rows, p), lanes), [&]<int width>(std::size_t lane) {
      for_tiles(out, IntegerPass<width>{pairs, x + p * pairs * 2 * panel_rows + 2 * lane, w, y + p * out * panel_rows + lane});
    });
}

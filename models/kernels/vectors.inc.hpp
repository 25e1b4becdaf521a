// Vectors of the set's own width, by the vector extensions that g++ and clang share. Included by set.inc.hpp only.

#if defined(__AVX512F__)
constexpr int lanes = 16;      // floats in a register
constexpr int tile_rows = 12;  // accumulators of a tile: tile_rows x tile_vectors registers of 32
#elif defined(__AVX2__)
constexpr int lanes = 8;
constexpr int tile_rows = 6;  // of 16 registers
#else
constexpr int lanes = 4;
constexpr int tile_rows = 5;
#endif
constexpr int tile_vectors = 2;

#if defined(__clang__)
#define STRAGGLER_UNROLL _Pragma("unroll")
#else
#define STRAGGLER_UNROLL _Pragma("GCC unroll 32")
#endif
#define STRAGGLER_INLINE [[gnu::always_inline]] static inline
#define STRAGGLER_MEMBER [[gnu::always_inline]] inline

typedef float Vector __attribute__((vector_size(lanes * 4)));
typedef std::int32_t Integers __attribute__((vector_size(lanes * 4)));
typedef float Unaligned __attribute__((vector_size(lanes * 4), aligned(4), may_alias));

STRAGGLER_INLINE Vector load(const float* at) { return *reinterpret_cast<const Unaligned*>(at); }
STRAGGLER_INLINE void store(float* at, Vector x) { *reinterpret_cast<Unaligned*>(at) = x; }
/// The same vector in a register: where it is used several times, the compiler must not load it again with each use.
STRAGGLER_INLINE Vector in_register(Vector x) {
#if defined(__AVX512F__)
  asm("" : "+v"(x));
#elif defined(__SSE__)
  asm("" : "+x"(x));
#endif
  return x;
}
STRAGGLER_INLINE Vector all(float x) { return x - Vector{}; }

/// a b + c, with one rounding if the set has fused multiply-add: explicit, so that a set's bits do not depend on compiler contraction.
STRAGGLER_INLINE Vector multiply_add(Vector a, Vector b, Vector c) {
#if defined(__AVX512F__)
  return _mm512_fmadd_ps(a, b, c);
#elif defined(__FMA__)
  return _mm256_fmadd_ps(a, b, c);
#else
  return a * b + c;
#endif
}

#if defined(__AVX512F__)
/// For masked intrinsics: g++ 12 warns about undefined values in its headers' plain ones.
constexpr __mmask16 every_lane = 0xFFFF;
#endif

STRAGGLER_INLINE Vector square_root(Vector x) {
#if defined(__AVX512F__)
  return _mm512_maskz_sqrt_ps(every_lane, x);
#elif defined(__AVX2__)
  return _mm256_sqrt_ps(x);
#elif defined(__wasm_simd128__)
  return reinterpret_cast<Vector>(wasm_f32x4_sqrt(reinterpret_cast<v128_t>(x)));
#else
  return _mm_sqrt_ps(x);
#endif
}

template <int... lane>
using Lanes = std::integer_sequence<int, lane...>;
using EveryLane = std::make_integer_sequence<int, lanes>;

template <int... lane>
STRAGGLER_INLINE Integers numbered(Lanes<lane...>) {
  return Integers{lane...};
}
/// -1 in the first `count` lanes, 0 in the others.
STRAGGLER_INLINE Integers first_lanes(std::size_t count) { return numbered(EveryLane()) < Integers{} + static_cast<std::int32_t>(count); }

/// The first `count` lanes from memory, the others zero; `count` <= lanes. Reads no memory beyond them.
STRAGGLER_INLINE Vector load_some(const float* at, std::size_t count) {
#if defined(__AVX512F__)
  return _mm512_maskz_loadu_ps(static_cast<__mmask16>((1u << count) - 1u), at);
#elif defined(__AVX2__)
  return _mm256_maskload_ps(at, reinterpret_cast<__m256i>(first_lanes(count)));
#else
  Vector x{};
  for (std::size_t i = 0; i < count; ++i) x[i] = at[i];
  return x;
#endif
}
STRAGGLER_INLINE void store_some(float* at, Vector x, std::size_t count) {
#if defined(__AVX512F__)
  _mm512_mask_storeu_ps(at, static_cast<__mmask16>((1u << count) - 1u), x);
#elif defined(__AVX2__)
  _mm256_maskstore_ps(at, reinterpret_cast<__m256i>(first_lanes(count)), x);
#else
  for (std::size_t i = 0; i < count; ++i) at[i] = x[i];
#endif
}

/// e^x for x <= 0 or NaN, within 1.01 units in the last place (tested on all floats); 0 below -87.33 (2^-126).
/// x = n ln 2 + r with |r| <= ln 2 / 2 (ln 2 in two parts, Cody & Waite 1980), e^r by the minimax polynomial of Cephes' expf
/// (Moshier 1989), times 2^n through the exponent's bits. NaN makes r, hence the product, NaN.
STRAGGLER_INLINE Vector exponential(Vector x) {
  const Vector shift = all(12582912.0f);  // 1.5 * 2^23: adding it rounds to an integer in the low bits
  const Vector clamped = x < -87.33f ? all(-87.33f) : x;
  const Vector shifted = multiply_add(clamped, all(1.44269504088896341f), shift);
  const Vector n = shifted - shift;
  Vector r = multiply_add(n, all(-0.693359375f), clamped);
  r = multiply_add(n, all(2.12194440e-4f), r);
  Vector p = all(1.9875691500e-4f);
  for (const float coefficient : {1.3981999507e-3f, 8.3334519073e-3f, 4.1665795894e-2f, 1.6666665459e-1f, 5.0000001201e-1f})
    p = multiply_add(p, r, all(coefficient));
  p = multiply_add(p, r * r, r) + 1.0f;
  const Integers power = (reinterpret_cast<Integers>(shifted) - reinterpret_cast<Integers>(shift) + 127) << 23;
  const Vector result = p * reinterpret_cast<Vector>(power);
  return x < -87.33f ? Vector{} : result;
}

/// Of a and b cut into blocks of `size` lanes: the even (odd) blocks of each, interleaved.
template <int size, int... lane>
STRAGGLER_INLINE Vector even_blocks(Vector a, Vector b, Lanes<lane...>) {
  return __builtin_shufflevector(a, b, ((lane & size) == 0 ? lane : lanes + lane - size)...);
}
template <int size, int... lane>
STRAGGLER_INLINE Vector odd_blocks(Vector a, Vector b, Lanes<lane...>) {
  return __builtin_shufflevector(a, b, ((lane & size) == 0 ? lane + size : lanes + lane)...);
}

/// Transposes a square of lanes x lanes (Eklundh 1972: exchange blocks of 1, 2, 4, … lanes).
template <int size = 1>
STRAGGLER_INLINE void transpose(Vector (&rows)[lanes]) {
  if constexpr (size < lanes) {
    STRAGGLER_UNROLL
    for (int i = 0; i < lanes; ++i) {
      if ((i & size) != 0) continue;
      const Vector a = rows[i], b = rows[i + size];
      rows[i] = even_blocks<size>(a, b, EveryLane());
      rows[i + size] = odd_blocks<size>(a, b, EveryLane());
    }
    transpose<size * 2>(rows);
  }
}

/// Lane i of the result is the sum of the lanes of rows[i]. Overwrites rows.
template <int size = 1>
STRAGGLER_INLINE Vector sums(Vector (&rows)[lanes]) {
  if constexpr (size < lanes) {
    STRAGGLER_UNROLL
    for (int i = 0; i < lanes; i += 2 * size)
      rows[i] = even_blocks<size>(rows[i], rows[i + size], EveryLane()) + odd_blocks<size>(rows[i], rows[i + size], EveryLane());
    return sums<size * 2>(rows);
  }
  return rows[0];
}

/// x in the first `count` lanes; zero in the others, even if x is not finite there.
STRAGGLER_INLINE Vector first(Vector x, std::size_t count) { return first_lanes(count) != 0 ? x : Vector{}; }

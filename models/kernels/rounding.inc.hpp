// Rounding to FP16 and bfloat16, to nearest with ties to even. Included by set.inc.hpp only.
//
// With F16C a number is converted to binary16 and back. Otherwise a number of at least 2^-14 is rounded in its bits to binary16's ten
// fraction bits, and is infinite from 2^16 on; a smaller one is rounded to a multiple of 2^-24 by adding 1/2, whose last place that is, and
// subtracting it again. NaN keeps its sign and the ten bits, and is quiet, as in F16C.

STRAGGLER_INLINE Vector chosen(Integers where, Integers x, Integers otherwise) {
  return reinterpret_cast<Vector>((x & where) | (otherwise & ~where));
}

STRAGGLER_INLINE Vector rounded_to_fp16(Vector x) {
#if defined(__AVX512F__)
  return _mm512_maskz_cvtph_ps(every_lane, _mm512_maskz_cvtps_ph(every_lane, x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
#elif defined(__F16C__)
  return _mm256_cvtph_ps(_mm256_cvtps_ph(x, _MM_FROUND_TO_NEAREST_INT));
#else
  const Integers bits = reinterpret_cast<Integers>(x), size = bits & 0x7FFFFFFF;
  const Integers small = reinterpret_cast<Integers>((reinterpret_cast<Vector>(size) + 0.5f) - 0.5f);
  const Integers finite = reinterpret_cast<Integers>(chosen(size < 0x47800000, size, Integers{} + 0x47800000));  // the sum stays below 2^31
  Integers value = (finite + 0xFFF + ((finite >> 13) & 1)) & ~0x1FFF;
  value = reinterpret_cast<Integers>(chosen(value >= 0x47800000, Integers{} + 0x7F800000, value));
  value = reinterpret_cast<Integers>(chosen(size < 0x38800000, small, value));
  value = reinterpret_cast<Integers>(chosen(size > 0x7F800000, (size & 0x7FE000) | 0x7FC00000, value));
  return reinterpret_cast<Vector>(value | (bits & static_cast<std::int32_t>(0x80000000u)));
#endif
}

STRAGGLER_INLINE Vector rounded_to_bf16(Vector x) {
  const Integers bits = reinterpret_cast<Integers>(x), size = bits & 0x7FFFFFFF;
  const Integers number = reinterpret_cast<Integers>(chosen(size > 0x7F800000, Integers{}, bits));
  // In two halves, so that no sum leaves the 32 bits: a carry from the lower half goes to the upper one.
  const Integers carry = ((number & 0xFFFF) + 0x7FFF + ((number >> 16) & 1)) >> 16;
  const Integers nearest = (number & static_cast<std::int32_t>(0xFFFF0000u)) + (carry << 16);
  return chosen(size > 0x7F800000, (bits | 0x400000) & static_cast<std::int32_t>(0xFFFF0000u), nearest);
}

template <class Rounded>
STRAGGLER_INLINE bool round_each(std::size_t n, const float* x, float factor, float* out, const Rounded& rounded) {
  const Vector times = all(factor);
  Integers infinite{};
  for_positions(n, [&](const auto& get, const auto& put) {
    const Vector number = rounded(get(x)) * times;
    infinite |= (reinterpret_cast<Integers>(number) & 0x7F800000) == 0x7F800000;
    put(out, number);
  });
  for (int lane = 0; lane < lanes; ++lane)
    if (infinite[lane] != 0) return false;
  return true;
}

bool round_numbers(Precision precision, std::size_t n, const float* x, float factor, float* out) {
  if (precision == Precision::fp16)
    return round_each(
        n, x, factor, out, [](Vector number) __attribute__((always_inline)) { return rounded_to_fp16(number); });
  if (precision == Precision::bf16)
    return round_each(
        n, x, factor, out, [](Vector number) __attribute__((always_inline)) { return rounded_to_bf16(number); });
  return round_each(
      n, x, factor, out, [](Vector number) __attribute__((always_inline)) { return number; });
}

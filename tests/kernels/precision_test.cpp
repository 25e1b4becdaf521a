// Rounding to FP16 and bfloat16. What is expected comes from the definition: a number of the format is m 2^e with few bits of m, and the
// nearest one is looked for with exact arithmetic in double.
#include <doctest/doctest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "models/kernels/precision.hpp"
#include "tests/support/math_helpers.hpp"

namespace straggler::test::precision_test {
namespace {

float float_of(std::uint32_t bits) { return std::bit_cast<float>(bits); }
std::uint32_t bits_of(float x) { return std::bit_cast<std::uint32_t>(x); }

/// The value of a format with `fraction` bits, least exponent `least` and largest finite number `most`, nearest to x. nearbyint rounds
/// halves to even; every step before it is exact in double.
double nearest(double x, int fraction, int least, double most) {
  if (!std::isfinite(x) || x == 0) return x;
  int exponent = 0;
  std::frexp(x, &exponent);  // |x| in [2^(exponent-1), 2^exponent)
  const int place = std::max(exponent - 1, least) - fraction;
  const double rounded = std::ldexp(std::nearbyint(std::ldexp(x, -place)), place);
  return std::abs(rounded) > most ? std::copysign(std::numeric_limits<double>::infinity(), x) : rounded;
}
double nearest_fp16(float x) { return nearest(static_cast<double>(x), 10, -14, 65504); }
double nearest_bf16(float x) { return nearest(static_cast<double>(x), 7, -126, static_cast<double>(float_of(0x7F7F0000u))); }

/// Numbers at and around every boundary: each half, each middle between two halves, and their neighbours; special values.
std::vector<float> boundary_numbers() {
  std::vector<float> numbers;
  const auto with_neighbours = [&](float x) {
    for (const std::uint32_t by : {0u, 1u, 0xFFFFFFFFu})
      for (const float sign : {1.0f, -1.0f}) numbers.push_back(sign * float_of(bits_of(x) + by));
  };
  for (std::uint32_t half = 1; half < 0x7C00; ++half) {
    const float x = from_fp16(static_cast<std::uint16_t>(half));
    const float next = half + 1 == 0x7C00 ? 65536.0f : from_fp16(static_cast<std::uint16_t>(half + 1));
    with_neighbours(x);
    with_neighbours(x + (next - x) / 2);
  }
  for (std::uint32_t upper = 1; upper < 0x7F80; upper += 37)
    for (const std::uint32_t lower : {0u, 0x7FFFu, 0x8000u, 0x8001u, 0xFFFFu}) with_neighbours(float_of(upper << 16 | lower));
  for (const std::uint32_t bits :
       {0u,          1u,          2u,          0x007FFFFFu, 0x00800000u, 0x33000000u, 0x33000001u, 0x32FFFFFFu, 0x387FE000u,
        0x387FFFFFu, 0x38800000u, 0x477FE000u, 0x477FEFFFu, 0x477FF000u, 0x47800000u, 0x7F7F7FFFu, 0x7F7F8000u, 0x7F7FFFFFu,
        0x7F800000u, 0x7F800001u, 0x7F802000u, 0x7FBFFFFFu, 0x7FC00000u, 0x7FC01FFFu, 0x7FC02000u, 0x7FFFFFFFu})
    for (const std::uint32_t sign : {0u, 0x80000000u}) numbers.push_back(float_of(bits | sign));
  // And a walk over all patterns.
  for (std::uint64_t bits = 0; bits < 0x100000000u; bits += 65'537 - 2) numbers.push_back(float_of(static_cast<std::uint32_t>(bits)));
  return numbers;
}

}  // namespace

TEST_CASE("all 65,536 binary16 numbers: value by the format's definition, and there and back") {
  for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
    const auto half = static_cast<std::uint16_t>(bits);
    const float x = from_fp16(half);
    const int exponent = static_cast<int>(bits >> 10 & 31u);
    const double fraction = bits & 0x3FFu, sign = (bits & 0x8000u) != 0 ? -1 : 1;
    if (exponent == 31) {
      const bool as_defined = fraction == 0 ? std::isinf(x) && std::signbit(x) == (sign < 0) : std::isnan(x);
      if (!as_defined) FAIL_CHECK("binary16 " << bits);
      const auto quiet = static_cast<std::uint16_t>(fraction == 0 ? half : half | 0x0200u);
      if (to_fp16(x) != quiet) FAIL_CHECK("binary16 " << bits << " there and back");
      continue;
    }
    const double expected = exponent == 0 ? std::ldexp(fraction, -24) : std::ldexp(1024 + fraction, exponent - 25);
    if (static_cast<double>(x) != sign * expected || std::signbit(x) != (sign < 0) || to_fp16(x) != half) FAIL_CHECK("binary16 " << bits);
    if (from_bf16(to_bf16(float_of(bits << 16))) != float_of(bits << 16)) FAIL_CHECK("bfloat16 " << bits);
  }
}

TEST_CASE("rounding is to the nearest number of the format, ties to even, at all its boundaries") {
  for (const float x : boundary_numbers()) {
    float half = 0, brain = 0;
    round_to(Precision::fp16, 1, &x, &half);
    round_to(Precision::bf16, 1, &x, &brain);
    if (std::isnan(x)) {
      if (!std::isnan(half) || !std::isnan(brain)) FAIL_CHECK("NaN " << bits_of(x));
      continue;
    }
    if (static_cast<double>(half) != nearest_fp16(x) || std::signbit(half) != std::signbit(x)) FAIL_CHECK("fp16 of " << x);
    if (static_cast<double>(brain) != nearest_bf16(x) || std::signbit(brain) != std::signbit(x)) FAIL_CHECK("bf16 of " << x);
  }
  // By hand: half of the least subnormal number is a tie and goes to 0; a third of a step rounds down, and the largest ones.
  CHECK(from_fp16(to_fp16(0x1p-25f)) == 0.0f);
  CHECK(from_fp16(to_fp16(0x1.8p-25f)) == 0x1p-24f);
  CHECK(from_fp16(to_fp16(2049)) == 2048.0f);
  CHECK(from_fp16(to_fp16(2051)) == 2052.0f);
  CHECK(from_fp16(to_fp16(65519.996f)) == 65504.0f);
  CHECK(std::isinf(from_fp16(to_fp16(65520))));
  CHECK(from_bf16(to_bf16(257)) == 256.0f);
  CHECK(from_bf16(to_bf16(259)) == 260.0f);
}

TEST_CASE("every set of kernels rounds bit for bit as round_to does, at any alignment, and detects values that are not finite") {
  const std::vector<float> all = boundary_numbers();
  for (const Kernels* kernels : all_kernels())
    for (const Precision precision : {Precision::fp32, Precision::fp16, Precision::bf16}) {
      CAPTURE(kernels->name);
      CAPTURE(static_cast<int>(precision));
      std::vector<float> expected(all.size()), actual(all.size());
      round_to(precision, all.size(), all.data(), expected.data());
      CHECK_FALSE(kernels->round(precision, all.size(), all.data(), 1.0f, actual.data()));
      std::size_t differ = 0;
      for (std::size_t i = 0; i < all.size(); ++i)
        if (bits_of(actual[i]) != bits_of(expected[i]) && !(precision == Precision::fp32 && std::isnan(all[i]))) ++differ;
      CHECK(differ == 0);
      for (std::size_t n = 0; n < 40; ++n) {  // partial vectors, in place, and nothing beyond the end
        std::vector<float> x = numbers(n + 2, n + 1), wanted(n);
        round_to(precision, n, x.data() + 1, wanted.data());
        const float before = x[0], behind = x[n + 1];
        CHECK(kernels->round(precision, n, x.data() + 1, 4.0f, x.data() + 1));
        for (std::size_t i = 0; i < n; ++i) CHECK(x[i + 1] == 4 * wanted[i]);
        CHECK(x[0] == before);
        CHECK(x[n + 1] == behind);
        if (n == 0) continue;
        x[n] = std::numeric_limits<float>::infinity();
        CHECK_FALSE(kernels->round(precision, n, x.data() + 1, 1.0f, x.data() + 1));
        x[n] = std::numeric_limits<float>::quiet_NaN();
        CHECK_FALSE(kernels->round(precision, n, x.data() + 1, 1.0f, x.data() + 1));
        x[n] = 70000;
        CHECK(kernels->round(precision, n, x.data() + 1, 1.0f, x.data() + 1) == (precision != Precision::fp16));
      }
    }
}

}  // namespace straggler::test::precision_test

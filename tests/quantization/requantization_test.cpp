// Multiplier and shift against exact rational arithmetic, integer products against plain sums.
#include <doctest/doctest.h>

#include <cmath>
#include <limits>

#include "models/quantization/requantization.hpp"
#include "tests/quantization/support.hpp"

using namespace straggler;
using namespace straggler::test;

namespace {

__extension__ typedef __int128 Wide;

/// numerator / 2^shift to the nearest integer, ties to even, by division with remainder.
std::int64_t exactly(Wide numerator, int shift) {
  const Wide whole = Wide{1} << shift;
  Wide quotient = numerator / whole, rest = numerator % whole;
  if (rest < 0) {
    rest += whole;
    --quotient;
  }
  if (2 * rest > whole || (2 * rest == whole && quotient % 2 != 0)) ++quotient;
  return static_cast<std::int64_t>(quotient);
}

}  // namespace

TEST_CASE("requantization: multiplier and shift give the exact rational, rounded once") {
  RandomStream stream(1, "requantization");
  for (int i = 0; i < 20'000; ++i) {
    const double real = std::ldexp(0.5 + stream.uniform() / 2, static_cast<int>(stream.below(56)) - 31);
    const Multiplier by = multiplier_of(real);
    REQUIRE(by.factor >= 1 << 30);
    REQUIRE((by.shift >= 1 && by.shift <= 62));
    REQUIRE(std::abs(by.value() - real) <= real * 0x1p-31);
    // Of every size; the product stays below 2^62 as 31 bits times 31 bits do.
    const auto sum = static_cast<std::int32_t>(static_cast<std::int64_t>(stream.below(std::uint64_t{1} << 32)) - (std::int64_t{1} << 31)) >>
                     stream.below(31);
    REQUIRE(requantize(sum, by) == exactly(static_cast<Wide>(sum) * by.factor, by.shift));
  }
}

TEST_CASE("requantization: ties go to even, ends of the range hold") {
  CHECK(rounded_shift(1, 1) == 0);
  CHECK(rounded_shift(3, 1) == 2);
  CHECK(rounded_shift(-1, 1) == 0);
  CHECK(rounded_shift(-3, 1) == -2);
  CHECK(rounded_shift(5, 2) == 1);
  CHECK(rounded_shift(6, 2) == 2);
  CHECK(rounded_shift(-6, 2) == -2);
  const Multiplier one = multiplier_of(1), half = multiplier_of(0.5);
  for (const std::int32_t x : {0, 1, -1, 7, std::numeric_limits<std::int32_t>::max(), std::numeric_limits<std::int32_t>::min()}) {
    CHECK(requantize(x, one) == x);
    CHECK(requantize(x, half) == exactly(x, 1));
  }
  // Just below a power of two the factor rounds up to 2^31, which does not fit: one exponent more.
  CHECK(multiplier_of(std::nextafter(1.0, 0.0)).value() == 1);
  CHECK(requantize(std::numeric_limits<std::int32_t>::max(), multiplier_of(0x1p-33)) == 0);
  CHECK(multiplier_of(0).factor == 0);
  CHECK_THROWS_AS(multiplier_of(0x1p29), std::invalid_argument);
  CHECK_THROWS_AS(multiplier_of(-1), std::invalid_argument);
  CHECK_THROWS_AS(multiplier_of(std::nan("")), std::invalid_argument);
}

TEST_CASE("integer products are exact on every set of kernels, for all sizes") {
  RandomStream stream(2, "integers");
  const auto draw = [&](std::vector<std::int16_t>& to) {
    for (std::int16_t& each : to) each = static_cast<std::int16_t>(static_cast<int>(stream.below(511)) - 255);
  };
  for (const std::string_view name : available_kernels()) {
    CAPTURE(name);
    const Kernels& kernels = select_kernels(name);
    for (const std::size_t rows : {1u, 7u, 16u, 32u, 70u})
      for (const std::size_t pairs : {1u, 13u, 300u})
        for (const std::size_t out : {1u, 6u, 13u, 25u}) {
          const std::size_t panels = panel_floats(rows, 1) / panel_rows;
          std::vector<std::int16_t> x(panels * pairs * 2 * panel_rows), w(out * pairs * 2);
          draw(x);
          draw(w);
          std::vector<std::int32_t> y(panels * out * panel_rows);
          kernels.integer_products(rows, pairs, out, x.data(), w.data(), y.data());
          std::size_t wrong = 0;
          for (std::size_t row = 0; row < rows; ++row)
            for (std::size_t o = 0; o < out; ++o) {
              std::int64_t sum = 0;
              for (std::size_t k = 0; k < 2 * pairs; ++k)
                sum += static_cast<std::int64_t>(w[o * 2 * pairs + k]) *
                       x[((row / panel_rows * pairs + k / 2) * panel_rows + row % panel_rows) * 2 + k % 2];
              wrong += y[(row / panel_rows * out + o) * panel_rows + row % panel_rows] != sum;
            }
          CHECK(wrong == 0);
        }
    // The largest sums that a network may have: 255 · 255 times 2 · 16,500 terms is just below 2^31.
    const std::size_t pairs = 16'500;
    const std::vector<std::int16_t> x(pairs * 2 * panel_rows, 255), w(pairs * 2, -255);
    std::vector<std::int32_t> y(panel_rows);
    kernels.integer_products(1, pairs, 1, x.data(), w.data(), y.data());
    CHECK(y[0] == -255 * 255 * 33'000);
  }
}

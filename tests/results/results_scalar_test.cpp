// Scalars stay what they are, in memory and through their text.
#include <doctest/doctest.h>

#include <charconv>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <stdexcept>

#include "scenarios/results/scalar.hpp"
#include "scenarios/results/text.hpp"

using namespace straggler;

namespace {

constexpr std::uint64_t largest_count = std::numeric_limits<std::uint64_t>::max();

double parsed_double(const std::string& text) {
  double value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

}  // namespace

TEST_CASE("a scalar reads back from its text as exactly what it was") {
  const Time odd = Time::from_ticks(8'640'000'000'000'000'001);  // 100 days and a tick: no double holds it
  for (const Scalar& scalar : {Scalar(), Scalar(std::uint64_t{0}), Scalar(largest_count), Scalar(0.1), Scalar(-0.0), Scalar(5e-324),
                               Scalar(1e300), Scalar(3.0), Scalar(Time()), Scalar(odd), Scalar(Time::from_ticks(-1)),
                               Scalar(Time::from_ticks(-1'500'000'000'000)), Scalar(std::string("asgd")), Scalar(std::string())}) {
    CAPTURE(scalar.written());
    const Scalar again = Scalar::read(scalar.kind(), scalar.written());
    CHECK(again == scalar);
    CHECK(again.written() == scalar.written());
    CHECK(scalar_kind(name_of(scalar.kind())) == scalar.kind());
  }
  CHECK(Scalar(odd).written() == "8640000.000000000001");
  CHECK(Scalar(largest_count).json() == "18446744073709551615");
  CHECK(Scalar(std::string("a \"b\"")).json() == R"("a \"b\"")");
  CHECK(Scalar().json() == "null");
}

TEST_CASE("values that are not finite are none, and text is no number") {
  CHECK(Scalar(std::numeric_limits<double>::quiet_NaN()).is_none());
  CHECK(Scalar(-std::numeric_limits<double>::infinity()).is_none());
  CHECK(Scalar(std::optional<double>()).is_none());
  CHECK(Scalar(std::optional(2.5)).number() == 2.5);
  CHECK_FALSE(Scalar(std::string("3")).number().has_value());
  CHECK_FALSE(Scalar(std::string("3")).is_number());
  CHECK(Scalar(largest_count).count() == largest_count);
  CHECK_FALSE(Scalar(3.0).count().has_value());
}

TEST_CASE("texts of another kind are refused") {
  for (const auto& [kind, text] :
       {std::pair(Scalar::Kind::count, "-1"), std::pair(Scalar::Kind::count, "18446744073709551616"), std::pair(Scalar::Kind::real, "1.5s"),
        std::pair(Scalar::Kind::real, ""), std::pair(Scalar::Kind::time, "0.0000000000001"), std::pair(Scalar::Kind::time, "-"),
        std::pair(Scalar::Kind::time, "1e3"), std::pair(Scalar::Kind::none, "0")}) {
    const auto& this_text = text;  // clang 14 captures no structured binding
    CAPTURE(this_text);
    CHECK_THROWS_AS(Scalar::read(kind, text), std::invalid_argument);
  }
  CHECK_FALSE(scalar_kind("number").has_value());
}

TEST_CASE("a time is the double that its exact text reads as") {
  // Times near to the middle between two doubles are the hard ones: 2^44 ticks and more lie between neighbouring doubles of seconds.
  std::mt19937_64 draw(7);
  int twice_rounded = 0;
  for (int i = 0; i < 20'000; ++i) {
    const std::int64_t ticks = static_cast<std::int64_t>(draw() >> (1 + i % 40)) * (i % 2 == 0 ? 1 : -1);
    const Time time = Time::from_ticks(ticks);
    const double seconds = nearest_seconds(time);
    if (seconds != parsed_double(seconds_text(time))) FAIL("ticks: " << ticks);
    twice_rounded += seconds != time.seconds();
  }
  CHECK(nearest_seconds(Time::never()) == parsed_double(seconds_text(Time::never())));
  CHECK(twice_rounded > 0);  // else the test has not seen what it is about
}

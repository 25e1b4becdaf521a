#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <limits>

#include "scenarios/results/text.hpp"

using namespace straggler;

TEST_CASE("times are exact to the tick, without trailing zeros") {
  CHECK(seconds_text(Time()) == "0");
  CHECK(seconds_text(Time::from_ticks(1)) == "0.000000000001");
  CHECK(seconds_text(Time::from_ticks(1'500'000'000'000)) == "1.5");
  CHECK(seconds_text(Time::from_ticks(12'000'000'000'000)) == "12");
  // More digits than a double holds: 100 days less one tick.
  CHECK(seconds_text(Time::limit() - Time::from_ticks(1)) == "8639999.999999999999");
  CHECK(seconds_text(Time::from_ticks(-250'000'000'000)) == "-0.25");
  CHECK(seconds_text(Time::from_ticks(std::numeric_limits<std::int64_t>::min())) == "-9223372.036854775808");
}

TEST_CASE("numbers are the shortest text that reads back the same") {
  CHECK(number_text(0.1) == "0.1");
  CHECK(number_text(3) == "3");
  CHECK(number_text(1.0 / 3) == "0.3333333333333333");
  CHECK(number_text(std::nan("")) == "nan");
  CHECK(number_text(-std::nan("")) == "nan");
  CHECK(json_number(std::numeric_limits<double>::infinity()) == "null");
}

TEST_CASE("JSON strings are quoted") { CHECK(json_text("a\"b\\c\n") == "\"a\\\"b\\\\c\\u000a\""); }

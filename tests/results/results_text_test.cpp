#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <string>

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

TEST_CASE("a number is the same text in a row of a table") {
  char row[32];
  const auto in_row = [&](double value) { return std::string(row, write_number(row, value)); };
  for (const double value :
       {0.0, -0.0, 1.0, -1.0, 0.1, 1e15, 1e16, 125e6, 1.0 / 3, -2.0 / 3, 5e-324, 1.7976931348623157e308, 0.9999999999999999,
        std::numeric_limits<double>::infinity(), -std::numeric_limits<double>::infinity(), std::nan("")})
    CHECK(in_row(value) == number_text(value));
  for (int k = 1; k < 2'000; ++k) {
    const double value = std::ldexp(std::sqrt(static_cast<double>(k)), k % 200 - 100);
    if (in_row(value) != number_text(value)) FAIL("number " << value);
  }
}

TEST_CASE("JSON strings are quoted") { CHECK(json_text("a\"b\\c\n") == "\"a\\\"b\\\\c\\u000a\""); }

namespace {
std::string count_text(std::uint64_t value) {
  char buffer[24];
  return {buffer, write_count(buffer, value)};
}
}  // namespace

TEST_CASE("counts have the digits of std::to_string, at every number of digits") {
  for (std::uint64_t value = 0; value < 20'100; ++value)
    if (count_text(value) != std::to_string(value)) FAIL("count " << value);
  std::uint64_t power = 1;
  for (int digits = 1; digits < 20; ++digits, power *= 10)
    for (const std::uint64_t value : {power - 1, power, power + 1, 7 * power, 9 * power + power / 3})
      CHECK(count_text(value) == std::to_string(value));
  CHECK(count_text(std::numeric_limits<std::uint64_t>::max()) == "18446744073709551615");
}

TEST_CASE("decimals are the digits of the whole, cut before the last ones, without trailing zeros") {
  for (std::uint64_t k = 1, ticks = 1; k < 4'000; ++k, ticks = (ticks * 6'364'136'223'846'793'005u + k) >> 5) {
    for (const std::uint64_t value : {ticks >> 1, ticks % 3'000'000'000'000, ticks % 1'000'000 * 1'000'000}) {
      std::string digits = std::to_string(value);
      if (digits.size() < 13) digits.insert(0, 13 - digits.size(), '0');
      std::string text = digits.substr(0, digits.size() - 12) + "." + digits.substr(digits.size() - 12);
      text.erase(text.find_last_not_of('0') + 1);
      if (text.back() == '.') text.pop_back();
      if (seconds_text(Time::from_ticks(static_cast<std::int64_t>(value))) != text) FAIL("ticks " << value);
    }
  }
}

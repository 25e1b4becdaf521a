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

TEST_CASE("JSON strings and CSV cells are quoted where they must be") {
  CHECK(json_text("a\"b\\c\n") == "\"a\\\"b\\\\c\\u000a\"");
  CHECK(csv_text("plain name") == "plain name");
  CHECK(csv_text("a,b") == "\"a,b\"");
  CHECK(csv_text("say \"x\"") == "\"say \"\"x\"\"\"");
}

TEST_CASE("figures for people") {
  CHECK(readable_seconds(0) == "0 s");
  CHECK(readable_seconds(1.25e-3) == "1.25 ms");
  CHECK(readable_seconds(83.44) == "83.4 s");
  CHECK(readable_seconds(0.99999) == "1 s");
  CHECK(readable_seconds(999.7) == "16 min 40 s");  // 1000 s
  CHECK(readable_seconds(7380) == "2 h 03 min");
  CHECK(readable_bytes(44'695'848) == "44.7 MB");
  CHECK(readable_bytes(999.9) == "1 kB");
  CHECK(readable_bytes(0) == "0 B");
  CHECK(readable_count(1'234'567) == "1,234,567");
  CHECK(readable_count(123) == "123");
  CHECK(readable_share(0.4321) == "43.2 %");
  CHECK(readable_number(123'456.7) == "123457");
  CHECK(readable_number(0.0234567) == "0.02346");
  CHECK(readable_number(11'990.4) == "11990");  // epochs, say
  CHECK(readable_number(3.25) == "3.25");
  CHECK(readable_score(0.87084) == "0.8708");
  CHECK(readable_score(12.5) == "12.5000");
  CHECK(readable_score(2.2345e30) == "2.23e+30");  // a loss on its way out
  CHECK(readable_score(-std::nan("")) == "nan");
}

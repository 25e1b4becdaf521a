#include "sim/base/readable.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>

using namespace straggler;

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
  CHECK(listed({}).empty());
  CHECK(listed({"a"}) == "a");
  CHECK(listed({"a", "b"}) == "a and b");
  CHECK(listed({"a", "b", "c"}) == "a, b and c");
  CHECK(readable_number(123'456.7) == "123457");
  CHECK(readable_number(0.0234567) == "0.02346");
  CHECK(readable_number(11'990.4) == "11990");  // epochs, say
  CHECK(readable_number(3.25) == "3.25");
  CHECK(readable_score(0.87084) == "0.8708");
  CHECK(readable_score(12.5) == "12.5000");
  CHECK(readable_score(2.2345e30) == "2.23e+30");  // a loss on its way out
  CHECK(readable_score(-std::nan("")) == "nan");
  CHECK(readable_seconds(std::numeric_limits<double>::infinity()) == "inf");
  CHECK(readable_seconds(-std::numeric_limits<double>::infinity()) == "-inf");
  CHECK(readable_seconds(std::nan("")) == "nan");
  CHECK(readable_seconds(3 * 86'400) == "3.0 days");
  CHECK(readable_bytes(2.5e21) == "2.5e+03 EB");
  CHECK(readable_number(std::numeric_limits<double>::max()) == "1.798e+308");
}

TEST_CASE("columns are as wide as their widest cell, and lines end without blanks") {
  CHECK(aligned({{"name", "unit", "count"}, {"a", "s", "1"}, {"", "", ""}, {"longer", "ms", "12345678"}}, 2) ==
        "name    unit     count\n"
        "a       s            1\n"
        "\n"
        "longer  ms    12345678\n");
  CHECK(aligned({{"1", "22"}, {"333", "4"}}, 0) ==
        "  1  22\n"
        "333   4\n");
  CHECK(aligned({}, 1) == "");
}

#include "sim/base/quantity.hpp"

#include <doctest/doctest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "sim/base/random.hpp"
#include "tests/support/text.hpp"

using namespace straggler;
using straggler::test::has;

namespace {
std::string refusal(std::string_view text, Dimension dimension) {
  try {
    parse_quantity(text, dimension);
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "accepted";
}
}  // namespace

TEST_CASE("a quantity is its decimal number times its unit, rounded once") {
  CHECK(parse_quantity("50us", Dimension::time) == 50e-6);
  CHECK(parse_quantity("0.35ms", Dimension::time) == 0.35e-3);
  CHECK(parse_quantity("80ns", Dimension::time) == 80e-9);
  CHECK(parse_quantity("2 s", Dimension::time) == 2.0);
  CHECK(parse_quantity("1.5min", Dimension::time) == 90.0);
  CHECK(parse_quantity("2h", Dimension::time) == 7200.0);
  CHECK(parse_quantity("1e3ms", Dimension::time) == 1.0);
  CHECK(parse_quantity("0s", Dimension::time) == 0.0);
  CHECK(parse_quantity("3B", Dimension::bytes) == 3.0);
  CHECK(parse_quantity("25kB", Dimension::bytes) == 25e3);
  CHECK(parse_quantity("25MB", Dimension::bytes) == 25e6);
  CHECK(parse_quantity("16GB", Dimension::bytes) == 16e9);
  CHECK(parse_quantity("1KiB", Dimension::bytes) == 1024.0);
  CHECK(parse_quantity("25MiB", Dimension::bytes) == 25.0 * 1024 * 1024);
  CHECK(parse_quantity("1GiB", Dimension::bytes) == 1024.0 * 1024 * 1024);
  // A byte has eight bits: 1 Gbit/s carries 125 million bytes a second.
  CHECK(parse_quantity("1Gbps", Dimension::rate) == 1e9 / 8);
  CHECK(parse_quantity("1Gbps", Dimension::rate) == parse_quantity("125MB/s", Dimension::rate));
  CHECK(parse_quantity("8bps", Dimension::rate) == 1.0);
  CHECK(parse_quantity("8kbps", Dimension::rate) == 1e3);
  CHECK(parse_quantity("100Mbps", Dimension::rate) == 12.5e6);
  CHECK(parse_quantity("7B/s", Dimension::rate) == 7.0);
  CHECK(parse_quantity("7kB/s", Dimension::rate) == 7e3);
  CHECK(parse_quantity("2GB/s", Dimension::rate) == 2e9);
  CHECK(parse_quantity("2KiB/s", Dimension::rate) == 2048.0);
  CHECK(parse_quantity("2MiB/s", Dimension::rate) == 2048.0 * 1024);
  CHECK(parse_quantity("2GiB/s", Dimension::rate) == 2048.0 * 1024 * 1024);
  CHECK(parse_quantity("7.2TB/s", Dimension::rate) == 7.2e12);  // NVSwitch, all ports
  CHECK(parse_quantity("1.6Tbps", Dimension::rate) == 200e9);
  CHECK(parse_quantity("15.7TFLOPS", Dimension::compute) == 15.7e12);
  CHECK(parse_quantity("900GFLOPS", Dimension::compute) == 900e9);
  CHECK(parse_fraction("2%") == 0.02);
  CHECK(parse_fraction("0.02") == 0.02);
  CHECK(parse_number("1e-4") == 1e-4);
  CHECK(parse_number("-3") == -3.0);
  CHECK(parse_count("4096") == 4096);
  CHECK(parse_unsigned("18446744073709551615") == std::numeric_limits<std::uint64_t>::max());
}

TEST_CASE("a missing unit is refused with every choice") {
  CHECK(refusal("10", Dimension::time) == "10 has no unit; write 10s, 10ms, 10us, 10ns, 10min or 10h");
  const std::string rate = refusal("2.5", Dimension::rate);
  for (const std::string& unit : units_of(Dimension::rate)) CHECK(has(rate, "2.5" + unit));
}

TEST_CASE("an absurd unit is refused with the known ones") {
  const std::string message = refusal("10 furlongs", Dimension::time);
  CHECK(has(message, "unknown unit 'furlongs'"));
  for (const std::string& unit : units_of(Dimension::time)) CHECK(has(message, unit));
  CHECK(has(refusal("10MS", Dimension::time), "unknown unit 'MS'"));  // mega is not milli
  CHECK(has(refusal("10s", Dimension::bytes), "units of a size: B, kB"));
  CHECK(has(refusal("1Gb", Dimension::rate), "unknown unit 'Gb'"));
}

TEST_CASE("a unit as others write it is reported with ours") {
  CHECK(refusal("50 USEC", Dimension::time) ==
        "'50 USEC' has an unknown unit 'USEC'; did you mean 'us'? units of a time: s, ms, us, ns, min, h");
  const auto meant = [](const std::string& unit, Dimension dimension, const std::string& ours) {
    CAPTURE(unit);
    CHECK(has(refusal("1" + unit, dimension), "unknown unit '" + unit + "'; did you mean '" + ours + "'? units of "));
  };
  for (const char* unit : {"usecs", "usec", "US"}) meant(unit, Dimension::time, "us");
  for (const char* unit : {"msec", "msecs", "MS"}) meant(unit, Dimension::time, "ms");
  for (const char* unit : {"sec", "seconds"}) meant(unit, Dimension::time, "s");
  meant("hours", Dimension::time, "h");
  meant("minutes", Dimension::time, "min");
  for (const char* unit : {"GB", "GBps", "GB/S"}) meant(unit, Dimension::rate, "GB/s");
  for (const char* unit : {"gbps", "Gbit/s", "Gb/s", "Gb", "gbit", "Gbits/s"}) meant(unit, Dimension::rate, "Gbps");
  meant("MiB", Dimension::rate, "MiB/s");
  for (const char* unit : {"KB", "kb", "K"}) meant(unit, Dimension::bytes, "kB");
  meant("bytes", Dimension::bytes, "B");
  for (const char* unit : {"TFLOP/s", "TFLOPs", "tflop"}) meant(unit, Dimension::compute, "TFLOPS");
  CHECK(has(refusal("1ps", Dimension::time), "unknown unit 'ps'; units of"));
  CHECK(has(refusal("1Pbps", Dimension::rate), "unknown unit 'Pbps'; units of"));
  CHECK(has(refusal("1s", Dimension::rate), "unknown unit 's'; units of"));
}

TEST_CASE("numbers that are none are refused") {
  CHECK(has(refusal("-1s", Dimension::time), "is negative"));
  CHECK(has(refusal("inf", Dimension::time), "is not finite"));
  CHECK(has(refusal(".inf", Dimension::time), "is not finite"));
  CHECK(has(refusal("-.INF", Dimension::time), "is not finite"));
  CHECK(has(refusal("nan", Dimension::bytes), "is not finite"));
  CHECK(has(refusal("1e999s", Dimension::time), "beyond what a number can hold"));
  CHECK(has(refusal("1e-999s", Dimension::time), "beyond what a number can hold"));
  CHECK(has(refusal("1e99999999999999999999s", Dimension::time), "beyond what a number can hold"));
  CHECK(has(refusal("", Dimension::time), "empty is not a number"));
  CHECK(has(refusal("ms", Dimension::time), "is not a number"));
  CHECK(has(refusal("1,5s", Dimension::time), "unknown unit ',5s'"));
  CHECK(has(refusal("0x10s", Dimension::time), "unknown unit 'x10s'"));
  for (const char* bad : {"", "one", "1.5.2", "nan", "1e999", "5%", "--3", "1 2"})
    CHECK_THROWS_AS(parse_number(bad), std::invalid_argument);
  for (const char* bad : {"", "one", "1.5", "1e3", "99999999999999999999", "8x", "0x10", "- 3"})
    CHECK_THROWS_AS(parse_count(bad), std::invalid_argument);
  for (const char* bad : {"-1", "18446744073709551616", "1.0"}) CHECK_THROWS_AS(parse_unsigned(bad), std::invalid_argument);
  for (const char* bad : {"", "yes", "1", "True"}) CHECK_THROWS_AS(parse_boolean(bad), std::invalid_argument);
}

TEST_CASE("the shortest exact text is written") {
  CHECK(format_quantity(50e-6, Dimension::time) == "50us");
  CHECK(format_quantity(0.35e-3, Dimension::time) == "350us");
  CHECK(format_quantity(90, Dimension::time) == "90s");
  CHECK(format_quantity(0, Dimension::time) == "0s");
  CHECK(format_quantity(125e6, Dimension::rate) == "1Gbps");
  CHECK(format_quantity(100e6 / 8, Dimension::rate) == "100Mbps");
  CHECK(format_quantity(12e9, Dimension::rate) == "12GB/s");
  CHECK(format_quantity(25 * 1024 * 1024, Dimension::bytes) == "25MiB");
  CHECK(format_quantity(16e9, Dimension::bytes) == "16GB");
  CHECK(format_number(1e-4) == "0.0001");
  CHECK(format_number(0.9) == "0.9");
  CHECK(format_number(-2.5) == "-2.5");
  CHECK(format_number(1e300) == "1e300");
  CHECK(format_number(60000) == "60000");
}

TEST_CASE("written numbers read back to the same bits") {
  RandomStream random(7, "tests/base/quantity");
  for (int i = 0; i < 20'000; ++i) {
    // Half: any positive finite double. Half: round decimal numbers, as people write them.
    double value = std::bit_cast<double>((static_cast<std::uint64_t>(random()) << 32 | random()) & 0x7fffffffffffffffu);
    if (i % 2 == 0) value = static_cast<double>(random.below(5000)) * std::pow(10.0, static_cast<double>(random.below(18)) - 9.0);
    if (!std::isfinite(value)) continue;
    for (const Dimension dimension : {Dimension::time, Dimension::bytes, Dimension::rate}) {
      const std::string text = format_quantity(value, dimension);
      CAPTURE(text);
      REQUIRE(parse_quantity(text, dimension) == value);
    }
    REQUIRE(parse_number(format_number(value)) == value);
    REQUIRE(parse_number(format_number(-value)) == -value);
    REQUIRE(parse_fraction(format_number(value)) == value);
  }
}

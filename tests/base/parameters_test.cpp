#include "sim/base/parameters.hpp"
#include "tests/support/text.hpp"

#include <doctest/doctest.h>

#include <stdexcept>

using namespace straggler;
using straggler::test::has;

namespace {
std::vector<Parameter> declared() {
  return {
      {.name = "sigma", .type = ValueType::number, .fallback = "0.2", .meaning = "spread", .range = Range::above(0), .choices = {}},
      {.name = "racks",
       .type = ValueType::count,
       .fallback = {},
       .required = true,
       .meaning = "number of racks",
       .range = Range::at_least(1),
       .choices = {}},
      {.name = "pause", .type = ValueType::time, .fallback = "50us", .meaning = "", .range = Range::between(0, 1), .choices = {}},
      {.name = "via", .type = ValueType::choice, .fallback = "server", .meaning = "", .range = {}, .choices = {"all_reduce", "server"}},
      {.name = "hidden", .type = ValueType::counts, .fallback = "[200, 200]", .meaning = "", .range = Range::at_least(1), .choices = {}},
      {.name = "share", .type = ValueType::fraction, .fallback = {}, .meaning = "", .range = Range::above_to(0, 1), .choices = {}},
  };
}
std::string refusal(Parameters given) {
  try {
    complete(declared(), std::move(given));
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "accepted";
}
std::string refusal(const Parameter& parameter, std::string_view text) {
  try {
    parse_value(parameter, text);
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "accepted";
}
}  // namespace

TEST_CASE("complete fills defaults in and leaves optional parameters out") {
  const Parameters all = complete(declared(), {{"racks", 2}});
  CHECK(all.number("sigma") == 0.2);
  CHECK(all.count("racks") == 2);
  CHECK(all.number("pause") == 50e-6);
  CHECK(all.text("via") == "server");
  CHECK(all.counts("hidden") == std::vector<std::int64_t>{200, 200});
  CHECK_FALSE(all.has("share"));
}

TEST_CASE("complete takes whole numbers for numbers, and is idempotent") {
  const Parameters once = complete(declared(), {{"racks", 2}, {"sigma", 3}, {"share", 1}});
  CHECK(once.number("sigma") == 3.0);
  CHECK(complete(declared(), once).all() == once.all());
}

TEST_CASE("complete() names the error") {
  CHECK(has(refusal({}), "racks: is missing"));
  CHECK(has(refusal({}), "number of racks"));
  CHECK(refusal({{"racks", 0}}) == "racks: 0 is out of range; it must be at least 1");
  CHECK(has(refusal({{"racks", 2}, {"sigmo", 0.1}}), "did you mean 'sigma'?"));
  CHECK(has(refusal({{"racks", 2.5}}), "racks: wrong type; it must be a whole number"));
  CHECK(has(refusal({{"racks", 2}, {"sigma", std::string("x")}}), "sigma: wrong type"));
  CHECK(has(refusal({{"racks", 2}, {"sigma", 0.0}}), "must be above 0"));
  CHECK(has(refusal({{"racks", 2}, {"pause", 2.0}}), "2s is out of range; it must be at least 0s, at most 1s"));
  CHECK(has(refusal({{"racks", 2}, {"via", std::string("servers")}}), "did you mean 'server'?"));
  CHECK(has(refusal({{"racks", 2}, {"hidden", std::vector<std::int64_t>{3, 0}}}), "0 is out of range"));
  CHECK(has(refusal({{"racks", 2}, {"sigma", std::numeric_limits<double>::quiet_NaN()}}), "wrong type"));
}

TEST_CASE("reading what was never set, or as another type, is a programming error") {
  const Parameters parameters = {{"racks", 2}};
  CHECK_THROWS_AS(parameters.count("rack"), std::logic_error);
  CHECK_THROWS_AS(parameters.text("racks"), std::logic_error);
  CHECK(parameters.number("racks") == 2.0);  // a count is a number too
}

TEST_CASE("parse_value reads every type and refuses values out of range") {
  const std::vector<Parameter> all = declared();
  CHECK(std::get<double>(parse_value(all[0], "0.5")) == 0.5);
  CHECK(std::get<std::int64_t>(parse_value(all[1], "3")) == 3);
  CHECK(std::get<double>(parse_value(all[2], "20ms")) == 20e-3);
  CHECK(std::get<std::string>(parse_value(all[3], "all_reduce")) == "all_reduce");
  CHECK(std::get<std::vector<std::int64_t>>(parse_value(all[4], "[1, 2,3]")) == std::vector<std::int64_t>{1, 2, 3});
  CHECK(std::get<std::vector<std::int64_t>>(parse_value(all[4], "[]")).empty());
  CHECK(std::get<double>(parse_value(all[5], "50%")) == 0.5);
  CHECK(has(refusal(all[5], "150%"), "150% is out of range; it must be above 0%, at most 100%"));
  CHECK(has(refusal(all[1], "2.5"), "not a whole number"));
  CHECK(has(refusal(all[2], "20"), "20 has no unit"));
  CHECK(has(refusal(all[2], "2s"), "at most 1s"));
  CHECK(has(refusal(all[4], "200"), "not a list"));
  CHECK(has(refusal(all[4], "[1,,2]"), "not a number"));
  CHECK(has(refusal(all[3], "SERVER"), "did you mean 'server'?"));
  const Parameter size{.name = "size", .type = ValueType::bytes, .fallback = {}, .meaning = "", .range = {}, .choices = {}};
  CHECK(has(refusal(size, "0.5B"), "whole number of bytes"));
  const Parameter flag{.name = "flag", .type = ValueType::boolean, .fallback = {}, .meaning = "", .range = {}, .choices = {}};
  CHECK(std::get<bool>(parse_value(flag, "true")));
  CHECK(has(refusal(flag, "yes"), "write true or false"));
}

TEST_CASE("the message about a value out of range says what was meant, and leaves out bounds beyond use") {
  Parameter share;
  share.name = "target";
  share.type = ValueType::fraction;
  share.range = Range::above_to(0, 1);
  CHECK(refusal(share, "75") == "75 is out of range; it must be above 0, at most 1; write 75% or 0.75 for 75 %");
  CHECK(refusal(share, "1.5") == "1.5 is out of range; it must be above 0, at most 1");
  CHECK(refusal(share, "175") == "175 is out of range; it must be above 0, at most 1");
  CHECK(refusal(share, "175%") == "175% is out of range; it must be above 0%, at most 100%");
  Parameter count;
  count.name = "count";
  count.type = ValueType::count;
  count.range = Range::between(1, 0x1p62);
  CHECK(refusal(count, "-2") == "-2 is out of range; it must be at least 1");
  CHECK(has(refusal(count, "9000000000000000000"), "it must be at least 1, at most 46116860"));
}

TEST_CASE("parse_value reads the output of format_value") {
  for (const Parameter& parameter : declared()) {
    const Value value = parse_value(parameter, parameter.fallback.value_or("1"));
    CHECK(parse_value(parameter, format_value(parameter.type, value)) == value);
  }
}

TEST_CASE("ranges read as sentences") {
  CHECK(Range::any().text().empty());
  CHECK(Range::at_least(1).text() == "at least 1");
  CHECK(Range::above(0).text() == "above 0");
  CHECK(Range::above_to(0, 1).text() == "above 0, at most 1");
  CHECK(Range::above_to(0, 1).contains(1));
  CHECK_FALSE(Range::above_to(0, 1).contains(0));
}

TEST_CASE("amounts are whole numbers, alone or of thousands, millions, billions and trillions") {
  Parameter amount;
  amount.name = "parameters";
  amount.type = ValueType::amount;
  amount.range = Range::between(1, 1e13);
  CHECK(std::get<double>(parse_value(amount, "350M")) == 350e6);
  CHECK(std::get<double>(parse_value(amount, "124439808")) == 124439808);
  CHECK(std::get<double>(parse_value(amount, "13.214154752G")) == 13214154752.0);
  CHECK(std::get<double>(parse_value(amount, "1.5 k")) == 1500);
  CHECK(std::get<double>(parse_value(amount, "2e3")) == 2000);
  for (const auto& [value, text] :
       std::vector<std::pair<double, const char*>>{{350e6, "350M"}, {7e12, "7T"}, {1500, "1500"}, {25557032, "25557032"}, {1, "1"}}) {
    CHECK(format_value(ValueType::amount, value) == text);
    CHECK(std::get<double>(parse_value(amount, text)) == value);
  }
  CHECK(refusal(amount, "1.5") == "'1.5' is not a whole number; write an amount such as 350M");
  CHECK(refusal(amount, "7B") == "'7B' has an unknown unit 'B'; did you mean 'G'? units of an amount: k, M, G, T");
  CHECK(refusal(amount, "-1k") == "'-1k' is negative; write an amount of 0 or more");
  CHECK(refusal(amount, "20T") == "20T is out of range; it must be at least 1, at most 10T");
  CHECK(refusal(amount, "many") == "'many' is not a number; write an amount such as 10, 10k, 10M, 10G or 10T");
  CHECK(complete({amount}, {{"parameters", 2}}).number("parameters") == 2.0);
}

TEST_CASE("rows are CSV with a line of names, or a path") {
  Parameter rows;
  rows.name = "layers";
  rows.type = ValueType::rows;
  CHECK(is_csv_text("name,parameters\na,5\n"));
  CHECK(!is_csv_text("folder/layers.csv"));
  CHECK(std::get<std::string>(parse_value(rows, "folder/layers.csv")) == "folder/layers.csv");
  CHECK(refusal(rows, "") == "is not a path; write the path of a file or folder");
  CHECK_THROWS_AS(complete({rows}, {{"layers", 5}}), std::invalid_argument);
}

TEST_CASE("compute rates are read and written in GFLOPS and TFLOPS") {
  Parameter peak;
  peak.name = "peak";
  peak.type = ValueType::flops;
  peak.range = Range::above(0);
  CHECK(std::get<double>(parse_value(peak, "14TFLOPS")) == 14e12);
  CHECK(std::get<double>(parse_value(peak, "0.5 GFLOPS")) == 0.5e9);
  CHECK(format_value(ValueType::flops, 14e12) == "14TFLOPS");
  for (const double value : {1.0, 15.7e12, 1.0 / 3 * 1e13, 989.4e12})
    CHECK(std::get<double>(parse_value(peak, format_value(ValueType::flops, value))) == value);
  CHECK(refusal(peak, "14") == "14 has no unit; write 14GFLOPS or 14TFLOPS");
  CHECK(refusal(peak, "14GB/s") == "'14GB/s' has an unknown unit 'GB/s'; units of a compute rate: GFLOPS, TFLOPS");
  CHECK(refusal(peak, "0TFLOPS") == "0TFLOPS is out of range; it must be above 0GFLOPS");
  CHECK(complete({peak}, {{"peak", 2}}).number("peak") == 2.0);
}

// "50 µs", as every data sheet writes it: the micro sign U+00B5, and the Greek letter U+03BC, which looks the same.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <regex>

#include "scenarios/schema/scenario_keys.hpp"
#include "scenarios/sweep/range.hpp"
#include "sim/base/quantity.hpp"

namespace micro_sign_test {

using namespace straggler;

namespace {
const char* const signs[] = {"\xC2\xB5s", "\xCE\xBCs"};
}

TEST_CASE("both micro signs are read wherever a time is") {
  for (const std::string sign : signs) {
    CAPTURE(sign);
    CHECK(parse_quantity("50" + sign, Dimension::time) == 50e-6);
    CHECK(parse_quantity("50 " + sign, Dimension::time) == 50e-6);
    CHECK(has_unit_of("1e3 " + sign, Dimension::time));
    CHECK_FALSE(has_unit_of("1 " + sign, Dimension::bytes));
    CHECK_THROWS_AS(parse_quantity("-1" + sign, Dimension::time), std::invalid_argument);
    CHECK(parse_range_end("50 " + sign)->value == 50e-6);
  }
}

TEST_CASE("the patterns of the JSON schema take both micro signs") {
  const auto schema = json_schema("", {{.name = "latency", .type = ValueType::time}});
  const std::string pattern = schema.at("properties").at("latency").at("pattern");
  for (const std::string sign : signs) {
    CHECK(std::regex_match("50 " + sign, std::regex(pattern)));
    CHECK_FALSE(std::regex_match("50 m" + sign, std::regex(pattern)));
  }
}

}  // namespace micro_sign_test

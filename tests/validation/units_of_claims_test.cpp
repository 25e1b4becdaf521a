// Units in claims: both micro signs, and no number in the place of a unit.
#include <doctest/doctest.h>

#include <stdexcept>
#include <string>

#include "validation/compare/amount.hpp"

namespace units_of_claims_test {

using namespace straggler;

TEST_CASE("claims read both micro signs, and refuse what only with a number in front would be a unit") {
  for (const std::string sign : {"\xC2\xB5s", "\xCE\xBCs"}) {
    CHECK(parse_amount("50 " + sign).dimension == Dimension::time);
    CHECK(unit_factor(sign) == 1e-6);
  }
  CHECK_THROWS_AS(unit_factor("e3s"), std::invalid_argument);  // 1e3s would be a number with a unit
}

}  // namespace units_of_claims_test

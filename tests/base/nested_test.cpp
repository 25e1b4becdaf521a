// Values that nest: their text on one line, and as parameters.
#include <doctest/doctest.h>

#include <stdexcept>

#include "sim/base/key.hpp"
#include "sim/base/parameters.hpp"

namespace straggler {
namespace {

Nested map_of(const char* key, Nested item) {
  Nested map;
  map.add(key, std::move(item));
  return map;
}

}  // namespace

TEST_CASE("a nested value is one line of YAML; words that could mean something else are in quotes") {
  const Nested conv = map_of("conv", Nested::of_word("8"));
  CHECK(flow_text(Nested::of_list({conv, Nested::of_word("relu")})) == "[{conv: 8}, relu]");
  CHECK(flow_text(map_of("from", Nested::of_list({}))) == "{from: []}");
  CHECK(flow_text(map_of("relu", Nested())) == "{relu: ~}");
  CHECK(flow_text(Nested::of_word("-1")) == "-1");
  for (const char* const odd : {"", "-", "- a", "a: b", "a, b", "#", "~x]", "two words"}) {
    CAPTURE(odd);
    CHECK(flow_text(Nested::of_word(odd)).front() == '"');
  }
  Nested quoted = Nested::of_word("8");
  quoted.quoted = true;
  CHECK(flow_text(quoted) == "\"8\"");
  CHECK_FALSE(quoted == Nested::of_word("8"));
}

TEST_CASE("a nested parameter is checked, written and hashed as others are") {
  const Parameter declared{.name = "layers", .type = ValueType::nested, .required = true, .meaning = "layers"};
  const Nested one = Nested::of_list({Nested::of_word("relu")}), other = Nested::of_list({Nested::of_word("tanh")});
  CHECK(complete({declared}, {{"layers", one}}).nested("layers") == one);
  CHECK_THROWS_AS(complete({declared}, {{"layers", std::string("relu")}}), std::invalid_argument);
  CHECK_THROWS_AS(complete({declared}, {}), std::invalid_argument);
  CHECK(format_value(ValueType::nested, one) == "[relu]");
  const auto key = [](const Nested& value) {
    Hasher hasher;
    return add(hasher, Value(value)).key();
  };
  CHECK(key(one) == key(Nested::of_list({Nested::of_word("relu")})));
  CHECK(key(one) != key(other));
}

}  // namespace straggler

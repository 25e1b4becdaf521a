// Values that nest: their text on one line, and as parameters.
#include <doctest/doctest.h>

#include <stdexcept>

#include "sim/base/flow_reader.hpp"
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

TEST_CASE("a value that was written on one line is read back as the same value") {
  Nested all = Nested::of_list({Nested(), Nested::of_list({}), Nested{Nested::Form::map, {}, false, {}, {}}});
  for (const char* const word : {"relu", "-1", "", "- a", "a: b", "[x, y]", "\"", "\\", "a\nb\tc\x01", "two words", "{", "#"}) {
    Nested quoted = Nested::of_word(word);
    quoted.quoted = flow_text(quoted).front() == '"';
    all.items.push_back(quoted);
    all.items.push_back(map_of(word, Nested::of_list({quoted, map_of("name", quoted)})));
  }
  CHECK(read_flow(flow_text(all)) == all);
  CHECK(read_flow(" [ a ,{b : c} ] ") == read_flow("[a, {b: c}]"));
}

TEST_CASE("a list may have a line for each item, between comments") {
  const Nested lines = read_flow("# A network\n- {linear: 8}\n\n- relu\n  # of two layers\n");
  CHECK(lines == Nested::of_list({map_of("linear", Nested::of_word("8")), Nested::of_word("relu")}));
}

TEST_CASE("text that is no value is refused at its line") {
  const auto refused = [](const char* text) {
    try {
      read_flow(text);
    } catch (const std::invalid_argument& wrong) {
      return std::string(wrong.what());
    }
    return std::string();
  };
  CHECK(refused("[a, b") == "line 1: has an open bracket; close it by ]");
  CHECK(refused("- a\n- {b: c") == "line 2: has an open bracket; close it by }");
  CHECK(refused("- a\nb") == "line 2: is no item of the list; begin it with '- '");
  CHECK(refused("{a}") == "line 1: has the key 'a' without a value; write a colon and a value");
  CHECK(refused("[a] b") == "line 1: has text behind its value; remove it");
  CHECK(refused("\"a") == "line 1: has a quote that is not closed; close it");
  CHECK(refused("[a, ]") == "line 1: has a place without a value; write one");
  CHECK(refused(std::string(101, '[').c_str()) == "line 1: nests more than 100 deep; write fewer levels");
}

TEST_CASE("a nested parameter is checked, written and hashed as others are") {
  const Parameter declared{.name = "layers", .type = ValueType::nested, .required = true, .meaning = "layers"};
  const Nested one = Nested::of_list({Nested::of_word("relu")}), other = Nested::of_list({Nested::of_word("tanh")});
  CHECK(complete({declared}, {{"layers", one}}).nested("layers") == one);
  CHECK_THROWS_AS(complete({declared}, {{"layers", std::string("relu")}}), std::invalid_argument);
  CHECK_THROWS_AS(complete({declared}, {}), std::invalid_argument);
  CHECK(format_value(ValueType::nested, one) == "[relu]");
  CHECK(parse_value(declared, "[relu]") == Value(one));
  const auto key = [](const Nested& value) {
    Hasher hasher;
    return add(hasher, Value(value)).key();
  };
  CHECK(key(one) == key(Nested::of_list({Nested::of_word("relu")})));
  CHECK(key(one) != key(other));
}

}  // namespace straggler

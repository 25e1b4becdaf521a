#include "sim/base/choice_table.hpp"

#include <doctest/doctest.h>

#include <stdexcept>

using namespace straggler;

namespace {

enum class Fruit { apple, pear, quince };
constexpr ChoiceTable<Fruit> fruit("fruit", {{Fruit::apple, "apple"}, {Fruit::pear, "pear"}, {Fruit::quince, "quince"}});

Parameters chosen(const Parameter& declared, const std::string& text) { return complete({declared}, {{"fruit", text}}); }

}  // namespace

TEST_CASE("a table of choices declares a parameter and reads it") {
  const Parameter declared = fruit.parameter(Fruit::pear, "what grows");
  CHECK(declared.name == "fruit");
  CHECK(declared.type == ValueType::choice);
  CHECK(declared.fallback == "pear");
  CHECK(declared.meaning == "what grows");
  CHECK(declared.choices == std::vector<std::string>{"apple", "pear", "quince"});
  CHECK(fruit.of(complete({declared}, {})) == Fruit::pear);
  CHECK(fruit.of(chosen(declared, "apple")) == Fruit::apple);
  CHECK(fruit.of(chosen(declared, "quince")) == Fruit::quince);
}

TEST_CASE("a text that is not in the table is refused as unknown") {
  CHECK_THROWS_WITH_AS(chosen(fruit.parameter(Fruit::pear, ""), "peer"),
                       "fruit: unknown choice 'peer'; did you mean 'pear'? known: apple, pear, quince", std::invalid_argument);
  CHECK_THROWS_AS(fruit.of(Parameters{{"fruit", std::string("peer")}}), std::logic_error);
  CHECK_THROWS_AS(fruit.of(Parameters{}), std::logic_error);
}

TEST_CASE("a kind that knows only some choices refuses the others") {
  const Parameter declared = fruit.only({Fruit::quince, Fruit::apple}).parameter(Fruit::quince, "");
  CHECK(declared.choices == std::vector<std::string>{"quince", "apple"});
  CHECK(fruit.of(complete({declared}, {})) == Fruit::quince);
  CHECK_THROWS_WITH_AS(chosen(declared, "pear"), "fruit: unknown choice 'pear'; known: quince, apple", std::invalid_argument);
  CHECK_THROWS_AS(fruit.only({Fruit::apple}).parameter(Fruit::pear, ""), std::logic_error);
}

// The choices of a parameter as an enumeration: one table of enumerators and their names in scenarios declares and reads it.
#pragma once
#include <array>
#include <initializer_list>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "sim/base/parameters.hpp"

namespace straggler {

/// A parameter of type choice: its name, and each choice with its name, in the order in which they are shown. An example:
///   constexpr ChoiceTable<Damping> staleness("staleness", {{Damping::none, "none"}, {Damping::inverse, "inverse"}});
///   .parameters = {staleness.parameter(Damping::none, "how a stale gradient is damped")}
///   staleness.of(parameters) == Damping::inverse
template <class Enumerator>
class ChoiceTable {
  static_assert(std::is_enum_v<Enumerator>);

 public:
  struct Row {
    Enumerator value{};
    std::string_view name = {};
  };
  static constexpr std::size_t most = 8;  // rows

  constexpr ChoiceTable(std::string_view parameter, std::initializer_list<Row> rows) : parameter_(parameter), count_(rows.size()) {
    if (rows.size() == 0 || rows.size() > most) throw std::logic_error("a table of choices has 1 to 8 rows");
    std::size_t i = 0;
    for (const Row& row : rows) rows_[i++] = row;
  }
  /// Those of `values`, in that order: for a kind that knows only some.
  constexpr ChoiceTable only(std::initializer_list<Enumerator> values) const {
    ChoiceTable some(*this);
    some.count_ = 0;
    for (const Enumerator value : values) some.rows_[some.count_++] = {value, name_of(value)};
    return some;
  }
  /// Throws std::logic_error if it is not in the table: a programming error, and an error of the compiler in a constant.
  constexpr std::string_view name_of(Enumerator value) const {
    for (std::size_t i = 0; i < count_; ++i)
      if (rows_[i].value == value) return rows_[i].name;
    throw std::logic_error("this choice has no name in its table");
  }
  constexpr std::string_view parameter_name() const { return parameter_; }
  std::vector<std::string> names() const {
    std::vector<std::string> all;
    for (std::size_t i = 0; i < count_; ++i) all.emplace_back(rows_[i].name);
    return all;
  }
  /// None: no choice has that name.
  constexpr std::optional<Enumerator> find(std::string_view name) const {
    for (std::size_t i = 0; i < count_; ++i)
      if (rows_[i].name == name) return rows_[i].value;
    return std::nullopt;
  }
  /// The declaration.
  Parameter parameter(Enumerator fallback, std::string meaning) const {
    return {.name = std::string(parameter_),
            .type = ValueType::choice,
            .fallback = std::string(name_of(fallback)),
            .meaning = std::move(meaning),
            .choices = names()};
  }
  /// What was chosen. Throws std::logic_error if the parameter is absent or has a text that is not in the table, which complete() and
  /// parse_value() refuse.
  Enumerator of(const Parameters& parameters) const {
    const std::string& text = parameters.text(parameter_);
    if (const auto found = find(text)) return *found;
    throw std::logic_error(std::string(parameter_) + ": '" + text + "' is not in its table");
  }

 private:
  std::string_view parameter_;
  std::array<Row, most> rows_{};
  std::size_t count_;
};

}  // namespace straggler

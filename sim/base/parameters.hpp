// The parameters of a registered kind (a scheme, a jitter, a model, …), and their values in a scenario.
#pragma once
#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "sim/base/nested.hpp"
#include "sim/base/units.hpp"

namespace straggler {

class Hasher;

std::string_view name_of(ValueType type);

/// Bounds of a numeric parameter, in SI.
struct Range {
  double low = -std::numeric_limits<double>::infinity(), high = std::numeric_limits<double>::infinity();
  bool low_open = false, high_open = false;  // true: the bound itself is refused
  bool contains(double x) const;
  std::string text() const;  // "at least 1", "above 0", "above 0, at most 1"; empty if unbounded
  static Range any() { return {}; }
  static Range at_least(double low) { return {low, std::numeric_limits<double>::infinity(), false, false}; }
  static Range above(double low) { return {low, std::numeric_limits<double>::infinity(), true, false}; }
  static Range between(double low, double high) { return {low, high, false, false}; }
  static Range above_to(double low, double high) { return {low, high, true, false}; }
};

struct Parameter {
  std::string name;  // "outer.momentum" stands in a map of its own: outer: {momentum: 0.9}
  ValueType type = ValueType::number;
  std::optional<std::string> fallback = {};  // as a scenario would write it ("50us", "true", "[200, 200]"); none: no default
  bool required = false;                     // required ones have no fallback; others without one may be absent
  std::string meaning = {};
  Range range = {};
  std::vector<std::string> choices = {};  // of a choice; of a count: a word that a scenario may write for its absence
  std::vector<Parameter> columns = {};    // ValueType::rows only: what a row may have
};

/// What a kind declares. Copies share it: registries, their words and scenarios' kinds hold many.
class DeclaredParameters {
 public:
  DeclaredParameters() = default;
  DeclaredParameters(std::initializer_list<Parameter> list) : DeclaredParameters(std::vector<Parameter>(list)) {}
  DeclaredParameters(std::vector<Parameter> list) {  // NOLINT: a list is one
    if (!list.empty()) list_ = std::make_shared<const std::vector<Parameter>>(std::move(list));
  }
  operator const std::vector<Parameter>&() const { return all(); }  // NOLINT
  const std::vector<Parameter>& all() const { return list_ ? *list_ : none(); }
  auto begin() const { return all().begin(); }
  auto end() const { return all().end(); }
  std::size_t size() const { return all().size(); }
  bool empty() const { return list_ == nullptr; }
  const Parameter& operator[](std::size_t i) const { return all()[i]; }
  const Parameter& front() const { return all().front(); }
  const Parameter& back() const { return all().back(); }

 private:
  static const std::vector<Parameter>& none();
  std::shared_ptr<const std::vector<Parameter>> list_;
};

using Value = std::variant<std::int64_t, double, bool, std::string, std::vector<std::int64_t>, Nested>;
Hasher& add(Hasher& hasher, const Value& value);  // the value alone, not its type

/// Validated values by name. Getters throw std::logic_error on a name or type that was not declared: a programming error.
class Parameters {
 public:
  Parameters() = default;
  Parameters(std::initializer_list<std::pair<const std::string, Value>> values) : values_(values) {}
  void set(const std::string& name, Value value) { values_[name] = std::move(value); }
  bool has(std::string_view name) const { return values_.find(std::string(name)) != values_.end(); }
  std::int64_t count(std::string_view name) const;       // ValueType::count
  double number(std::string_view name) const;            // number, fraction, or with a unit (and count)
  bool flag(std::string_view name) const;                // boolean
  const std::string& text(std::string_view name) const;  // choice, path, text; rows: CSV with a line of names, or a path (is_csv_text)
  const std::vector<std::int64_t>& counts(std::string_view name) const;
  const Nested& nested(std::string_view name) const;
  const std::map<std::string, Value>& all() const { return values_; }
  bool operator==(const Parameters&) const = default;

 private:
  const Value& find(std::string_view name) const;
  std::map<std::string, Value> values_;
};

/// `given`, with the fallback of every declared parameter that is absent. Throws std::invalid_argument ("name: what is
/// wrong; what would be right") on an undeclared name, a missing required one, a wrong type, or a value out of range.
Parameters complete(const std::vector<Parameter>& declared, Parameters given);

/// A scalar as a scenario writes it, turned into a value of that parameter, range checked. Throws std::invalid_argument
/// with "what is wrong; what would be right", without the place.
Value parse_value(const Parameter& parameter, std::string_view text);

/// Whether a value of ValueType::rows holds the rows; else it is the path of their file.
bool is_csv_text(std::string_view rows);

/// (name, text) as a map in YAML's flow style, without its braces: "steps: 3, outer: {momentum: 0.9}". Names of one map stand together.
std::string flow_text(const std::vector<std::pair<std::string, std::string>>& texts);

/// The shortest text that parse_value turns into exactly this value. `value` is of that type.
std::string format_value(ValueType type, const Value& value);

}  // namespace straggler

#include "sim/base/parameters.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "sim/base/flow_reader.hpp"
#include "sim/base/key.hpp"
#include "sim/base/quantity.hpp"
#include "sim/base/suggest.hpp"
#include "sim/base/text_lines.hpp"
#include "sim/base/units.hpp"

namespace straggler {

namespace {

/// `percent`: of a share.
std::string bound_text(double bound, ValueType type, bool percent = false) {
  if (const DimensionRow* const row = row_of(type); row && bound >= 0) return format_quantity(bound, row->dimension);
  if (!percent) return format_number(bound);
  return format_number(std::round(bound * 1e14) / 1e12) + "%";  // without the last digits, which are rounding's
}

std::string range_text(const Range& range, ValueType type, bool percent = false) {
  std::string out;
  if (std::isfinite(range.low)) out = (range.low_open ? "above " : "at least ") + bound_text(range.low, type, percent);
  if (std::isfinite(range.high))
    out += (out.empty() ? "" : ", ") + std::string(range.high_open ? "below " : "at most ") + bound_text(range.high, type, percent);
  return out;
}

void check_range(const Parameter& parameter, double value, std::string_view written) {
  if (parameter.range.contains(value)) return;
  const bool share = parameter.type == ValueType::fraction, percent = share && written.ends_with('%');
  Range shown = parameter.range;
  constexpr double beyond_use = 1e15;
  if (value < shown.low && shown.high >= beyond_use) shown.high = std::numeric_limits<double>::infinity();
  std::string message = std::string(written) + " is out of range; it must be " + range_text(shown, parameter.type, percent);
  if (share && !percent && value >= 2 && parameter.range.contains(value / 100))
    message += "; write " + format_number(value) + "% or " + format_number(value / 100) + " for " + format_number(value) + " %";
  throw std::invalid_argument(message);
}

std::vector<std::int64_t> parse_counts(const Parameter& parameter, std::string_view raw) {
  const std::string_view text = trimmed(raw);
  if (text.size() < 2 || text.front() != '[' || text.back() != ']')
    throw std::invalid_argument(in_quotes(text) + " is not a list; write a list of whole numbers such as [200, 200]");
  std::vector<std::int64_t> values;
  std::string_view rest = trimmed(text.substr(1, text.size() - 2));
  while (!rest.empty()) {
    const std::size_t comma = rest.find(',');
    const std::string_view item = trimmed(rest.substr(0, comma));
    values.push_back(parse_count(item));
    check_range(parameter, static_cast<double>(values.back()), item);
    if (comma == std::string_view::npos) break;
    rest = trimmed(rest.substr(comma + 1));
  }
  return values;
}

double parse_measure(ValueType type, std::string_view text) {
  if (type == ValueType::number) return parse_number(text);
  if (type == ValueType::fraction) return parse_fraction(text);
  const DimensionRow* const row = row_of(type);
  if (row == nullptr) throw std::logic_error("parse_measure: not a measure");
  const double value = parse_quantity(text, row->dimension);
  if (row->whole && (value != std::floor(value) || value > row->most))
    throw std::invalid_argument(in_quotes(text) + " is not " + row->whole + "; write " + row->noun + " such as " + row->example);
  return value;
}

bool is_measure(ValueType type) { return type == ValueType::number || type == ValueType::fraction || row_of(type) != nullptr; }

/// A value given by the program, checked as parse_value checks text; whole numbers are accepted as numbers.
Value checked(const Parameter& parameter, Value value) {
  if (is_measure(parameter.type)) {
    if (const auto* whole = std::get_if<std::int64_t>(&value)) value = static_cast<double>(*whole);
    const double* number = std::get_if<double>(&value);
    if (number == nullptr || !std::isfinite(*number))
      throw std::invalid_argument("wrong type; it must be " + std::string(name_of(parameter.type)));
    check_range(parameter, *number, bound_text(*number, parameter.type));
    return value;
  }
  bool fits = false;
  switch (parameter.type) {
    case ValueType::count:
      fits = std::holds_alternative<std::int64_t>(value);
      if (fits) check_range(parameter, static_cast<double>(std::get<std::int64_t>(value)), std::to_string(std::get<std::int64_t>(value)));
      break;
    case ValueType::boolean:
      fits = std::holds_alternative<bool>(value);
      break;
    case ValueType::counts:
      fits = std::holds_alternative<std::vector<std::int64_t>>(value);
      if (fits)
        for (const std::int64_t item : std::get<std::vector<std::int64_t>>(value))
          check_range(parameter, static_cast<double>(item), std::to_string(item));
      break;
    case ValueType::nested:
      fits = std::holds_alternative<Nested>(value);
      break;
    default:
      fits = std::holds_alternative<std::string>(value);
  }
  if (!fits) throw std::invalid_argument("wrong type; it must be " + std::string(name_of(parameter.type)));
  if (parameter.type == ValueType::choice || parameter.type == ValueType::path) return parse_value(parameter, std::get<std::string>(value));
  return value;
}

template <class T>
const T& get_as(const Value& value, std::string_view name) {
  if (const T* found = std::get_if<T>(&value)) return *found;
  throw std::logic_error("parameter read as another type than declared: " + std::string(name));
}

}  // namespace

std::string_view name_of(ValueType type) {
  if (const DimensionRow* const row = row_of(type)) return row->noun;
  switch (type) {
    case ValueType::count:
      return "a whole number";
    case ValueType::number:
      return "a number";
    case ValueType::fraction:
      return "a share";
    case ValueType::boolean:
      return "true or false";
    case ValueType::choice:
      return "a word";
    case ValueType::counts:
      return "a list of whole numbers";
    case ValueType::path:
      return "a path";
    case ValueType::text:
      return "a text";
    case ValueType::nested:
      return "a list";
    case ValueType::rows:
      return "a list of maps or the path of a CSV file";
    default:
      break;
  }
  throw std::logic_error("no such type of value");
}

bool Range::contains(double x) const { return (low_open ? x > low : x >= low) && (high_open ? x < high : x <= high); }

std::string Range::text() const { return range_text(*this, ValueType::number); }

const Value& Parameters::find(std::string_view name) const {
  const auto at = values_.find(std::string(name));
  if (at == values_.end()) throw std::logic_error("parameter read but never set: " + std::string(name));
  return at->second;
}

std::int64_t Parameters::count(std::string_view name) const { return get_as<std::int64_t>(find(name), name); }
double Parameters::number(std::string_view name) const {
  const Value& value = find(name);
  if (const auto* whole = std::get_if<std::int64_t>(&value)) return static_cast<double>(*whole);
  return get_as<double>(value, name);
}
bool Parameters::flag(std::string_view name) const { return get_as<bool>(find(name), name); }
const std::string& Parameters::text(std::string_view name) const { return get_as<std::string>(find(name), name); }
const std::vector<std::int64_t>& Parameters::counts(std::string_view name) const {
  return get_as<std::vector<std::int64_t>>(find(name), name);
}
const Nested& Parameters::nested(std::string_view name) const { return get_as<Nested>(find(name), name); }

bool is_csv_text(std::string_view rows) { return rows.find('\n') != std::string_view::npos; }

std::string flow_text(const std::vector<std::pair<std::string, std::string>>& texts) {
  std::string out, open;  // the map that is open, with its dot
  for (const auto& [name, text] : texts) {
    const std::size_t dot = name.find('.');
    const std::string map = dot == std::string::npos ? "" : name.substr(0, dot + 1);
    if (!open.empty() && map != open) out += "}";
    if (!out.empty()) out += ", ";
    if (!map.empty() && map != open) out += map.substr(0, dot) + ": {";
    out += name.substr(map.size()) + ": " + text;
    open = map;
  }
  return open.empty() ? out : out + "}";
}

const std::vector<Parameter>& DeclaredParameters::none() {
  static const std::vector<Parameter> none;
  return none;
}

Parameters complete(const std::vector<Parameter>& declared, Parameters given) {
  std::vector<std::string> known;
  for (const Parameter& parameter : declared) known.push_back(parameter.name);
  for (const auto& [name, value] : given.all()) {
    if (std::find(known.begin(), known.end(), name) == known.end())
      throw std::invalid_argument(name + ": " + unknown_name("parameter", name, known));
  }
  for (const Parameter& parameter : declared) {
    try {
      if (given.has(parameter.name)) {
        given.set(parameter.name, checked(parameter, given.all().at(parameter.name)));
      } else if (parameter.fallback) {
        given.set(parameter.name, parse_value(parameter, *parameter.fallback));
      } else if (parameter.required) {
        throw std::invalid_argument("is missing; it has no default, so write it (" + parameter.meaning + ")");
      }
    } catch (const std::invalid_argument& error) {
      throw std::invalid_argument(parameter.name + ": " + error.what());
    }
  }
  return given;
}

Hasher& add(Hasher& hasher, const Value& value) {
  if (const auto* count = std::get_if<std::int64_t>(&value)) hasher.add(static_cast<std::uint64_t>(*count));
  if (const auto* number = std::get_if<double>(&value)) hasher.add(*number);
  if (const auto* flag = std::get_if<bool>(&value)) hasher.add(std::uint64_t{*flag});
  if (const auto* text = std::get_if<std::string>(&value)) hasher.add(std::string_view(*text));
  if (const auto* counts = std::get_if<std::vector<std::int64_t>>(&value))
    for (const std::int64_t each : *counts) hasher.add(static_cast<std::uint64_t>(each));
  if (const auto* nested = std::get_if<Nested>(&value)) hasher.add(std::string_view(flow_text(*nested)));
  return hasher;
}

Value parse_value(const Parameter& parameter, std::string_view text) {
  if (is_measure(parameter.type)) {
    const double value = parse_measure(parameter.type, text);
    check_range(parameter, value, trimmed(text));
    return value;
  }
  switch (parameter.type) {
    case ValueType::count: {
      const std::int64_t value = parse_count(text);
      check_range(parameter, static_cast<double>(value), trimmed(text));
      return value;
    }
    case ValueType::boolean:
      return parse_boolean(text);
    case ValueType::counts:
      return parse_counts(parameter, text);
    case ValueType::choice:
      if (std::find(parameter.choices.begin(), parameter.choices.end(), text) == parameter.choices.end())
        throw std::invalid_argument(unknown_name("choice", text, parameter.choices));
      return std::string(text);
    case ValueType::rows:
      if (is_csv_text(text)) return std::string(text);
      [[fallthrough]];
    case ValueType::path:
      if (text.empty() || text.find('\0') != std::string_view::npos)
        throw std::invalid_argument("is not a path; write the path of a file or folder");
      return std::string(text);
    case ValueType::nested:
      return read_flow(text);
    default:
      return std::string(text);
  }
}

std::string format_value(ValueType type, const Value& value) {
  if (const DimensionRow* const row = row_of(type)) return format_quantity(std::get<double>(value), row->dimension);
  switch (type) {
    case ValueType::count:
      return std::to_string(std::get<std::int64_t>(value));
    case ValueType::number:
    case ValueType::fraction:
      return format_number(std::get<double>(value));
    case ValueType::boolean:
      return std::get<bool>(value) ? "true" : "false";
    case ValueType::counts: {
      std::string out;
      for (const std::int64_t item : std::get<std::vector<std::int64_t>>(value)) out += (out.empty() ? "" : ", ") + std::to_string(item);
      return "[" + out + "]";
    }
    case ValueType::nested:
      return flow_text(std::get<Nested>(value));
    default:
      return std::get<std::string>(value);
  }
}

}  // namespace straggler

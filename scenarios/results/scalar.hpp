// One scalar of a run. It stays typed from the recorder to every table and page; text is made where a file is written.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "sim/engine/time.hpp"

namespace straggler {

/// None (does not apply, or is not finite), a whole number, a real number, a time, or text.
class Scalar {
 public:
  enum class Kind : std::uint8_t { none, count, real, time, text };

  Scalar() = default;
  explicit Scalar(std::uint64_t count) : value_(count) {}
  /// None where `real` is not finite.
  explicit Scalar(double real);
  explicit Scalar(Time time) : value_(time) {}
  explicit Scalar(std::string text) : value_(std::move(text)) {}
  template <class Value>
  explicit Scalar(const std::optional<Value>& value) : Scalar(value ? Scalar(*value) : Scalar()) {}

  Kind kind() const { return static_cast<Kind>(value_.index()); }
  bool is_none() const { return kind() == Kind::none; }
  bool is_number() const { return !is_none() && kind() != Kind::text; }
  /// A number as the nearest double, a time in seconds; none for text.
  std::optional<double> number() const;
  /// Exact; none for all but whole numbers.
  std::optional<std::uint64_t> count() const;
  /// nullptr for all but text.
  const std::string* text() const { return std::get_if<std::string>(&value_); }
  bool operator==(const Scalar&) const = default;

  /// As files have it: a number exactly, seconds of a time exactly, a text as it is, nothing for none. Together with the kind it reads
  /// back as the same scalar.
  std::string written() const;
  /// As written, in JSON: a text in quotes, null for none.
  std::string json() const;
  /// The inverse of `written` and `kind`. Throws std::invalid_argument.
  static Scalar read(Kind kind, std::string_view written);

 private:
  std::variant<std::monostate, std::uint64_t, double, Time, std::string> value_;  // in the order of Kind
};

/// "none", "count", "real", "time", "text".
const char* name_of(Scalar::Kind kind);
/// Nothing for another name.
std::optional<Scalar::Kind> scalar_kind(std::string_view name);

/// The double nearest to the time in seconds: the value of its exact text. (Time::seconds() rounds twice beyond 9007 s.)
double nearest_seconds(Time time);

}  // namespace straggler

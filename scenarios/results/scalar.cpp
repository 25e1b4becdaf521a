#include "scenarios/results/scalar.hpp"

#include <charconv>
#include <cmath>
#include <stdexcept>

#include "scenarios/results/text.hpp"
#include "sim/base/suggest.hpp"
#include "sim/record/record.hpp"

namespace straggler {
namespace {

constexpr const char* kind_names[] = {"none", "count", "real", "time", "text"};

[[noreturn]] void refuse_scalar(Scalar::Kind kind, std::string_view written) {
  throw std::invalid_argument(in_quotes(written) + " is not a scalar of kind " + name_of(kind));
}

template <class Number>
Number read_whole(Scalar::Kind kind, std::string_view written) {
  Number value{};
  const auto [end, error] = std::from_chars(written.data(), written.data() + written.size(), value);
  if (error != std::errc() || end != written.data() + written.size()) refuse_scalar(kind, written);
  return value;
}

/// The inverse of seconds_text().
Time read_time(std::string_view written) {
  constexpr std::size_t decimals = 12;
  const std::size_t point = written.find('.');
  std::string digits(written.substr(0, point));
  std::string_view fraction;
  if (point != std::string_view::npos) fraction = written.substr(point + 1);
  if (digits.empty() || digits == "-" || fraction.size() > decimals) refuse_scalar(Scalar::Kind::time, written);
  digits += fraction;
  digits.append(decimals - fraction.size(), '0');
  return Time::from_ticks(read_whole<std::int64_t>(Scalar::Kind::time, digits));
}

}  // namespace

Scalar::Scalar(double real) {
  if (std::isfinite(real)) value_ = real;
}

std::optional<double> Scalar::number() const {
  switch (kind()) {
    case Kind::count:
      return static_cast<double>(std::get<std::uint64_t>(value_));
    case Kind::real:
      return std::get<double>(value_);
    case Kind::time:
      return nearest_seconds(std::get<Time>(value_));
    case Kind::none:
    case Kind::text:
      break;
  }
  return std::nullopt;
}

std::optional<std::uint64_t> Scalar::count() const {
  const auto* const count = std::get_if<std::uint64_t>(&value_);
  return count ? std::optional(*count) : std::nullopt;
}

std::string Scalar::written() const {
  switch (kind()) {
    case Kind::none:
      break;
    case Kind::count:
      return std::to_string(std::get<std::uint64_t>(value_));
    case Kind::real:
      return number_text(std::get<double>(value_));
    case Kind::time:
      return seconds_text(std::get<Time>(value_));
    case Kind::text:
      return std::get<std::string>(value_);
  }
  return {};
}

std::string Scalar::json() const {
  if (is_none()) return "null";
  return text() ? json_text(*text()) : written();
}

Scalar Scalar::read(Kind kind, std::string_view written) {
  switch (kind) {
    case Kind::none:
      if (!written.empty()) refuse_scalar(kind, written);
      return {};
    case Kind::count:
      return Scalar(read_whole<std::uint64_t>(kind, written));
    case Kind::real:
      return Scalar(read_whole<double>(kind, written));
    case Kind::time:
      return Scalar(read_time(written));
    case Kind::text:
      return Scalar(std::string(written));
  }
  throw std::invalid_argument("no such kind of scalar");
}

const char* name_of(Scalar::Kind kind) { return kind_names[static_cast<std::size_t>(kind)]; }

std::optional<Scalar::Kind> scalar_kind(std::string_view name) {
  for (std::size_t kind = 0; kind < std::size(kind_names); ++kind)
    if (name == kind_names[kind]) return static_cast<Scalar::Kind>(kind);
  return std::nullopt;
}

/// Ticks as the sum of two doubles, high + low, both exact. The first quotient is off by an ulp at most, and fma gives its exact remainder.
/// The error after adding the remainder's quotient is 2^-52 ulp, while no time is closer than 2^-29 ulp to the middle between two doubles:
/// its denominator divides 2^12 5^12, and that of the middle is at least 2^28.
double nearest_seconds(Time time) {
  constexpr double per_second = static_cast<double>(Time::ticks_per_second);
  const auto high = static_cast<double>(time.ticks());
  if (std::abs(high) <= 0x1p53) return high / per_second;
  const auto low = static_cast<double>(WideTicks{time.ticks()} - static_cast<WideTicks>(high));
  const double quotient = high / per_second;
  return quotient + (std::fma(-quotient, per_second, high) + low) / per_second;
}

}  // namespace straggler

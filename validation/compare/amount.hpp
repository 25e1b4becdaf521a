// Numbers of claims, with or without a unit.
#pragma once
#include <optional>
#include <string>
#include <string_view>

#include "sim/base/quantity.hpp"

namespace straggler {

/// A value in SI and its dimension; no dimension: a plain number or a share.
struct Amount {
  double value = 0;
  std::optional<Dimension> dimension;
};

/// "50us", "1Gbps", "25MiB", "0.5", "2%". Throws std::invalid_argument.
Amount parse_amount(std::string_view text);
/// In a scenario's syntax: the shortest text that reads back as exactly this value.
std::string format_amount(double value, std::optional<Dimension> dimension);
/// For people: three or four digits and a unit.
std::string readable_amount(double value, std::optional<Dimension> dimension);

/// One `unit` in SI: 1e-3 for "ms", 0.01 for "%", 1 for "". Throws std::invalid_argument.
double unit_factor(std::string_view unit);
/// The dimension of a known unit; none: "%", and "".
std::optional<Dimension> unit_dimension(std::string_view unit);
/// Of none: "a plain number".
const char* noun_of(std::optional<Dimension> dimension);

}  // namespace straggler

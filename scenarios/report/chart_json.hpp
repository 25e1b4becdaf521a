// JSON of charts.
#pragma once
#include <fmt/format.h>

#include <cmath>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string>

#include "sim/base/shown_text.hpp"

namespace straggler {

using ChartJson = nlohmann::ordered_json;

/// With seven digits; null: not finite.
inline ChartJson chart_number(double value) {
  if (!std::isfinite(value)) return nullptr;
  if (value == std::floor(value) && std::abs(value) < 1e15) return static_cast<std::int64_t>(value);
  return std::strtod(fmt::format("{:.7g}", value).c_str(), nullptr);
}

/// In one line. No tag begins or ends in it, even if names contain one.
inline std::string chart_text(const ChartJson& json) {
  const std::string plain = page_text(json.dump(-1, ' ', false, ChartJson::error_handler_t::replace));
  std::string safe;
  safe.reserve(plain.size());
  for (const char c : plain)
    if (c == '<')
      safe += "\\u003c";
    else
      safe += c;
  return safe;
}

}  // namespace straggler

#include "scenarios/results/json.hpp"

#include <cmath>
#include <cstdint>
#include <stdexcept>

#include "sim/base/quantity.hpp"

namespace straggler {

Json count_or_null(const std::optional<double>& count) {
  constexpr double most = 0x1p53;  // beyond it a double is no exact count
  if (count && *count == std::floor(*count) && std::abs(*count) <= most) return static_cast<std::int64_t>(*count);
  return json_or_null(count);
}

Json json_of(const Scalar& scalar) {
  if (scalar.text()) return *scalar.text();
  if (const auto count = scalar.count()) return *count;
  return json_or_null(scalar.number());
}

Json json_of(const std::vector<SummaryField>& fields) {
  Json json = Json::object();
  for (const SummaryField& field : fields) json[field.key] = json_of(field.value);
  return json;
}

Json json_of_yaml(const std::string& yaml) {
  try {
    return parse_unsigned(yaml);
  } catch (const std::invalid_argument&) {
  }
  try {
    return parse_number(yaml);
  } catch (const std::invalid_argument&) {
    return yaml;
  }
}

std::string json_document(const Json& json) { return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n"; }

}  // namespace straggler

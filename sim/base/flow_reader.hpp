// Values that nest, from text in YAML's flow style.
#pragma once
#include <string_view>

#include "sim/base/nested.hpp"

namespace straggler {

/// Reads what flow_text writes. Or a list with a line for each item, "- ITEM", between lines of comments. Throws std::invalid_argument
/// ("line 3: what is wrong; what would be right").
Nested read_flow(std::string_view text);

}  // namespace straggler

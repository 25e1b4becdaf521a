// Text escaped for YAML.
#pragma once
#include <string>
#include <string_view>

namespace straggler {

/// A YAML scalar in double quotes, on one line: `\`, `"` and control characters are escaped.
std::string yaml_quoted(std::string_view text);

}  // namespace straggler

// YAML as a tree of values with their places. The only use of yaml-cpp.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "scenarios/schema/errors.hpp"

namespace straggler {

/// Limits that no honest scenario meets, and no hostile one passes.
struct YamlLimits {
  static constexpr std::size_t bytes = std::size_t{1} << 20;
  static constexpr std::size_t nodes = 100'000;  // aliases expanded
  static constexpr std::size_t depth = 100;
};

/// `text` as one YAML document. Aliases are expanded. Problems of form (duplicate keys, tags, merge keys) are added to `problems`,
/// each at its place, and reading continues; after one that ends reading (syntax, limits, no document, several documents) nothing
/// is returned. Never throws on bad text.
std::optional<YamlNode> parse_yaml(std::string_view text, int source, Problems& problems);

}  // namespace straggler

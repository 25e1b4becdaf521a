// A YAML value on one line, as --set takes it.
#pragma once
#include <string>

#include "scenarios/schema/yaml_tree.hpp"
#include "sim/base/nested.hpp"

namespace straggler {

/// Without its places.
Nested nested(const YamlNode& node);

/// Reads back as the same value.
std::string flow_yaml(const YamlNode& node);

}  // namespace straggler

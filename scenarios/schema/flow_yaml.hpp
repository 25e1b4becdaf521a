// A YAML value on one line, as --set takes it.
#pragma once
#include <string>

#include "scenarios/schema/yaml_tree.hpp"

namespace straggler {

/// Reads back as the same value.
std::string flow_yaml(const YamlNode& node);

}  // namespace straggler

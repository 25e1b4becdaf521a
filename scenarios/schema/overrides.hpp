// --set PATH=VALUE: changes to a scenario's tree before it is read.
#pragma once
#include <string>

#include "scenarios/schema/yaml_tree.hpp"

namespace straggler {

/// Puts VALUE (YAML) at PATH ("cluster.workers[0].count") of `root`, making the maps on the way that are missing; a word on the
/// way becomes `{kind: word}`. `source`: this --set's number among the sources. Adds a problem on bad syntax and on an index beyond
/// its list.
void apply_override(YamlNode& root, const std::string& text, int source, Problems& problems);

}  // namespace straggler

// Lists of the command line whose items may be flow YAML: "ssgd,a={kind: asgd, staleness: inverse}".
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "scenarios/schema/yaml_tree.hpp"

namespace straggler {

/// At commas outside of brackets and quotes; blanks around items are left out.
std::vector<std::string> split_flow_list(const std::string& list);

/// "LABEL=VALUE", where '=' comes before any bracket or quote, or VALUE alone.
struct LabelledText {
  std::optional<std::string> label;
  std::string value;
};
LabelledText split_label(const std::string& item);

/// One YAML document. Throws std::invalid_argument.
YamlNode parse_flow(const std::string& text);

}  // namespace straggler

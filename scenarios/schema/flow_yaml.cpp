#include "scenarios/schema/flow_yaml.hpp"

#include "sim/base/yaml_text.hpp"

namespace straggler {

namespace {

/// Needs no quotes inside brackets: no character that means something there, no blank at an end.
bool plain(const std::string& text) {
  return !text.empty() && text.find_first_of(",[]{}:#&*!|>'\"%@`\\\n\t? ") == std::string::npos && text.front() != '-';
}

}  // namespace

std::string flow_yaml(const YamlNode& node) {
  switch (node.type) {
    case YamlNode::Type::null:
      return "~";
    case YamlNode::Type::scalar:
      return node.quoted || !(plain(node.text) || (node.text.size() > 1 && node.text.front() == '-' && plain(node.text.substr(1))))
                 ? yaml_quoted(node.text)
                 : node.text;
    default:
      break;
  }
  const bool map = node.type == YamlNode::Type::map;
  std::string out = map ? "{" : "[";
  for (std::size_t i = 0; i < node.items.size(); ++i) {
    if (i > 0) out += ", ";
    if (map) out += (plain(node.keys[i].name) ? node.keys[i].name : yaml_quoted(node.keys[i].name)) + ": ";
    out += flow_yaml(node.items[i]);
  }
  return out + (map ? "}" : "]");
}

}  // namespace straggler

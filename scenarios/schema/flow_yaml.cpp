#include "scenarios/schema/flow_yaml.hpp"

namespace straggler {

Nested nested(const YamlNode& node) {
  using Type = YamlNode::Type;
  using Form = Nested::Form;
  const Form form = node.type == Type::scalar     ? Form::word
                    : node.type == Type::sequence ? Form::list
                    : node.type == Type::map      ? Form::map
                                                  : Form::null;
  Nested value{form, node.text, node.quoted, {}, {}};
  if (form == Form::null) value.word.clear();
  for (const YamlNode::Key& key : node.keys) value.keys.push_back(key.name);
  for (const YamlNode& item : node.items) value.items.push_back(nested(item));
  return value;
}

std::string flow_yaml(const YamlNode& node) { return flow_text(nested(node)); }

}  // namespace straggler

// Patterns that select rows of a table: included and excluded values of columns, ranges, and lists of patterns.
#include <fmt/core.h>

#include <stdexcept>

#include "scenarios/schema/yaml_tree.hpp"
#include "sim/base/quantity.hpp"
#include "validation/compare/claim_parts.hpp"

namespace straggler {

namespace {

using Shape = ScenarioKey::Shape;

const char* const one_value = "write a value of that column, a list of values, or a condition such as {not: 1} or {from: 2, to: 8}";

Field<Condition> end_of_range(const char* name, const char* meaning, std::optional<double> Condition::*member) {
  return field(member, {.name = name, .type = ValueType::number, .meaning = meaning, .form = "number"});
}

/// A cell's condition as a map.
Part<Condition> condition_part() {
  return Part<Condition>({
      read_by<Condition>({.name = "not",
                          .meaning = "a value, or a list of values, that the cell must not be",
                          .form = "value or list",
                          .shape = Shape::one_of,
                          .keys = one_or_more_texts()},
                         [](Section& section, Condition& condition) {
                           condition.excluded = read_texts(section.context(), section.find("not"), section.path_of("not"),
                                                           "write a value of that column, or a list of values");
                         }),
      end_of_range("from", "the cell must be a number of at least this", &Condition::from),
      end_of_range("to", "at most this one", &Condition::to),
      end_of_range("above", "greater than this one", &Condition::above),
      end_of_range("below", "less than this one", &Condition::below),
  });
}

/// An empty range matches nothing, so it must be a mistake.
void check_range(Section& section, const Condition& condition) {
  if (condition.from && condition.above) section.problem("above", "cannot be combined with from; keep one");
  if (condition.to && condition.below) section.problem("below", "cannot be combined with to; keep one");
  const std::optional<double> low = condition.from ? condition.from : condition.above;
  const std::optional<double> high = condition.to ? condition.to : condition.below;
  const bool closed = condition.from && condition.to;
  if (low && high && !(closed ? *low <= *high : *low < *high))
    section.problem(condition.to ? "to" : "below", "leaves the range empty; write the lower end in from (or above), the upper one here");
}

Condition read_condition(ReadContext& context, const YamlNode& node, const std::string& column, const std::string& path) {
  Condition condition{.column = column};
  if (node.type != YamlNode::Type::map) {
    condition.values = read_texts(context, &node, path, one_value);
    return condition;
  }
  Section section(context, &node, path, node.place);
  condition_part().read(section, condition);
  section.finish();
  if (node.items.empty()) context.problems.add(node.place, path, std::string("is an empty map; ") + one_value);
  check_range(section, condition);
  return condition;
}

}  // namespace

RowPattern read_pattern(ReadContext& context, const YamlNode* node, const std::string& path) {
  RowPattern pattern;
  pattern.path = path;
  if (node == nullptr) return pattern;
  pattern.place = node->place;
  if (node->type != YamlNode::Type::map) {
    context.problems.add(node->place, path, "is " + what_stands(*node) + "; write a map from columns to values such as {nodes: [1, 8]}");
    return pattern;
  }
  for (std::size_t i = 0; i < node->items.size(); ++i) {
    const std::string& column = node->keys[i].name;
    pattern.conditions.push_back(read_condition(context, node->items[i], column, fmt::format("{}.{}", path, column)));
    pattern.conditions.back().place = node->keys[i].place;
  }
  return pattern;
}

std::vector<RowPattern> read_patterns(ReadContext& context, const YamlNode* node, const std::string& path) {
  std::vector<RowPattern> patterns;
  if (node == nullptr) return patterns;
  if (node->type != YamlNode::Type::sequence) return {read_pattern(context, node, path)};
  if (node->items.empty())
    context.problems.add(node->place, path, "is an empty list, which matches no row; write {nodes: [1, 8]}, or remove it");
  for (std::size_t i = 0; i < node->items.size(); ++i) patterns.push_back(read_pattern(context, &node->items[i], item_path(path, i)));
  return patterns;
}

std::vector<ScenarioKey> pattern_forms() {
  std::vector<ScenarioKey> forms = one_or_more_texts();
  forms.push_back({.name = "COLUMN", .shape = Shape::map, .keys = condition_part().keys()});
  return forms;
}

}  // namespace straggler

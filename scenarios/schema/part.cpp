#include "scenarios/schema/part.hpp"

#include <algorithm>
#include <stdexcept>

#include "sim/base/csv.hpp"
#include "sim/base/quantity.hpp"
#include "sim/base/text_lines.hpp"
#include "sim/base/yaml_text.hpp"

namespace straggler {

std::string yaml_scalar(const std::string& text) {
  static constexpr const char* taken[] = {"true", "false", "null",  "yes",  "no",   "on",   "off",  "y",
                                          "n",    "True",  "False", "Null", "NULL", "TRUE", "FALSE"};
  constexpr const char* letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
  const bool plain = !text.empty() && std::string_view(letters).find(text[0]) != std::string_view::npos &&
                     text.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./") == std::string::npos &&
                     std::find(std::begin(taken), std::end(taken), text) == std::end(taken);
  return plain ? text : yaml_quoted(text);
}

std::string flow_map(const Texts& texts) { return "{" + flow_text(texts) + "}"; }

std::string block_map(const Texts& texts, const std::string& indent) {
  std::string out;
  for (const auto& [key, text] : texts)
    out.append("\n").append(indent).append(key).append(text.starts_with('\n') ? ":" : ": ").append(text);
  return out;
}

namespace {

/// "[{name: conv1, parameters: 9408}, …]" of CSV with a line of names.
std::string flow_rows(std::string_view csv) {
  std::vector<std::string> names;
  std::string out;
  CsvSplitter splitter;
  TextLines lines(csv);
  for (std::string_view line; lines.next(line);) {
    if (line.empty() || !splitter.split(line)) continue;
    Texts row;
    for (std::size_t i = 0; i < splitter.fields().size(); ++i) {
      const std::string_view text = splitter.fields()[i].text;
      if (names.size() <= i) names.emplace_back(text);
      const bool number = as_number(text).has_value() || has_unit_of(text, Dimension::amount);
      if (lines.number() > 1 && !text.empty()) row.emplace_back(names[i], number ? std::string(text) : yaml_scalar(std::string(text)));
    }
    if (lines.number() > 1) out += (out.empty() ? "" : ", ") + flow_map(row);
  }
  return "[" + out + "]";
}

}  // namespace

std::string text_of_value(ValueType type, const Value& value) {
  const std::string text = format_value(type, value);
  if (type == ValueType::rows) return is_csv_text(text) ? flow_rows(text) : yaml_scalar(text);
  const bool words = type == ValueType::text || type == ValueType::path || type == ValueType::choice;
  return words ? yaml_scalar(text) : text;
}

Texts kind_texts(const Kind& kind, KindGroup group, const Vocabulary& vocabulary) {
  Texts texts{{"kind", yaml_scalar(kind.name)}};
  const Word* word = vocabulary.find(group, kind.name);
  for (const auto& [name, value] : kind.parameters.all()) {
    const auto matches = [&, key = &name](const Parameter& parameter) { return parameter.name == *key; };
    if (word == nullptr || std::none_of(word->parameters.begin(), word->parameters.end(), matches))
      throw std::logic_error("write_scenario: " + kind.name + " has no parameter " + name);
  }
  if (word == nullptr) return texts;
  for (const Parameter& parameter : word->parameters)
    if (kind.parameters.has(parameter.name))
      texts.emplace_back(parameter.name, text_of_value(parameter.type, kind.parameters.all().at(parameter.name)));
  return texts;
}

Parameter ScenarioKey::parameter() const { return {.name = name, .type = type, .range = range, .choices = choices}; }

}  // namespace straggler

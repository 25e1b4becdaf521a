// JSON Schema, draft 7: https://json-schema.org/draft-07/json-schema-release-notes
#include <cmath>
#include <nlohmann/json.hpp>

#include "scenarios/schema/scenario_keys.hpp"
#include "scenarios/schema/section.hpp"
#include "sim/base/quantity.hpp"

namespace straggler {

namespace {

using Json = nlohmann::ordered_json;
using Shape = ScenarioKey::Shape;

const char* const number_pattern = "[0-9]*\\.?[0-9]+([eE][-+]?[0-9]+)?";

Json with_bounds(Json schema, const Range& range) {
  if (std::isfinite(range.low)) schema[range.low_open ? "exclusiveMinimum" : "minimum"] = range.low;
  if (std::isfinite(range.high)) schema[range.high_open ? "exclusiveMaximum" : "maximum"] = range.high;
  return schema;
}

/// YAML's language server shows `patternErrorMessage` instead of the pattern.
Json quantity(Dimension dimension, ValueType type) {
  std::string units;
  for (const std::string& unit : units_of(dimension)) {
    units += (units.empty() ? "" : "|") + unit;
    if (unit == "us") units += "|\xC2\xB5s|\xCE\xBCs";  // the micro sign, and the Greek letter
  }
  Parameter parameter;
  parameter.type = type;
  return {{"type", "string"},
          {"pattern", std::string("^") + number_pattern + " *(" + units + ")$"},
          {"patternErrorMessage", "write " + example(parameter)}};
}

Json scalar(ValueType type, const Range& range, const std::vector<std::string>& choices) {
  switch (type) {
    case ValueType::count: {
      if (choices.size() == 1) return {{"const", std::stoll(choices.front())}};
      return with_bounds({{"type", "integer"}}, range);
    }
    case ValueType::number:
      return with_bounds({{"type", "number"}}, range);
    case ValueType::fraction:
      return {{"anyOf",
               {with_bounds({{"type", "number"}}, range), {{"type", "string"}, {"pattern", std::string("^") + number_pattern + " *%$"}}}}};
    case ValueType::time:
      return quantity(Dimension::time, type);
    case ValueType::bytes:
      return quantity(Dimension::bytes, type);
    case ValueType::rate:
      return quantity(Dimension::rate, type);
    case ValueType::flops:
      return quantity(Dimension::compute, type);
    case ValueType::boolean:
      return {{"type", "boolean"}};
    case ValueType::choice:
      return {{"enum", choices}};
    case ValueType::counts:
      return {{"type", "array"}, {"items", with_bounds({{"type", "integer"}}, range)}};
    case ValueType::path:
    case ValueType::text:
      return {{"type", {"string", "number"}}};
  }
  throw std::logic_error("no such type of value");
}

Json described(Json schema, const std::string& meaning, const std::string& fallback) {
  std::string text = plain_text(meaning);
  if (!fallback.empty()) text += (text.empty() ? "" : "; ") + std::string("default ") + fallback;
  if (!text.empty()) schema["description"] = text;
  return schema;
}

struct Properties {
  Json properties = Json::object(), required = Json::array();

  Json schema() const {
    Json out{{"type", "object"}, {"properties", properties}, {"additionalProperties", false}};
    if (!required.empty()) out["required"] = required;
    return out;
  }
};

class Maker {
 public:
  explicit Maker(const Vocabulary& vocabulary) : vocabulary_(vocabulary) {}

  Json map_of(const std::vector<ScenarioKey>& keys) const {
    Properties all;
    add(all, keys);
    return all.schema();
  }

 private:
  void add(Properties& to, const std::vector<ScenarioKey>& keys) const {
    for (const ScenarioKey& key : keys) {
      if (to.properties.contains(key.name) || (!key.listed() && key.fallback.empty() && key.shape == Shape::other)) continue;
      to.properties[key.name] = described(value(key), key.meaning, key.fallback);
      if (key.required && !key.conditional) to.required.push_back(key.name);
    }
  }

  Json value(const ScenarioKey& key) const {
    switch (key.shape) {
      case Shape::scalar:
        return scalar(key.type, key.range, key.choices);
      case Shape::values:
        return {{"type", "array"}, {"items", scalar(key.type, key.range, key.choices)}};
      case Shape::map:
        return map_of(key.keys);
      case Shape::list:
        return {{"type", "array"}, {"items", map_of(key.keys)}};
      case Shape::entries:
        return {{"type", "object"}, {"additionalProperties", map_of(key.keys)}};
      case Shape::any:
        return Json::object();
      case Shape::one_of:
        return any_of(key.keys);
      case Shape::list_of:
        return {{"type", "array"}, {"items", any_of(key.keys)}};
      case Shape::entries_of:
        return {{"type", "object"}, {"additionalProperties", any_of(key.keys)}};
      case Shape::kind:
        return kind(key);
      case Shape::other:
        return other(key);
    }
    throw std::logic_error("no such shape of a key");
  }

  Json any_of(const std::vector<ScenarioKey>& keys) const {
    Json all = Json::array();
    for (const ScenarioKey& key : keys) all.push_back(described(value(key), key.meaning, {}));
    return all.size() == 1 ? all.front() : Json{{"anyOf", all}};
  }

  /// One of the words, or a map of one of the keys; "*": any number is a key.
  Json other(const ScenarioKey& key) const {
    Json any = Json::array();
    if (!key.choices.empty()) any.push_back({{"enum", key.choices}});
    for (const ScenarioKey& inside : key.keys) {
      const Json schema = value(inside);
      if (inside.name == "*")
        any.push_back({{"type", "object"}, {"patternProperties", {{"^[0-9]+$", schema}}}, {"additionalProperties", false}});
      else
        any.push_back(
            {{"type", "object"}, {"properties", {{inside.name, schema}}}, {"required", {inside.name}}, {"additionalProperties", false}});
    }
    if (any.empty()) return {{"const", key.fallback == "false" ? Json(false) : Json(key.fallback)}};
    return any.size() == 1 ? any.front() : Json{{"anyOf", any}};
  }

  /// A kind's name alone where it needs no more, or a map. A map without a kind is of the kind that stands where none is named.
  Json kind(const ScenarioKey& key) const {
    std::vector<std::string> names = key.choices;
    Json any = Json::array(), maps = Json::array();
    for (const Word& word : vocabulary_.words.at(*key.kind)) {
      Properties all;
      all.properties["kind"] = {{"const", word.name}, {"description", word.summary}};
      if (key.fallback_kind != word.name) all.required.push_back("kind");
      bool bare = true;
      for (const Parameter& parameter : word.parameters) {
        bare = bare && !parameter.required;
        add(all, parameter);
      }
      add(all, key.keys);
      if (bare) names.push_back(word.name);
      maps.push_back(all.schema());
      maps.back()["title"] = word.name;
    }
    if (!names.empty()) any.push_back({{"enum", names}});
    for (Json& map : maps) any.push_back(std::move(map));
    return {{"anyOf", any}};
  }

  void add(Properties& to, const Parameter& parameter) const {
    const Json schema =
        described(scalar(parameter.type, parameter.range, parameter.choices), parameter.meaning, parameter.fallback.value_or(""));
    const std::size_t dot = parameter.name.find('.');
    if (dot == std::string::npos) {
      to.properties[parameter.name] = schema;
      if (parameter.required) to.required.push_back(parameter.name);
      return;
    }
    Json& map = to.properties[parameter.name.substr(0, dot)];
    if (map.is_null()) map = {{"type", "object"}, {"additionalProperties", false}, {"properties", Json::object()}};
    const std::string inside = parameter.name.substr(dot + 1);
    if (inside == "kind") map = {{"anyOf", {schema, map}}};  // its name alone, or the map
    Json& whole = map.contains("anyOf") ? map["anyOf"][1] : map;
    whole["properties"][inside] = schema;
  }

  const Vocabulary& vocabulary_;
};

}  // namespace

Json json_schema(const std::string& title, const std::vector<ScenarioKey>& keys, const Vocabulary& vocabulary) {
  Json schema{{"$schema", "http://json-schema.org/draft-07/schema#"}, {"title", title}};
  schema.update(Maker(vocabulary).map_of(keys));
  return schema;
}

}  // namespace straggler

// JSON Schema, draft 7: https://json-schema.org/draft-07/json-schema-release-notes
#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "models/zoo/layer_list.hpp"
#include "scenarios/schema/scenario_keys.hpp"
#include "scenarios/schema/section.hpp"
#include "sim/base/ascii.hpp"
#include "sim/base/units.hpp"

namespace straggler {

namespace {

using Json = nlohmann::ordered_json;
using KeyShape = ScenarioKey::Shape;

const char* const number_pattern = "[0-9]*\\.?[0-9]+([eE][-+]?[0-9]+)?";

/// 1 instead of 1.0.
Json bound(double value) {
  constexpr double exact = 9007199254740992.0;  // 2^53: integers to here are exact
  if (value == std::floor(value) && std::abs(value) <= exact) return static_cast<std::int64_t>(value);
  return value;
}

Json with_bounds(Json schema, const Range& range) {
  if (std::isfinite(range.low)) schema[range.low_open ? "exclusiveMinimum" : "minimum"] = bound(range.low);
  if (std::isfinite(range.high)) schema[range.high_open ? "exclusiveMaximum" : "maximum"] = bound(range.high);
  return schema;
}

/// YAML's language server shows `patternErrorMessage` instead of the pattern.
Json quantity(const DimensionRow& row) {
  std::string units;
  const auto add = [&](const char* name) {
    if (name != nullptr && *name != '\0') units += (units.empty() ? "" : "|") + std::string(name);
  };
  for (const Unit& unit : row.units) {
    add(unit.name);
    for (const char* const name : unit.also) add(name);
  }
  Parameter parameter;
  parameter.type = row.type;
  return {{"type", "string"},
          {"pattern", std::string("^") + number_pattern + " *(" + units + ")$"},
          {"patternErrorMessage", "write " + example(parameter)}};
}

Json scalar(ValueType type, const Range& range, const std::vector<std::string>& choices, const std::vector<Parameter>& columns = {}) {
  if (const DimensionRow* const row = row_of(type)) {
    const Json text = quantity(*row);
    return row->bare ? Json{{"anyOf", {with_bounds({{"type", row->whole ? "integer" : "number"}}, range), text}}} : text;
  }
  switch (type) {
    case ValueType::count: {
      const Json whole = with_bounds({{"type", "integer"}}, range);
      if (choices.empty()) return whole;
      if (is_digit(choices.front().front())) return {{"const", std::stoll(choices.front())}};
      return {{"anyOf", {whole, {{"const", choices.front()}}}}};
    }
    case ValueType::number:
      return with_bounds({{"type", "number"}}, range);
    case ValueType::fraction:
      return {{"anyOf",
               {with_bounds({{"type", "number"}}, range), {{"type", "string"}, {"pattern", std::string("^") + number_pattern + " *%$"}}}}};
    case ValueType::rows: {
      Json row{{"type", "object"}, {"properties", Json::object()}, {"additionalProperties", false}, {"required", Json::array()}};
      for (const Parameter& column : columns) {
        row["properties"][column.name] = scalar(column.type, column.range, column.choices);
        row["properties"][column.name]["description"] = plain_text(column.meaning);
        if (column.required) row["required"].push_back(column.name);
      }
      return {{"anyOf", {{{"type", "string"}}, {{"type", "array"}, {"minItems", 1}, {"items", row}}}}};
    }
    case ValueType::boolean:
      return {{"type", "boolean"}};
    case ValueType::choice:
      return {{"enum", choices}};
    case ValueType::counts:
      return {{"type", "array"}, {"items", with_bounds({{"type", "integer"}}, range)}};
    case ValueType::path:
    case ValueType::text:
      return {{"type", {"string", "number"}}};
    case ValueType::nested:  // a list of layers, or a file with it
      return {{"anyOf", {{{"type", "string"}}, {{"$ref", "#/definitions/layers"}}}}};
    default:
      break;
  }
  throw std::logic_error("no such type of value");
}

Json described(Json schema, const std::string& meaning, const std::string& fallback) {
  std::string text = plain_text(meaning);
  if (!fallback.empty()) text += (text.empty() ? "" : "; ") + std::string("default ") + fallback;
  if (!text.empty()) schema["description"] = text;
  return schema;
}

/// The values of a parameter of a layer: a word may stand for a whole number, and one number for a list of them.
Json layer_value(const Parameter& parameter) {
  if (parameter.type == ValueType::nested) return {{"$ref", "#/definitions/layers"}};
  if (parameter.type == ValueType::text) return {{"$ref", "#/definitions/layer_name"}};
  Json value = scalar(parameter.type == ValueType::counts ? ValueType::count : parameter.type, parameter.range, parameter.choices);
  if (parameter.type != ValueType::count && parameter.type != ValueType::counts) return value;
  value["type"] = {"integer", "string"};
  if (parameter.type == ValueType::counts) {
    value["type"].push_back("array");
    value["items"] = {{"$ref", "#/definitions/layer_side"}};
  }
  return value;
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

  /// What a list of layers may hold, by the names of the definitions.
  static Json layer_definitions() {
    const Json name{{"type", {"string", "integer"}}}, names{{"type", "array"}, {"minItems", 1}, {"items", ref("layer_name")}};
    Json all{{"layers", {{"type", "array"}, {"minItems", 1}, {"items", ref("layer")}}},
             {"layer_side", {{"type", {"integer", "string"}}, {"minimum", 0}}},
             {"layer_name", described(name, "name of a line", {})},
             {"layer_from", described({{"anyOf", {ref("layer_name"), names}}}, "lines that feed it; default the line before", {})}};
    Json words = Json::array(), forms = Json::array({Json()});  // the first: the words
    for (const LineKind& kind : line_kinds()) {
      all["layer_" + kind.name] = line_schema(kind, names);
      forms.push_back(ref("layer_" + kind.name));
      const bool needs = std::ranges::any_of(kind.parameters, &Parameter::required);
      if (!needs && kind.value == LineKind::Value::parameters) words.push_back(kind.name);
    }
    forms[0] = {{"enum", words}};
    all["layer"] = {{"anyOf", forms}};
    return all;
  }

 private:
  void add(Properties& to, const std::vector<ScenarioKey>& keys) const {
    for (const ScenarioKey& key : keys) {
      if (to.properties.contains(key.name) || (!key.listed() && key.fallback.empty() && key.shape == KeyShape::other)) continue;
      to.properties[key.name] = described(value(key), key.meaning, key.fallback);
      if (key.required && !key.conditional) to.required.push_back(key.name);
    }
  }

  Json value(const ScenarioKey& key) const {
    switch (key.shape) {
      case KeyShape::scalar:
        return scalar(key.type, key.range, key.choices);
      case KeyShape::values:
        return {{"type", "array"}, {"items", scalar(key.type, key.range, key.choices)}};
      case KeyShape::map:
        return key.choices.empty() ? map_of(key.keys) : Json{{"anyOf", {{{"enum", key.choices}}, map_of(key.keys)}}};
      case KeyShape::list:
        return {{"type", "array"}, {"items", map_of(key.keys)}};
      case KeyShape::entries:
        return {{"type", "object"}, {"additionalProperties", map_of(key.keys)}};
      case KeyShape::any:
        return Json::object();
      case KeyShape::one_of:
        return any_of(key.keys);
      case KeyShape::list_of:
        return {{"type", "array"}, {"items", any_of(key.keys)}};
      case KeyShape::entries_of:
        return {{"type", "object"}, {"additionalProperties", any_of(key.keys)}};
      case KeyShape::kind:
        return kind(key);
      case KeyShape::other:
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

  /// A kind's name alone where it needs no more, or a map; kinds with the same parameters share one. A map without a kind is of the kind
  /// that stands where none is named.
  Json kind(const ScenarioKey& key) const {
    std::vector<std::string> names = key.choices;
    Json any = Json::array(), maps = Json::array();
    std::map<std::string, std::size_t> alike;  // maps by all but their kind
    for (const Word& word : vocabulary_.words.at(*key.kind)) {
      Properties all;
      const Json name{{"const", word.name}, {"description", word.summary}};
      all.properties["kind"] = nullptr;  // its place
      if (key.fallback_kind != word.name) all.required.push_back("kind");
      bool bare = true;
      for (const Parameter& parameter : word.parameters) {
        bare = bare && !parameter.required;
        add(all, parameter);
      }
      add(all, key.keys);
      if (bare) names.push_back(word.name);
      Json map = all.schema();
      const auto [at, first] = alike.emplace(map.dump(), maps.size());
      if (first) {
        map["properties"]["kind"] = name;
        map["title"] = word.name;
        maps.push_back(std::move(map));
        continue;
      }
      Json& same = maps[at->second];
      same.erase("title");
      Json& kinds = same["properties"]["kind"];
      if (!kinds.contains("anyOf")) kinds = {{"anyOf", Json::array({kinds})}};
      kinds["anyOf"].push_back(name);
    }
    if (!names.empty()) any.push_back({{"enum", names}});
    for (Json& map : maps) any.push_back(std::move(map));
    return {{"anyOf", any}};
  }

  static Json ref(const std::string& name) { return {{"$ref", "#/definitions/" + name}}; }

  /// A line that is a map: its main key, its other parameters, `name` and `from`.
  static Json line_schema(const LineKind& kind, const Json& names) {
    using Value = LineKind::Value;
    Properties line, map;
    const Parameter* const alone = kind.value == Value::parameters && !kind.parameters.empty() ? &kind.parameters.front() : nullptr;
    for (const Parameter& parameter : kind.parameters) {
      const bool skip = kind.value == Value::lines;  // one line, or several
      const Json values = skip ? Json{{"anyOf", {ref("layer"), ref("layers")}}} : layer_value(parameter);
      const Json value = described(values, parameter.meaning, parameter.fallback.value_or(""));
      map.properties[parameter.name] = value;
      if (parameter.required && !alone) map.required.push_back(parameter.name);
      if (&parameter != alone && kind.value != Value::map) line.properties[parameter.name] = value;
    }
    const auto main = [&]() -> Json {
      if (kind.value == Value::names) return names;
      if (kind.value == Value::lines) return ref("layers");
      if (kind.value == Value::map) return map.schema();
      if (!alone) return {{"enum", {Json::object(), nullptr, true}}};
      return {{"anyOf", {layer_value(*alone), map.schema()}}};
    };
    line.properties[kind.name] = described(main(), kind.summary, {});
    line.properties["name"] = ref("layer_name");
    if (kind.value != Value::names) line.properties["from"] = ref("layer_from");
    line.required.push_back(kind.name);
    return line.schema();
  }

  void add(Properties& to, const Parameter& parameter) const {
    const Json schema = described(scalar(parameter.type, parameter.range, parameter.choices, parameter.columns), parameter.meaning,
                                  parameter.fallback.value_or(""));
    const std::size_t dot = parameter.name.find('.');
    if (dot == std::string::npos) {
      to.properties[parameter.name] = schema;
      if (parameter.required) to.required.push_back(parameter.name);
      return;
    }
    Json& map = to.properties[parameter.name.substr(0, dot)];
    const Json empty{{"type", "object"}, {"additionalProperties", false}, {"properties", Json::object()}};
    if (map.is_null())
      map = empty;
    else if (!map.contains("properties") && !map.contains("anyOf"))
      map = {{"anyOf", {map, empty}}};  // a value of that name, or the map
    const std::string inside = parameter.name.substr(dot + 1);
    if (inside == "kind") map = {{"anyOf", {schema, map}}};  // its name alone, or the map
    Json& whole = map.contains("anyOf") ? map["anyOf"][1] : map;
    whole["properties"][inside] = schema;
  }

  const Vocabulary& vocabulary_;
};

/// Parts that stand in several places become definitions. A part whose descriptions differ is defined without its own one, which stands
/// beside the reference: draft 7 ignores what stands there, and editors show it.
class Definitions {
 public:
  /// `files`: schemas that have a file of their own, by their text.
  Definitions(const Json& root, std::map<std::string, std::string> files) : files_(std::move(files)) {
    for (const ValueType type : {ValueType::time, ValueType::bytes, ValueType::rate, ValueType::flops})
      usual_names_.emplace(scalar(type, {}, {}).dump(), noun_of(type));
    if (root.contains("definitions"))
      for (const auto& [name, part] : root["definitions"].items()) taken_.insert(name);
    visit_inside(root, {}, [this](const Json& part, const std::string&) { count(part); });
    root_ = with_references(root, {});
  }
  Json result() && {
    if (!all_.empty()) root_["definitions"].update(all_);
    return std::move(root_);
  }

 private:
  /// "compute_rate" of "a compute rate".
  static std::string noun_of(ValueType type) {
    std::string noun(name_of(type));
    noun.erase(0, noun.find(' ') + 1);
    std::ranges::replace(noun, ' ', '_');
    return noun;
  }

  /// Calls `visit` with each schema directly inside `schema`, which is a Json or a const Json, and a name for it.
  template <class Schema, class Visit>
  static void visit_inside(Schema& schema, const std::string& name, const Visit& visit) {
    if (schema.contains("properties"))
      for (auto& [key, part] : schema["properties"].items()) visit(part, key);
    if (schema.contains("patternProperties"))
      for (auto& [pattern, part] : schema["patternProperties"].items()) visit(part, name);
    for (const char* const one : {"items", "additionalProperties"})
      if (schema.contains(one) && schema[one].is_object()) visit(schema[one], name);
    if (schema.contains("definitions"))
      for (auto& [key, part] : schema["definitions"].items()) visit(part, key);
    if (schema.contains("anyOf"))
      for (auto& part : schema["anyOf"]) visit(part, part.value("title", name));
  }

  static Json without_description(Json schema) {
    schema.erase("description");
    return schema;
  }

  /// Inside of what repeats, each part counts once.
  void count(const Json& schema) {
    if (++uses_[schema.dump()] > 1) return;
    const std::string bare = without_description(schema).dump();
    if (++uses_without_description_[bare] > 1 || files_.contains(bare)) return;
    visit_inside(schema, {}, [this](const Json& part, const std::string&) { count(part); });
  }

  Json with_references(Json schema, const std::string& name) {
    visit_inside(schema, name, [this](Json& part, const std::string& its_name) { part = shared(part, its_name); });
    return schema;
  }

  Json shared(const Json& schema, const std::string& name) {
    const std::string text = schema.dump();
    return repeats(uses_, text) ? reference_to(text, schema, name) : shared_without_description(schema, name);
  }

  Json shared_without_description(const Json& schema, const std::string& name) {
    const Json bare = without_description(schema);
    const std::string text = bare.dump();
    const auto file = files_.find(text);
    if (file == files_.end() && !repeats(uses_without_description_, text)) return with_references(schema, name);
    Json reference = file != files_.end() ? Json{{"$ref", file->second}} : reference_to(text, bare, name);
    if (schema.contains("description")) reference["description"] = schema["description"];
    return reference;
  }

  Json reference_to(const std::string& text, const Json& schema, const std::string& name) {
    auto found = names_.find(text);
    if (found == names_.end()) {
      const Json& type = schema.contains("type") && !schema.contains("description") ? schema["type"] : Json();
      const bool scalar = type.is_string() && type != "object" && type != "array";  // many keys have such values
      found = names_.emplace(text, free_name(text, scalar ? type.get<std::string>() : name)).first;
      all_[found->second] = nullptr;  // its place, before those inside of it
      Json definition = schema.contains("description") ? shared_without_description(schema, name) : with_references(schema, name);
      all_[found->second] = std::move(definition);
    }
    return {{"$ref", "#/definitions/" + found->second}};
  }

  std::string free_name(const std::string& text, const std::string& name) {
    const auto usual = usual_names_.find(text);
    const std::string begin = usual != usual_names_.end() ? usual->second : name;
    std::string free = begin;
    for (unsigned number = 2; !taken_.insert(free).second; ++number) free = begin + "_" + std::to_string(number);
    return free;
  }

  /// And a definition makes the file smaller.
  static bool repeats(const std::map<std::string, std::size_t>& uses, const std::string& text) {
    constexpr std::size_t reference = 40, name = 20;  // bytes, about
    const std::size_t count = uses.at(text);
    return (count - 1) * text.size() > count * reference + name;
  }

  std::map<std::string, std::string> files_, usual_names_, names_;      // by the text of a schema
  std::map<std::string, std::size_t> uses_, uses_without_description_;  // likewise
  std::set<std::string> taken_;
  Json root_, all_ = Json::object();
};

}  // namespace

Json json_schema(const std::string& title, const std::vector<ScenarioKey>& keys, const Vocabulary& vocabulary) {
  Json schema{{"$schema", "http://json-schema.org/draft-07/schema#"}, {"title", title}};
  const Maker maker(vocabulary);
  const Json whole = maker.map_of(keys);
  const std::string scenario = maker.map_of(scenario_keys()).dump();
  schema.update(whole);
  if (whole.dump() == scenario) schema["definitions"] = Maker::layer_definitions();  // other files refer to it
  return Definitions(schema, {{scenario, "scenario.json"}}).result();
}

}  // namespace straggler

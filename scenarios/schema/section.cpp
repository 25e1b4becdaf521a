#include "scenarios/schema/section.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <stdexcept>
#include <system_error>

#include "scenarios/schema/flow_yaml.hpp"
#include "scenarios/schema/other_names.hpp"
#include "scenarios/schema/source_text.hpp"
#include "sim/base/ascii.hpp"
#include "sim/base/suggest.hpp"
#include "sim/base/units.hpp"

namespace straggler {

namespace fs = std::filesystem;

std::string what_stands(const YamlNode& node) {
  switch (node.type) {
    case YamlNode::Type::null:
      return "empty";
    case YamlNode::Type::scalar:
      return in_quotes(node.text);
    case YamlNode::Type::sequence:
      return "a list";
    case YamlNode::Type::map:
      return "a map";
  }
  throw std::logic_error("no such type of node");
}

bool has_word_of_absence(const Parameter& parameter) {
  return parameter.type == ValueType::count && !parameter.choices.empty() && !is_digit(parameter.choices.front().front());
}

std::string example(const Parameter& parameter) {
  if (const DimensionRow* const row = row_of(parameter.type)) return std::string(row->noun) + " such as " + row->example;
  switch (parameter.type) {
    case ValueType::count:
      return has_word_of_absence(parameter) ? "a whole number such as 8, or " + parameter.choices.front() : "a whole number such as 8";
    case ValueType::number:
      return "a number such as 0.5";
    case ValueType::fraction:
      return "a share such as 0.5 or 50%";
    case ValueType::boolean:
      return "true or false";
    case ValueType::choice:
      return "one of: " + joined(parameter.choices);
    case ValueType::counts:
      return "a list of whole numbers such as [200, 200]";
    case ValueType::path:
      return "a path";
    case ValueType::text:
      return "a text";
    case ValueType::nested:
      return "a list, or the path of a file with one";
    case ValueType::rows: {
      std::string row;
      for (const Parameter& column : parameter.columns)
        if (column.required) row += (row.empty() ? "" : ", ") + column.name + ": …";
      return "a list such as [{" + row + "}, …], or the path of a CSV file";
    }
    default:
      break;
  }
  throw std::logic_error("no such type of value");
}

namespace {

bool bare_only(ValueType type) {
  return type == ValueType::count || type == ValueType::number || type == ValueType::boolean || type == ValueType::counts;
}

/// Throws std::invalid_argument.
std::string text_of(const YamlNode& node, const Parameter& parameter) {
  const bool list = parameter.type == ValueType::counts;
  if (node.type != (list ? YamlNode::Type::sequence : YamlNode::Type::scalar))
    throw std::invalid_argument("is " + what_stands(node) + "; write " + example(parameter));
  if (!list) {
    if (node.quoted && bare_only(parameter.type))
      throw std::invalid_argument("is text in quotes; write " + example(parameter) + ", without quotes");
    return node.text;
  }
  std::string all;
  for (const YamlNode& item : node.items) {
    if (item.type != YamlNode::Type::scalar || item.quoted || item.text.find(',') != std::string::npos)
      throw std::invalid_argument("has " + what_stands(item) + " in it; write " + example(parameter));
    all += (all.empty() ? "" : ", ") + item.text;
  }
  return "[" + all + "]";
}

/// Throws std::invalid_argument.
std::string absolute_path(const fs::path& folder, const std::string& text) {
  std::error_code error;
  fs::path path = fs::absolute(folder / text, error);
  if (error) throw std::invalid_argument("is relative, and the current folder is gone (" + error.message() + "); write an absolute path");
  path = path.lexically_normal();
  return (path.has_filename() || !path.has_relative_path() ? path : path.parent_path()).string();  // "data/" is "data"
}

/// Where relative paths start that stand there; empty: the current folder.
fs::path folder_of(const ReadContext& context, Place place) {
  if (place.source == 0) return context.folder;
  return place.source <= context.sets_of_file ? context.sets_folder : fs::path();
}

/// A list, in the scenario or in a file of its own. Throws std::invalid_argument.
Nested read_nested(const ReadContext& context, const YamlNode& node, const Parameter& parameter) {
  if (node.type == YamlNode::Type::sequence) return nested(node);
  if (node.type != YamlNode::Type::scalar) throw std::invalid_argument("is " + what_stands(node) + "; write " + example(parameter));
  const std::string file = absolute_path(folder_of(context, node.place), node.text);
  const Places places({file});
  Problems problems(places);
  const std::optional<std::string> text = read_text(file, problems, {"list", "- "});
  const std::optional<YamlNode> root = text ? parse_yaml(*text, 0, problems) : std::nullopt;
  const YamlNode* const inside = root ? root->find(parameter.name) : nullptr;  // {kind: layers, layers: [...]}, as list models prints it
  const YamlNode* const list = inside != nullptr ? inside : root ? &*root : nullptr;
  if (list != nullptr && !problems.any() && list->type != YamlNode::Type::sequence)
    problems.add(list->place, "", "is " + what_stands(*list) + "; write a list");
  if (problems.any()) throw std::invalid_argument(problems.found().front().line());
  return nested(*list);
}

}  // namespace

namespace {

/// A field of CSV in quotes: nothing that it holds is a separator.
std::string csv_field(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"') out += '"';
    out += c;
  }
  return out + '"';
}

/// The rows as CSV with a line of names, or nothing and problems at their places.
std::optional<Value> read_rows(ReadContext& context, const YamlNode& node, const std::string& path, const Parameter& parameter) {
  if (node.items.empty()) {
    context.problems.add(node.place, path, "is an empty list; write " + example(parameter));
    return std::nullopt;
  }
  const std::size_t before = context.problems.found().size();
  std::string csv;
  for (const Parameter& column : parameter.columns) csv += (csv.empty() ? "" : ",") + column.name;
  for (std::size_t i = 0; i < node.items.size(); ++i) {
    Section row(context, &node.items[i], path + "[" + std::to_string(i) + "]", node.items[i].place);
    csv += '\n';
    for (std::size_t c = 0; c < parameter.columns.size(); ++c) {
      const Parameter& column = parameter.columns[c];
      if (c > 0) csv += ',';
      const std::optional<Value> value = row.value(column);
      const std::string text = value ? format_value(column.type, *value) : "";
      if (text.empty()) continue;
      if (text.find_first_of("\r\n") != std::string::npos) row.problem(column.name, "has more than one line; write it on one");
      csv += column.type == ValueType::text ? csv_field(text) : text;
    }
    row.finish();
  }
  if (context.problems.found().size() > before) return std::nullopt;
  return csv + '\n';
}

}  // namespace

std::optional<Value> read_value(ReadContext& context, const YamlNode& node, const std::string& path, const Parameter& parameter) {
  if (parameter.type == ValueType::rows && node.type == YamlNode::Type::sequence) return read_rows(context, node, path, parameter);
  try {
    if (parameter.type == ValueType::nested) return read_nested(context, node, parameter);
    Value value = parse_value(parameter, text_of(node, parameter));
    if (parameter.type == ValueType::path || parameter.type == ValueType::rows)
      value = absolute_path(folder_of(context, node.place), std::get<std::string>(value));
    return value;
  } catch (const std::invalid_argument& error) {
    const bool word = has_word_of_absence(parameter) && node.type == YamlNode::Type::scalar && !node.quoted;
    context.problems.add(node.place, path, error.what() + (word ? ", or " + parameter.choices.front() : std::string()));
    return std::nullopt;
  }
}

namespace {
/// Of the section at `path`: "such as {count: 1}". A name that begins with a dot is the end of a path.
std::string example_of_map(std::string_view path) {
  static constexpr std::pair<std::string_view, std::string_view> examples[] = {
      {".compute", "{affine: {per_sample: 1ms}}"},
      {".compute.affine", "{per_sample: 1ms}"},
      {".loader", "{per_sample: 1ms}"},
      {"cluster.network", "{link: {bandwidth: 1Gbps, latency: 50us}}"},
      {"cluster.network.link", "{bandwidth: 1Gbps, latency: 50us}"},
      {"cluster.network.intra", "{bandwidth: 100Gbps, latency: 2us}"},
      {"cluster.network.protocol", "{per_message: 10us}"},
      {"cluster.servers", "{count: 1}"},
      {"cluster.servers.host", "{worker: 0}"},
      {"workload", "{model: mlp, data: fashion_mnist}"},
      {"workload.cost", "{bytes: 100MB}"},
      {"training.batch", "{per_worker: 32}"},
      {"training.sharding", "{stage: 3}, or none"},
      {"training.stop", "{epochs: 5}"},
      {"training.evaluate", "{every: {epochs: 0.25}}"},
      {"training.evaluate.every", "{epochs: 0.25}, {updates: 100} or {simulated_time: 10s}"},
  };
  for (const auto& [section, example] : examples)
    if (section == path || (section.front() == '.' && path.ends_with(section))) return "such as " + std::string(example);
  if (path.starts_with("cluster.faults[")) return "such as {kind: crash, worker: 3, at: 10s}";
  return "(keys with values)";
}
}  // namespace

Section::Section(ReadContext& context, const YamlNode* node, std::string path, Place parent)
    : context_(context), node_(node), path_(std::move(path)), place_(parent) {
  if (node_ == nullptr || node_->type == YamlNode::Type::map) return;
  const bool colon = !with_blank_after_colon(node_->text).empty();
  context_.problems.add(node_->place, path_.empty() ? "scenario" : path_,
                        "is " + what_stands(*node_) + "; write a map " +
                            (colon ? "(keys with values), with a blank after the colon" : example_of_map(path_)));
  static const YamlNode empty = [] {
    YamlNode map;
    map.type = YamlNode::Type::map;
    return map;
  }();
  node_ = &empty;
  no_map_ = true;
}

Place Section::place_of(std::string_view key) const {
  if (node_ != nullptr)
    for (const YamlNode::Key& known : node_->keys)
      if (known.name == key) return known.place;
  return place_;
}

void Section::problem(std::string_view key, std::string_view what) { context_.problems.add(place_of(key), path_of(key), what); }

const YamlNode* Section::find(const std::string& key) {
  if (std::find(known_.begin(), known_.end(), key) == known_.end()) known_.push_back(key);
  return node_ == nullptr ? nullptr : node_->find(key);
}

const YamlNode* Section::require(const std::string& key, const std::string& remedy) {
  const YamlNode* found = find(key);
  if (found == nullptr) missing(key, remedy);
  return found;
}

Section Section::section(const std::string& key) {
  const YamlNode* node = find(key);
  return Section(context_, node, path_of(key), place_of(key));
}

namespace {
/// A word for the absence of a count, as in stride: context.
bool stands_for_absence(const YamlNode& node, const Parameter& parameter) {
  return has_word_of_absence(parameter) && node.type == YamlNode::Type::scalar && node.text == parameter.choices.front();
}
}  // namespace

std::optional<Value> Section::value(const Parameter& parameter) {
  const YamlNode* node = find(parameter.name);
  if (node != nullptr && stands_for_absence(*node, parameter)) {
    understood_.push_back(parameter.name);
    return std::nullopt;
  }
  if (node != nullptr) {
    std::optional<Value> value = read_value(context_, *node, path_of(parameter.name), parameter);
    if (value) understood_.push_back(parameter.name);
    return value;
  }
  if (parameter.required)
    missing(parameter.name, "write " + example(parameter) + (parameter.meaning.empty() ? "" : " (" + parameter.meaning + ")"));
  if (parameter.fallback) return parse_value(parameter, *parameter.fallback);
  return std::nullopt;
}

bool Section::understood(std::string_view key) const { return std::find(understood_.begin(), understood_.end(), key) != understood_.end(); }

namespace {
Parameter declared(const std::string& key, ValueType type, const Range& range) {
  Parameter parameter;
  parameter.name = key;
  parameter.type = type;
  parameter.range = range;
  return parameter;
}
}  // namespace

std::optional<double> Section::measure(const std::string& key, ValueType type, const Range& range) {
  const std::optional<Value> found = value(declared(key, type, range));
  return found ? std::optional(std::get<double>(*found)) : std::nullopt;
}

std::optional<std::int64_t> Section::count(const std::string& key, const Range& range) {
  const std::optional<Value> found = value(declared(key, ValueType::count, range));
  return found ? std::optional(std::get<std::int64_t>(*found)) : std::nullopt;
}

double Section::required_measure(const std::string& key, ValueType type, const Range& range, const std::string& remedy) {
  if (!has(key)) missing(key, remedy);
  return measure(key, type, range).value_or(0);
}

bool Section::flag(const std::string& key, bool fallback) {
  const std::optional<Value> found = value(declared(key, ValueType::boolean, {}));
  return found ? std::get<bool>(*found) : fallback;
}

std::string Section::choice(const std::string& key, std::vector<std::string> choices, const std::string& fallback) {
  Parameter parameter = declared(key, ValueType::choice, {});
  parameter.choices = std::move(choices);
  const std::optional<Value> found = value(parameter);
  return found ? std::get<std::string>(*found) : fallback;
}

std::string Section::word(const std::string& key) {
  const std::optional<Value> found = value(declared(key, ValueType::text, {}));
  return found ? std::get<std::string>(*found) : std::string();
}

void Section::finish() {
  const auto among = [](const std::vector<std::string>& names, const std::string& key) {
    return std::find(names.begin(), names.end(), key) != names.end();
  };
  if (node_ != nullptr) {
    const YamlNode* const named = node_->find("kind");
    const std::string kind = named != nullptr ? named->text : std::string();
    for (const YamlNode::Key& key : node_->keys) {
      if (among(known_, key.name)) continue;
      context_.problems.add(key.place, path_of(key.name), unknown_key(key.name, known_, path_, kind));
      meant_.push_back(meant_key(key.name, known_));
    }
  }
  if (no_map_) return;
  for (const auto& [key, what] : missing_)
    if (!among(meant_, key)) problem(key, what);
}

bool Section::misspelt(std::initializer_list<std::string_view> keys) const {
  return no_map_ || std::find_first_of(meant_.begin(), meant_.end(), keys.begin(), keys.end()) != meant_.end();
}

namespace {
/// The key that was to be `kind`; null if there is none.
const YamlNode::Key* meaning_kind(const Section& section) {
  if (section.node() == nullptr) return nullptr;
  for (const YamlNode::Key& key : section.node()->keys)
    if (meant_key(key.name, {"kind"}) == "kind") return &key;
  return nullptr;
}

/// Kinds that know all keys of a section without `kind` although the fallback does not: the author forgot `kind`.
std::vector<std::string> kinds_that_know(const YamlNode& map, const std::vector<Word>& words, const std::string& fallback) {
  std::vector<std::string> names;
  if (map.keys.empty()) return names;
  for (const Word& word : words) {
    const auto known = [&](const YamlNode::Key& key) {
      return std::any_of(word.parameters.begin(), word.parameters.end(),
                         [&](const Parameter& parameter) { return parameter.name.substr(0, parameter.name.find('.')) == key.name; });
    };
    if (!std::all_of(map.keys.begin(), map.keys.end(), known)) continue;
    if (word.name == fallback) return {};
    names.push_back(word.name);
  }
  return names;
}
}  // namespace

namespace {
/// A map, whose keys are parameters with that name before a dot.
bool stands_as_map(const YamlNode& node, const Word& word, const std::string& name) {
  return node.type == YamlNode::Type::map && std::any_of(word.parameters.begin(), word.parameters.end(), [&](const Parameter& parameter) {
           return parameter.name.starts_with(name + ".");
         });
}
}  // namespace

Kind read_kind(ReadContext& context, const YamlNode* node, const std::string& path, Place parent, KindGroup group,
               const std::string& fallback, const std::function<void(Section&)>& more) {
  const bool short_form = node != nullptr && node->type == YamlNode::Type::scalar;
  if (node != nullptr && (node->type == YamlNode::Type::null || node->type == YamlNode::Type::sequence)) {
    context.problems.add(node->place, path,
                         "is " + what_stands(*node) + "; write the name of a " + std::string(name_of(group)) +
                             ", or {kind: NAME} with its parameters; " + known_kinds(group, {}, context.vocabulary.names(group)));
    return {fallback, {}};
  }
  Section section(context, short_form ? nullptr : node, path, short_form ? node->place : parent);
  Kind kind{fallback, {}};
  Place place = section.place();
  std::string where = path;
  if (const YamlNode* name = section.find("kind"); name != nullptr || short_form) {
    if (!short_form) where += ".kind";
    const YamlNode& named = short_form ? *node : *name;
    place = named.place;
    kind.name = named.text;
    if (named.type != YamlNode::Type::scalar) {
      context.problems.add(place, where, "is " + what_stands(named) + "; write the name of a " + std::string(name_of(group)));
      return kind;
    }
  } else if (node != nullptr && node->type != YamlNode::Type::map) {
    return kind;  // reported already
  } else if (node != nullptr && !fallback.empty()) {
    const std::vector<std::string> meant = kinds_that_know(*node, context.vocabulary.words.at(group), fallback);
    if (!meant.empty()) {
      context.problems.add(node->keys[0].place, where,
                           "has no kind, and " + fallback + ", its default, does not know " + in_quotes(node->keys[0].name) +
                               "; write the kind that is meant: " + joined(meant));
      return kind;
    }
  }
  if (more) more(section);
  const auto names = [&] { return context.vocabulary.names(group); };
  const Word* word = context.vocabulary.find(group, kind.name);
  if (word != nullptr) {
    std::map<std::string, Section> maps;  // of parameters with a dot
    std::set<std::string> alone_names;    // of those, maps in whose place a value stands: their `kind`, or a parameter of that name
    for (const Parameter& parameter : word->parameters) {
      const std::size_t dot = parameter.name.find('.');
      if (dot == std::string::npos) {
        const YamlNode* const given = section.find(parameter.name);
        if (given != nullptr && stands_as_map(*given, *word, parameter.name)) continue;
        if (given != nullptr) alone_names.insert(parameter.name);
        if (const std::optional<Value> value = section.value(parameter)) kind.parameters.set(parameter.name, *value);
        continue;
      }
      Parameter inside = parameter;
      const std::string map = parameter.name.substr(0, dot);
      if (inside.name.substr(dot + 1) == "kind") {
        // Its name alone, as of any kind.
        if (const YamlNode* alone = section.find(map); alone != nullptr && alone->type == YamlNode::Type::scalar) {
          alone_names.insert(map);
          inside.name = map;
          if (const std::optional<Value> value = section.value(inside)) kind.parameters.set(parameter.name, *value);
        }
      }
      if (alone_names.contains(map)) continue;
      auto found = maps.find(map);
      if (found == maps.end()) found = maps.emplace(map, section.section(map)).first;
      inside.name = parameter.name.substr(dot + 1);
      if (const std::optional<Value> value = found->second.value(inside)) kind.parameters.set(parameter.name, *value);
    }
    for (auto& [name, map] : maps) map.finish();
    section.finish();
  } else if (const YamlNode::Key* slip = kind.name.empty() ? meaning_kind(section) : nullptr) {
    context.problems.add(slip->place, section.path_of(slip->name), unknown_key(slip->name, {"kind"}, path));
  } else if (kind.name.empty()) {
    context.problems.add(place, where, "has no kind; write {kind: NAME}; " + known_kinds(group, {}, names()));
  } else if (group == KindGroup::model && context.vocabulary.find(KindGroup::cost_model, kind.name) != nullptr) {
    context.problems.add(place, where,
                         in_quotes(kind.name) +
                             " cannot be trained here; use it as workload.cost.model, for times and bytes, beside a trainable "
                             "model: " +
                             joined(names()));
  } else {
    context.problems.add(place, where, unknown_kind(group, name_of(group), kind.name, names()));
  }
  return kind;
}

}  // namespace straggler

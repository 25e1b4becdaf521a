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

namespace part {

namespace {

void* member(void* spec, std::size_t at) { return static_cast<char*>(spec) + at; }
const void* member(const void* spec, std::size_t at) { return static_cast<const char*>(spec) + at; }

/// Asks for it, and notes that it is missing if it must not be.
std::optional<Value> read_scalar(Section& section, const ScenarioKey& key) {
  if (key.required) section.require(key.name, key.remedy);
  return section.value(key.parameter());
}

bool any_required(const std::vector<ScenarioKey>& keys) {
  return std::any_of(keys.begin(), keys.end(), [](const ScenarioKey& key) { return key.required; });
}

/// Its key documents the value of a fresh spec.
Row with_fallback(Row made, const void* fresh) {
  if (made.key.required || !made.key.otherwise.empty()) return made;
  static const Vocabulary none;
  Texts texts;
  made.write(texts, fresh, WriteContext{none});
  if (!texts.empty()) made.key.fallback = texts[0].second;
  return made;
}

std::string below(const std::string& key, const std::string& path) { return path.empty() ? path : key + "." + path; }

}  // namespace

std::string Row::difference(const void* a, const void* b) const {
  if (deciding)
    if (std::string path = deciding(a, b); !path.empty()) return path;
  return key.decides && !same(a, b) ? key.name : std::string();
}

void Rows::read(Section& section, void* spec) const {
  for (const Row& row : *rows_) row.read(section, spec);
}

Texts Rows::texts(const void* spec, const WriteContext& context) const {
  Texts out;
  for (const Row& row : *rows_) row.write(out, spec, context);
  return out;
}

std::vector<ScenarioKey> Rows::keys() const {
  std::vector<ScenarioKey> out;
  out.reserve(rows_->size());
  for (const Row& row : *rows_) out.push_back(row.key);
  return out;
}

bool Rows::same(const void* a, const void* b) const {
  return std::all_of(rows_->begin(), rows_->end(), [&](const Row& row) { return row.same(a, b); });
}

std::string Rows::difference(const void* a, const void* b) const {
  for (const Row& row : *rows_)
    if (std::string path = row.difference(a, b); !path.empty()) return path;
  return {};
}

Row scalar(std::size_t at, const Scalar& scalar, ScenarioKey key, const void* fresh) {
  if (scalar.is_switch) key.type = ValueType::boolean;
  Row made{key, {}, {}, {}};
  const auto its = std::make_shared<const ScenarioKey>(std::move(key));
  made.read = [at, put = scalar.put, its](Section& section, void* spec) {
    if (const std::optional<Value> value = read_scalar(section, *its)) put(member(spec, at), *value);
  };
  made.write = [at, get = scalar.get, its](Texts& out, const void* spec, const WriteContext&) {
    if (const std::optional<Value> value = get(member(spec, at), its->type)) out.emplace_back(its->name, text_of_value(its->type, *value));
  };
  made.same = [at, same = scalar.same](const void* a, const void* b) { return same(member(a, at), member(b, at)); };
  return with_fallback(std::move(made), fresh);
}

Row choice(std::size_t at, const Enumeration& enumeration, Words words, ScenarioKey key, const void* fresh) {
  key.type = ValueType::choice;
  key.choices.clear();
  for (const auto& [word, value] : words) key.choices.push_back(word);
  Row made{key, {}, {}, {}};
  const auto its = std::make_shared<const std::pair<ScenarioKey, Words>>(std::move(key), std::move(words));
  made.read = [at, put = enumeration.put, its](Section& section, void* spec) {
    const std::optional<Value> chosen = read_scalar(section, its->first);
    if (!chosen) return;
    for (const auto& [word, value] : its->second)
      if (word == std::get<std::string>(*chosen)) return put(member(spec, at), value);
  };
  made.write = [at, get = enumeration.get, its](Texts& out, const void* spec, const WriteContext&) {
    for (const auto& [word, value] : its->second)
      if (value == get(member(spec, at))) return void(out.emplace_back(its->first.name, yaml_scalar(word)));
    throw std::logic_error(its->first.name + ": this choice has no name in its table");
  };
  made.same = [at, get = enumeration.get](const void* a, const void* b) { return get(member(a, at)) == get(member(b, at)); };
  return with_fallback(std::move(made), fresh);
}

Row two_words(std::size_t at, ScenarioKey key, std::string on, std::string off, const void* fresh) {
  key.type = ValueType::choice;
  if (key.choices.empty()) key.choices = {on, off};
  Row made{key, {}, {}, {}};
  const auto its = std::make_shared<const ScenarioKey>(std::move(key));
  made.read = [at, its, on](Section& section, void* spec) {
    if (const std::optional<Value> value = read_scalar(section, *its))
      *static_cast<bool*>(member(spec, at)) = std::get<std::string>(*value) == on;
  };
  made.write = [at, its, on, off](Texts& out, const void* spec, const WriteContext&) {
    out.emplace_back(its->name, *static_cast<const bool*>(member(spec, at)) ? on : off);
  };
  made.same = [at](const void* a, const void* b) {
    return *static_cast<const bool*>(member(a, at)) == *static_cast<const bool*>(member(b, at));
  };
  return with_fallback(std::move(made), fresh);
}

Row written_if(When when, Row inner) {
  inner.write = [when = std::move(when), write = std::move(inner.write)](Texts& out, const void* spec, const WriteContext& context) {
    if (when(spec)) write(out, spec, context);
  };
  return inner;
}

Row only_if(When when, Row inner) {
  inner.read = [when, read = std::move(inner.read)](Section& section, void* spec) {
    if (when(spec)) read(section, spec);
  };
  inner.key.conditional = true;
  return written_if(std::move(when), std::move(inner));
}

Row within(std::size_t at, Row inner) {
  Row made{inner.key, {}, {}, {}};
  const auto its = std::make_shared<const Row>(std::move(inner));
  made.read = [at, its](Section& section, void* spec) { its->read(section, member(spec, at)); };
  made.write = [at, its](Texts& out, const void* spec, const WriteContext& context) { its->write(out, member(spec, at), context); };
  made.same = [at, its](const void* a, const void* b) { return its->same(member(a, at), member(b, at)); };
  made.deciding = [at, its](const void* a, const void* b) { return its->difference(member(a, at), member(b, at)); };
  return made;
}

Row map(ScenarioKey key, Rows keys, Read check) {
  key.shape = ScenarioKey::Shape::map;
  key.keys = keys.keys();
  Row made{key, {}, {}, {}};
  const auto its = std::make_shared<const ScenarioKey>(std::move(key));
  made.read = [keys, its, check = std::move(check)](Section& section, void* spec) {
    if (its->required && section.require(its->name, its->remedy) == nullptr) return;
    if (section.find(its->name) == nullptr && any_required(its->keys)) return;  // an absent map lacks nothing
    Section inside = section.section(its->name);
    keys.read(inside, spec);
    inside.finish();
    if (check) check(inside, spec);
  };
  made.write = [keys, its](Texts& out, const void* spec, const WriteContext& context) {
    WriteContext deeper = context;
    deeper.indent += "  ";
    const Texts texts = keys.texts(spec, deeper);
    if (!texts.empty()) out.emplace_back(its->name, its->block ? block_map(texts, deeper.indent) : flow_map(texts));
  };
  made.same = [keys](const void* a, const void* b) { return keys.same(a, b); };
  made.deciding = [keys, its](const void* a, const void* b) { return below(its->name, keys.difference(a, b)); };
  return made;
}

Row held(std::size_t at, const Held& held, Row inner) {
  Row made{inner.key, {}, {}, {}};
  const auto its = std::make_shared<const Row>(std::move(inner));
  made.read = [at, its, put = held.put](Section& section, void* spec) {
    if (section.find(its->key.name) != nullptr) put(member(spec, at), [&](void* fresh) { its->read(section, fresh); });
  };
  made.write = [at, its, get = held.get](Texts& out, const void* spec, const WriteContext& context) {
    if (const void* there = get(member(spec, at))) its->write(out, there, context);
  };
  made.same = [at, its, get = held.get](const void* a, const void* b) {
    const void *of_a = get(member(a, at)), *of_b = get(member(b, at));
    return (of_a == nullptr) == (of_b == nullptr) && (of_a == nullptr || its->same(of_a, of_b));
  };
  return made;
}

Row kind(std::size_t at, ScenarioKey key, Rows beside) {
  key.shape = ScenarioKey::Shape::kind;
  key.keys = beside.keys();
  Row made{key, {}, {}, {}};
  const auto its = std::make_shared<const ScenarioKey>(std::move(key));
  made.read = [at, beside, its](Section& section, void* spec) {
    const YamlNode* node = its->required ? section.require(its->name, its->remedy) : section.find(its->name);
    if (node == nullptr && its->fallback_kind.empty()) return;
    *static_cast<Kind*>(member(spec, at)) = read_kind(section.context(), node, section.path_of(its->name), section.place_of(its->name),
                                                      *its->kind, its->fallback_kind, [&](Section& inside) { beside.read(inside, spec); });
  };
  made.write = [at, beside, its](Texts& out, const void* spec, const WriteContext& context) {
    const Kind& kind = *static_cast<const Kind*>(member(spec, at));
    if (kind.name.empty()) return;
    Texts texts = kind_texts(kind, *its->kind, context.vocabulary);
    for (auto& text : beside.texts(spec, context)) texts.push_back(std::move(text));
    out.emplace_back(its->name, flow_map(texts));
  };
  made.same = [at, beside](const void* a, const void* b) {
    return *static_cast<const Kind*>(member(a, at)) == *static_cast<const Kind*>(member(b, at)) && beside.same(a, b);
  };
  made.deciding = [beside, its](const void* a, const void* b) { return below(its->name, beside.difference(a, b)); };
  return made;
}

}  // namespace part

}  // namespace straggler

// A part of a scenario, declared once: its keys, and where each is kept. Reader, writer, differences, documents and the JSON Schema
// follow from the declaration. An example, a part of two keys:
//   Part<LoaderSpec>({
//       field(&LoaderSpec::per_sample, {.name = "per_sample", .type = ValueType::time, .required = true, .remedy = "write a time"}),
//       field(&LoaderSpec::workers, {.name = "workers", .type = ValueType::count, .range = Range::between(0, 1e6)}),
//   });
#pragma once
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "scenarios/schema/key.hpp"
#include "scenarios/schema/scenario.hpp"
#include "scenarios/schema/section.hpp"
#include "sim/base/choice_table.hpp"

namespace straggler {

/// Keys with the texts of their values, in order.
using Texts = std::vector<std::pair<std::string, std::string>>;

struct WriteContext {
  const Vocabulary& vocabulary;
  std::string indent = {};         // of the keys of a part that is written one key a line
  const LinkSpec* link = nullptr;  // the network's, for links that stand on it
};

/// A word as YAML: bare if nothing in it could be taken for something else, in double quotes otherwise.
std::string yaml_scalar(const std::string& text);
std::string flow_map(const Texts& texts);
/// One key a line, each begun by a line break and `indent`. A text that begins with a line break stands below its key.
std::string block_map(const Texts& texts, const std::string& indent);
/// Its name and its parameters in the order of their declaration.
Texts kind_texts(const Kind& kind, KindGroup group, const Vocabulary& vocabulary);
/// As a scenario would write it.
std::string text_of_value(ValueType type, const Value& value);

template <class Spec>
struct Field {
  ScenarioKey key;
  /// An absent or wrong value leaves the spec unchanged.
  std::function<void(Section&, Spec&)> read;
  /// Appends nothing where the value is absent.
  std::function<void(Texts&, const Spec&, const WriteContext&)> write;
  std::function<bool(const Spec&, const Spec&)> same;
  /// The path, below this key, of the first key that `decides` and differs; empty: none.
  std::function<std::string(const Spec&, const Spec&)> deciding = {};

  std::string difference(const Spec& a, const Spec& b) const {
    if (deciding)
      if (std::string path = deciding(a, b); !path.empty()) return path;
    return key.decides && !same(a, b) ? key.name : std::string();
  }
};

template <class Spec>
class Part {
 public:
  /// A field that moves into its part: elements of a braced list are constant, and would be copied.
  struct Movable {
    mutable Field<Spec> field;
    Movable(Field<Spec> given) : field(std::move(given)) {}
  };
  explicit Part(std::initializer_list<Movable> fields) : Part(moved(fields)) {}
  explicit Part(std::vector<Field<Spec>> fields) : fields_(std::make_shared<const std::vector<Field<Spec>>>(std::move(fields))) {}

  void read(Section& section, Spec& spec) const {
    for (const Field<Spec>& field : *fields_) field.read(section, spec);
  }
  Texts texts(const Spec& spec, const WriteContext& context) const {
    Texts out;
    for (const Field<Spec>& field : *fields_) field.write(out, spec, context);
    return out;
  }
  std::vector<ScenarioKey> keys() const {
    std::vector<ScenarioKey> out;
    out.reserve(fields_->size());
    for (const Field<Spec>& field : *fields_) out.push_back(field.key);
    return out;
  }
  bool same(const Spec& a, const Spec& b) const {
    for (const Field<Spec>& field : *fields_)
      if (!field.same(a, b)) return false;
    return true;
  }
  /// The path of the first key that `decides` and differs; empty: none.
  std::string difference(const Spec& a, const Spec& b) const {
    for (const Field<Spec>& field : *fields_)
      if (std::string path = field.difference(a, b); !path.empty()) return path;
    return {};
  }

 private:
  static std::vector<Field<Spec>> moved(std::initializer_list<Movable> given) {
    std::vector<Field<Spec>> fields;
    fields.reserve(given.size());
    for (const Movable& each : given) fields.push_back(std::move(each.field));
    return fields;
  }

  std::shared_ptr<const std::vector<Field<Spec>>> fields_;  // of all copies
};

namespace part {

template <class T>
struct Unwrapped {
  using type = T;
  static constexpr bool optional = false;
};
template <class T>
struct Unwrapped<std::optional<T>> {
  using type = T;
  static constexpr bool optional = true;
};

/// Asks for it, and notes that it is missing if it must not be.
inline std::optional<Value> read_scalar(Section& section, const ScenarioKey& key) {
  if (key.required) section.require(key.name, key.remedy);
  return section.value(key.parameter());
}

inline bool any_required(const std::vector<ScenarioKey>& keys) {
  for (const ScenarioKey& key : keys)
    if (key.required) return true;
  return false;
}

/// Its key documents the value of a fresh spec.
template <class Spec>
Field<Spec> with_fallback(Field<Spec> made) {
  if (made.key.required || !made.key.otherwise.empty()) return made;
  static const Vocabulary none;
  Texts texts;
  made.write(texts, Spec{}, WriteContext{none});
  if (!texts.empty()) made.key.fallback = texts[0].second;
  return made;
}

}  // namespace part

/// A number, switch, word or path. An optional member that is absent is not written, nor is an empty text; any other always is.
template <class Spec, class Member>
Field<Spec> field(Member Spec::*member, ScenarioKey key) {
  using Type = typename part::Unwrapped<Member>::type;
  using Held = std::conditional_t<std::is_same_v<Type, bool> || std::is_same_v<Type, double> || std::is_same_v<Type, std::string>, Type,
                                  std::int64_t>;
  if (std::is_same_v<Type, bool>) key.type = ValueType::boolean;
  Field<Spec> made{key, {}, {}, {}};
  const auto its = std::make_shared<const ScenarioKey>(std::move(key));
  made.read = [member, its](Section& section, Spec& spec) {
    if (const std::optional<Value> value = part::read_scalar(section, *its)) {
      if constexpr (std::is_same_v<Held, std::int64_t>) {
        if (const double* bytes = std::get_if<double>(&*value)) {
          spec.*member = static_cast<std::int64_t>(*bytes);  // a size, kept as a whole number
          return;
        }
      }
      spec.*member = std::get<Held>(*value);
    }
  };
  made.write = [member, its](Texts& out, const Spec& spec, const WriteContext&) {
    const auto add = [&](const Type& held) {
      Value value = Held(held);
      if constexpr (std::is_same_v<Held, std::int64_t>)
        if (its->type == ValueType::bytes) value = static_cast<double>(held);
      out.emplace_back(its->name, text_of_value(its->type, value));
    };
    if constexpr (part::Unwrapped<Member>::optional) {
      if (spec.*member) add(*(spec.*member));
    } else if constexpr (std::is_same_v<Type, std::string>) {
      if (!(spec.*member).empty()) add(spec.*member);
    } else {
      add(spec.*member);
    }
  };
  made.same = [member](const Spec& a, const Spec& b) { return a.*member == b.*member; };
  return part::with_fallback(std::move(made));
}

/// One of a table's words.
template <class Spec, class Enumerator>
Field<Spec> field(Enumerator Spec::*member, const ChoiceTable<Enumerator>& table, ScenarioKey key) {
  key.type = ValueType::choice;
  key.choices = table.names();
  key.name = std::string(table.parameter_name());
  Field<Spec> made{key, {}, {}, {}};
  const auto its = std::make_shared<const ScenarioKey>(std::move(key));
  made.read = [member, table, its](Section& section, Spec& spec) {
    if (const std::optional<Value> value = part::read_scalar(section, *its)) spec.*member = *table.find(std::get<std::string>(*value));
  };
  made.write = [member, table, its](Texts& out, const Spec& spec, const WriteContext&) {
    out.emplace_back(its->name, yaml_scalar(std::string(table.name_of(spec.*member))));
  };
  made.same = [member](const Spec& a, const Spec& b) { return a.*member == b.*member; };
  return part::with_fallback(std::move(made));
}

/// A switch of two words.
template <class Spec>
Field<Spec> two_words(bool Spec::*member, ScenarioKey key, std::string on, std::string off) {
  key.type = ValueType::choice;
  if (key.choices.empty()) key.choices = {on, off};
  Field<Spec> made{key, {}, {}, {}};
  const auto its = std::make_shared<const ScenarioKey>(std::move(key));
  made.read = [member, its, on](Section& section, Spec& spec) {
    if (const std::optional<Value> value = part::read_scalar(section, *its)) spec.*member = std::get<std::string>(*value) == on;
  };
  made.write = [member, its, on, off](Texts& out, const Spec& spec, const WriteContext&) {
    out.emplace_back(its->name, spec.*member ? on : off);
  };
  made.same = [member](const Spec& a, const Spec& b) { return a.*member == b.*member; };
  return part::with_fallback(std::move(made));
}

/// Written only where `when(spec)`.
template <class Spec>
Field<Spec> written_if(std::function<bool(const Spec&)> when, Field<Spec> inner) {
  inner.write = [when = std::move(when), write = inner.write](Texts& out, const Spec& spec, const WriteContext& context) {
    if (when(spec)) write(out, spec, context);
  };
  return inner;
}

/// Read and written only where `when(spec)`, which may depend on earlier fields.
template <class Spec>
Field<Spec> only_if(std::function<bool(const Spec&)> when, Field<Spec> inner) {
  inner.read = [when, read = inner.read](Section& section, Spec& spec) {
    if (when(spec)) read(section, spec);
  };
  inner.key.conditional = true;
  return written_if<Spec>(std::move(when), std::move(inner));
}

/// A key that `read` asks the section for; of files that no writer writes.
template <class Spec>
Field<Spec> read_by(ScenarioKey key, std::function<void(Section&, Spec&)> read) {
  return {std::move(key), std::move(read), [](Texts&, const Spec&, const WriteContext&) {}, [](const Spec&, const Spec&) { return true; }};
}

/// A key that the field before it reads.
template <class Spec>
Field<Spec> read_before(ScenarioKey key) {
  return read_by<Spec>(std::move(key), [](Section&, Spec&) {});
}

/// A field of a member.
template <class Spec, class Inner>
Field<Spec> within(Inner Spec::*member, Field<Inner> inner) {
  Field<Spec> made{inner.key, {}, {}, {}};
  made.read = [member, read = inner.read](Section& section, Spec& spec) { read(section, spec.*member); };
  made.write = [member, write = inner.write](Texts& out, const Spec& spec, const WriteContext& context) {
    write(out, spec.*member, context);
  };
  made.same = [member, same = inner.same](const Spec& a, const Spec& b) { return same(a.*member, b.*member); };
  const auto held = std::make_shared<const Field<Inner>>(std::move(inner));
  made.deciding = [member, held](const Spec& a, const Spec& b) { return held->difference(a.*member, b.*member); };
  return made;
}

/// Reports inconsistencies between the keys of a map, after finish().
template <class Spec>
using CheckOf = std::function<void(Section&, Spec&)>;

/// A map of the keys of `part`, kept in the spec itself.
template <class Spec>
Field<Spec> map(ScenarioKey key, const Part<Spec>& part, CheckOf<Spec> check = {}) {
  key.shape = ScenarioKey::Shape::map;
  key.keys = part.keys();
  Field<Spec> made{key, {}, {}, {}};
  const auto its = std::make_shared<const ScenarioKey>(std::move(key));
  made.read = [part, its, check](Section& section, Spec& spec) {
    if (its->required && section.require(its->name, its->remedy) == nullptr) return;
    if (section.find(its->name) == nullptr && part::any_required(its->keys)) return;  // an absent map lacks nothing
    Section inside = section.section(its->name);
    part.read(inside, spec);
    inside.finish();
    if (check) check(inside, spec);
  };
  made.write = [part, its](Texts& out, const Spec& spec, const WriteContext& context) {
    WriteContext deeper = context;
    deeper.indent += "  ";
    const Texts texts = part.texts(spec, deeper);
    if (!texts.empty()) out.emplace_back(its->name, its->block ? block_map(texts, deeper.indent) : flow_map(texts));
  };
  made.same = [part](const Spec& a, const Spec& b) { return part.same(a, b); };
  made.deciding = [part, its](const Spec& a, const Spec& b) {
    const std::string path = part.difference(a, b);
    return path.empty() ? path : its->name + "." + path;
  };
  return made;
}

/// A map of the keys of `part`, kept in a member. An optional member is there where the map is.
template <class Spec, class Member>
Field<Spec> map(Member Spec::*member, ScenarioKey key, const Part<typename part::Unwrapped<Member>::type>& part,
                CheckOf<typename part::Unwrapped<Member>::type> check = {}) {
  using Inner = typename part::Unwrapped<Member>::type;
  if constexpr (!part::Unwrapped<Member>::optional) {
    return within(member, map<Inner>(std::move(key), part, std::move(check)));
  } else {
    const auto inner = std::make_shared<const Field<Inner>>(map<Inner>(std::move(key), part, std::move(check)));
    Field<Spec> made{inner->key, {}, {}, {}};
    made.read = [member, inner](Section& section, Spec& spec) {
      if (section.find(inner->key.name) == nullptr) return;
      Inner fresh;
      inner->read(section, fresh);
      spec.*member = fresh;
    };
    made.write = [member, inner](Texts& out, const Spec& spec, const WriteContext& context) {
      if (spec.*member) inner->write(out, *(spec.*member), context);
    };
    made.same = [member, same = inner->same](const Spec& a, const Spec& b) {
      return (a.*member).has_value() == (b.*member).has_value() && (!(a.*member) || same(*(a.*member), *(b.*member)));
    };
    return made;
  }
}

/// Checks between one item of a list and the others: `before` is called ahead of reading item i of n, `check` after finish().
template <class Item>
struct ListChecks {
  std::function<void(Section&, std::size_t i, std::size_t n)> before = {};
  std::function<void(Section&, Item&, const std::vector<Item>& items_before)> check = {};
};

/// A list of maps of the keys of `part`; `key.remedy`: "write a list such as [...]". Written one item a line.
template <class Spec, class Item>
Field<Spec> list(std::vector<Item> Spec::*member, ScenarioKey key, const Part<Item>& part, ListChecks<Item> checks = {}) {
  key.shape = ScenarioKey::Shape::list;
  key.keys = part.keys();
  if (key.otherwise.empty()) key.fallback = "[]";
  Field<Spec> made{key, {}, {}, {}};
  const auto its = std::make_shared<const ScenarioKey>(std::move(key));
  made.read = [member, held = part, its, checks](Section& section, Spec& spec) {
    const YamlNode* node = section.find(its->name);
    if (node == nullptr) return;
    const std::string path = section.path_of(its->name);
    if (node->type != YamlNode::Type::sequence) {
      section.context().problems.add(node->place, path, "is " + what_stands(*node) + "; " + its->remedy);
      return;
    }
    std::vector<Item>& items = spec.*member;
    for (std::size_t i = 0; i < node->items.size(); ++i) {
      Section inside(section.context(), &node->items[i], path + "[" + std::to_string(i) + "]", node->items[i].place);
      Item item;
      if (checks.before) checks.before(inside, i, node->items.size());
      held.read(inside, item);
      inside.finish();
      if (checks.check) checks.check(inside, item, items);
      items.push_back(std::move(item));
    }
  };
  made.write = [member, held = part, its](Texts& out, const Spec& spec, const WriteContext& context) {
    std::string text;
    for (const Item& item : spec.*member) text += "\n" + context.indent + "  - " + flow_map(held.texts(item, context));
    out.emplace_back(its->name, text.empty() ? "[]" : text);
  };
  made.same = [member](const Spec& a, const Spec& b) { return a.*member == b.*member; };
  return made;
}

/// `{kind: NAME, …}`, with the keys of `beside`, kept in the spec itself, beside those of the kind.
template <class Spec>
Field<Spec> kind(Kind Spec::*member, ScenarioKey key, const Part<Spec>& beside = Part<Spec>({})) {
  key.shape = ScenarioKey::Shape::kind;
  key.keys = beside.keys();
  Field<Spec> made{key, {}, {}, {}};
  const auto its = std::make_shared<const ScenarioKey>(std::move(key));
  const Part<Spec> held = beside;
  made.read = [member, held, its](Section& section, Spec& spec) {
    const YamlNode* node = its->required ? section.require(its->name, its->remedy) : section.find(its->name);
    if (node == nullptr && its->fallback_kind.empty()) return;
    spec.*member = read_kind(section.context(), node, section.path_of(its->name), section.place_of(its->name), *its->kind,
                             its->fallback_kind, [&](Section& inside) { held.read(inside, spec); });
  };
  made.write = [member, held, its](Texts& out, const Spec& spec, const WriteContext& context) {
    if ((spec.*member).name.empty()) return;
    Texts texts = kind_texts(spec.*member, *its->kind, context.vocabulary);
    for (auto& text : held.texts(spec, context)) texts.push_back(std::move(text));
    out.emplace_back(its->name, flow_map(texts));
  };
  made.same = [member, held](const Spec& a, const Spec& b) { return a.*member == b.*member && held.same(a, b); };
  made.deciding = [held, its](const Spec& a, const Spec& b) {
    const std::string path = held.difference(a, b);
    return path.empty() ? path : its->name + "." + path;
  };
  return made;
}

}  // namespace straggler

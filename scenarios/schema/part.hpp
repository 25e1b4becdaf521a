// A part of a scenario, declared once: its keys, and where each is kept. Reader, writer, differences, documents and the JSON Schema
// follow from the declaration. An example, a part of two keys:
//   Part<LoaderSpec>({
//       field(&LoaderSpec::per_sample, {.name = "per_sample", .type = ValueType::time, .required = true, .remedy = "write a time"}),
//       field(&LoaderSpec::workers, {.name = "workers", .type = ValueType::count, .range = Range::between(0, 1e6)}),
//   });
#pragma once
#include <concepts>
#include <cstdint>
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

namespace part {

// Declarations for specs of any type: `void*` is the spec. One kind of function object serves all parts, so that a key costs the compiler
// little; Field and Part give it its type.
using Read = std::function<void(Section&, void*)>;
using Write = std::function<void(Texts&, const void*, const WriteContext&)>;
using Same = std::function<bool(const void*, const void*)>;
using Difference = std::function<std::string(const void*, const void*)>;
using When = std::function<bool(const void*)>;

struct Row {
  ScenarioKey key;
  Read read;
  Write write;
  Same same;
  Difference deciding = {};

  std::string difference(const void* a, const void* b) const;
};

class Rows {
 public:
  explicit Rows(std::vector<Row> rows) : rows_(std::make_shared<const std::vector<Row>>(std::move(rows))) {}
  void read(Section& section, void* spec) const;
  Texts texts(const void* spec, const WriteContext& context) const;
  std::vector<ScenarioKey> keys() const;
  bool same(const void* a, const void* b) const;
  std::string difference(const void* a, const void* b) const;

 private:
  std::shared_ptr<const std::vector<Row>> rows_;  // of all copies
};

/// What a type of numbers, switches or texts takes and gives.
struct Scalar {
  bool is_switch;
  void (*put)(void* member, const Value& value);
  std::optional<Value> (*get)(const void* member, ValueType type);  // none: not written
  bool (*same)(const void* a, const void* b);
};
/// A word of a table, and its enumerator.
using Words = std::vector<std::pair<std::string, std::int64_t>>;
struct Enumeration {
  void (*put)(void* member, std::int64_t value);
  std::int64_t (*get)(const void* member);
};
/// What an optional member holds.
struct Held {
  const void* (*get)(const void* member);                             // null: nothing
  void (*put)(void* member, const std::function<void(void*)>& fill);  // a fresh one, filled
};

// The functions below of the same names. `at`: where the member lies in the spec, in bytes. `fresh`: a fresh spec, whose value the key
// documents.
Row scalar(std::size_t at, const Scalar& scalar, ScenarioKey key, const void* fresh);
Row choice(std::size_t at, const Enumeration& enumeration, Words words, ScenarioKey key, const void* fresh);
Row two_words(std::size_t at, ScenarioKey key, std::string on, std::string off, const void* fresh);
Row written_if(When when, Row inner);
Row only_if(When when, Row inner);
Row within(std::size_t at, Row inner);
Row map(ScenarioKey key, Rows keys, Read check);
Row held(std::size_t at, const Held& held, Row inner);
Row kind(std::size_t at, ScenarioKey key, Rows beside);

template <class Spec>
const Spec& fresh() {
  static const Spec spec{};
  return spec;
}
template <class Spec, class Member>
std::size_t offset(Member Spec::*member) {
  const Spec& spec = fresh<Spec>();
  return static_cast<std::size_t>(reinterpret_cast<const char*>(&(spec.*member)) - reinterpret_cast<const char*>(&spec));
}

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

template <class Member>
constexpr Scalar scalar_of() {
  using Type = typename Unwrapped<Member>::type;
  using Kept = std::conditional_t<std::is_same_v<Type, bool> || std::is_same_v<Type, double> || std::is_same_v<Type, std::string>, Type,
                                  std::int64_t>;
  return {
      .is_switch = std::is_same_v<Type, bool>,
      .put =
          [](void* member, const Value& value) {
            Member& to = *static_cast<Member*>(member);
            if constexpr (std::is_same_v<Kept, std::int64_t>) {
              if (const double* bytes = std::get_if<double>(&value)) {
                to = static_cast<std::int64_t>(*bytes);  // a size, kept as a whole number
                return;
              }
            }
            to = std::get<Kept>(value);
          },
      .get = [](const void* member, ValueType type) -> std::optional<Value> {
        const Member& from = *static_cast<const Member*>(member);
        const Type* held = nullptr;
        if constexpr (Unwrapped<Member>::optional) {
          if (from) held = &*from;
        } else {
          held = &from;
        }
        if (held == nullptr) return std::nullopt;
        if constexpr (std::is_same_v<Type, std::string>)
          if (!Unwrapped<Member>::optional && held->empty()) return std::nullopt;
        if constexpr (std::is_same_v<Kept, std::int64_t>)
          if (type == ValueType::bytes) return static_cast<double>(*held);
        return Kept(*held);
      },
      .same = [](const void* a, const void* b) { return *static_cast<const Member*>(a) == *static_cast<const Member*>(b); },
  };
}

}  // namespace part

/// A function of a part's spec.
template <class Spec>
struct Reading {
  part::Read of_any;

  Reading() = default;
  explicit Reading(part::Read given) : of_any(std::move(given)) {}
  template <std::invocable<Section&, Spec&> F>
  Reading(F given) : of_any([given = std::move(given)](Section& section, void* spec) { given(section, *static_cast<Spec*>(spec)); }) {}
  void operator()(Section& section, Spec& spec) const { of_any(section, &spec); }
};
template <class Spec>
struct Writing {
  part::Write of_any;

  Writing() = default;
  explicit Writing(part::Write given) : of_any(std::move(given)) {}
  template <std::invocable<Texts&, const Spec&, const WriteContext&> F>
  Writing(F given)
      : of_any([given = std::move(given)](Texts& out, const void* spec, const WriteContext& context) {
          given(out, *static_cast<const Spec*>(spec), context);
        }) {}
  void operator()(Texts& out, const Spec& spec, const WriteContext& context) const { of_any(out, &spec, context); }
};
template <class Spec>
struct Sameness {
  part::Same of_any;

  Sameness() = default;
  explicit Sameness(part::Same given) : of_any(std::move(given)) {}
  template <std::invocable<const Spec&, const Spec&> F>
  Sameness(F given)
      : of_any([given = std::move(given)](const void* a, const void* b) {
          return given(*static_cast<const Spec*>(a), *static_cast<const Spec*>(b));
        }) {}
  bool operator()(const Spec& a, const Spec& b) const { return of_any(&a, &b); }
};

template <class Spec>
struct Field {
  ScenarioKey key;
  /// An absent or wrong value leaves the spec unchanged.
  Reading<Spec> read;
  /// Appends nothing where the value is absent.
  Writing<Spec> write;
  Sameness<Spec> same;
  /// The path, below this key, of the first key that `decides` and differs; empty: none.
  part::Difference deciding = {};

  static Field of(part::Row row) {
    return {std::move(row.key), Reading<Spec>(std::move(row.read)), Writing<Spec>(std::move(row.write)),
            Sameness<Spec>(std::move(row.same)), std::move(row.deciding)};
  }
  part::Row row() && {
    return {std::move(key), std::move(read.of_any), std::move(write.of_any), std::move(same.of_any), std::move(deciding)};
  }
};

template <class Spec>
class Part {
 public:
  /// A field that moves into its part: elements of a braced list are constant, and would be copied.
  struct Movable {
    mutable part::Row row;
    Movable(Field<Spec> given) : row(std::move(given).row()) {}
  };
  explicit Part(std::initializer_list<Movable> fields) : rows(moved(fields)) {}
  explicit Part(std::vector<Field<Spec>> fields) : rows(moved(fields)) {}

  void read(Section& section, Spec& spec) const { rows.read(section, &spec); }
  Texts texts(const Spec& spec, const WriteContext& context) const { return rows.texts(&spec, context); }
  std::vector<ScenarioKey> keys() const { return rows.keys(); }
  bool same(const Spec& a, const Spec& b) const { return rows.same(&a, &b); }
  /// The path of the first key that `decides` and differs; empty: none.
  std::string difference(const Spec& a, const Spec& b) const { return rows.difference(&a, &b); }

  part::Rows rows;

 private:
  static std::vector<part::Row> moved(std::initializer_list<Movable> given) {
    std::vector<part::Row> rows;
    rows.reserve(given.size());
    for (const Movable& each : given) rows.push_back(std::move(each.row));
    return rows;
  }
  static std::vector<part::Row> moved(std::vector<Field<Spec>>& given) {
    std::vector<part::Row> rows;
    rows.reserve(given.size());
    for (Field<Spec>& each : given) rows.push_back(std::move(each).row());
    return rows;
  }
};

/// A number, switch, word or path. An optional member that is absent is not written, nor is an empty text; any other always is.
template <class Spec, class Member>
Field<Spec> field(Member Spec::*member, ScenarioKey key) {
  static constexpr part::Scalar scalar = part::scalar_of<Member>();
  return Field<Spec>::of(part::scalar(part::offset(member), scalar, std::move(key), &part::fresh<Spec>()));
}

/// One of a table's words.
template <class Spec, class Enumerator>
Field<Spec> field(Enumerator Spec::*member, const ChoiceTable<Enumerator>& table, ScenarioKey key) {
  static constexpr part::Enumeration enumeration = {
      .put = [](void* to, std::int64_t value) { *static_cast<Enumerator*>(to) = static_cast<Enumerator>(value); },
      .get = [](const void* from) { return static_cast<std::int64_t>(*static_cast<const Enumerator*>(from)); },
  };
  part::Words words;
  for (std::string& name : table.names()) {
    const auto value = static_cast<std::int64_t>(*table.find(name));
    words.emplace_back(std::move(name), value);
  }
  key.name = std::string(table.parameter_name());
  return Field<Spec>::of(part::choice(part::offset(member), enumeration, std::move(words), std::move(key), &part::fresh<Spec>()));
}

/// A switch of two words.
template <class Spec>
Field<Spec> two_words(bool Spec::*member, ScenarioKey key, std::string on, std::string off) {
  return Field<Spec>::of(part::two_words(part::offset(member), std::move(key), std::move(on), std::move(off), &part::fresh<Spec>()));
}

namespace part {
template <class Spec>
When of_any(std::function<bool(const Spec&)> when) {
  return [when = std::move(when)](const void* spec) { return when(*static_cast<const Spec*>(spec)); };
}
}  // namespace part

/// Written only where `when(spec)`.
template <class Spec>
Field<Spec> written_if(std::function<bool(const Spec&)> when, Field<Spec> inner) {
  return Field<Spec>::of(part::written_if(part::of_any<Spec>(std::move(when)), std::move(inner).row()));
}

/// Read and written only where `when(spec)`, which may depend on earlier fields.
template <class Spec>
Field<Spec> only_if(std::function<bool(const Spec&)> when, Field<Spec> inner) {
  return Field<Spec>::of(part::only_if(part::of_any<Spec>(std::move(when)), std::move(inner).row()));
}

/// A key that `read` asks the section for; of files that no writer writes.
template <class Spec>
Field<Spec> read_by(ScenarioKey key, Reading<Spec> read) {
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
  return Field<Spec>::of(part::within(part::offset(member), std::move(inner).row()));
}

/// Reports inconsistencies between the keys of a map, after finish().
template <class Spec>
using CheckOf = Reading<Spec>;

/// A map of the keys of `part`, kept in the spec itself.
template <class Spec>
Field<Spec> map(ScenarioKey key, const Part<Spec>& part, CheckOf<Spec> check = {}) {
  return Field<Spec>::of(part::map(std::move(key), part.rows, std::move(check.of_any)));
}

/// A map of the keys of `part`, kept in a member. An optional member is there where the map is.
template <class Spec, class Member>
Field<Spec> map(Member Spec::*member, ScenarioKey key, const Part<typename part::Unwrapped<Member>::type>& part,
                CheckOf<typename part::Unwrapped<Member>::type> check = {}) {
  using Inner = typename part::Unwrapped<Member>::type;
  part::Row inner = part::map(std::move(key), part.rows, std::move(check.of_any));
  if constexpr (!part::Unwrapped<Member>::optional) {
    return Field<Spec>::of(part::within(part::offset(member), std::move(inner)));
  } else {
    static constexpr part::Held held = {
        .get = [](const void* from) -> const void* {
          const Member& there = *static_cast<const Member*>(from);
          return there ? &*there : nullptr;
        },
        .put =
            [](void* to, const std::function<void(void*)>& fill) {
              Inner fresh;
              fill(&fresh);
              *static_cast<Member*>(to) = std::move(fresh);
            },
    };
    return Field<Spec>::of(part::held(part::offset(member), held, std::move(inner)));
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
  return Field<Spec>::of(part::kind(part::offset(member), std::move(key), beside.rows));
}

}  // namespace straggler

// Declaration of one key of a scenario, a sweep or a claim: for messages, `straggler list keys`, the tables of the documents and the JSON
// Schemas.
#pragma once
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "scenarios/schema/vocabulary.hpp"
#include "sim/base/parameters.hpp"

namespace straggler {

struct ScenarioKey;

/// Constant keys, which all copies share: those of an inner part stand in the keys of every part around it.
class Keys {
 public:
  Keys() = default;
  Keys(std::vector<ScenarioKey> keys);
  Keys(std::initializer_list<ScenarioKey> keys);
  const std::vector<ScenarioKey>& all() const;
  operator const std::vector<ScenarioKey>&() const { return all(); }
  const ScenarioKey* begin() const;
  const ScenarioKey* end() const;
  bool empty() const { return keys_ == nullptr; }

 private:
  std::shared_ptr<const std::vector<ScenarioKey>> keys_;  // null: none
};

struct ScenarioKey {
  /// scalar: of `type`. values: a list of those. map: of `keys`. kind: `{kind: NAME, …}` of `kind`, with `keys` beside the kind's own
  /// parameters, or NAME alone. list: of maps of `keys`. entries: a map from names of the user's choice to maps of `keys`. any: any YAML.
  /// one_of: a value of one of `keys`. list_of, entries_of: a list, or a map from names of the user's choice, of such values. other: see
  /// `form`.
  enum class Shape { scalar, values, map, kind, list, entries, any, one_of, list_of, entries_of, other };

  std::string name = {};
  ValueType type = ValueType::number;
  Range range = {};
  std::string meaning = {};  // one line of Markdown; empty: no document lists the key
  bool required = false;
  std::string remedy = {};     // of a required one, where it is missing: "write a rate such as 1Gbps"
  std::string fallback = {};   // the value where it is absent, as a scenario writes it
  std::string otherwise = {};  // the effect of leaving it out, if no value gives it: "free", "the network's"
  std::string form = {};       // the form of its value, if type and shape do not give it: "list of shares"
  std::vector<std::string> choices = {};
  /// It decides which values are computed or in what order they are summed, and is in no root key: a replay compares it.
  bool decides = false;
  bool conditional = false;  // `required` holds only with certain keys beside it
  bool own_table = false;    // documents list its keys apart
  bool block = false;        // scenario.yaml has it over several lines
  Shape shape = Shape::scalar;
  std::optional<KindGroup> kind = {};
  std::string fallback_kind = {};
  Keys keys = {};

  bool listed() const { return !meaning.empty() || !keys.empty(); }
  /// For reading its value.
  Parameter parameter() const;
};

inline Keys::Keys(std::vector<ScenarioKey> keys) {
  if (!keys.empty()) keys_ = std::make_shared<const std::vector<ScenarioKey>>(std::move(keys));
}
inline Keys::Keys(std::initializer_list<ScenarioKey> keys) : Keys(std::vector<ScenarioKey>(keys)) {}
inline const std::vector<ScenarioKey>& Keys::all() const {
  static const std::vector<ScenarioKey> none;
  return keys_ ? *keys_ : none;
}
inline const ScenarioKey* Keys::begin() const { return all().data(); }
inline const ScenarioKey* Keys::end() const { return all().data() + all().size(); }

}  // namespace straggler

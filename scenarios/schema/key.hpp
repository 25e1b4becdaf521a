// Declaration of one key of a scenario, a sweep or a claim: for messages, `straggler list keys`, the tables of the documents and the JSON
// Schemas.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "scenarios/schema/vocabulary.hpp"
#include "sim/base/parameters.hpp"

namespace straggler {

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
  std::vector<ScenarioKey> keys = {};

  bool listed() const { return !meaning.empty() || !keys.empty(); }
  /// For reading its value.
  Parameter parameter() const;
};

}  // namespace straggler

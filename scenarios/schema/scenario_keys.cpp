#include "scenarios/schema/scenario_keys.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "scenarios/schema/other_names.hpp"
#include "scenarios/schema/read_parts.hpp"
#include "sim/base/suggest.hpp"
#include "sim/base/units.hpp"

namespace straggler {

namespace {

using KeyShape = ScenarioKey::Shape;

std::vector<ScenarioKey> top_level() {
  const auto part = [](const char* name, const char* meaning, std::vector<ScenarioKey> keys) {
    return ScenarioKey{
        .name = name, .meaning = meaning, .required = true, .own_table = true, .shape = KeyShape::map, .keys = std::move(keys)};
  };
  return {
      {.name = "straggler",
       .type = ValueType::count,
       .meaning = "version of the format",
       .required = true,
       .form = "`1`",
       .choices = {"1"}},
      {.name = "name",
       .type = ValueType::text,
       .meaning = "names the run, and its folder `results/NAME`",
       .otherwise = "the file's name",
       .form = "name"},
      {.name = "seed",
       .type = ValueType::count,
       .range = Range::at_least(0),
       .meaning = "seed of everything random: weights, order of samples, jitter, sampled clients; `--seed` overrides it",
       .fallback = "1",
       .form = "0 to 2^64 - 1"},
      {.name = "devices",
       .meaning = "one entry a device, under a name of your choice, below",
       .otherwise = "required, unless workers name built-in devices only",
       .form = "map",
       .own_table = true,
       .shape = KeyShape::entries,
       .keys = device_part().keys()},
      part("cluster", "below", cluster_part().keys()),
      part("workload", "below", workload_part().keys()),
      part("training", "below", training_part().keys()),
  };
}

std::string quoted(const std::string& text) { return "`" + text + "`"; }

/// "a", "a or b", "a, b or c".
std::string alternatives(const std::vector<std::string>& all) {
  std::string out;
  for (std::size_t i = 0; i < all.size(); ++i) out += (i == 0 ? "" : i + 1 < all.size() ? ", " : " or ") + quoted(all[i]);
  return out;
}

std::string type_text(const ScenarioKey& key) {
  const Range& range = key.range;
  const auto bound = [&](double value) { return text_of_value(key.type == ValueType::count ? ValueType::number : key.type, value); };
  switch (key.type) {
    case ValueType::count:
      return range.low == 0 ? "count, from 0" : "count";
    case ValueType::number:
      if (range.low_open) return "number above " + bound(range.low);
      return range.low > 0 ? "number, " + bound(range.low) + " to " + bound(range.high) : "number";
    case ValueType::fraction:
      return std::string("share") + (range.low_open ? ", above 0" : "") + (range.high_open ? ", below 1" : "");
    case ValueType::time:
      return range.low > 1e-12 ? "time, from " + bound(range.low) : range.low > 0 ? "time above 0" : "time";
    case ValueType::path:
      return "path";
    case ValueType::boolean:
      return "switch";
    case ValueType::choice:
      return alternatives(key.choices);
    default:
      const DimensionRow* const row = row_of(key.type);
      return row ? std::string(row->form) : std::string(name_of(key.type));
  }
}

std::string value_text(const ScenarioKey& key) {
  if (!key.form.empty()) return key.form;
  switch (key.shape) {
    case KeyShape::kind:
      return "kind";
    case KeyShape::any:
      return "any value";
    case KeyShape::list:
    case KeyShape::list_of:
      return "list";
    case KeyShape::map:
    case KeyShape::entries:
    case KeyShape::entries_of:
      return "map";
    default:
      return type_text(key);
  }
}

std::string absent_text(const ScenarioKey& key) {
  if (!key.otherwise.empty()) return key.otherwise;
  if (key.required) return "required";
  if (!key.fallback_kind.empty()) return quoted(key.fallback_kind);
  return key.fallback.empty() ? "none" : quoted(key.fallback);
}

void add_rows(std::vector<KeyRow>& rows, const std::vector<ScenarioKey>& keys, const std::string& prefix) {
  for (const ScenarioKey& key : keys) {
    if (!key.listed()) continue;
    const std::string path = prefix + key.name;
    if (!key.meaning.empty()) rows.push_back({path, value_text(key), absent_text(key), key.meaning});
    if (key.own_table || key.shape == KeyShape::other) continue;
    if (key.shape == KeyShape::one_of || key.shape == KeyShape::list_of || key.shape == KeyShape::entries_of) {
      for (const ScenarioKey& each : key.keys)  // an alternative that is a map; for entries, its name represents the user's
        if (each.shape == KeyShape::map)
          add_rows(rows, each.keys,
                   path + (key.shape == KeyShape::list_of      ? "[i]."
                           : key.shape == KeyShape::entries_of ? "." + each.name + "."
                                                               : "."));
        else if (key.shape == KeyShape::one_of && each.shape == KeyShape::entries_of)
          for (const ScenarioKey& entry : each.keys)
            if (entry.shape == KeyShape::map) add_rows(rows, entry.keys, path + "." + entry.name + ".");
    } else {
      add_rows(rows, key.keys, path + (key.shape == KeyShape::list ? "[i]." : "."));
    }
  }
}

}  // namespace

const std::vector<ScenarioKey>& scenario_keys() {
  static const std::vector<ScenarioKey> keys = top_level();
  return keys;
}

std::string deciding_difference(const Scenario& a, const Scenario& b) {
  if (const std::string path = training_part().difference(a.training, b.training); !path.empty()) return "training." + path;
  if (const std::string path = workload_part().difference(a.workload, b.workload); !path.empty()) return "workload." + path;
  return {};
}

std::vector<KeyRow> key_rows(const std::vector<ScenarioKey>& all, const std::string& path) {
  const std::vector<ScenarioKey>* keys = &all;
  std::size_t start = 0;
  while (start < path.size()) {
    const std::size_t end = std::min(path.find('.', start), path.size());
    const std::string name = path.substr(start, end - start);
    const ScenarioKey* found = nullptr;
    std::vector<std::string> known;
    for (const ScenarioKey& key : *keys) {
      if (!key.listed() || key.keys.empty()) continue;
      known.push_back(path.substr(0, start) + key.name);
      if (key.name == name) found = &key;
    }
    const auto kind = std::ranges::find_if(*keys, [&](const ScenarioKey& key) { return key.name == name && key.kind && key.keys.empty(); });
    if (found == nullptr && kind != keys->end())
      throw std::invalid_argument(path.substr(0, end) + " is a kind; `straggler list " + std::string(listed_as(*kind->kind)) +
                                  " NAME` lists the keys of one");
    if (found == nullptr) throw std::invalid_argument(unknown_name("part", path.substr(0, end), known));
    keys = &found->keys.all();
    start = end + 1;
  }
  std::vector<KeyRow> rows;
  add_rows(rows, *keys, "");
  return rows;
}

std::string command_that_lists(std::string_view section, std::string_view kind, const std::vector<std::string>& known) {
  const std::vector<ScenarioKey>* keys = &scenario_keys();
  std::string part;
  bool any_name = false;  // the next word is of the user's choice
  for (std::size_t at = 0; at < section.size();) {
    const std::size_t end = std::min(section.find('.', at), section.size());
    const std::string_view word = section.substr(at, std::min(section.find('[', at), end) - at);
    at = end + 1;
    if (std::exchange(any_name, false)) continue;
    const auto key = std::ranges::find(*keys, word, &ScenarioKey::name);
    if (key == keys->end()) return {};
    part += (part.empty() ? "" : ".") + key->name;
    if (key->shape == ScenarioKey::Shape::kind) {
      const bool found = at >= section.size() && Vocabulary::from_registries().find(*key->kind, kind) != nullptr;
      return found ? "straggler list " + std::string(listed_as(*key->kind)) + " " + std::string(kind) : std::string();
    }
    any_name = key->shape == ScenarioKey::Shape::entries || key->shape == ScenarioKey::Shape::entries_of;
    keys = &key->keys.all();
  }
  const auto listed = [&](const std::string& name) { return std::ranges::find(*keys, name, &ScenarioKey::name) != keys->end(); };
  if (std::ranges::all_of(known, listed)) return "straggler list keys" + (part.empty() ? part : " " + part);
  // The first key of another file names its kind.
  const bool other_file = section.empty() && (known.front() == "sweep" || known.front() == "claim");
  return other_file ? "straggler list keys " + known.front() : std::string();
}

std::string plain_text(const std::string& markdown) {
  std::string out;
  for (std::size_t i = 0; i < markdown.size(); ++i) {
    const std::size_t link =
        markdown[i] == ']' && i + 1 < markdown.size() && markdown[i + 1] == '(' ? markdown.find(')', i) : std::string::npos;
    if (link != std::string::npos)
      i = link;
    else if (markdown[i] != '`' && !(markdown[i] == '[' && markdown.find("](", i) != std::string::npos))
      out += markdown[i];
  }
  return out;
}

std::string key_table(const std::vector<KeyRow>& rows) {
  std::string out = "| key | value | default | meaning |\n| --- | --- | --- | --- |\n";
  for (const KeyRow& row : rows) out += "| `" + row.path + "` | " + row.value + " | " + row.absent + " | " + row.meaning + " |\n";
  return out;
}

}  // namespace straggler

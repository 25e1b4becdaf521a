// All keys of a scenario, and their tables and JSON Schema.
#pragma once
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "scenarios/schema/key.hpp"
#include "scenarios/schema/scenario.hpp"

namespace straggler {

/// The keys of the top level; those of its parts are below them.
const std::vector<ScenarioKey>& scenario_keys();

/// The path of the first key that differs among those that decide which values are computed and are in no root key; empty: none.
std::string deciding_difference(const Scenario& a, const Scenario& b);

/// One row of a table of keys.
struct KeyRow {
  std::string path;     // below the table's key: "link.bandwidth", "workers[i].count"
  std::string value;    // its possible values: "rate", "`full` or `half`"
  std::string absent;   // the effect of leaving it out: "required", "`0s`", "free"
  std::string meaning;  // Markdown
};

/// The keys below `path` ("", "cluster", "cluster.network.background"). Maps and lists are written out; a key with a table of its own is
/// one row. Throws std::invalid_argument, with the known keys, if there is no such key or it has none below it.
std::vector<KeyRow> key_rows(const std::vector<ScenarioKey>& keys, const std::string& path);
/// Markdown without its marks, for terminals and editors.
std::string plain_text(const std::string& markdown);
/// As a table of Markdown, header included.
std::string key_table(const std::vector<KeyRow>& rows);

/// The JSON Schema (draft 7) of a file of these keys: for completion and checks in an editor. Only the command that reads the file checks
/// several keys together.
nlohmann::ordered_json json_schema(const std::string& title, const std::vector<ScenarioKey>& keys,
                                   const Vocabulary& vocabulary = Vocabulary::from_registries());

}  // namespace straggler

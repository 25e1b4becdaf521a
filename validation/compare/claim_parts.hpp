// Readers of a claim's parts; only for reading claims.
#pragma once
#include <string>
#include <vector>

#include "scenarios/schema/part.hpp"
#include "validation/compare/claim.hpp"

namespace straggler {

/// "rows[1]"
std::string item_path(const std::string& list, std::size_t index);

/// A scalar, or a list of scalars, none of them empty. `remedy`: "write a path …".
std::vector<std::string> read_texts(ReadContext& context, const YamlNode* node, const std::string& path, const std::string& remedy);
std::vector<ScenarioKey> one_or_more_texts();

/// `{column: value, list or condition, …}`.
RowPattern read_pattern(ReadContext& context, const YamlNode* node, const std::string& path);
/// One such map, or a list of them.
std::vector<RowPattern> read_patterns(ReadContext& context, const YamlNode* node, const std::string& path);
/// The forms of a column's condition: a value, a list, a range.
std::vector<ScenarioKey> pattern_forms();
/// The same as one key, whose parts are documented elsewhere.
inline ScenarioKey pattern_form() { return {.name = "COLUMN", .shape = ScenarioKey::Shape::one_of, .keys = pattern_forms()}; }

/// The paths in `path` and `paths`: at least one.
std::vector<std::string> read_paths(Section& section);
template <class Spec>
std::vector<Field<Spec>> path_fields() {
  return {read_by<Spec>({.name = "path",
                         .meaning = "path in the scenario that gets the value",
                         .otherwise = "required, unless there are `paths`",
                         .form = "path",
                         .shape = ScenarioKey::Shape::one_of,
                         .keys = one_or_more_texts()},
                        [](Section& section, Spec& spec) { spec.paths = read_paths(section); }),
          read_before<Spec>({.name = "paths",
                             .meaning = "several paths that get the same value",
                             .otherwise = "required, unless there is a `path`",
                             .form = "list of paths",
                             .shape = ScenarioKey::Shape::one_of,
                             .keys = one_or_more_texts()})};
}

Part<Compared> compare_part();
void check_compare(Section& compare, Compared& spec);
Part<Fit> fit_part();

}  // namespace straggler

// Recipes: the scenario of a framework's job on a known machine, and how far off such scenarios were.
#pragma once
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace straggler::cli {

/// The errors of a claim that ships, on the rows it was not fitted to: as docs/validation.md prints them (tests/docs/check_figures).
struct RecipeError {
  std::string claim;  // its file in validation/claims
  std::string what;   // "4 L4, ResNet-18"
  std::string mean, largest;
};

/// What a framework does on a cluster, in the words of a scenario.
struct Framework {
  std::string name, summary, source;
  std::string scheme;  // of training
  std::string extra;   // other lines of training, if any
  bool servers = false;
  bool one_host = false;
};

/// Errors where the recipe's choices were found, and on a table that none of them was found on.
struct Evidence {
  std::string framework, machine;
  std::optional<RecipeError> found, tested;
};

const std::vector<Framework>& frameworks();
/// All that is known; "any machine" where `machine` is empty.
const std::vector<Evidence>& recipe_evidence();
/// How far off its recipes were, by machine: pairs of words.
std::vector<std::pair<std::string, std::string>> errors_of(const Framework& framework);
/// A scenario that is valid as it is. Throws UsageError for a name that is not known; an empty one is the most usual.
std::string recipe(const std::string& machine, const std::string& framework);

}  // namespace straggler::cli

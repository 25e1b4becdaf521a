// A network as a list of layers (docs/scenario.md), and its architecture.
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "models/zoo/architecture.hpp"

namespace straggler {

/// What a line may be: a kind of layer, or a form of the list.
struct LineKind {
  std::string name, summary;  // the name is the line's main key
  DeclaredParameters parameters;
  /// Of the main key. `parameters`: the first one alone, or a map of them; the others may stand beside it.
  enum class Value { parameters, map, names, lines } value;
};
/// By name.
std::vector<LineKind> line_kinds();

/// What the lines of a list stand on.
struct LayerListInput {
  Shape shape;
  std::map<std::string, std::int64_t> counts = {};  // words that stand for a whole number: classes, vocabulary
  std::optional<bool> symbols = {};                 // whether the input is symbols of the vocabulary, not measures; none: not known
  bool one_output = false;                          // every layer is read by a later one, but the last; else some are outputs besides
};

/// A line is fed by the one before, unless it says otherwise. Unnamed lines and what is inside of them are numbered as the parts of
/// PyTorch's nn.Sequential. Throws NestedError at the line that does not fit, with a path that begins with "layers".
Architecture architecture_of(const Nested& layers, const LayerListInput& input);

/// A list that architecture_of turns into the same layers, from the same inputs, with tensors of the same names.
Nested layer_list(const Architecture& architecture);

}  // namespace straggler

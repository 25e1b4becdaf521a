// A network as a list of layers (docs/scenario.md), and its architecture.
#pragma once
#include <cstdint>
#include <map>
#include <string>

#include "models/zoo/architecture.hpp"

namespace straggler {

/// What the lines of a list stand on.
struct LayerListInput {
  Shape shape;
  std::map<std::string, std::int64_t> counts = {};  // words that stand for a whole number: classes
};

/// A line is fed by the one before, unless it says otherwise. Unnamed lines and what is inside of them are numbered as the parts of
/// PyTorch's nn.Sequential. Throws NestedError at the line that does not fit, with a path that begins with "layers".
Architecture architecture_of(const Nested& layers, const LayerListInput& input);

/// A list that architecture_of turns into the same layers, from the same inputs, with tensors of the same names.
Nested layer_list(const Architecture& architecture);

}  // namespace straggler

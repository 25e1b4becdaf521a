#include "models/zoo/multilayer_perceptron.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>

namespace straggler {

Architecture multilayer_perceptron(const std::vector<std::size_t>& widths) {
  if (widths.size() < 2) throw std::invalid_argument("a perceptron needs inputs and classes; give at least two widths");
  if (std::find(widths.begin(), widths.end(), 0u) != widths.end())
    throw std::invalid_argument("a layer of width 0; every width is at least 1");
  ArchitectureBuilder build({widths.front(), 1, 1});
  LayerIndex x = network_input;
  for (std::size_t l = 1; l < widths.size(); ++l) {
    if (l > 1) x = build.relu(x);
    x = build.linear(x, std::to_string(2 * (l - 1)), widths[l]);
  }
  return std::move(build).build();
}

}  // namespace straggler

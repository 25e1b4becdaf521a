// Softmax regression and multilayer perceptrons as architectures.
#pragma once
#include <cstddef>
#include <vector>

#include "models/zoo/architecture.hpp"

namespace straggler {

/// Linear layers with ReLUs between them. `widths`: features, hidden layers, classes. Names as in the state_dict of PyTorch's
/// nn.Sequential(Linear, ReLU, Linear, …): "0.weight", "0.bias", "2.weight", … Throws std::invalid_argument unless there are at least two
/// widths, all nonzero.
Architecture multilayer_perceptron(const std::vector<std::size_t>& widths);

}  // namespace straggler

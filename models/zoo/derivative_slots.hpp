// Memory of the derivatives by the layers' outputs, reused as a backward pass proceeds.
#pragma once
#include <cstddef>
#include <vector>

#include "models/zoo/architecture.hpp"

namespace straggler {

/// A derivative lives from the last reader of an output back to the layer that made it.
struct DerivativeSlots {
  std::vector<std::size_t> of_layer;  // [layers]
  std::vector<std::size_t> floats;    // [slots]: of a sample
};

/// Of an architecture that has a layer.
DerivativeSlots derivative_slots(const Architecture& architecture);

}  // namespace straggler

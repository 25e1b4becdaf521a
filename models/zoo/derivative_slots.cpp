#include "models/zoo/derivative_slots.hpp"

#include <algorithm>

namespace straggler {
namespace {

/// A free slot for that many floats, or a new one.
std::size_t take_slot(std::size_t count, std::vector<std::size_t>& free, std::vector<std::size_t>& floats) {
  // The smallest sufficient slot, else the largest, which grows.
  auto best = free.end();
  for (auto slot = free.begin(); slot != free.end(); ++slot) {
    if (best == free.end()) best = slot;
    const std::size_t size = floats[*slot], best_size = floats[*best];
    if (best_size < count ? size > best_size : size >= count && size < best_size) best = slot;
  }
  if (best == free.end()) {
    floats.push_back(count);
    return floats.size() - 1;
  }
  const std::size_t taken = *best;
  free.erase(best);
  floats[taken] = std::max(floats[taken], count);
  return taken;
}

}  // namespace

DerivativeSlots derivative_slots(const Architecture& architecture) {
  constexpr std::size_t none = static_cast<std::size_t>(-1);
  const std::vector<LayerSpec>& layers = architecture.layers;
  DerivativeSlots slots;
  slots.of_layer.assign(layers.size(), none);
  std::vector<std::size_t> free;
  slots.of_layer.back() = take_slot(layers.back().out.size(), free, slots.floats);
  for (std::size_t l = layers.size(); l-- > 0;) {
    for (const LayerIndex input : layers[l].inputs)
      if (input != network_input && slots.of_layer[input] == none)
        slots.of_layer[input] = take_slot(layers[input].out.size(), free, slots.floats);
    free.push_back(slots.of_layer[l]);
  }
  return slots;
}

}  // namespace straggler

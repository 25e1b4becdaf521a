#include "scenarios/experiment/memory_parts.hpp"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <numeric>
#include <utility>

#include "sim/base/readable.hpp"

namespace straggler {

DeviceMemory states_on_device(const TrainingStates& states, const StateShares& shares) {
  const auto share_from = [&](std::int64_t stage) { return shares.stage >= stage ? 1 / shares.ways : 1.0; };
  const bool narrow = states.number_bytes < 4;  // master weights and state stay in fp32; the weights in use are a copy
  DeviceMemory memory;
  memory.weights = states.parameters * states.number_bytes * share_from(3);
  memory.gradients = states.parameters * states.number_bytes * (shares.whole_gradients ? 1 : share_from(2)) + states.residual_bytes;
  const double padding = shares.stage > 0 ? shares.padding : 1;
  memory.optimizer = ((narrow ? 4 * states.parameters : 0) + states.optimizer_bytes) * padding * share_from(1) + states.scratch_bytes;
  if (shares.secondary_ways > 0) memory.gathered += states.parameters * shares.secondary_bytes / shares.secondary_ways;
  if (shares.stage < 3 || shares.units.empty()) return memory;
  std::vector<double> largest = shares.units;
  std::ranges::sort(largest, std::greater());
  if (!shares.keeps_gathered) largest.resize(std::min(largest.size(), static_cast<std::size_t>(shares.prefetch) + 1));
  const double gathered = std::accumulate(largest.begin(), largest.end(), 0.0);
  memory.gathered += states.number_bytes * (gathered + (shares.whole_gradients ? 0 : largest.front()));
  return memory;
}

std::string parts_of(const DeviceMemory& memory) {
  std::string text;
  for (const auto& [name, bytes] : {std::pair{"weights ", memory.weights}, std::pair{"gradients ", memory.gradients},
                                    std::pair{"optimizer ", memory.optimizer}, std::pair{"activations ", memory.activations},
                                    std::pair{"gathered units ", memory.gathered}, std::pair{"buckets ", memory.buckets}})
    if (bytes > 0) text += (text.empty() ? "" : ", ") + std::string(name) + readable_bytes(bytes);
  return text;
}

}  // namespace straggler

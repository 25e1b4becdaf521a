// Memory of the engine `panels`. Included by its own sources only.
#pragma once
#include <cstdint>
#include <vector>

#include "models/layers/floats.hpp"
#include "models/zoo/panel_network.hpp"

namespace straggler {

/// Where the values of some samples lie: panels.
struct PanelNetwork::Values {
  const float* inputs = nullptr;       // of the first step
  std::vector<float*> outputs;         // [steps]
  std::vector<std::uint8_t*> winners;  // [steps]: of max pools
  const float* input(std::size_t step) const { return step == 0 ? inputs : outputs[step - 1]; }
};

struct PanelNetwork::Storage {
  std::vector<Floats> outputs;                     // [steps]
  std::vector<std::vector<std::uint8_t>> winners;  // [steps]

  void make_room(const std::vector<PanelStep>& steps, std::size_t rows) {
    outputs.resize(steps.size());
    winners.resize(steps.size());
    for (std::size_t s = 0; s < steps.size(); ++s) {
      const std::size_t floats = panel_floats(rows, steps[s].out);
      outputs[s].grow(floats);
      if (steps[s].has_winners() && winners[s].size() < floats) winners[s].resize(floats);
    }
  }
  /// From panel `panel` on.
  void show(const std::vector<PanelStep>& steps, std::size_t panel, const float* inputs, Values& values) {
    values.inputs = inputs;
    values.outputs.clear();
    values.winners.clear();
    for (std::size_t s = 0; s < steps.size(); ++s) {
      const std::size_t at = panel * panel_floats(1, steps[s].out);
      values.outputs.push_back(outputs[s].data() + at);
      values.winners.push_back(steps[s].has_winners() ? winners[s].data() + at : nullptr);
    }
  }
};

/// Of one thread.
struct PanelNetwork::Scratch final : Workspace {
  Storage storage;
  Values values;
  Floats inputs;       // if they are copied
  Floats errors[2];    // derivatives by a step's input, alternating
  Floats conv_output;  // of one panel, if a pool follows; then the derivative by it
  Floats conv_scratch, weights;
};

/// Of all threads that compute one gradient.
struct PanelNetwork::Shared final : Workspace {
  Storage storage;
  std::vector<Floats> errors;  // [steps]: derivatives by a step's input; the first: none
};

}  // namespace straggler

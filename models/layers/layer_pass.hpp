// One pass of one layer, as its row's plain arithmetic sees it. Activations are sample-major, [rows][channels][height][width]. A backward
// pass adds to derivatives and gradients.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "models/layers/layer.hpp"

namespace straggler {

template <class Scalar>
struct LayerPass {
  struct Input {
    const Scalar* x = nullptr;
    Scalar* dx = nullptr;  // backward; null: of no use
    std::size_t size = 0;  // of a sample
  };
  const LayerSpec& layer;
  std::size_t index = 0;  // of the layer in its network
  std::size_t rows = 0;
  bool training = false;                 // forward
  const std::uint64_t* draws = nullptr;  // [rows], if a layer of the network draws
  std::span<const Input> inputs = {};
  Scalar* y = nullptr;         // backward reads it
  const Scalar* dy = nullptr;  // backward
  const std::vector<std::size_t>& offsets;
  const Scalar* weights = nullptr;
  Scalar* weight_gradient = nullptr;  // backward
  const Scalar* running = nullptr;    // forward in evaluation: the buffers
  Scalar* batch = nullptr;            // forward in training: the batch's statistics, in the buffers' order
  std::uint32_t* kept = nullptr;      // [rows][kept_indices]
  Scalar* scratch = nullptr;          // [scratch]

  const Scalar* x() const { return inputs[0].x; }
  Scalar* dx() const { return inputs[0].dx; }
  /// Of the batch's output.
  std::size_t count() const { return rows * layer.out.size(); }
  /// Null: the layer has no such tensor.
  const Scalar* tensor(std::size_t t) const { return t < offsets.size() ? weights + offsets[t] : nullptr; }
  Scalar* gradient(std::size_t t) const { return t < offsets.size() ? weight_gradient + offsets[t] : nullptr; }
};

}  // namespace straggler

// A tensor's part in a flat vector of weights.
#pragma once
#include <cstddef>
#include <string>
#include <vector>

namespace straggler {

struct TensorInfo {
  std::string name;
  std::vector<std::size_t> shape;
  std::size_t offset = 0;  // in floats, into the flat vector
  /// Of hidden weights: the rows of each matrix in it, one below the other; all dimensions but the first are its columns. Empty: it is an
  /// embedding, positions, the output layer's, or of one dimension.
  std::vector<std::size_t> matrices = {};

  std::size_t numbers() const {
    std::size_t count = 1;
    for (const std::size_t side : shape) count *= side;
    return count;
  }
};

}  // namespace straggler

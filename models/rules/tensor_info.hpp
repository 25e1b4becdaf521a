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
};

}  // namespace straggler

// All inputs of a split, as floats.
#pragma once
#include <vector>

#include "models/data/dataset.hpp"

namespace straggler::test {

inline std::vector<float> floats(const DataSplit& split) {
  std::vector<float> all(split.inputs.count() * split.inputs.features());
  for (std::size_t i = 0; i < split.inputs.count(); ++i) split.inputs.copy(i, all.data() + i * split.inputs.features());
  return all;
}

}  // namespace straggler::test

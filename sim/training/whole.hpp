#pragma once
#include "sim/training/payload.hpp"

namespace straggler {

/// The weights without the difference as which they came: that has the bytes of one message, to a receiver that holds its base.
inline Weights whole(Weights weights) {
  if (weights->difference()) weights.edit().more.edit().difference.reset();
  return weights;
}

}  // namespace straggler

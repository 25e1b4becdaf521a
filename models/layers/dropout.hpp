// Dropout's mask (Srivastava et al. 2014): drawn per sample, the same in every batch, on every rank.
#pragma once
#include <cstddef>
#include <cstdint>

#include "sim/base/random.hpp"

namespace straggler {

/// The elements of one sample in one layer, in order: element i has word i of the random stream with the key of `draw` (Rows::draws) and
/// the layer's index in its architecture, and is kept if that is at least rate · 2^32.
class DropoutMask {
 public:
  DropoutMask(std::uint64_t draw, std::size_t layer, double rate) : stream_(draw, layer), bound_(rate * 0x1p32) {}
  /// Whether to keep the next element.
  bool keeps() { return static_cast<double>(stream_()) >= bound_; }

 private:
  RandomStream stream_;
  double bound_;
};

}  // namespace straggler

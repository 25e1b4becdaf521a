// Values that somebody else has computed already, by the keys of their nodes.
#pragma once
#include <span>

#include "sim/base/key.hpp"

namespace straggler {

/// Asked while evaluation is planned, on the thread that asks for it. A key names a value to the bit, so that nothing depends on what is
/// known but time.
class KnownValues {
 public:
  virtual ~KnownValues() = default;
  /// Cheap: asked for every node without a value.
  virtual bool knows(const Key& key) const = 0;
  /// Writes the value. False if it is not to be had after all: then it is computed.
  virtual bool read(const Key& key, std::span<float> to) = 0;
};

}  // namespace straggler

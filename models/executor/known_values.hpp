// Values that were computed elsewhere, by the keys of their nodes.
#pragma once
#include <span>

#include "sim/base/key.hpp"

namespace straggler {

/// Asked during planning, on the evaluating thread. A key identifies a value bit for bit, so known values affect only the time.
class KnownValues {
 public:
  virtual ~KnownValues() = default;
  /// Cheap: called for every node without a value.
  virtual bool knows(const Key& key) const = 0;
  /// Writes the value. False if it is unavailable after all: then it is computed.
  virtual bool read(const Key& key, std::span<float> to) = 0;
};

}  // namespace straggler

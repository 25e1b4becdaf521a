// Where a run's epochs go if they are too many for memory.
#pragma once
#include "sim/record/record.hpp"

namespace straggler {

/// A RecordSink that is one of these, too, gets each epoch when it ends; the record then holds none.
class EpochSink {
 public:
  virtual ~EpochSink() = default;
  /// One row of epochs.csv.
  virtual void epoch(const EpochRecord& epoch) = 0;
};

}  // namespace straggler

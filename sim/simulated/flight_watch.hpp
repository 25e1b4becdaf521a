#pragma once
#include "sim/base/rank.hpp"

namespace straggler {

/// Hears when a worker has one more message in flight, and when one less.
class FlightWatch {
 public:
  virtual void flight(Rank worker, bool begins) = 0;

 protected:
  ~FlightWatch() = default;
};

}  // namespace straggler

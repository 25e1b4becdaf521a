// The continuous part of a hybrid simulation: something whose state flows between events (the network).
#pragma once
#include "sim/engine/time.hpp"

namespace straggler {

/// The simulation settles it before the clock moves and lets it act when its next moment is the earliest. At one
/// instant events of the queue go first.
class ContinuousModel {
 public:
  virtual Time next() const = 0;       // its next moment, given that nothing else happens; never() if none. Settled only.
  virtual bool unsettled() const = 0;  // changes of this instant are not yet worked in
  virtual void settle() = 0;
  virtual void act() = 0;  // the clock stands at next()

 protected:
  ~ContinuousModel() = default;
};

}  // namespace straggler

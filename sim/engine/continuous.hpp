// The continuous part of a hybrid simulation: a model whose state flows between events (the network).
#pragma once
#include "sim/engine/time.hpp"

namespace straggler {

/// The simulation settles it before the clock moves and lets it act when its next moment is the earliest. At one instant the queue's events
/// go first.
class ContinuousModel {
 public:
  /// The model keeps it up to date: the simulation reads it before each event.
  struct Moment {
    Time next = Time::never();  // when it acts if no other event happens; never() if not at all. Settled only
    bool unsettled = false;     // changes of this instant are not yet applied
  };
  const Moment& moment() const { return *moment_; }
  virtual void settle() = 0;
  virtual void act() = 0;  // the clock stands at moment().next

 protected:
  /// `moment` outlives this.
  explicit ContinuousModel(const Moment& moment) : moment_(&moment) {}
  ~ContinuousModel() = default;

 private:
  const Moment* moment_;
};

}  // namespace straggler

// A share of push-sum weights as a Python object.
#pragma once
#include "python/module/operations.hpp"

namespace straggler::python {

/// Of one life: what its variables hold of it goes back to the run's pool when the life is over, whenever Python drops the variables.
class PushWeightObject final : public Linked {
 public:
  PushWeightObject(Life& life, PushWeight&& share) : life_(&life), share_(std::make_unique<PushWeight>(std::move(share))) {
    link(life.push_weights());
  }
  ~PushWeightObject() {
    if (life_ && !life_->scope().is_here()) life_->scope().leave(std::move(share_));
  }
  /// Throws std::runtime_error if the life is over, or the run is on another thread.
  Life& life() const {
    if (!life_) throw std::runtime_error("this push-sum weight is of a life that is over");
    if (!life_->scope().is_here()) throw std::runtime_error("a push-sum weight is for its own generator, on the thread of the run");
    return *life_;
  }
  PushWeight& weight() const {
    life();
    return *share_;
  }
  /// The life is over.
  void drop() {
    unlink();
    life_ = nullptr;
    share_.reset();
  }

 private:
  Life* life_;
  std::unique_ptr<PushWeight> share_;
};

}  // namespace straggler::python

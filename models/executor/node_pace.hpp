// Whether nodes are so small that handing them to other threads takes longer than they do.
#pragma once
#include <cstddef>

namespace straggler {

/// All threads, or the caller's alone: which takes less time a node. Found while nodes are computed, over the plans of a run, by looking
/// at the clock now and then: nodes that take microseconds are computed the other way for some time, and again when the last answer has
/// become old. Clocks are the caller's, in seconds.
class NodePace {
 public:
  /// The caller's thread is to compute all nodes.
  bool alone() const { return alone_; }
  /// The clock runs from here to `pause`.
  void resume(double now) { last_ = now; }
  void pause(double now) {
    seconds_ += now - last_;
    last_ = now;
  }
  /// So many more nodes are finished. True if it is time for `look`.
  bool count(std::size_t nodes) {
    nodes_ += nodes;
    if (nodes_ < look_at_) return false;
    look_at_ = nodes_ + nodes_a_look;
    return true;
  }
  /// True if alone() has changed.
  bool look(double now);

 private:
  static constexpr std::size_t nodes_a_look = 8, nodes_a_slice = 128;
  void begin_slice();

  bool alone_ = false;
  bool trial_ = false;                   // of the way that is not known to be the faster one
  double other_ = 0;                     // seconds a node of the faster way, during a trial
  double last_ = 0, seconds_ = 0;        // of this slice
  std::size_t nodes_ = 0, look_at_ = 8;  // of this slice
  std::size_t rest_ = 0, until_trial_ = 0;
};

}  // namespace straggler

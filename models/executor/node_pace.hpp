// Whether nodes are so small that handing them to other threads takes longer than they do.
#pragma once
#include <cstddef>

namespace straggler {

/// Decides whether all threads compute the nodes of a run, or the caller's thread alone, whichever takes less time per node. While nodes
/// take microseconds, it tries the other way for one slice of nodes, keeps the faster one, and tries again later. It counts across plans.
/// The caller reads the clock, in seconds.
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
  /// Counts finished nodes. True if `look` is to be called.
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
  bool trial_ = false;                      // this slice tries the other way
  double other_ = 0;                        // during a trial: seconds per node before it
  double last_ = 0, seconds_ = 0;           // of this slice
  std::size_t nodes_ = 0, look_at_ = 8;     // of this slice
  std::size_t rest_ = 0, until_trial_ = 0;  // nodes between trials, and until the next one
};

}  // namespace straggler

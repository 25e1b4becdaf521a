#include "models/executor/node_pace.hpp"

#include <algorithm>

namespace straggler {
namespace {

constexpr double most_seconds = 1e-3;                                // in seconds; large nodes are seen to be large by then
constexpr double small = 20e-6;                                      // seconds a node, of which passing it on takes a large part
constexpr std::size_t shortest_rest = 1024, longest_rest = 1 << 20;  // nodes between trials

}  // namespace

bool NodePace::look(double now) {
  pause(now);
  const bool worse = trial_ && seconds_ > other_ * nodes_a_slice;  // whatever the rest of the slice takes
  if (nodes_ < nodes_a_slice && seconds_ < most_seconds && !worse) return false;
  const double pace = seconds_ / static_cast<double>(nodes_);
  until_trial_ -= std::min(until_trial_, nodes_);
  const bool before = alone_;
  if (trial_) {
    const bool better = pace < other_;
    trial_ = false;
    if (!better) alone_ = !alone_;
    rest_ = until_trial_ = better ? shortest_rest : std::clamp(2 * rest_, shortest_rest, longest_rest);
  } else if (pace < small && until_trial_ == 0) {
    trial_ = true;
    other_ = pace;
    alone_ = !alone_;
  }
  if (pace >= small && alone_ && !trial_) {
    alone_ = false;
    rest_ = until_trial_ = shortest_rest;
  }
  begin_slice();
  return alone_ != before;
}

void NodePace::begin_slice() {
  seconds_ = 0;
  nodes_ = 0;
  look_at_ = nodes_a_look;
}

}  // namespace straggler

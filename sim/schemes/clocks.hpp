// Clocks of workers that may be only so far apart: a clock counts a worker's updates.
#pragma once
#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "sim/training/node.hpp"

namespace straggler::schemes {

/// The clocks of the workers that are waited for.
class Clocks {
 public:
  Clocks(const Node& node, std::uint64_t slack) : node_(node), slack_(slack), clocks_(static_cast<std::size_t>(node.workers())) {
    members_changed();
  }
  void tick(Rank worker) {
    if (running(worker)) set(worker, *of(worker).now + 1);
  }
  bool may_continue(Rank worker) const { return !running(worker) || *of(worker).now - slowest() <= slack_; }
  /// A worker that has come back is neither behind the others nor further ahead of them than the slack allows.
  void members_changed() {
    for (Rank worker = 0; worker < node_.workers(); ++worker) {
      if (running(worker) && !node_.awaits(worker)) remove(worker);
      if (running(worker) || !node_.awaits(worker)) continue;
      const std::uint64_t least = counts_.empty() ? of(worker).last : slowest();
      set(worker, std::clamp(of(worker).last, least, least + slack_));
    }
  }

 private:
  struct Clock {
    std::optional<std::uint64_t> now;  // none: it is not waited for
    std::uint64_t last = 0;
  };
  Clock& of(Rank worker) { return clocks_[index_of(worker)]; }
  const Clock& of(Rank worker) const { return clocks_[index_of(worker)]; }
  bool running(Rank worker) const { return of(worker).now.has_value(); }
  std::uint64_t slowest() const { return counts_.begin()->first; }
  void remove(Rank worker) {
    const auto count = counts_.find(*of(worker).now);
    if (--count->second == 0) counts_.erase(count);
    of(worker).now.reset();
  }
  void set(Rank worker, std::uint64_t clock) {
    if (running(worker)) remove(worker);
    of(worker) = {clock, clock};
    ++counts_[clock];
  }

  const Node& node_;
  std::uint64_t slack_;
  std::vector<Clock> clocks_;             // [workers]
  std::map<std::uint64_t, Rank> counts_;  // workers at each clock
};

}  // namespace straggler::schemes

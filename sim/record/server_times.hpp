// What servers and aggregators spend their time on, for their energy. They are observed: nothing that they do depends on it.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

#include "sim/record/costs.hpp"

namespace straggler {

/// At any instant a machine is busy (it handles a message, or updates weights: Phase::compute), or communicates (its bytes are in flight:
/// Phase::communication), or is idle.
class ServerTimes {
 public:
  /// `machines`: servers that act alike are one.
  explicit ServerTimes(std::size_t machines) : machines_(machines) {}

  /// It is busy from `begin` to `end`, which may lie ahead. Spans of a machine do not overlap, and are noted in order.
  void busy(std::size_t machine, Time begin, Time end) {
    if (end <= begin) return;
    std::deque<Span>& ahead = machines_[machine].ahead;
    if (!ahead.empty() && ahead.back().end == begin)
      ahead.back().end = end;
    else
      ahead.push_back({begin, end});
  }
  void flight(std::size_t machine, Time now, bool begins) {
    Machine& own = machines_[machine];
    advance(own, now);
    own.flights += begins ? 1 : -1;
  }
  /// As of `now`, which does not go back.
  const ByPhase<WideTicks>& ticks(std::size_t machine, Time now) {
    advance(machines_[machine], now);
    return machines_[machine].ticks;
  }
  std::size_t machines() const { return machines_.size(); }

 private:
  struct Span {
    Time begin, end;
  };
  struct Machine {
    Time since;
    std::int64_t flights = 0;
    std::deque<Span> ahead;  // not yet over at `since`
    ByPhase<WideTicks> ticks;
  };
  static void advance(Machine& own, Time now) {
    Time busy;
    while (!own.ahead.empty() && own.ahead.front().begin < now) {
      const Span& span = own.ahead.front();
      busy += std::min(span.end, now) - std::max(span.begin, own.since);
      if (span.end > now) break;
      own.ahead.pop_front();
    }
    own.ticks[Phase::compute] += busy.ticks();
    own.ticks[own.flights > 0 ? Phase::communication : Phase::idle] += (now - own.since - busy).ticks();
    own.since = now;
  }

  std::vector<Machine> machines_;
};

}  // namespace straggler

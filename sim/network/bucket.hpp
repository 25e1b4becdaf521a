// A token bucket on a link.
#pragma once
#include <algorithm>

#include "sim/engine/event_queue.hpp"
#include "sim/engine/time.hpp"
#include "sim/network/flow_request.hpp"

namespace straggler::fluid {

/// While it is open its link's capacity is `peak`, otherwise `committed`. Tokens come at the committed rate, up to `burst`, and go at the
/// rate at which the link carries bytes. It closes when the tokens are gone, by a timer for the present load, and opens again when it holds
/// `opening` of them. That moment changes no rate (a link regains tokens only while it carries less than its committed rate), so it costs
/// no event: it is applied at the next access to the link. `opening` keeps coupled buckets from opening and closing forever at one moment.
///
/// Invariants
///  - `load` is the link's rate since `since`: every flow over it is the general tier's, which includes the link whenever it changes a rate
///    on it.
///  - Tokens stay between 0 and `burst`, up to the rounding of the timer to a tick.
struct Bucket {
  double opening() const { return burst / 1024; }

  /// Applies the gains and losses since `since`.
  void advance(Time now) {
    if (now == since) return;
    const double before = tokens;
    tokens = std::min(burst, tokens + (committed - load) * static_cast<double>((now - since).ticks()));
    if (idle) regained += tokens - before;
    since = now;
  }

  LinkId link;
  double committed, peak;  // bytes per tick
  double ratio;            // peak / committed, also while the link is down
  double burst, tokens;    // bytes
  double load = 0;
  double regained = 0;  // in all, while idle
  double closings = 0;  // number of times: each may let a tick at the peak through
  Time since;
  bool idle = true;  // there is no flow on the link
  bool open = true;
  bool timed = false;
  EventQueue::Timer timer{};
};

}  // namespace straggler::fluid

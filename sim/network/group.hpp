// The flows bound to one link, finished by virtual time.
#pragma once
#include <cstdint>
#include <limits>
#include <memory>
#include <vector>

#include "sim/engine/ring.hpp"
#include "sim/engine/time.hpp"
#include "sim/network/flow.hpp"
#include "sim/network/hub.hpp"
#include "sim/network/link.hpp"
#include "sim/network/tag.hpp"

namespace straggler::fluid {

/// All flows bound to a link have one level (rate per weight), so virtual time, which runs at that level, finishes them in the order of
/// their finish tags: virtual time at binding + bytes / weight. A new level costs O(1) for all of them, and no remaining bytes are stored.
/// (Virtual time as in weighted fair queueing: Demers, Keshav & Shenker, 1989; Parekh & Gallager, 1993.)
///
/// Invariants
///  - `in_order` is sorted by finish; a tag that would come before its last one goes to the heap `others`.
///  - A tag is live while its stamp is the flow's. There are as many live tags as bound flows of the link.
///  - Virtual time restarts at 0 when the group has no tags, and is set back when it is large relative to the flows' remainders, so its
///    last bit stays far below a byte.
///  - No other link of a member has share() below `safe`: up to that level no other link becomes a bottleneck.
struct Group {
  explicit Group(LinkId its_link) : link(its_link) {}

  void advance(Time now) {
    if (since == now) return;
    virtual_time += static_cast<double>((now - since).ticks()) * level;
    since = now;
  }
  double virtual_time_at(Time now) const { return virtual_time + static_cast<double>((now - since).ticks()) * level; }

  /// Gives `flow` a new stamp and a tag, beside `live` others. Advanced to now.
  inline void add(FlowTable& flows, FlowIndex flow, double bytes, std::size_t live);
  /// The earliest live tag, null if there is none.
  const Tag* first(const FlowTable& flows) {
    if (others.empty() && !in_order.empty() && is_live(flows, in_order.front())) return &in_order.front();
    return first_of_all(flows);
  }
  /// Drops the tag that first() has returned.
  void pop_first() {
    if (others.empty()) return in_order.pop_front();
    pop_first_of_all();
  }
  /// When the earliest flow will be done at this level, by done_at(); never() if there is none.
  inline Time completion(const FlowTable& flows);
  /// Whether the flow of first() is done by now, mostly without a division.
  bool is_due(const Tag& tag, Time now) const {
    const double bytes = tag.key - virtual_time;
    if (bytes > level * static_cast<double>((now - since).ticks() + 1)) return false;  // more than a tick left
    return done_by(bytes, now);
  }

  double virtual_time = 0;  // at `since`
  Time since;
  double level = 0;
  double safe = std::numeric_limits<double>::infinity();
  LinkId link;
  std::uint32_t place = none;  // in the heap of groups
  bool changed = false;        // since the last settling
  std::uint32_t added = 0;     // tags since virtual time was last set back
  Ring<Tag> in_order;
  std::vector<Tag> others;   // min-heap
  std::unique_ptr<Hub> hub;  // kept once it exists

 private:
  const Tag* first_of_all(const FlowTable& flows);
  void pop_first_of_all();
  bool done_by(double bytes, Time now) const;
  void set_back(FlowTable& flows);
  void drop_stale(const FlowTable& flows);
};

/// The moment `bytes` are done at `rate` (bytes per tick): one rule for scheduling and for the test of completion. never() at rate 0; a
/// tick past Time::limit() if later than that.
inline Time done_at(Time now, double bytes, double rate) {
  if (!(bytes > 0)) return now;
  if (!(rate > 0)) return Time::never();
  const double ticks = bytes / rate;
  if (!(ticks < static_cast<double>((Time::limit() - now).ticks()))) return Time::limit() + Time::from_ticks(1);
  return now + Time::round_up(ticks);
}

inline Time Group::completion(const FlowTable& flows) {
  const Tag* const tag = first(flows);
  return tag ? done_at(since, tag->key - virtual_time, level) : Time::never();
}

inline void Group::add(FlowTable& flows, FlowIndex index, double bytes, std::size_t live) {
  Flow& flow = flows[index];
  const double span = flow.weight == 1 ? bytes : bytes / flow.weight;
  const std::size_t tags = in_order.size() + others.size();
  if (tags == 0) {
    virtual_time = 0;
    added = 0;
  } else if (virtual_time > 256 * span && added > tags) {  // the second condition keeps the cost per flow constant
    set_back(flows);
  } else if (tags > 2 * live + 64) {
    drop_stale(flows);
  }
  ++added;
  flow.bytes = virtual_time + span;
  const Tag tag{flow.bytes, index, ++flow.stamp};
  if (in_order.empty() || in_order.back().key <= tag.key) {
    in_order.push_back(tag);
  } else {
    push_tag<SmallestKeyFirst>(others, tag);
  }
}

}  // namespace straggler::fluid

// Routes of two links, as a star has them: the solo and the pure tier of Sharing for them, without loops. Each function does what the
// general one does there, in the same order. They are part of their few callers.
#pragma once
#include <algorithm>
#include <utility>

#include "sim/network/sharing.hpp"

namespace straggler::fluid {

/// Alone on both links: solo. Alone on one, while all of at least two other flows are bound to the other link: pure, if that link stays the
/// bottleneck of them all.
inline bool Sharing::join_pair(FlowIndex index) {
  Flow& flow = flows_[index];
  LinkId of_it = flow.links[0], of_all = flow.links[1];
  Link *own = &links_[of_it], *shared = &links_[of_all];
  if (own->entangled || shared->entangled) return false;
  if (own->flows != 0) {
    std::swap(of_it, of_all);
    std::swap(own, shared);
    if (own->flows != 0) return false;
  }
  const std::int64_t ticks = now().ticks();
  const auto enter_alone = [&](Link& link) {  // as enter() has it
    link.roster.restart({index, flow.generation});
    link.busy -= ticks;
    link.flows = 1;
    link.weight = flow.weight;
    link.promised += flow.bytes;
  };
  if (shared->flows == 0) {
    enter_alone(*own);
    enter_alone(*shared);
    const LinkId narrowest = narrower(links_[flow.links[1]], links_[flow.links[0]]) ? flow.links[1] : flow.links[0];
    flow.state = FlowState::solo;  // as bind_solo() has it
    flow.bound = narrowest;
    flow.since = now();
    ++flow.stamp;
    links_[narrowest].bound = 1;
    start_timer(index, flow.bytes, links_[narrowest].capacity);
    return true;
  }
  if (shared->flows < 2 || shared->bound != shared->flows || own->hub || shared->hub) return false;
  flow.state = FlowState::pending;
  enter_alone(*own);
  enter(of_all, index, flow.weight, flow.bytes);
  const double level = shared->share(), own_share = flow.weight == 1 ? own->capacity : own->share();
  if (!(own_share > level)) {
    join_others(index, false, none);
    return true;
  }
  bind(index, of_all, flow.bytes);
  Group& group = groups_[shared->group];
  group.safe = std::min(group.safe, own_share);
  group.level = level;
  return true;
}

/// A solo flow that is alone on both links and is done.
inline bool Sharing::leave_solo_pair(FlowIndex index) {
  const Flow& flow = flows_[index];
  if (flow.length != 2 || flow.uneven || flow.general) return false;
  Link &first = links_[flow.links[0]], &second = links_[flow.links[1]];
  for (const Link* const link : {&first, &second})
    if (link->flows != 1 || link->entangled || link->hub || link->disturbance != Disturbance::none) return false;
  const std::int64_t ticks = now().ticks();
  for (Link* const link : {&first, &second}) {  // as exit() has it
    link->busy += ticks;
    link->flows = link->bound = 0;
    link->weight = 0;
    link->exceeded = false;
  }
  flows_.retire(index);
  return true;
}

inline void Sharing::leave_done(FlowIndex index) {
  if (!leave_solo_pair(index)) leave(index, 0);
}

/// A grouped flow that is done, alone on its other link. All flows on its bottleneck are bound there, and others stay.
inline bool Sharing::leave_pure_pair(FlowIndex index) {
  const Flow& flow = flows_[index];
  if (flow.length != 2 || flow.uneven || flow.general || flow.state != FlowState::grouped) return false;
  Link& own = links_[flow.links[flow.links[0] == flow.bound ? 1 : 0]];
  Link& shared = links_[flow.bound];
  if (own.flows != 1 || own.bound != 0 || own.entangled || own.hub || own.disturbance != Disturbance::none) return false;
  if (shared.flows < 2 || shared.bound != shared.flows || shared.entangled || shared.hub) return false;
  Group& group = groups_[shared.group];
  --shared.bound;  // as unbind() has it
  mark_changed(group);
  ++flows_[index].stamp;
  own.flows = 0;  // as exit() has it
  own.weight = 0;
  own.busy += now().ticks();
  own.exceeded = false;
  --shared.flows;
  shared.weight -= flow.weight;
  flows_.retire(index);
  group.advance(now());
  const double share = shared.share();
  if (share > group.safe * (1 + tolerance)) {
    if (!leave_pure(flow.bound)) disturb_route(flow.route());
  } else {
    group.level = share;
  }
  return true;
}

}  // namespace straggler::fluid

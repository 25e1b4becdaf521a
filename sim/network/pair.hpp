// Routes of two links, as a star has them: the solo and the pure tier of Sharing for them, without loops. Each function does what the
// general one does there, in the same order. Those here are part of their few callers; join_pair() is in pair.cpp.
#pragma once
#include <algorithm>
#include <utility>

#include "sim/network/sharing.hpp"

namespace straggler::fluid {

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

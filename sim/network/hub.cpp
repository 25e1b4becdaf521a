// The hub tier of Sharing. Invariants in hub.hpp.
#include "sim/network/hub.hpp"

#include <limits>

#include "sim/network/sharing.hpp"

namespace straggler::fluid {

/// The narrowest link of the route besides `l`; none if there is no other.
LinkId Sharing::cap_of(const Flow& flow, LinkId l) const {
  LinkId best = none;
  for (const LinkId other : flow.route()) {
    if (other != l && (best == none || links_[other].capacity < links_[best].capacity)) best = other;
  }
  return best;
}

bool Sharing::hub_can_take(const Flow& flow, LinkId l) const {
  if (flow.has_far_side() || flow.general) return false;
  for (const LinkId other : flow.route()) {
    const Link& link = links_[other];
    if (other != l && (link.flows != 1 || link.hub || link.disturbance != Disturbance::none)) return false;
  }
  return true;
}

void Sharing::mark_hub(LinkId l) {
  if (hub(l).changed) return;
  hub(l).changed = true;
  changed_hubs_.push_back(l);
  moment_.unsettled = true;
}

void Sharing::drop_stale(Hub& hub, std::size_t flows) {
  if (hub.capped.size() > 2 * flows + 64) drop_all_stale<LargestKeyFirst>(hub.capped, flows_);
  if (hub.sharing.size() > 2 * flows + 64) drop_all_stale<SmallestKeyFirst>(hub.sharing, flows_);
}

void Sharing::note_capped(FlowIndex index, Hub& hub) {
  const Flow& flow = flows_[index];
  const double capacity = links_[flow.bound].capacity;
  hub.capped_rate.add(capacity);
  push_tag<LargestKeyFirst>(hub.capped, {capacity / flow.weight, index, flow.stamp});
}

void Sharing::note_sharing(FlowIndex index, LinkId l, Hub& hub) {
  const Flow& flow = flows_[index];
  hub.sharing_weight.add(flow.weight);
  const LinkId narrowest = cap_of(flow, l);
  if (narrowest != none) push_tag<SmallestKeyFirst>(hub.sharing, {links_[narrowest].capacity / flow.weight, index, flow.stamp});
}

void Sharing::cap(FlowIndex index, LinkId l, double bytes) {
  bind_solo(index, cap_of(flows_[index], l), bytes);
  note_capped(index, hub(l));
}

void Sharing::share(FlowIndex index, LinkId l, double bytes) {
  bind(index, l, bytes);
  note_sharing(index, l, hub(l));
}

bool Sharing::join_hub(FlowIndex index, LinkId l) {
  const Flow& flow = flows_[index];
  if (!hub_can_take(flow, l)) return false;
  for (const LinkId other : flow.route()) links_[other].entangled = true;
  const LinkId narrowest = cap_of(flow, l);
  const Group& group = groups_[links_[l].group];
  const bool capped = narrowest != none && (links_[l].bound == 0 || links_[narrowest].capacity / flow.weight <= group.level);
  if (capped) {
    cap(index, l, flow.bytes);
  } else {
    share(index, l, flow.bytes);
  }
  drop_stale(hub(l), links_[l].flows);
  mark_hub(l);
  return true;
}

void Sharing::leave_hub(LinkId l, const Leaver& gone) {
  Link& link = links_[l];
  Hub& its = hub(l);
  if (gone.state == FlowState::solo) {
    its.capped_rate.subtract(links_[gone.bound].capacity);
  } else {
    its.sharing_weight.subtract(gone.weight);
  }
  if (link.flows > 0) return mark_hub(l);
  its.clear();
  link.hub = link.entangled = false;
  --hubs_;
}

/// On an undisturbed link only a newcomer can be pending.
bool Sharing::make_hub(LinkId l) {
  Link& link = links_[l];
  if (link.hub || link.general || link.disturbance != Disturbance::none) return false;
  if (any_flow(l, [&](FlowIndex i) { return !hub_can_take(flows_[i], l); })) return false;
  Group& group = advanced_group(l);
  if (!group.hub) group.hub = std::make_unique<Hub>();
  Hub& made = *group.hub;
  made.clear();
  link.hub = true;
  ++hubs_;
  for_each_flow(l, [&](FlowIndex i) {
    const Flow& flow = flows_[i];
    for (const LinkId other : flow.route()) links_[other].entangled = true;
    if (flow.state == FlowState::grouped && flow.bound == l) {
      note_sharing(i, l, made);
    } else if (flow.state == FlowState::solo && flow.bound != l) {
      note_capped(i, made);
    } else {
      const double bytes = remaining(flow);
      if (flow.state != FlowState::pending) unbind(i);
      share(i, l, bytes);
    }
  });
  mark_hub(l);
  return true;
}

void Sharing::drop_hub(LinkId l) {
  Link& link = links_[l];
  if (!link.hub) return;
  link.hub = false;
  --hubs_;
  hub(l).clear();
  link.entangled = true;
  disturb(l, Disturbance::flows);
}

/// Drops `l` as a hub, and the hubs whose flows have `l` as a private link.
void Sharing::drop_hubs_around(LinkId l) {
  if (hubs_ == 0) return;
  drop_hub(l);
  if (links_[l].flows > 2) return;  // with a newcomer, two flows at most are on a link that was one flow's own
  for_each_flow(l, [&](FlowIndex i) {
    if (flows_[i].has_far_side()) return;
    for (const LinkId other : flows_[i].route()) drop_hub(other);
  });
}

void Sharing::settle_hub(LinkId l) {
  Hub& its = hub(l);
  its.changed = false;
  const Link& link = links_[l];
  if (!link.hub) return;
  advanced_group(l);
  for (;;) {
    drop_stale_top<SmallestKeyFirst>(its.sharing, flows_);
    drop_stale_top<LargestKeyFirst>(its.capped, flows_);
    const double room = its.capped_rate.below(link.capacity);
    double level = std::numeric_limits<double>::infinity();
    if (link.bound > 0) {
      level = room / its.sharing_weight.value();
    } else if (room < 0) {
      level = 0;
    }
    if (!its.sharing.empty() && its.sharing.front().key < level * (1 - tolerance)) {
      const FlowIndex i = its.sharing.front().flow;
      const double bytes = remaining(flows_[i]);
      its.sharing_weight.subtract(flows_[i].weight);
      unbind(i);
      cap(i, l, bytes);
    } else if (!its.capped.empty() && its.capped.front().key > level * (1 + tolerance)) {
      const FlowIndex i = its.capped.front().flow;
      const double bytes = remaining(flows_[i]);
      its.capped_rate.subtract(links_[flows_[i].bound].capacity);
      unbind(i);
      share(i, l, bytes);
    } else {
      Group& group = groups_[link.group];
      if (link.bound > 0) group.level = level;
      mark_changed(group);
      drop_stale(its, link.flows);
      return;
    }
  }
}

}  // namespace straggler::fluid

#include "sim/network/sharing.hpp"

#include <algorithm>
#include <bit>

namespace straggler::fluid {

LinkId Sharing::add_link(double bytes_per_tick) {
  links_.emplace_back(bytes_per_tick);
  return static_cast<LinkId>(links_.size() - 1);
}

void Sharing::set_capacity(LinkId l, double bytes_per_tick) {
  Link& link = links_[l];
  if (link.flows == 0 || link.capacity == bytes_per_tick) {
    link.capacity = bytes_per_tick;
    return;
  }
  drop_hubs_around(l);
  // What flowed until now flowed at the old capacity. A group keeps its level until it is settled; a solo flow lives by the capacity
  // itself.
  scratch_.clear();
  for_each_flow(l, [&](FlowIndex i) {
    if (flows_[i].state == FlowState::solo && flows_[i].bound == l) scratch_.push_back(i);
  });
  for (const FlowIndex i : scratch_) {
    const double bytes = remaining(flows_[i]), old = level(flows_[i]);
    unbind(i);
    advanced_group(l).level = old;
    bind(i, l, bytes);
  }
  link.capacity = bytes_per_tick;
  link.entangled = true;
  disturb(l, Disturbance::capacity);
}

void Sharing::join(FlowIndex index) {
  Flow& flow = flows_[index];
  const auto route = flow.route();
  bool alone = true, entangled = false;
  LinkId hub = none;
  flow.state = FlowState::pending;
  for (const LinkId l : route) {
    Link& link = links_[l];
    enter(link, index);
    alone &= link.flows == 1;
    entangled |= link.entangled;
    if (link.hub) hub = l;
  }
  if (alone) {
    for (const LinkId l : route) {
      if (links_[l].disturbance == Disturbance::none) links_[l].entangled = false;
    }
    bind_solo(index, narrowest(route), flow.bytes);
    return;
  }
  if (hub != none && join_hub(index, hub)) return;
  if (!entangled && join_pure(index)) return;
  if (hub == none) {
    for (const LinkId l : route) {
      if (links_[l].flows >= hub_flows && make_hub(l)) return;
    }
  }
  disturb_route(route);
  component_.add_newcomer(index);
}

void Sharing::leave(FlowIndex index, double unsent) {
  const Flow gone = flows_[index];  // the route stays until the place is released
  const auto route = gone.route();
  const bool bound = gone.state == FlowState::solo || gone.state == FlowState::grouped;
  if (bound) unbind(index);
  bool deserted = true, entangled = false, others_bound = false;
  LinkId hub = none;
  for (const LinkId l : route) {
    Link& link = links_[l];
    entangled |= link.entangled;
    others_bound |= l != gone.bound && link.bound > 0;
    if (link.hub) hub = l;
    link.promised -= unsent;
    link.weight -= gone.weight;
    if (--link.flows > 0) {
      deserted = false;
      continue;
    }
    link.weight = 0;
    link.busy += now().ticks();
    if (link.disturbance == Disturbance::none) link.entangled = link.exceeded = false;
  }
  flows_.retire(index);
  if (!bound) return;  // this instant's settling has all its links on its list
  if (hub != none) return leave_hub(hub, gone);
  if (deserted) return;
  if (!entangled && !others_bound && leave_pure(gone.bound)) return;
  disturb_route(route);
}

void Sharing::enter(Link& link, FlowIndex index) {
  const Flow& flow = flows_[index];
  if (link.flows == 0) {
    link.roster.truncate(0);
    link.busy -= now().ticks();
  } else if (link.roster.full()) {
    clean_roster(link);
    if (link.roster.capacity() == 1 || 2 * link.roster.size() > link.roster.capacity()) link.roster.grow();
  }
  link.roster.add({index, flow.generation});
  ++link.flows;
  link.weight += flow.weight;
  link.promised += flow.bytes;
  link.peak = std::max(link.peak, static_cast<std::uint8_t>(std::bit_width(link.flows - 1)));
}

// Sums up the weights afresh while at it: adding and taking away in turn would pile up rounding errors for ever.
void Sharing::clean_roster(Link& link) {
  std::uint32_t kept = 0;
  double weight = 0;
  RosterEntry* const entries = link.roster.begin();
  for (const RosterEntry entry : link.roster) {
    if (flows_[entry.flow].generation != entry.generation) continue;
    entries[kept++] = entry;
    weight += flows_[entry.flow].weight;
  }
  link.roster.truncate(kept);
  link.weight = weight;
}

bool Sharing::is_done(FlowIndex index) const {
  const Flow& flow = flows_[index];
  return done_at(flow.since, flow.bytes, links_[flow.bound].capacity) <= now();
}

double Sharing::remaining(const Flow& flow) const {
  if (flow.state == FlowState::solo) {
    return std::max(0.0, flow.bytes - static_cast<double>((now() - flow.since).ticks()) * links_[flow.bound].capacity);
  }
  if (flow.state == FlowState::grouped) {
    return std::max(0.0, (flow.bytes - groups_[links_[flow.bound].group].virtual_time_at(now())) * flow.weight);
  }
  return flow.bytes;
}

double Sharing::owed(LinkId l) const {
  double bytes = 0;
  for (const RosterEntry& entry : links_[l].roster) {
    if (links_[l].flows > 0 && flows_[entry.flow].generation == entry.generation) bytes += remaining(flows_[entry.flow]);
  }
  return bytes;
}

void Sharing::bind(FlowIndex index, LinkId l, double bytes) {
  Flow& flow = flows_[index];
  Group& group = advanced_group(l);
  group.add(flows_, index, bytes, links_[l].bound);
  flow.state = FlowState::grouped;
  flow.bound = l;
  ++links_[l].bound;
  mark_changed(group);
}

void Sharing::bind_solo(FlowIndex index, LinkId l, double bytes) {
  Flow& flow = flows_[index];
  Owner& owner = flows_.owner(index);
  flow.state = FlowState::solo;
  flow.bound = l;
  flow.bytes = bytes;
  flow.since = now();
  ++flow.stamp;
  ++links_[l].bound;
  const Time done = done_at(now(), bytes, links_[l].capacity);
  owner.timed = done != Time::never();
  if (owner.timed) owner.timer = queue_.at(std::min(done, Time::limit()), timer_kind_, index);
}

void Sharing::unbind(FlowIndex index) {
  Flow& flow = flows_[index];
  Link& link = links_[flow.bound];
  --link.bound;
  if (flow.state == FlowState::solo) {
    cancel_timer(index);
  } else {
    mark_changed(groups_[link.group]);
  }
  ++flow.stamp;
  flow.state = FlowState::pending;
  flow.bound = none;
}

void Sharing::cancel_timer(FlowIndex index) {
  Owner& owner = flows_.owner(index);
  if (owner.timed) queue_.cancel(owner.timer);
  owner.timed = false;
}

void Sharing::disturb(LinkId l, Disturbance disturbance) {
  Link& link = links_[l];
  if (link.disturbance == Disturbance::none) disturbed_.push_back(l);
  link.disturbance = std::max(link.disturbance, disturbance);
  unsettled_ = true;
}

void Sharing::disturb_route(std::span<const LinkId> route) {
  if (hubs_ > 0) {
    for (const LinkId l : route) drop_hubs_around(l);
  }
  for (const LinkId l : route) {
    links_[l].entangled = true;
    disturb(l, Disturbance::flows);
  }
}

LinkId Sharing::narrowest(std::span<const LinkId> route) const {
  LinkId best = route[0];
  for (const LinkId l : route.subspan(1)) {
    const Link &link = links_[l], &other = links_[best];
    if (link.capacity < other.capacity || (link.capacity == other.capacity && link.peak > other.peak)) best = l;
  }
  return best;
}

void Sharing::settle() {
  for (std::size_t i = 0; i < changed_hubs_.size(); ++i) settle_hub(changed_hubs_[i]);
  changed_hubs_.clear();
  if (!disturbed_.empty()) component_.solve();
  for (const GroupIndex g : changed_groups_) {
    Group& group = groups_[g];
    group.changed = false;
    group.advance(now());
    const Time done = group.completion(flows_);
    heap_.set(g, done == Time::never() ? done : std::min(done, Time::limit()));
    if (links_[group.link].flows == 0) group.safe = std::numeric_limits<double>::infinity();
  }
  changed_groups_.clear();
  unsettled_ = false;
}

FlowIndex Sharing::take_done(GroupIndex g) {
  Group& group = groups_[g];
  if (!group.is_due(flows_, now())) return none;
  const FlowIndex index = group.first(flows_)->flow;
  group.pop_first();
  leave(index, 0);
  return index;
}

void Sharing::retime(GroupIndex g) {
  heap_.set(g, Time::never());
  mark_changed(groups_[g]);
}

}  // namespace straggler::fluid

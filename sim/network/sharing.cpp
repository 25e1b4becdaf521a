#include "sim/network/sharing.hpp"

#include <algorithm>

#include "sim/base/prefetch.hpp"
#include "sim/network/pair.hpp"

namespace straggler::fluid {

LinkId Sharing::add_link(double bytes_per_tick) {
  links_.emplace_back(bytes_per_tick);
  return static_cast<LinkId>(links_.size() - 1);
}

void Sharing::join_any(FlowIndex index) {
  Flow& flow = flows_[index];
  if (flow.uneven || !contention_) return join_uneven(index);
  const auto route = flow.route();
  bool alone = true, entangled = false;
  LinkId hub = none;
  flow.state = FlowState::pending;
  for (const LinkId l : route) {
    Link& link = links_[l];
    enter(l, index, flow.weight, flow.bytes);
    alone &= link.flows == 1;
    entangled |= link.entangled;
    if (link.hub) hub = l;
  }
  if (entangled && crosses_bucket(route)) return join_general(index, false);
  if (alone) {
    for (const LinkId l : route) {
      if (!entangled) break;
      if (links_[l].disturbance == Disturbance::none) links_[l].entangled = false;
    }
    bind_solo(index, narrowest(route), flow.bytes);
    return;
  }
  join_others(index, entangled, hub);
}

void Sharing::join_others(FlowIndex index, bool entangled, LinkId hub) {
  const auto route = flows_[index].route();
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
  if (flows_[index].general) return leave_general(index, unsent);
  const Flow& flow = flows_[index];
  const auto route = flow.route();  // stays until the place is released
  const double weight = flow.weight;
  const Leaver gone{flow.state, flow.bound, weight};
  const bool bound = gone.state == FlowState::solo || gone.state == FlowState::grouped;
  if (bound) unbind(index);
  bool deserted = true, entangled = false, others_bound = false;
  LinkId hub = none;
  for (const LinkId l : route) {
    Link& link = links_[l];
    entangled |= link.entangled;
    others_bound |= l != gone.bound && link.bound > 0;
    if (link.hub) hub = l;
    if (!exit(link, weight, unsent)) deserted = false;
  }
  flows_.retire(index);
  if (!bound) return;  // this instant's settling has all its links on its list
  if (hub != none) return leave_hub(hub, gone);
  if (deserted) return;
  if (!entangled && !others_bound && leave_pure(gone.bound)) return;
  disturb_route(route);
}

bool Sharing::exit(Link& link, double weight, double unsent) {
  link.promised -= unsent;
  link.weight -= weight;
  if (--link.flows > 0) return false;
  link.weight = 0;
  link.busy += now().ticks();
  if (link.disturbance != Disturbance::none) return true;
  link.entangled = link.exceeded = false;
  if (link.general) link.entangled = link.general = link.bucket;
  return true;
}

// Sums up the weights afresh while at it: adding and taking away in turn would pile up rounding errors forever.
void Sharing::clean_roster(LinkId l) {
  Link& link = links_[l];
  std::uint32_t kept = 0;
  double weight = 0;
  RosterEntry* const entries = link.roster.begin();
  for (const RosterEntry entry : link.roster) {
    const Flow& flow = flows_[entry.flow];
    if (flow.generation != entry.generation) continue;
    entries[kept++] = entry;
    weight += flow.weight * flow.volume(l);
  }
  link.roster.truncate(kept);
  link.weight = weight;
}

/// Before, the timer is at the time that done_at() gave.
bool Sharing::is_done_at_limit(FlowIndex index) const {
  const Flow& flow = flows_[index];
  return done_at(flow.since, flow.bytes, solo_rate(flow)) <= now();
}

double Sharing::remaining(const Flow& flow) const {
  if (flow.state == FlowState::solo) {
    return std::max(0.0, flow.bytes - static_cast<double>((now() - flow.since).ticks()) * solo_rate(flow));
  }
  if (flow.state == FlowState::grouped) {
    return std::max(0.0, (flow.bytes - groups_[links_[flow.bound].group].virtual_time_at(now())) * flow.weight);
  }
  return flow.bytes;
}

double Sharing::owed(LinkId l) const {
  double bytes = 0;
  for (const RosterEntry& entry : links_[l].roster) {
    const Flow& flow = flows_[entry.flow];
    if (links_[l].flows > 0 && flow.generation == entry.generation) bytes += remaining(flow) * flow.volume(l);
  }
  return bytes;
}

void Sharing::bind_solo(FlowIndex index, LinkId l, double bytes) {
  Flow& flow = flows_[index];
  flow.state = FlowState::solo;
  flow.bound = l;
  flow.bytes = bytes;
  flow.since = now();
  ++flow.stamp;
  if (l != none) ++links_[l].bound;
  if (flow.uneven) flow.far->rate = l == none ? flow.far->most : links_[l].capacity / flow.volume(l);
  start_timer(index, bytes, solo_rate(flow));
}

void Sharing::start_new_timer(FlowIndex index, double bytes, double rate) {
  last_bytes_ = bytes;
  last_rate_ = rate;
  last_span_ = done_at(Time(), bytes, rate);
  // If a span is too long at time 0, it is too long at any time; other spans are rounded alike wherever they begin.
  before_ = last_span_ > Time::limit() ? Time() : Time::limit() - last_span_;
  const Time done = now() < before_ ? now() + last_span_ : done_at(now(), bytes, rate);
  Owner& owner = flows_.owner(index);
  owner.timed = done != Time::never();
  if (owner.timed) owner.timer = queue_.at(std::min(done, Time::limit()), timer_kind_, index);
}

void Sharing::unbind(FlowIndex index) {
  Flow& flow = flows_[index];
  if (flow.bound != none) --links_[flow.bound].bound;
  if (flow.state == FlowState::solo) {
    cancel_timer(index);
  } else {
    mark_changed(groups_[links_[flow.bound].group]);
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
  moment_.unsettled = true;
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
    if (narrower(links_[l], links_[best])) best = l;
  }
  return best;
}

void Sharing::settle() {
  if (!changed_hubs_.empty()) {
    for (std::size_t i = 0; i < changed_hubs_.size(); ++i) settle_hub(changed_hubs_[i]);
    changed_hubs_.clear();
  }
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
  moment_ = {heap_.next(), false};
}

/// Of the flows that end next, whose data are most likely out of the cache by now: first the flow, later what it names. A tag may be stale.
inline void Sharing::fetch_ahead(const Ring<Tag>& tags) const {
  if (tags.size() > 5) {
    const FlowIndex far = tags[5].flow;
    prefetch_line_to_write(&flows_[far]);
    prefetch_line(&flows_.owner(far));
  }
  if (tags.size() > 2) {
    const FlowIndex near = tags[2].flow;
    prefetch_line_to_write(flows_.owner(near).arrival);
    if (flows_[near].length == 2) fetch(flows_[near].links[0]);
  }
}

FlowIndex Sharing::take(Group& group, const Tag& tag) {
  const FlowIndex index = tag.flow;
  group.pop_first();
  if (links_.size() > cached_links) fetch_ahead(group.in_order);
  if (!leave_pure_pair(index)) leave(index, 0);
  return index;
}

}  // namespace straggler::fluid

#include "sim/network/component.hpp"

#include <algorithm>

#include "sim/network/sharing.hpp"

namespace straggler::fluid {
void Component::add_newcomer(FlowIndex index) { newcomers_.push_back({index, sharing_.flows_[index].generation}); }

void Component::solve() {
  collect();
  for (bool passed = false; !passed;) {
    fill();
    passed = true;
    const std::size_t links = links_.size();  // links added in this pass are examined after the next filling
    for (std::size_t t = 0; t < links; ++t) passed &= !examine(links_[t]);
  }
  apply();
  flag();
  for (const LinkId l : links_) {
    number_of_link_[l] = none;
    if (sharing_.links_[l].bucket) sharing_.weigh_bucket(l);
  }
  for (const FlowIndex i : flows_) sharing_.flows_[i].in_component = false;
  links_.clear();
  flows_.clear();
  volumes_ = mosts_ = false;
}

void Component::collect() {
  number_of_link_.resize(sharing_.links_.size(), none);
  number_of_flow_.resize(sharing_.flows_.places());
  for (const LinkId l : sharing_.disturbed_) {
    Link& link = sharing_.links_[l];
    if (link.flows >= 2 || link.bound > 0 || link.bucket || link.disturbance == Disturbance::capacity) {
      include_link(l);
    } else {
      link.exceeded = false;
      link.general = link.general && sharing_.any_flow(l, [&](FlowIndex i) { return sharing_.flows_[i].general; });
      link.entangled = link.general;
    }
    link.disturbance = Disturbance::none;
  }
  sharing_.disturbed_.clear();
  for (const RosterEntry& newcomer : newcomers_) {
    if (sharing_.flows_[newcomer.flow].generation == newcomer.generation) include_flow(newcomer.flow);
  }
  newcomers_.clear();
  const std::size_t links = links_.size();
  for (std::size_t t = 0; t < links; ++t) {
    const LinkId l = links_[t];
    if (sharing_.links_[l].bound == 0) continue;
    sharing_.for_each_flow(l, [&](FlowIndex i) {
      if (sharing_.flows_[i].bound == l) include_flow(i);
    });
  }
}

void Component::include_link(LinkId l) {
  if (number_of_link_[l] != none) return;
  number_of_link_[l] = static_cast<std::uint32_t>(links_.size());
  links_.push_back(l);
  if (sharing_.links_[l].bucket) sharing_.look_into_bucket(l);
}

bool Component::include_flow(FlowIndex index) {
  Flow& flow = sharing_.flows_[index];
  if (flow.in_component) return false;
  flow.in_component = true;
  number_of_flow_[index] = static_cast<std::uint32_t>(flows_.size());
  flows_.push_back(index);
  double narrowest_shared = infinity, own_limit = infinity;
  LinkId narrowest_own = none;
  const double* const volumes = flow.volumes();
  const auto route = flow.route();
  for (std::size_t k = 0; k < route.size(); ++k) {
    const LinkId l = route[k];
    const Link& link = sharing_.links_[l];
    if (link.flows >= 2 || link.bound > 0 || link.bucket) include_link(l);
    const double limit = volumes ? link.capacity / volumes[k] : link.capacity;
    if (link.flows >= 2) {
      narrowest_shared = std::min(narrowest_shared, limit);
    } else if (narrowest_own == none || limit < own_limit) {
      narrowest_own = l;
      own_limit = limit;
    }
  }
  if (narrowest_own != none && own_limit < narrowest_shared) include_link(narrowest_own);
  volumes_ |= volumes != nullptr;
  mosts_ |= flow.uneven && flow.far->most < infinity;
  return true;
}

void Component::fill() {
  problem_.clear();
  for (const LinkId l : links_) {
    double left = sharing_.links_[l].capacity;
    sharing_.for_each_flow(l, [&](FlowIndex i) {
      const Flow& flow = sharing_.flows_[i];
      if (!flow.in_component) left -= sharing_.level(flow) * flow.weight * flow.volume(l);
    });
    problem_.capacity.push_back(std::max(0.0, left));
  }
  for (const FlowIndex i : flows_) pose(sharing_.flows_[i]);
  solver_.solve(problem_);
  filled_ = flows_.size();
}

void Component::pose(const Flow& flow) {
  problem_.weight.push_back(flow.weight);
  if (mosts_) problem_.most.push_back(flow.uneven ? flow.far->most : infinity);
  const double* const volumes = flow.volumes();
  const auto route = flow.route();
  for (std::size_t k = 0; k < route.size(); ++k) {
    if (number_of_link_[route[k]] == none) continue;
    problem_.crossed.push_back(number_of_link_[route[k]]);
    if (volumes_) problem_.volume.push_back(volumes ? volumes[k] : 1);
  }
  problem_.first.push_back(static_cast<std::uint32_t>(problem_.crossed.size()));
}

double Component::level_of(FlowIndex index) const {
  const Flow& flow = sharing_.flows_[index];
  if (flow.in_component && number_of_flow_[index] < filled_) return solver_.level()[number_of_flow_[index]];
  return sharing_.level(flow);
}

/// True if flows had to join the component because of this link.
bool Component::examine(LinkId l) {
  const FlowTable& flows = sharing_.flows_;
  double carried = 0, highest = 0, filled = -1, fixed = infinity;  // the last two: levels of flows bound here, filled and outside
  sharing_.for_each_flow(l, [&](FlowIndex i) {
    const Flow& flow = flows[i];
    const double level = level_of(i);
    carried += level * flow.weight * flow.volume(l);
    highest = std::max(highest, level);
    if (flow.in_component && number_of_flow_[i] < filled_) {
      if (solver_.bottleneck()[number_of_flow_[i]] == number_of_link_[l]) filled = level;
    } else if (flow.bound == l) {
      fixed = std::min(fixed, level);
    }
  });
  const double capacity = sharing_.links_[l].capacity;
  bool joined = false;
  const auto include_if = [&](auto condition) {
    sharing_.for_each_flow(l, [&](FlowIndex i) {
      if (!flows[i].in_component && condition(flows[i])) joined |= include_flow(i);
    });
  };
  if (filled >= 0 && highest > filled * (1 + tolerance)) {
    include_if([&](const Flow& flow) { return sharing_.level(flow) > filled * (1 + tolerance); });
  }
  const bool too_much = carried > capacity * (1 + tolerance);
  if (fixed < infinity && (too_much || carried < capacity * (1 - tolerance) || highest > fixed * (1 + tolerance))) {
    include_if([&](const Flow& flow) { return flow.bound == l; });
  } else if (too_much && filled < 0) {
    include_if([](const Flow&) { return true; });
  }
  return joined;
}

void Component::apply() {
  Sharing& s = sharing_;
  for (const LinkId l : links_) {
    if (s.links_[l].group != none) s.groups_[s.links_[l].group].advance(s.now());
  }
  bytes_.resize(flows_.size());
  for (std::size_t n = 0; n < flows_.size(); ++n) {
    const Flow& flow = s.flows_[flows_[n]];
    const LinkId l = bottleneck_of(n);
    const bool may_be_solo = l == none || s.links_[l].flows == 1;
    const bool stays = flow.bound == l && (flow.state == FlowState::grouped || (flow.state == FlowState::solo && may_be_solo));
    bytes_[n] = stays ? -1 : s.remaining(flow);
  }
  for (std::size_t n = 0; n < flows_.size(); ++n) {
    if (bytes_[n] >= 0 && s.flows_[flows_[n]].state != FlowState::pending) s.unbind(flows_[n]);
  }
  for (std::size_t n = 0; n < flows_.size(); ++n) {
    if (bytes_[n] < 0) continue;
    const LinkId l = bottleneck_of(n);
    if (l == none || s.links_[l].flows == 1) {
      s.bind_solo(flows_[n], l, bytes_[n]);
    } else {
      s.bind(flows_[n], l, bytes_[n]);
    }
  }
  for (std::size_t n = 0; n < flows_.size(); ++n) {
    if (s.flows_[flows_[n]].state != FlowState::grouped) continue;
    Group& group = s.groups_[s.links_[bottleneck_of(n)].group];
    group.level = solver_.level()[n];
    s.mark_changed(group);
  }
}

/// Which of the examined links the pure tier may use from now on.
void Component::flag() {
  for (const LinkId l : links_) {
    Link& link = sharing_.links_[l];
    if (link.general) link.general = link.bucket || sharing_.any_flow(l, [&](FlowIndex i) { return sharing_.flows_[i].general; });
    link.exceeded = false;
    link.entangled = link.general;
    if (link.bound == link.flows) continue;
    if (link.bound == 0) {
      const double limit = link.share() * (1 + Sharing::tolerance);
      link.exceeded = sharing_.any_flow(l, [&](FlowIndex i) { return sharing_.level(sharing_.flows_[i]) > limit; });
    }
    link.entangled |= link.bound > 0 || link.exceeded;
  }
  for (const LinkId l : links_) flag_one(l);
}

void Component::flag_one(LinkId l) {
  Sharing& s = sharing_;
  Link& link = s.links_[l];
  const double share = link.share();
  double safe = infinity;
  s.for_each_flow(l, [&](FlowIndex i) {
    const Flow& flow = s.flows_[i];
    if (flow.bound == none) return;
    Link& bottleneck = s.links_[flow.bound];
    if (flow.bound != l) {
      if (link.bound > 0 || link.exceeded) bottleneck.entangled = true;
      if (flow.state == FlowState::grouped) s.groups_[bottleneck.group].safe = std::min(s.groups_[bottleneck.group].safe, share);
      return;
    }
    for (const LinkId other : flow.route()) {
      if (other == l) continue;
      safe = std::min(safe, s.links_[other].share());
      if (s.links_[other].bound > 0 || s.links_[other].exceeded) link.entangled = true;
    }
  });
  if (link.group != none) s.groups_[link.group].safe = safe;
}

}  // namespace straggler::fluid

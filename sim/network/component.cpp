#include "sim/network/component.hpp"

#include <algorithm>

#include "sim/network/sharing.hpp"

namespace straggler::fluid {
void Component::add_newcomer(FlowIndex index) { newcomers_.push_back({index, sharing_.flows_[index].generation}); }

void Component::solve() {
  collect();
  do {
    fill();
  } while (!examine_all());
  apply();
  flag();
  for (const Part& part : links_) {
    number_of_link_[part.link] = none;
    if (sharing_.links_[part.link].bucket) sharing_.weigh_bucket(part.link);
  }
  for (const Known& known : known_) sharing_.flows_[known.flow].known = false;
  links_.clear();
  crossings_.clear();
  known_.clear();
  members_.clear();
  problem_.clear();
}

void Component::collect() {
  number_of_link_.resize(sharing_.links_.size(), none);
  place_of_flow_.resize(sharing_.flows_.places());
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
    if (sharing_.flows_[newcomer.flow].generation == newcomer.generation) include_flow(know(newcomer.flow));
  }
  newcomers_.clear();
  const std::size_t links = links_.size();
  for (std::size_t t = 0; t < links; ++t) {
    const Part part = links_[t];
    if (sharing_.links_[part.link].bound == 0) continue;
    for (std::uint32_t c = part.first; c < part.end; ++c) {
      if (known_[crossings_[c].known].bound == part.link) include_flow(crossings_[c].known);
    }
  }
}

void Component::include_new_link(LinkId l) {
  number_of_link_[l] = static_cast<std::uint32_t>(links_.size());
  const bool bucket = sharing_.links_[l].bucket;
  if (bucket) {
    sharing_.look_into_bucket(l);
    for (Part& part : links_) part.left = -1;  // rates may have changed with its capacity
  }
  const auto first = static_cast<std::uint32_t>(crossings_.size());
  sharing_.for_each_flow(l, [&](FlowIndex i) {
    const Flow& flow = sharing_.flows_[i];
    const std::uint32_t place = flow.known ? place_of_flow_[i] : know(i);
    crossings_.push_back({place, i, flow.volume(l)});
    Known& known = known_[place];
    if (!bucket || known.supply != none) return;
    known.level = sharing_.level(flow);  // the capacity may have changed
    known.rate = known.level * flow.weight;
  });
  links_.push_back({l, first, static_cast<std::uint32_t>(crossings_.size()), sharing_.links_[l].capacity});
}

inline std::uint32_t Component::know(FlowIndex index) {
  Flow& flow = sharing_.flows_[index];
  if (flow.known) return place_of_flow_[index];
  flow.known = true;
  const auto place = static_cast<std::uint32_t>(known_.size());
  place_of_flow_[index] = place;
  const double level = sharing_.level(flow);
  known_.push_back({index, none, flow.bound, none, level, level * flow.weight});
  return place;
}

/// False if it is in the component already.
bool Component::include_flow(std::uint32_t place) {
  if (known_[place].member != none) return false;
  known_[place].member = static_cast<std::uint32_t>(members_.size());
  members_.push_back(place);
  const Flow& flow = sharing_.flows_[known_[place].flow];
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
  pose(flow);
  return true;
}

/// The member that came last becomes a demand. No link of its route is included later: those that are not have no other flow.
void Component::pose(const Flow& flow) {
  const bool most = flow.uneven && flow.far->most < infinity;
  if (most && problem_.most.empty()) problem_.most.resize(problem_.weight.size(), infinity);
  problem_.weight.push_back(flow.weight);
  if (!problem_.most.empty() || most) problem_.most.push_back(most ? flow.far->most : infinity);
  const double* const volumes = flow.volumes();
  if (volumes && problem_.volume.empty()) problem_.volume.resize(problem_.crossed.size(), 1);
  const bool with_volumes = volumes || !problem_.volume.empty();
  const auto route = flow.route();
  for (std::size_t k = 0; k < route.size(); ++k) {
    const std::uint32_t number = number_of_link_[route[k]];
    if (number == none) continue;
    problem_.crossed.push_back(number);
    links_[number].left = -1;
    if (with_volumes) problem_.volume.push_back(volumes ? volumes[k] : 1);
  }
  problem_.first.push_back(static_cast<std::uint32_t>(problem_.crossed.size()));
}

void Component::fill() {
  problem_.capacity.resize(links_.size());
  for (std::size_t t = 0; t < links_.size(); ++t) {
    Part& part = links_[t];
    if (part.left < 0) {
      double left = part.capacity;
      for (std::uint32_t c = part.first; c < part.end; ++c) {
        const Known& known = known_[crossings_[c].known];
        if (known.member == none) left -= known.rate * crossings_[c].volume;
      }
      part.left = std::max(0.0, left);
    }
    problem_.capacity[t] = part.left;
  }
  solver_.solve(problem_);
  for (std::size_t n = 0; n < members_.size(); ++n) {
    Known& known = known_[members_[n]];
    known.level = solver_.level()[n];
    known.rate = known.level * problem_.weight[n];
    known.supply = solver_.bottleneck()[n];
    known.bound = none;
  }
}

/// False if flows had to join the component. Links that come with them are examined after the next filling.
bool Component::examine_all() {
  const std::size_t links = links_.size();
  bool passed = true;
  for (std::uint32_t t = 0; t < links; ++t) {
    const Part& part = links_[t];
    Load load;
    for (std::uint32_t c = part.first; c < part.end; ++c) {
      const Known& known = known_[crossings_[c].known];
      load.carried += known.rate * crossings_[c].volume;
      load.highest = std::max(load.highest, known.level);
      if (known.supply == t) load.filled = known.level;
      if (known.bound == part.link) load.fixed = std::min(load.fixed, known.level);
    }
    const bool too_much = load.carried > part.capacity * (1 + tolerance);
    if (too_much || load.fixed < infinity || (load.filled >= 0 && load.highest > load.filled * (1 + tolerance)))
      passed &= !correct(Part(part), load);
  }
  return passed;
}

/// True if flows had to join the component because of this link.
[[gnu::noinline]] bool Component::correct(const Part& part, const Load& load) {
  bool joined = false;
  const auto include_if = [&](auto condition) {
    for (std::uint32_t c = part.first; c < part.end; ++c) {
      const std::uint32_t place = crossings_[c].known;
      if (known_[place].member == none && condition(known_[place])) joined |= include_flow(place);
    }
  };
  if (load.filled >= 0 && load.highest > load.filled * (1 + tolerance)) {
    include_if([&](const Known& known) { return known.level > load.filled * (1 + tolerance); });
  }
  const bool too_much = load.carried > part.capacity * (1 + tolerance);
  if (load.fixed < infinity &&
      (too_much || load.carried < part.capacity * (1 - tolerance) || load.highest > load.fixed * (1 + tolerance))) {
    include_if([&](const Known& known) { return known.bound == part.link; });
  } else if (too_much && load.filled < 0) {
    include_if([](const Known&) { return true; });
  }
  return joined;
}

void Component::apply() {
  Sharing& s = sharing_;
  for (const Part& part : links_) {
    if (s.links_[part.link].group != none) s.groups_[s.links_[part.link].group].advance(s.now());
  }
  bytes_.resize(members_.size());
  for (std::size_t n = 0; n < members_.size(); ++n) {
    const Flow& flow = s.flows_[known_[members_[n]].flow];
    const LinkId l = bottleneck_of(n);
    const bool may_be_solo = l == none || s.links_[l].flows == 1;
    const bool stays = flow.bound == l && (flow.state == FlowState::grouped || (flow.state == FlowState::solo && may_be_solo));
    bytes_[n] = stays ? -1 : s.remaining(flow);
  }
  for (std::size_t n = 0; n < members_.size(); ++n) {
    const FlowIndex index = known_[members_[n]].flow;
    if (bytes_[n] >= 0 && s.flows_[index].state != FlowState::pending) s.unbind(index);
  }
  for (std::size_t n = 0; n < members_.size(); ++n) {
    if (bytes_[n] < 0) continue;
    const FlowIndex index = known_[members_[n]].flow;
    const LinkId l = bottleneck_of(n);
    if (l == none || s.links_[l].flows == 1) {
      s.bind_solo(index, l, bytes_[n]);
    } else {
      s.bind(index, l, bytes_[n]);
    }
  }
  for (std::size_t n = 0; n < members_.size(); ++n) {
    if (s.flows_[known_[members_[n]].flow].state != FlowState::grouped) continue;
    Group& group = s.groups_[s.links_[bottleneck_of(n)].group];
    group.level = solver_.level()[n];
    s.mark_changed(group);
  }
}

template <class Condition>
bool Component::any_of(const Part& part, Condition condition) const {
  for (std::uint32_t c = part.first; c < part.end; ++c) {
    if (condition(sharing_.flows_[crossings_[c].flow])) return true;
  }
  return false;
}

/// Which of the examined links the pure tier may use from now on.
void Component::flag() {
  for (Part& part : links_) {
    Link& link = sharing_.links_[part.link];
    part.share = link.share();
    if (link.general) link.general = link.bucket || any_of(part, [](const Flow& flow) { return flow.general; });
    link.exceeded = false;
    link.entangled = link.general;
    if (link.bound == link.flows) continue;
    if (link.bound == 0) {
      const double limit = part.share * (1 + Sharing::tolerance);
      link.exceeded = any_of(part, [&](const Flow& flow) { return sharing_.level(flow) > limit; });
    }
    link.entangled |= link.bound > 0 || link.exceeded;
  }
  for (const Part& part : links_) flag_one(part);
}

void Component::flag_one(const Part& part) {
  Sharing& s = sharing_;
  const LinkId l = part.link;
  Link& link = s.links_[l];
  double safe = infinity;
  for (std::uint32_t c = part.first; c < part.end; ++c) {
    const Flow& flow = s.flows_[crossings_[c].flow];
    if (flow.bound == none) continue;
    Link& bottleneck = s.links_[flow.bound];
    if (flow.bound != l) {
      if (link.bound > 0 || link.exceeded) bottleneck.entangled = true;
      if (flow.state == FlowState::grouped) s.groups_[bottleneck.group].safe = std::min(s.groups_[bottleneck.group].safe, part.share);
      continue;
    }
    for (const LinkId other : flow.route()) {
      if (other == l) continue;
      const std::uint32_t number = number_of_link_[other];
      safe = std::min(safe, number != none ? links_[number].share : s.links_[other].share());
      if (s.links_[other].bound > 0 || s.links_[other].exceeded) link.entangled = true;
    }
  }
  if (link.group != none) s.groups_[link.group].safe = safe;
}

}  // namespace straggler::fluid

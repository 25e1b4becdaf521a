// The pure tier of Sharing: a bottleneck whose flows are all bound to it, with no other bottleneck near.
#include "sim/network/sharing.hpp"

namespace straggler::fluid {

LinkId Sharing::tightest(std::span<const LinkId> route) const {
  LinkId best = route[0];
  double least = links_[best].share();
  for (const LinkId l : route.subspan(1)) {
    const double share = links_[l].share();
    if (share < least || (share == least && links_[l].peak > links_[best].peak)) {
      best = l;
      least = share;
    }
  }
  return best;
}

double Sharing::least_other_share(const Flow& flow, LinkId l) const {
  double least = infinity;
  for (const LinkId other : flow.route()) {
    if (other != l) least = std::min(least, links_[other].share());
  }
  return least;
}

double Sharing::least_other_share(LinkId l) {
  double least = infinity;
  for_each_flow(l, [&](FlowIndex i) { least = std::min(least, least_other_share(flows_[i], l)); });
  return least;
}

/// With the newcomer counted: nothing is bound to `l`, and no flow on it will exceed its share once the bottleneck's level, which is not
/// above that share, is changed.
bool Sharing::stays_slack(LinkId l, double share, LinkId bottleneck, FlowIndex newcomer) {
  if (links_[l].bound > 0) return false;
  if (links_[l].flows == 1) return true;
  return !any_flow(l, [&](FlowIndex i) { return i != newcomer && flows_[i].bound != bottleneck && level(flows_[i]) > share; });
}

/// The one other flow on `l` may be solo, bound to a link of its own. Where `l` is about to be its bottleneck, it is bound there
/// (at the rate it has; the caller sets the level).
void Sharing::rebind_companion(FlowIndex newcomer, LinkId l) {
  FlowIndex other = none;
  for_each_flow(l, [&](FlowIndex i) {
    if (i != newcomer) other = i;
  });
  const Flow& flow = flows_[other];
  if (flow.state != FlowState::solo) return;
  for (const LinkId k : flow.route()) {
    if (k != l && (links_[k].flows != 1 || links_[k].share() < links_[l].share())) return;
  }
  const double bytes = remaining(flow), old = level(flow);
  unbind(other);
  Group& group = advanced_group(l);
  group.level = old;
  group.safe = infinity;
  bind(other, l, bytes);
}

bool Sharing::join_pure(FlowIndex index) {
  const Flow& flow = flows_[index];
  const auto route = flow.route();
  const LinkId b = tightest(route);
  Link& bottleneck = links_[b];
  if (bottleneck.flows == 2 && bottleneck.bound == 0) rebind_companion(index, b);
  if (bottleneck.bound != bottleneck.flows - 1) return false;
  const double new_level = bottleneck.share();
  double safe = infinity;
  for (const LinkId l : route) {
    if (l == b) continue;
    const double share = links_[l].share();
    if (share < new_level || !stays_slack(l, share, b, index)) return false;
    safe = std::min(safe, share);
  }
  for (const LinkId l : route) {  // the newcomer makes the other links tighter for everybody on them
    if (l == b || links_[l].flows == 1) continue;
    const double share = links_[l].share();
    for_each_flow(l, [&](FlowIndex i) {
      if (flows_[i].state != FlowState::grouped) return;
      Group& group = groups_[links_[flows_[i].bound].group];
      group.safe = std::min(group.safe, share);
    });
  }
  if (bottleneck.flows == 1) {
    bind_solo(index, b, flow.bytes);
    return true;
  }
  if (bottleneck.flows == 2) {
    FlowIndex other = none;
    for_each_flow(b, [&](FlowIndex i) {
      if (i != index) other = i;
    });
    if (flows_[other].state == FlowState::solo) {
      const double bytes = remaining(flows_[other]);
      unbind(other);
      advanced_group(b).safe = infinity;
      bind(other, b, bytes);
    }
    Group& group = groups_[bottleneck.group];
    group.safe = std::min(group.safe, least_other_share(flows_[other], b));
  }
  bind(index, b, flow.bytes);
  Group& group = groups_[bottleneck.group];
  group.safe = std::min(group.safe, safe);
  group.level = new_level;
  return true;
}

bool Sharing::leave_pure(LinkId b) {
  const Link& bottleneck = links_[b];
  if (bottleneck.bound == 0) return true;  // no flow here could be faster
  if (bottleneck.bound != bottleneck.flows) return false;
  Group& group = advanced_group(b);
  const double share = bottleneck.share();
  if (share > group.safe * (1 + tolerance)) {
    group.safe = least_other_share(b);
    if (share > group.safe * (1 + tolerance)) return bottleneck.flows >= hub_flows && make_hub(b);
  }
  group.level = share;
  return true;
}

}  // namespace straggler::fluid

// How a flow of two links joins them (pair.hpp).
#include "sim/network/pair.hpp"

namespace straggler::fluid {

/// Alone on both links: solo. Alone on one, while all of at least two other flows are bound to the other link: pure, if that link stays the
/// bottleneck of them all.
bool Sharing::join_pair(FlowIndex index) {
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

}  // namespace straggler::fluid

// Flows that the fast tiers of Sharing never see: uneven ones, those over token buckets, and all where there is no contention.
#include <limits>

#include "sim/network/sharing.hpp"

namespace straggler::fluid {

/// The link that would hold the flow back most if it were alone; none if that is its own most.
LinkId Sharing::narrowest(const Flow& flow) const {
  if (!flow.uneven) return narrowest(flow.route());
  const auto route = flow.route();
  const double* const volumes = flow.volumes();
  LinkId best = none;
  double least = flow.far->most;
  for (std::size_t k = 0; k < route.size(); ++k) {
    const double limit = volumes ? links_[route[k]].capacity / volumes[k] : links_[route[k]].capacity;
    if (limit >= least) continue;
    best = route[k];
    least = limit;
  }
  return best;
}

bool Sharing::crosses_bucket(std::span<const LinkId> route) const {
  if (buckets_.empty()) return false;
  for (const LinkId l : route) {
    if (links_[l].bucket) return true;
  }
  return false;
}

void Sharing::join_uneven(FlowIndex index) {
  Flow& flow = flows_[index];
  flow.state = FlowState::pending;
  flow.general = true;
  const auto route = flow.route();
  const double* const volumes = flow.volumes();
  bool alone = true, bucket = false;
  for (std::size_t k = 0; k < route.size(); ++k) {
    const double volume = volumes ? volumes[k] : 1;
    enter(route[k], index, flow.weight * volume, flow.bytes * volume);
    const Link& link = links_[route[k]];
    alone &= link.flows == 1;
    bucket |= link.bucket;
  }
  if (!contention_) return bind_solo(index, narrowest(flow), flow.bytes);
  join_general(index, alone && !bucket);
}

void Sharing::join_general(FlowIndex index, bool solo) {
  Flow& flow = flows_[index];
  flow.general = true;
  for (const LinkId l : flow.route()) links_[l].general = links_[l].entangled = true;
  if (solo) return bind_solo(index, narrowest(flow), flow.bytes);
  disturb_route(flow.route());
  component_.add_newcomer(index);
}

void Sharing::leave_general(FlowIndex index, double unsent) {
  const Flow gone = flows_[index];  // the route stays until the place is released
  const auto route = gone.route();
  const double* const volumes = gone.volumes();
  const bool bound = gone.state == FlowState::solo || gone.state == FlowState::grouped;
  if (bound) unbind(index);
  bool deserted = true;
  for (std::size_t k = 0; k < route.size(); ++k) {
    Link& link = links_[route[k]];
    const double volume = volumes ? volumes[k] : 1;
    deserted &= exit(link, gone.weight * volume, unsent * volume);
    if (link.bucket) disturb(route[k], Disturbance::flows);
  }
  flows_.retire(index);
  if (bound && !deserted && contention_) disturb_route(route);
}

}  // namespace straggler::fluid

// Max-min fair sharing of links by flows in motion. It knows neither latency nor who is told of an arrival.
//
// Every flow has one bottleneck, the link it is *bound* to: a saturated link on which no flow has a higher level (rate per
// weight). Max-min is unique, so any way of finding such a binding for every flow is exact. There are four, cheapest first:
//
//  1. Solo. Every link of the route carries this flow only: its narrowest link binds it, and a timer of its own ends it.
//  2. Pure. All flows on the bottleneck are bound to it, and no other link of theirs can come near to being one: levels there
//     change together, O(1) a flow that comes or goes.                                                        (pure.cpp)
//  3. Hub. A shared link whose flows have no other shared one: O(log flows).                        (hub.hpp, hub.cpp)
//  4. General. All other changes of an instant together, by progressive filling of as few flows as pass the test of a
//     max-min allocation.                                                                     (component.hpp, .cpp)
//
// Invariants once settled (`level` of a flow: capacity / weight if solo, its group's level if grouped)
//  - A flow is on the roster of every link of its route, once; `flows`, `weight` and `bound` of a link count them.
//  - A solo flow is alone on the link it is bound to, or was when this instant began.
//  - A link that is not entangled either has all its flows bound to it, and none of them crosses another link with bound flows
//    or one that is exceeded; or it has no bound flows and is not exceeded. On such links alone the pure tier may work.
//  - group.safe bounds share() of the other links of its members from below, unless the link is a hub.
//  - Links with a disturbance are listed in `disturbed_`, changed groups in `changed_groups_`, hubs in `changed_hubs_`.
#pragma once
#include <span>
#include <vector>

#include "sim/engine/event_queue.hpp"
#include "sim/network/component.hpp"
#include "sim/network/flow.hpp"
#include "sim/network/group.hpp"
#include "sim/network/group_heap.hpp"
#include "sim/network/link.hpp"

namespace straggler::fluid {

class Sharing {
 public:
  /// Solo flows end by timers of `kind` in `queue`.
  Sharing(FlowTable& flows, EventQueue& queue, EventQueue::Kind kind)
      : flows_(flows), queue_(queue), timer_kind_(kind), heap_(groups_), component_(*this) {}
  Sharing(const Sharing&) = delete;
  Sharing& operator=(const Sharing&) = delete;

  LinkId add_link(double bytes_per_tick);
  void set_capacity(LinkId link, double bytes_per_tick);
  std::size_t links() const { return links_.size(); }
  const Link& link(LinkId l) const { return links_[l]; }

  /// The flow, latent so far, comes onto its links.
  void join(FlowIndex index);
  /// It leaves them, `unsent` bytes undone, and is retired.
  void leave(FlowIndex index, double unsent);
  /// The timer of a solo flow says that it is done. False if it is only as far as Time::limit().
  bool is_done(FlowIndex index) const;

  double remaining(const Flow& flow) const;
  double level(const Flow& flow) const {
    if (flow.state == FlowState::solo) return links_[flow.bound].capacity / flow.weight;
    if (flow.state == FlowState::grouped) return groups_[links_[flow.bound].group].level;
    return 0;
  }
  /// Bytes that the flows now on the link still have to send.
  double owed(LinkId link) const;

  bool unsettled() const { return unsettled_; }
  void settle();
  Time next() const { return heap_.next(); }
  /// The group that finishes a flow at next().
  GroupIndex first_group() const { return heap_.first(); }
  /// Takes a flow out of the group that is done now, and lets it leave; none if there is no such (more). The place of the flow
  /// is retired, not released.
  FlowIndex take_done(GroupIndex group);
  /// After take_done() has returned none.
  void retime(GroupIndex group);

 private:
  friend class Component;
  static constexpr std::uint32_t hub_flows = 16;  // with fewer flows the general solver is as fast
  static constexpr double tolerance = 1e-12;      // of a level, where a tie must not start a search

  // sharing.cpp: who is where
  Time now() const { return queue_.now(); }
  void enter(Link& link, FlowIndex index);
  void clean_roster(Link& link);
  GroupIndex group_of(LinkId l) {
    if (links_[l].group == none) {
      links_[l].group = static_cast<GroupIndex>(groups_.size());
      groups_.emplace_back(l);
    }
    return links_[l].group;
  }
  Group& advanced_group(LinkId l) {
    Group& group = groups_[group_of(l)];
    group.advance(now());
    return group;
  }
  void mark_changed(Group& group) {
    if (group.changed) return;
    group.changed = unsettled_ = true;
    changed_groups_.push_back(links_[group.link].group);
  }
  /// Binding and unbinding do not touch levels. bind() wants an unbound flow; bind_solo() one that is alone on the link.
  void bind(FlowIndex index, LinkId l, double bytes);
  void bind_solo(FlowIndex index, LinkId l, double bytes);
  void unbind(FlowIndex index);
  void cancel_timer(FlowIndex index);
  void disturb(LinkId l, Disturbance disturbance);
  void disturb_route(std::span<const LinkId> route);
  LinkId narrowest(std::span<const LinkId> route) const;

  // pure.cpp
  bool join_pure(FlowIndex index);
  bool leave_pure(LinkId bottleneck);
  LinkId tightest(std::span<const LinkId> route) const;
  void rebind_companion(FlowIndex newcomer, LinkId l);
  bool stays_slack(LinkId l, double share, LinkId bottleneck, FlowIndex newcomer);
  double least_other_share(const Flow& flow, LinkId l) const;
  double least_other_share(LinkId l);

  // hub.cpp
  Hub& hub(LinkId l) { return *groups_[links_[l].group].hub; }
  bool hub_can_take(const Flow& flow, LinkId l) const;
  bool join_hub(FlowIndex index, LinkId l);
  void leave_hub(LinkId l, const Flow& gone);
  bool make_hub(LinkId l);
  void drop_hub(LinkId l);
  void drop_hubs_around(LinkId l);
  void settle_hub(LinkId l);
  void cap(FlowIndex index, LinkId l, double bytes);
  void share(FlowIndex index, LinkId l, double bytes);
  void note_capped(FlowIndex index, Hub& hub);
  void note_sharing(FlowIndex index, LinkId l, Hub& hub);
  LinkId cap_of(const Flow& flow, LinkId l) const;
  void mark_hub(LinkId l);
  void drop_stale(Hub& hub, std::size_t flows);

  /// visit(index) for every flow on the link, in the order of their coming, until it returns true; whether it did. Flows must
  /// neither come nor go meanwhile.
  template <class Visit>
  bool any_flow(LinkId l, Visit visit) {
    if (links_[l].roster.size() > 2 * links_[l].flows + 8) clean_roster(links_[l]);
    for (const RosterEntry& entry : links_[l].roster) {
      if (flows_[entry.flow].generation == entry.generation && visit(entry.flow)) return true;
    }
    return false;
  }
  template <class Visit>
  void for_each_flow(LinkId l, Visit visit) {
    any_flow(l, [&](FlowIndex i) { return visit(i), false; });
  }

  FlowTable& flows_;
  EventQueue& queue_;
  EventQueue::Kind timer_kind_;
  std::vector<Link> links_;
  std::vector<Group> groups_;
  GroupHeap heap_;
  Component component_;
  std::vector<LinkId> disturbed_;
  std::vector<LinkId> changed_hubs_;
  std::vector<GroupIndex> changed_groups_;
  std::vector<FlowIndex> scratch_;
  std::size_t hubs_ = 0;    // links that are hubs now
  bool unsettled_ = false;  // one of the three lists above has something on it
};

}  // namespace straggler::fluid

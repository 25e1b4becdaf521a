// Max-min fair sharing of links by flows in motion. It knows neither latency nor the receiver of an arrival.
//
// Every flow has one bottleneck, the link it is *bound* to: a saturated link on which no flow has a higher level (rate per
// weight). Max-min is unique, so any way of finding such a binding for every flow is exact. There are four, cheapest first:
//
//  1. Solo. Every link of the route carries this flow only: its narrowest link binds it, and a timer of its own ends it.
//  2. Pure. All flows on the bottleneck are bound to it, and no other link of theirs can come near to being one: levels there
//     change together, O(1) per flow that comes or goes.                                                      (pure.cpp)
//     Both without loops where a route has two links, as in a star.                                           (pair.hpp)
//  3. Hub. A shared link whose flows have no other shared one: O(log flows).                        (hub.hpp, hub.cpp)
//  4. General. All other changes of an instant together, by progressive filling of as few flows as pass the
//     max-min criterion.                                                                      (component.hpp, .cpp)
//
// Uneven flows (with volumes, or with a rate cap) are solo or in the general tier. Flows over a link with a token bucket are always in the
// general tier, so that it sees every change of the link's load. The other tiers never meet them: their links are entangled. Without
// contention every flow is solo.
//
// Invariants once settled (`level` of a flow: rate / weight if solo, its group's level if grouped)
//  - A flow is on the roster of every link of its route, once; `flows`, `weight` and `bound` of a link count them.
//  - A solo flow is alone on the link it is bound to, or was when this instant began; or it is bound to none, at its own most.
//  - A link with a bucket or a general flow is `general`, so entangled.
//  - A link that is not entangled either has all its flows bound to it, and none of them crosses another link with bound flows
//    or one that is exceeded; or it has no bound flows and is not exceeded. On such links alone the pure tier may work.
//  - group.safe bounds share() of the other links of its members from below, unless the link is a hub.
//  - Links with a disturbance are listed in `disturbed_`, changed groups in `changed_groups_`, hubs in `changed_hubs_`.
#pragma once
#include <bit>
#include <limits>
#include <span>
#include <unordered_map>
#include <vector>

#include "sim/base/huge_pages.hpp"
#include "sim/base/prefetch.hpp"
#include "sim/engine/continuous.hpp"
#include "sim/engine/event_queue.hpp"
#include "sim/network/bucket.hpp"
#include "sim/network/component.hpp"
#include "sim/network/flow.hpp"
#include "sim/network/group.hpp"
#include "sim/network/group_heap.hpp"
#include "sim/network/link.hpp"

namespace straggler::fluid {

inline constexpr double infinity = std::numeric_limits<double>::infinity();

class Sharing {
 public:
  /// Solo flows end by timers of `kind` in `queue`.
  Sharing(FlowTable& flows, EventQueue& queue, EventQueue::Kind kind)
      : flows_(flows), queue_(queue), timer_kind_(kind), heap_(groups_), component_(*this) {}
  Sharing(const Sharing&) = delete;
  Sharing& operator=(const Sharing&) = delete;
  ~Sharing();

  void expect_links(std::size_t count) { links_.reserve(count); }
  LinkId add_link(double bytes_per_tick);
  void set_capacity(LinkId link, double bytes_per_tick);
  /// Bytes and bytes per tick. Neither after the first flow.
  void set_bucket(LinkId link, double burst, double peak);
  void set_contention(bool contention) { contention_ = contention; }
  bool contention() const { return contention_; }
  bool has_buckets() const { return !buckets_.empty(); }
  /// Its capacity, or its capacity with an empty bucket.
  double committed(LinkId l) const { return links_[l].bucket ? bucket(l).committed : links_[l].capacity; }
  std::size_t links() const { return links_.size(); }
  const Link& link(LinkId l) const { return links_[l]; }

  /// The flow, latent so far, comes onto its links.
  inline void join(FlowIndex index);
  /// It leaves them, with `unsent` bytes left, and is retired.
  void leave(FlowIndex index, double unsent);
  /// The timer of a solo flow has fired: the same as leave(index, 0).
  inline void leave_done(FlowIndex index);
  /// The timer of a solo flow reports completion. False if only Time::limit() is reached.
  bool is_done(FlowIndex index) const { return now() < Time::limit() || is_done_at_limit(index); }

  double remaining(const Flow& flow) const;
  double level(const Flow& flow) const {
    if (flow.state == FlowState::solo) return solo_rate(flow) / flow.weight;
    if (flow.state == FlowState::grouped) return groups_[links_[flow.bound].group].level;
    return 0;
  }
  /// Bytes that the flows now on the link still have to send.
  double owed(LinkId link) const;
  Time busy(LinkId link) const { return Time::from_ticks(busy_ticks(links_[link])); }
  /// Its capacity while busy, in bytes; with a bucket, plus tokens held beforehand or regained when idle.
  double carriable(LinkId link) const;
  /// The largest rate it has ever had in an account of its capacity.
  double highest_capacity(LinkId link) const;
  /// Number of times its bucket has closed; each may have been up to a tick late.
  double closings(LinkId l) const { return links_[l].bucket ? bucket(l).closings + 1 : 0; }

  bool unsettled() const { return moment_.unsettled; }
  const ContinuousModel::Moment& moment() const { return moment_; }
  void settle();
  Time next() const { return heap_.next(); }
  /// The group that finishes a flow at next().
  GroupIndex first_group() const { return heap_.first(); }
  /// Once settled, at next(): takes the flow that is due then out of the first group, and lets it leave. Its place is retired, not
  /// released.
  FlowIndex take_first(GroupIndex group) { return take(groups_[group], *groups_[group].first(flows_)); }
  /// The same for a further flow of the group that is done now; none if there is no such flow.
  FlowIndex take_done(GroupIndex group) {
    const Tag* const tag = groups_[group].first(flows_);
    return tag && groups_[group].is_due(*tag, now()) ? take(groups_[group], *tag) : none;
  }
  /// After take_done() has returned none.
  void retime(GroupIndex group) {
    heap_.put_off(group);
    mark_changed(groups_[group]);
  }

  /// Prefetches a link and its neighbour, which mostly is the other direction of the cable, on which answers come.
  void fetch(LinkId link) const {
    const std::size_t first = link & ~LinkId{1};
    if (first + 1 >= links_.size()) return;
    prefetch_line_to_write(&links_[first]);
    prefetch_line_to_write(&links_[first + 1]);
  }

 private:
  friend class Component;
  static constexpr std::uint32_t hub_flows = 16;  // with fewer flows the general solver is as fast
  static constexpr double tolerance = 1e-12;      // of a level, where a tie must not start a search

  // sharing.cpp: who is where
  void join_any(FlowIndex index);
  bool is_done_at_limit(FlowIndex index) const;
  Time now() const { return queue_.now(); }
  /// It has entered its links, and is not alone on them. `hub`: one of them, or none.
  void join_others(FlowIndex index, bool entangled, LinkId hub);
  inline void fetch_ahead(const Ring<Tag>& tags) const;
  FlowIndex take(Group& group, const Tag& tag);
  inline void enter(LinkId l, FlowIndex index, double weight, double bytes);
  bool exit(Link& link, double weight, double unsent);  // true if it is deserted then
  void clean_roster(LinkId l);
  double solo_rate(const Flow& flow) const { return flow.uneven ? flow.far->rate : links_[flow.bound].capacity; }
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
    group.changed = moment_.unsettled = true;
    changed_groups_.push_back(links_[group.link].group);
  }
  /// Binding and unbinding do not touch levels. bind() wants an unbound flow; bind_solo() one that is alone on the link, or none: the
  /// flow's own most.
  inline void bind(FlowIndex index, LinkId l, double bytes);
  void bind_solo(FlowIndex index, LinkId l, double bytes);
  inline void start_timer(FlowIndex index, double bytes, double rate);
  void start_new_timer(FlowIndex index, double bytes, double rate);
  void unbind(FlowIndex index);
  void cancel_timer(FlowIndex index);
  void disturb(LinkId l, Disturbance disturbance);
  void disturb_route(std::span<const LinkId> route);
  LinkId narrowest(std::span<const LinkId> route) const;
  static bool narrower(const Link& link, const Link& other) {
    return link.capacity < other.capacity || (link.capacity == other.capacity && link.peak > other.peak);
  }

  // general.cpp: flows that the fast tiers never see
  void join_uneven(FlowIndex index);
  void join_general(FlowIndex index, bool solo);
  void leave_general(FlowIndex index, double unsent);
  LinkId narrowest(const Flow& flow) const;
  bool crosses_bucket(std::span<const LinkId> route) const;

  // capacity.cpp
  struct Account {
    double bytes = 0;       // that it could have carried in its first `busy` ticks
    std::int64_t busy = 0;  // ticks
    double highest = 0;     // capacity
  };
  static void on_bucket(void* self, std::uint32_t index) { static_cast<Sharing*>(self)->empty_bucket(index); }
  void change_capacity(LinkId l, double bytes_per_tick);
  void change_solo_capacity(LinkId l, double bytes_per_tick);
  std::int64_t busy_ticks(const Link& link) const { return link.flows > 0 ? link.busy + now().ticks() : link.busy; }
  void keep_account(LinkId l);
  Bucket& bucket(LinkId l) { return buckets_[bucket_of_[l]]; }
  const Bucket& bucket(LinkId l) const { return buckets_[bucket_of_[l]]; }
  void empty_bucket(std::uint32_t index);
  void look_into_bucket(LinkId l);  // before rates on the link may change
  void weigh_bucket(LinkId l);      // after they have changed

  // pure.cpp
  bool join_pure(FlowIndex index);
  bool leave_pure(LinkId bottleneck);
  LinkId tightest(std::span<const LinkId> route) const;
  void rebind_companion(FlowIndex newcomer, LinkId l);
  bool stays_slack(LinkId l, double share, LinkId bottleneck, FlowIndex newcomer);
  double least_other_share(const Flow& flow, LinkId l) const;
  double least_other_share(LinkId l);

  // pair.hpp. False: another case, and nothing has been done.
  bool join_pair(FlowIndex index);
  inline bool leave_solo_pair(FlowIndex index);
  inline bool leave_pure_pair(FlowIndex index);

  // hub.cpp
  Hub& hub(LinkId l) { return *groups_[links_[l].group].hub; }
  bool hub_can_take(const Flow& flow, LinkId l) const;
  bool join_hub(FlowIndex index, LinkId l);
  /// The properties of a flow that has left.
  struct Leaver {
    FlowState state;
    LinkId bound;
    double weight;
  };
  void leave_hub(LinkId l, const Leaver& gone);
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

  /// visit(index) for every flow on the link, in order of arrival, until it returns true; returns whether it did. Flows must neither come
  /// nor go meanwhile.
  template <class Visit>
  bool any_flow(LinkId l, Visit visit) {
    if (links_[l].roster.size() > 2 * links_[l].flows + 8) clean_roster(l);
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
  static constexpr std::size_t cached_links = 512;  // a table this small stays in the cache
  std::vector<Link, HugePages<Link>> links_;
  std::vector<Group> groups_;
  GroupHeap heap_;
  Component component_;
  std::vector<LinkId> disturbed_;
  std::vector<LinkId> changed_hubs_;
  std::vector<GroupIndex> changed_groups_;
  std::vector<FlowIndex> scratch_;
  std::size_t hubs_ = 0;            // links that are hubs now
  ContinuousModel::Moment moment_;  // unsettled: one of the three lists above has something on it
  bool contention_ = true;
  double last_bytes_ = 0, last_rate_ = 0;  // of the last solo flow
  Time last_span_, before_;                // its duration, which is right for all that begin before this moment
  EventQueue::Kind bucket_kind_{};         // once there are buckets
  std::vector<Bucket> buckets_;
  std::vector<std::uint32_t> bucket_of_;          // of each link up to the last with a bucket
  std::unordered_map<LinkId, Account> accounts_;  // of unsteady links; never walked through
};

inline void Sharing::enter(LinkId l, FlowIndex index, double weight, double bytes) {
  Link& link = links_[l];
  if (link.flows == 0) {
    link.roster.truncate(0);
    link.busy -= now().ticks();
  } else if (link.roster.full()) {
    clean_roster(l);
    if (link.roster.capacity() == 1 || 2 * link.roster.size() > link.roster.capacity()) link.roster.grow();
  }
  link.roster.add({index, flows_[index].generation});
  ++link.flows;
  link.weight += weight;
  link.promised += bytes;
  if (std::uint64_t{link.flows - 1} >> link.peak) link.peak = static_cast<std::uint8_t>(std::bit_width(link.flows - 1));
}

inline void Sharing::join(FlowIndex index) {
  const Flow& flow = flows_[index];
  if (flow.length != 2 || flow.uneven || !contention_ || !join_pair(index)) join_any(index);
}

/// Of a solo flow: done_at(), without its division where the last one was of the same numbers: messages of a collective are equal.
inline void Sharing::start_timer(FlowIndex index, double bytes, double rate) {
  if (bytes != last_bytes_ || rate != last_rate_ || now() >= before_) return start_new_timer(index, bytes, rate);
  Owner& owner = flows_.owner(index);
  owner.timed = true;
  owner.timer = queue_.after(last_span_, timer_kind_, index);
}

inline void Sharing::bind(FlowIndex index, LinkId l, double bytes) {
  Flow& flow = flows_[index];
  Link& link = links_[l];
  Group& group = advanced_group(l);
  group.add(flows_, index, bytes, link.bound);
  flow.state = FlowState::grouped;
  flow.bound = l;
  ++link.bound;
  mark_changed(group);
}

}  // namespace straggler::fluid

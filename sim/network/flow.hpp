// The state of a flow and the table of flows.
#pragma once
#include <algorithm>
#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <stdexcept>
#include <utility>
#include <vector>

#include "sim/base/huge_pages.hpp"
#include "sim/engine/event_queue.hpp"
#include "sim/engine/time.hpp"
#include "sim/network/flow_request.hpp"
#include "sim/network/link.hpp"

namespace straggler::fluid {

enum class FlowState : std::uint8_t {
  vacant,
  latent,   // its latency passes; then it flows
  empty,    // its latency passes; then it has arrived: no bytes or no route
  pending,  // on its links, at level 0 until this instant is settled
  solo,     // it has a timer of its own: its rate is the capacity of the link it is bound to, or its own most
  grouped,  // bound to a link whose group finishes it
};

/// The rare parts of a flow: a long route, or the properties of an *uneven* flow: volumes other than 1, or a most that its rate never
/// exceeds.
struct FarSide {
  std::vector<LinkId> links;    // ascending if there are volumes
  std::vector<double> volumes;  // of each link; empty: 1 on all
  double most = 0;              // bytes per tick, infinite if there is no limit; uneven flows only, like `rate`
  double rate = 0;              // while solo
  std::uint32_t cursor = 0;     // place of the last look-up: links are mostly looked up in order

  double volume_on(LinkId link);
};

/// One cache line. `bytes` is the remainder at `since` if solo, the finish tag if grouped, the remainder otherwise.
struct alignas(64) Flow {
  static constexpr std::size_t inline_links = 6;

  std::span<const LinkId> route() const {
    if (length <= inline_links) return {links, length};
    return far->links;
  }
  bool has_far_side() const { return length > inline_links; }
  double volume(LinkId link) const { return uneven ? far->volume_on(link) : 1; }
  /// Of each link of the route; null: 1 on all.
  const double* volumes() const { return uneven && !far->volumes.empty() ? far->volumes.data() : nullptr; }

  union {
    LinkId links[inline_links];
    FarSide* far;      // of the table
    FlowIndex vacant;  // of a vacant place: the next one; none: the last
  };
  double bytes;
  Time since;
  double weight;
  LinkId bound;              // bottleneck; none unless solo or grouped, and none for a solo flow at its most
  std::uint32_t generation;  // of this place in the table; a roster entry with another one is of a flow that left
  std::uint32_t stamp;       // of the latest binding; a tag with another one is stale
  std::uint8_t length;       // of the route; inline_links + 1 if it is on the far side
  FlowState state;
  bool known;  // to the general solver, which is working on one of its links
  bool uneven : 1;
  bool general : 1;  // on its links, not for the fast tiers: it is uneven, or crosses a token bucket, or there is no contention
};
static_assert(sizeof(Flow) == 64);

inline double FarSide::volume_on(LinkId link) {
  if (volumes.empty()) return 1;
  if (links[cursor] != link) {
    if (++cursor == links.size()) cursor = 0;
    if (links[cursor] != link) cursor = static_cast<std::uint32_t>(std::lower_bound(links.begin(), links.end(), link) - links.begin());
  }
  return volumes[cursor];
}

/// Data used only at the beginning and the end of a flow.
struct Owner {
  Arrival* arrival;
  EventQueue::Timer timer;  // scheduled while latent, empty, or solo and `timed`
  bool timed;
};

/// Places are reused at once, last in, first out. A flow's name is its place and the generation of the place. A place of generation 0 is
/// new, or its memory went back: it begins with numbers that it never had.
class FlowTable {
 public:
  FlowTable() = default;
  FlowTable(const FlowTable&) = delete;
  FlowTable& operator=(const FlowTable&) = delete;

  Flow& operator[](FlowIndex i) { return flows_[i]; }
  const Flow& operator[](FlowIndex i) const { return flows_[i]; }
  Owner& owner(FlowIndex i) { return owners_[i]; }
  const Owner& owner(FlowIndex i) const { return owners_[i]; }
  std::size_t places() const { return flows_.size(); }
  std::size_t size() const { return size_; }
  std::uint64_t started() const { return started_; }  // in total

  FlowId id(FlowIndex i) const { return FlowId{flows_[i].generation} << 32 | i; }
  /// none if that flow has ended.
  FlowIndex find(FlowId id) const {
    const FlowIndex i = static_cast<FlowIndex>(id);
    return i < flows_.size() && flows_[i].generation == id >> 32 && flows_[i].state != FlowState::vacant ? i : none;
  }

  FlowIndex add(std::span<const LinkId> route, double bytes, double weight, Arrival& arrival) {
    if (route.size() == 2) return add_pair(route[0], route[1], bytes, weight, arrival);
    const FlowIndex i = take_place();
    Flow& flow = flows_[i];
    if (route.size() <= Flow::inline_links) {
      flow.length = static_cast<std::uint8_t>(route.size());
      std::copy(route.begin(), route.end(), flow.links);
    } else {
      far_side(flow).links.assign(route.begin(), route.end());
    }
    occupy(i, bytes, weight, arrival);
    return i;
  }
  /// The same for most routes of stars.
  FlowIndex add_pair(LinkId first, LinkId second, double bytes, double weight, Arrival& arrival) {
    const FlowIndex i = take_place();
    Flow& flow = flows_[i];
    flow.length = 2;
    flow.links[0] = first;
    flow.links[1] = second;
    occupy(i, bytes, weight, arrival);
    return i;
  }
  /// With volumes (empty: 1 everywhere) and the most bytes per tick it may have.
  FlowIndex add_uneven(std::span<const LinkId> route, std::span<const double> volumes, double most, double bytes, double weight,
                       Arrival& arrival) {
    const FlowIndex i = take_place();
    FarSide& far = far_side(flows_[i]);
    set_volumes(far, route, volumes);
    far.most = most;
    far.cursor = 0;
    occupy(i, bytes, weight, arrival);
    flows_[i].uneven = true;
    return i;
  }

  /// All rosters and tags that name it are stale from now on; its route stays until it is released.
  void retire(FlowIndex i) {
    ++flows_[i].generation;
    ++flows_[i].stamp;
    flows_[i].state = FlowState::vacant;
    --size_;
  }

  void release(FlowIndex i) {
    Flow& flow = flows_[i];
    if (flow.has_far_side()) spare_.push_back(flow.far);
    flow.length = 0;
    // Before its numbers repeat, a place is abandoned: 64 bytes for every billion flows.
    constexpr std::uint32_t last = std::numeric_limits<std::uint32_t>::max() / 2;
    if (flow.generation >= last || flow.stamp >= last) return;
    flow.vacant = vacant_;
    vacant_ = i;
    if (size_ < give_back_below_ && --give_back_in_ == 0) give_back();
  }

 private:
  FlowIndex take_place() {
    if (vacant_ == none) make_place();
    const FlowIndex i = vacant_;
    vacant_ = flows_[i].vacant;
    return i;
  }
  void make_place();
  void grow();
  void give_back() noexcept;
  void occupy(FlowIndex i, double bytes, double weight, Arrival& arrival) {
    Flow& flow = flows_[i];
    flow.bytes = bytes;
    flow.weight = weight;
    flow.bound = none;
    flow.state = FlowState::latent;
    flow.uneven = flow.general = false;
    owners_[i] = Owner{&arrival, {}, false};
    ++size_;
    ++started_;
  }

  FarSide& far_side(Flow& flow) {
    if (spare_.empty()) {
      far_sides_.push_back(std::make_unique<FarSide>());
      spare_.push_back(far_sides_.back().get());
    }
    FarSide* const far = spare_.back();
    far->volumes.clear();
    spare_.pop_back();
    flow.far = far;
    flow.length = Flow::inline_links + 1;
    return *far;
  }
  void set_volumes(FarSide& far, std::span<const LinkId> route, std::span<const double> volumes) {
    far.links.assign(route.begin(), route.end());
    far.volumes.assign(volumes.begin(), volumes.end());
    if (volumes.empty() || std::is_sorted(route.begin(), route.end())) return;
    sorted_.clear();
    for (std::size_t k = 0; k < route.size(); ++k) sorted_.emplace_back(route[k], volumes[k]);
    std::sort(sorted_.begin(), sorted_.end());
    for (std::size_t k = 0; k < route.size(); ++k) {
      far.links[k] = sorted_[k].first;
      far.volumes[k] = sorted_[k].second;
    }
  }

  std::vector<Flow, HugePages<Flow>> flows_;
  std::vector<Owner> owners_;
  FlowIndex vacant_ = none;            // the place that is taken next
  std::vector<FlowIndex> given_back_;  // taken after all those, the last one first
  // Unused memory is returned after this many departures while fewer flows than `give_back_below_` are left; 0: never.
  std::size_t give_back_in_ = 0, give_back_below_ = 0;
  std::uint32_t first_generation_ = 1, first_stamp_ = 0;
  std::vector<std::unique_ptr<FarSide>> far_sides_;  // the largest number that was ever in use at once
  std::vector<FarSide*> spare_;                      // unused ones
  std::vector<std::pair<LinkId, double>> sorted_;    // scratch
  std::size_t size_ = 0;
  std::uint64_t started_ = 0;
};

}  // namespace straggler::fluid

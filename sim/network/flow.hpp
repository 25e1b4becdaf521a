// The state of a flow and the table of flows.
#pragma once
#include <algorithm>
#include <cstdint>
#include <limits>
#include <span>
#include <stdexcept>
#include <vector>

#include "sim/engine/event_queue.hpp"
#include "sim/engine/time.hpp"
#include "sim/network/link.hpp"
#include "sim/network/network.hpp"

namespace straggler::fluid {

enum class FlowState : std::uint8_t {
  vacant,
  latent,   // its latency passes; then it flows
  empty,    // its latency passes; then it has arrived: no bytes or no route
  pending,  // on its links, at level 0 until this instant is settled
  solo,     // bound to a link with a timer of its own: its rate is that link's capacity as long as it is bound to it
  grouped,  // bound to a link whose group finishes it
};

/// One cache line. `bytes` is what remained at `since` if solo, the finish tag if grouped, what remains otherwise.
struct alignas(64) Flow {
  static constexpr std::size_t inline_links = 6;

  std::span<const LinkId> route() const {
    if (length <= inline_links) return {links, length};
    return {long_route + 1, long_route[0]};
  }
  bool has_long_route() const { return length > inline_links; }

  union {
    LinkId links[inline_links];
    LinkId* long_route;  // number of links, then the links
  };
  double bytes;
  Time since;
  double weight;
  LinkId bound;              // bottleneck; none unless solo or grouped
  std::uint32_t generation;  // of this place in the table; a roster entry with another one is of a flow that left
  std::uint32_t stamp;       // of the latest binding; a tag with another one is stale
  std::uint8_t length;       // of the route; inline_links + 1 if it is long
  FlowState state;
  bool in_component;  // the general solver is working on it
};
static_assert(sizeof(Flow) == 64);

/// What only the beginning and the end of a flow need.
struct Owner {
  Arrival* arrival;
  EventQueue::Timer timer;  // scheduled while latent, empty, or solo and `timed`
  bool timed;
};

/// Places are reused at once, last in, first out. A flow's name is its place and the generation of the place.
class FlowTable {
 public:
  FlowTable() = default;
  FlowTable(const FlowTable&) = delete;
  FlowTable& operator=(const FlowTable&) = delete;
  ~FlowTable() {
    for (Flow& flow : flows_) free_route(flow);
  }

  Flow& operator[](FlowIndex i) { return flows_[i]; }
  const Flow& operator[](FlowIndex i) const { return flows_[i]; }
  Owner& owner(FlowIndex i) { return owners_[i]; }
  std::size_t places() const { return flows_.size(); }
  std::size_t size() const { return size_; }

  FlowId id(FlowIndex i) const { return FlowId{flows_[i].generation} << 32 | i; }
  /// none if that flow is no more.
  FlowIndex find(FlowId id) const {
    const FlowIndex i = static_cast<FlowIndex>(id);
    return i < flows_.size() && flows_[i].generation == id >> 32 && flows_[i].state != FlowState::vacant ? i : none;
  }

  FlowIndex add(std::span<const LinkId> route, double bytes, double weight, Arrival& arrival) {
    if (vacant_.empty()) {
      if (flows_.size() >= none) throw std::length_error("more than 2^32 flows are under way");
      flows_.emplace_back();
      owners_.emplace_back();
      flows_.back().generation = 1;
      flows_.back().stamp = 0;
      flows_.back().length = 0;
      flows_.back().in_component = false;
      vacant_.push_back(static_cast<FlowIndex>(flows_.size() - 1));
    }
    const FlowIndex i = vacant_.back();
    Flow& flow = flows_[i];
    set_route(flow, route);
    vacant_.pop_back();
    flow.bytes = bytes;
    flow.weight = weight;
    flow.bound = none;
    flow.state = FlowState::latent;
    owners_[i] = Owner{&arrival, {}, false};
    ++size_;
    return i;
  }

  /// All rosters and tags that name it are stale from here on; its route stays until it is released.
  void retire(FlowIndex i) {
    ++flows_[i].generation;
    ++flows_[i].stamp;
    flows_[i].state = FlowState::vacant;
    --size_;
  }

  void release(FlowIndex i) {
    free_route(flows_[i]);
    // Before its numbers repeat, a place is given up: 64 bytes for every billion flows.
    constexpr std::uint32_t last = std::numeric_limits<std::uint32_t>::max() / 2;
    if (flows_[i].generation < last && flows_[i].stamp < last) vacant_.push_back(i);
  }

 private:
  static void set_route(Flow& flow, std::span<const LinkId> route) {
    if (route.size() <= Flow::inline_links) {
      flow.length = static_cast<std::uint8_t>(route.size());
      std::copy(route.begin(), route.end(), flow.links);
      return;
    }
    LinkId* links = new LinkId[route.size() + 1];
    links[0] = static_cast<LinkId>(route.size());
    std::copy(route.begin(), route.end(), links + 1);
    flow.long_route = links;
    flow.length = Flow::inline_links + 1;
  }
  static void free_route(Flow& flow) {
    if (flow.has_long_route()) delete[] flow.long_route;
    flow.length = 0;
  }

  std::vector<Flow> flows_;
  std::vector<Owner> owners_;
  std::vector<FlowIndex> vacant_;
  std::size_t size_ = 0;
};

}  // namespace straggler::fluid

#include "sim/network/network.hpp"

#include <cmath>
#include <stdexcept>
#include <string>

#include "sim/network/flow.hpp"
#include "sim/network/sharing.hpp"

namespace straggler {

using fluid::FlowIndex;
using fluid::FlowState;

/// The life of a message: latent (or empty), on its links, arrived. Sharing moves it while it is on its links.
struct Network::Inside {
  explicit Inside(EventQueue& its_queue)
      : queue(its_queue), timer_kind(queue.register_handler(&Inside::on_timer, this)), sharing(flows, queue, timer_kind) {}

  static void on_timer(void* self, std::uint32_t index) { static_cast<Inside*>(self)->timer(index); }

  void timer(FlowIndex index) {
    flows.owner(index).timed = false;
    if (flows[index].state == FlowState::latent) {
      sharing.join(index);
    } else if (flows[index].state == FlowState::empty) {
      flows.retire(index);
      deliver(index);
    } else {
      if (!sharing.is_done(index)) throw_late(index);
      sharing.leave(index, 0);
      deliver(index);
    }
  }

  /// Of a retired flow. The callback comes last: it may start a flow at this very place.
  void deliver(FlowIndex index) {
    Arrival* const arrival = flows.owner(index).arrival;
    flows.release(index);
    arrival->arrived();
  }

  [[noreturn]] void throw_late(FlowIndex index) const {
    const auto route = flows[index].route();
    throw TimeOverflow("a message over link " + std::to_string(route[0]) + " and " + std::to_string(route.size() - 1) +
                       " others would not arrive within 100 simulated days: look for a link that is too slow");
  }

  void check(std::span<const LinkId> route, double bytes, double weight) {
    if (!(bytes >= 0) || !std::isfinite(bytes))
      throw std::invalid_argument("a message has " + std::to_string(bytes) + " bytes: give a finite number, 0 or more");
    if (!(weight > 0) || !std::isfinite(weight))
      throw std::invalid_argument("a flow has weight " + std::to_string(weight) + ": give a finite number above 0");
    for (const LinkId link : route) check(link);
    if (route.size() <= fluid::Flow::inline_links) {
      for (std::size_t i = 0; i < route.size(); ++i) {
        for (std::size_t j = 0; j < i; ++j) {
          if (route[i] == route[j]) throw_twice(route[i]);
        }
      }
      return;
    }
    seen.resize(sharing.links());
    bool twice = false;
    for (const LinkId link : route) {
      twice |= seen[link];
      seen[link] = true;
    }
    for (const LinkId link : route) seen[link] = false;
    if (twice) throw std::invalid_argument("a route crosses a link twice: list each link once");
  }
  void check(LinkId link) const {
    if (link >= sharing.links()) {
      throw std::invalid_argument("there is no link " + std::to_string(link) + ": add_link() has made " + std::to_string(sharing.links()));
    }
  }
  [[noreturn]] static void throw_twice(LinkId link) {
    throw std::invalid_argument("a route crosses link " + std::to_string(link) + " twice: list each link once");
  }

  EventQueue& queue;
  EventQueue::Kind timer_kind;
  fluid::FlowTable flows;
  fluid::Sharing sharing;
  std::vector<bool> seen;
};

Network::Network(EventQueue& queue) : inside_(std::make_unique<Inside>(queue)) {}

Network::~Network() {
  for (FlowIndex i = 0; i < inside_->flows.places(); ++i) {
    if (inside_->flows.owner(i).timed) inside_->queue.cancel(inside_->flows.owner(i).timer);
  }
}

LinkId Network::add_link(double bytes_per_second) {
  if (!(bytes_per_second > 0) || !std::isfinite(bytes_per_second)) {
    throw std::invalid_argument("a link has a capacity of " + std::to_string(bytes_per_second) +
                                " bytes per second: give a finite number above 0");
  }
  return inside_->sharing.add_link(bytes_per_second / static_cast<double>(Time::ticks_per_second));
}

void Network::set_capacity(LinkId link, double bytes_per_second) {
  inside_->check(link);
  if (!(bytes_per_second >= 0) || !std::isfinite(bytes_per_second)) {
    throw std::invalid_argument("link " + std::to_string(link) + " is given a capacity of " + std::to_string(bytes_per_second) +
                                " bytes per second: give a finite number, 0 or more");
  }
  inside_->sharing.set_capacity(link, bytes_per_second / static_cast<double>(Time::ticks_per_second));
}

FlowId Network::start(std::span<const LinkId> route, double bytes, Time latency, Arrival& arrival, double weight) {
  Inside& in = *inside_;
  in.check(route, bytes, weight);
  if (latency < Time()) throw std::invalid_argument("a message has a latency below 0");
  if (latency > Time::limit() - in.queue.now()) throw TimeOverflow("a message's latency passes 100 simulated days");
  const FlowIndex index = in.flows.add(route, bytes, weight, arrival);
  const FlowId id = in.flows.id(index);
  const bool empty = route.empty() || bytes == 0;
  if (empty) in.flows[index].state = FlowState::empty;
  if (!empty && latency == Time()) {
    in.sharing.join(index);
  } else {
    in.flows.owner(index).timer = in.queue.after(latency, in.timer_kind, index);
    in.flows.owner(index).timed = true;
  }
  return id;
}

void Network::cancel(FlowId id) noexcept {
  Inside& in = *inside_;
  const FlowIndex index = in.flows.find(id);
  if (index == fluid::none) return;
  const FlowState state = in.flows[index].state;
  if (state == FlowState::latent || state == FlowState::empty) {
    in.queue.cancel(in.flows.owner(index).timer);
    in.flows.owner(index).timed = false;
    in.flows.retire(index);
  } else {
    in.sharing.leave(index, in.sharing.remaining(in.flows[index]));
  }
  in.flows.release(index);
}

double Network::rate(FlowId id) const {
  const FlowIndex index = inside_->flows.find(id);
  if (index == fluid::none) return 0;
  if (inside_->sharing.unsettled()) inside_->sharing.settle();
  const fluid::Flow& flow = inside_->flows[index];
  return inside_->sharing.level(flow) * flow.weight * static_cast<double>(Time::ticks_per_second);
}

LinkUse Network::use(LinkId id) const {
  inside_->check(id);
  const fluid::Link& link = inside_->sharing.link(id);
  const std::int64_t busy = link.flows > 0 ? link.busy + inside_->queue.now().ticks() : link.busy;
  return {link.promised - inside_->sharing.owed(id), Time::from_ticks(busy)};
}

std::size_t Network::flows() const { return inside_->flows.size(); }
std::size_t Network::links() const { return inside_->sharing.links(); }
Time Network::next() const { return inside_->sharing.next(); }
bool Network::unsettled() const { return inside_->sharing.unsettled(); }
void Network::settle() { inside_->sharing.settle(); }

void Network::act() {
  Inside& in = *inside_;
  const fluid::GroupIndex group = in.sharing.first_group();
  bool late = in.queue.now() == Time::limit();
  for (FlowIndex index; (index = in.sharing.take_done(group)) != fluid::none; late = false) in.deliver(index);
  if (late && !in.sharing.unsettled()) {
    throw TimeOverflow("a message would not arrive within 100 simulated days: look for a link that is too slow");
  }
  in.sharing.retime(group);
}

}  // namespace straggler

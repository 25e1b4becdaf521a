#include "sim/network/network.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <stdexcept>
#include <string>

#include "sim/base/prefetch.hpp"
#include "sim/network/flow.hpp"
#include "sim/network/packet_sizes.hpp"
#include "sim/network/packets.hpp"
#include "sim/network/pair.hpp"
#include "sim/network/sharing.hpp"

namespace straggler {

using fluid::FlowIndex;
using fluid::FlowState;

namespace {
constexpr double ticks_per_second = static_cast<double>(Time::ticks_per_second);
}

/// The life of a message: latent (or empty), on its links, arrived. Sharing moves it while it is on its links.
struct Network::Inside {
  explicit Inside(EventQueue& its_queue)
      : queue(its_queue),
        timer_kind(queue.register_handler(&Inside::on_timer, this, &Inside::on_fetch, &Inside::timer_of)),
        sharing(flows, queue, timer_kind) {}

  /// Where many flows come and go, the links of the next one are out of the cache.
  static void on_fetch(void* self, std::uint32_t index) {
    const Inside& in = *static_cast<const Inside*>(self);
    const fluid::Flow& flow = in.flows[index];
    if (flow.state != FlowState::latent || flow.has_far_side()) return;
    for (const LinkId link : flow.route()) prefetch_line_to_write(&in.sharing.link(link));
  }
  static void on_timer(void* self, std::uint32_t index) { static_cast<Inside*>(self)->timer(index); }
  static EventQueue::Timer& timer_of(void* self, std::uint32_t index) { return static_cast<Inside*>(self)->flows.owner(index).timer; }

  void timer(FlowIndex index) {
    flows.owner(index).timed = false;
    const FlowState state = flows[index].state;
    if (state == FlowState::latent) return sharing.join(index);
    if (state == FlowState::empty) {
      flows.retire(index);
    } else {
      if (!sharing.is_done(index)) throw_late(index);
      sharing.leave_done(index);
    }
    deliver(index);
  }

  /// Of a retired flow. The callback comes last: it may start a flow at this very place.
  void deliver(FlowIndex index) {
    Arrival* const arrival = flows.owner(index).arrival;
    flows.release(index);
    arrival->arrived();
  }

  [[noreturn]] void throw_late(FlowIndex index) const {
    const auto route = flows[index].route();
    const std::string over =
        route.empty() ? "no link" : "link " + std::to_string(route[0]) + " and " + std::to_string(route.size() - 1) + " others";
    throw TimeOverflow("a message over " + over + " would not arrive within 100 simulated days: look for a link that is too slow");
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
  void check(const FlowRequest& request) {
    check(request.route, request.bytes, request.weight);
    if (!(request.most_bytes_per_second > 0)) {
      throw std::invalid_argument("a flow may have at most " + std::to_string(request.most_bytes_per_second) +
                                  " bytes per second: give a number above 0");
    }
    if (!request.volumes.empty() && request.volumes.size() != request.route.size()) {
      throw std::invalid_argument("a flow has " + std::to_string(request.volumes.size()) + " volumes on " +
                                  std::to_string(request.route.size()) + " links: give one for each link, or none");
    }
    for (const double volume : request.volumes) {
      if (!(volume > 0) || !std::isfinite(volume))
        throw std::invalid_argument("a flow has a volume of " + std::to_string(volume) + " on a link: give a finite number above 0");
    }
  }
  void check_latency(Time latency) const {
    if (latency < Time()) throw std::invalid_argument("a message has a latency below 0");
    if (latency > Time::limit() - queue.now() && !queue.stops_before_limit())
      throw TimeOverflow("a message's latency passes 100 simulated days");
  }
  void check_unused(const char* call) const {
    if (flows.started() > 0 || (packets && packets->started() > 0))
      throw std::logic_error(std::string(call) + " after a flow was started: call it before the first one");
  }
  [[noreturn]] static void throw_twice(LinkId link) {
    throw std::invalid_argument("a route crosses link " + std::to_string(link) + " twice: list each link once");
  }

  /// A flow that has just been added begins its life.
  FlowId begin(FlowIndex index, bool empty, Time latency) {
    const FlowId id = flows.id(index);
    if (empty) flows[index].state = FlowState::empty;
    if (!empty && latency == Time()) {
      sharing.join(index);
    } else {
      flows.owner(index).timer = queue.after(latency, timer_kind, index);
      flows.owner(index).timed = true;
    }
    return id;
  }

  [[gnu::noinline]] FlowId start_any(std::span<const LinkId> route, double bytes, Time latency, Arrival& arrival) {
    check_latency(latency);
    return begin(flows.add(route, bytes, 1, arrival), route.empty() || bytes == 0, latency);
  }

  EventQueue& queue;
  EventQueue::Kind timer_kind;
  fluid::FlowTable flows;
  fluid::Sharing sharing;
  std::optional<packets::Queues> packets;  // none: messages are flows
  std::vector<bool> seen;
};

Network::Network(EventQueue& queue) : Network(std::make_unique<Inside>(queue)) {}
Network::Network(std::unique_ptr<Inside> inside) : ContinuousModel(inside->sharing.moment()), inside_(std::move(inside)) {}

Network::~Network() {
  for (FlowIndex i = 0; i < inside_->flows.places(); ++i) {
    if (inside_->flows.owner(i).timed) inside_->queue.cancel(inside_->flows.owner(i).timer);
  }
}

void Network::expect_links(std::size_t count) { inside_->sharing.expect_links(count); }

LinkId Network::add_link(double bytes_per_second) {
  if (!(bytes_per_second > 0) || !std::isfinite(bytes_per_second)) {
    throw std::invalid_argument("a link has a capacity of " + std::to_string(bytes_per_second) +
                                " bytes per second: give a finite number above 0");
  }
  if (inside_->packets) inside_->packets->add_link(bytes_per_second / ticks_per_second);
  return inside_->sharing.add_link(bytes_per_second / ticks_per_second);
}

void Network::set_capacity(LinkId link, double bytes_per_second) {
  inside_->check(link);
  if (!(bytes_per_second >= 0) || !std::isfinite(bytes_per_second)) {
    throw std::invalid_argument("link " + std::to_string(link) + " is given a capacity of " + std::to_string(bytes_per_second) +
                                " bytes per second: give a finite number, 0 or more");
  }
  if (inside_->packets) return inside_->packets->set_capacity(link, bytes_per_second / ticks_per_second);
  inside_->sharing.set_capacity(link, bytes_per_second / ticks_per_second);
}

void Network::set_bucket(LinkId link, double burst_bytes, double peak_bytes_per_second) {
  inside_->check(link);
  inside_->check_unused("set_bucket()");
  if (!inside_->sharing.contention()) throw std::logic_error("a token bucket without contention: nothing could drain it");
  const std::string name = "the token bucket of link " + std::to_string(link);
  if (!(burst_bytes > 0) || !std::isfinite(burst_bytes))
    throw std::invalid_argument(name + " has a burst of " + std::to_string(burst_bytes) + " bytes: give a finite number above 0");
  const double capacity = inside_->sharing.committed(link) * ticks_per_second;
  if (!(peak_bytes_per_second > capacity) || !std::isfinite(peak_bytes_per_second)) {
    throw std::invalid_argument(name + " has a peak of " + std::to_string(peak_bytes_per_second) +
                                " bytes per second: give a finite number above the link's capacity of " + std::to_string(capacity));
  }
  if (inside_->packets) return inside_->packets->set_bucket(link, burst_bytes, peak_bytes_per_second / ticks_per_second);
  inside_->sharing.set_bucket(link, burst_bytes, peak_bytes_per_second / ticks_per_second);
}

void Network::set_contention(bool contention) {
  inside_->check_unused("set_contention()");
  if (!contention && inside_->sharing.has_buckets()) throw std::logic_error("token buckets without contention: nothing could drain them");
  inside_->sharing.set_contention(contention);
  if (!contention) inside_->packets.reset();
}

void Network::set_packets(const PacketSizes& sizes) {
  inside_->check_unused("set_packets()");
  if (!inside_->sharing.contention() || inside_->sharing.has_buckets())
    throw std::logic_error("set_packets() without contention, or after set_bucket()");
  const auto positive = [](double bytes) { return bytes > 0 && std::isfinite(bytes); };
  if (!positive(sizes.packet) || !positive(sizes.window) || !(sizes.initial >= 1) || sizes.at_first == 0)
    throw std::invalid_argument("packets of " + std::to_string(sizes.packet) + " bytes, " + std::to_string(sizes.at_first) +
                                " of them at the first link, in a window of " + std::to_string(sizes.initial) + " and later " +
                                std::to_string(sizes.window) +
                                ": all must be above 0, packet and window finite, and the first window at least 1");
  if (!(sizes.acknowledgement >= 0) || !std::isfinite(sizes.acknowledgement) || sizes.idle < Time())
    throw std::invalid_argument("acknowledgements of " + std::to_string(sizes.acknowledgement) + " bytes, and " +
                                std::to_string(sizes.idle.seconds()) + " s idle: give finite numbers, 0 or more");
  if (sizes.connections < 1 || sizes.connections > 128)
    throw std::invalid_argument(std::to_string(sizes.connections) + " connections share a message: give 1 to 128");
  if (!(std::min(sizes.buffer, sizes.own_buffer) >= 1))
    throw std::invalid_argument("queues of " + std::to_string(std::min(sizes.buffer, sizes.own_buffer)) + " bytes: give 1 or more");
  inside_->packets.emplace(inside_->queue, sizes);
  for (LinkId l = 0; l < inside_->sharing.links(); ++l) inside_->packets->add_link(inside_->sharing.committed(l));
}

FlowId Network::start(std::span<const LinkId> route, double bytes, Time latency, Arrival& arrival, double weight) {
  Inside& in = *inside_;
  if (in.packets) return start({.route = route, .bytes = bytes, .latency = latency, .weight = weight}, arrival);
  in.check(route, bytes, weight);
  in.check_latency(latency);
  return in.begin(in.flows.add(route, bytes, weight, arrival), route.empty() || bytes == 0, latency);
}

FlowId Network::start_on_route(std::span<const LinkId> route, double bytes, Time latency, Arrival& arrival) {
  Inside& in = *inside_;
  if (in.packets) return start({.route = route, .bytes = bytes, .latency = latency}, arrival);
  if (route.size() != 2 || bytes == 0 || latency != Time()) return in.start_any(route, bytes, latency, arrival);
  const FlowIndex index = in.flows.add_pair(route[0], route[1], bytes, 1, arrival);
  const FlowId id = in.flows.id(index);
  in.sharing.join(index);
  return id;
}

FlowId Network::start(const FlowRequest& request, Arrival& arrival) {
  Inside& in = *inside_;
  in.check(request);
  in.check_latency(request.latency);
  const bool even = std::all_of(request.volumes.begin(), request.volumes.end(), [](double v) { return v == 1; });
  const bool unbounded = std::isinf(request.most_bytes_per_second);
  const bool empty = request.bytes == 0 || (request.route.empty() && unbounded);
  if (in.packets && !request.route.empty() && !empty) {
    if (!even || request.weight != 1) throw std::invalid_argument("a message of packets has a volume or a weight: it can have neither");
    in.check(request.back, 0, 1);
    in.check_latency(request.one_way);
    return in.packets->start(request, arrival);
  }
  if ((even && unbounded) || empty) {
    return in.begin(in.flows.add(request.route, request.bytes, request.weight, arrival), empty, request.latency);
  }
  const FlowIndex index = in.flows.add_uneven(request.route, even ? std::span<const double>() : request.volumes,
                                              request.most_bytes_per_second / ticks_per_second, request.bytes, request.weight, arrival);
  return in.begin(index, false, request.latency);
}

void Network::prefetch(std::span<const LinkId> route) const noexcept {
  for (const LinkId link : route) inside_->sharing.fetch(link);
}

void Network::cancel(FlowId id) noexcept {
  Inside& in = *inside_;
  if (id & packets::Queues::mark) {
    if (in.packets) in.packets->cancel(id);
    return;
  }
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
  if (inside_->packets) throw std::logic_error("packets have no rate at an instant");
  const FlowIndex index = inside_->flows.find(id);
  if (index == fluid::none) return 0;
  if (inside_->sharing.unsettled()) inside_->sharing.settle();
  const fluid::Flow& flow = inside_->flows[index];
  return inside_->sharing.level(flow) * flow.weight * ticks_per_second;
}

LinkUse Network::use(LinkId id) const {
  inside_->check(id);
  if (inside_->packets) return inside_->packets->use(id);
  const fluid::Sharing& sharing = inside_->sharing;
  return {sharing.link(id).promised - sharing.owed(id), sharing.busy(id), sharing.carriable(id)};
}

bool Network::packets() const { return inside_->packets.has_value(); }
bool Network::losses() const { return inside_->packets && inside_->packets->losses(); }

QueueUse Network::queue(LinkId id) const {
  inside_->check(id);
  return inside_->packets ? inside_->packets->queue(id) : QueueUse{};
}

double Network::worst_overload() const {
  const fluid::Sharing& sharing = inside_->sharing;
  if (!sharing.contention()) return 0;
  if (inside_->packets) return inside_->packets->worst_overload();
  const double forgiven_ticks = 1e-3 * static_cast<double>(inside_->flows.started());  // Time::round_up
  double worst = 0;
  for (LinkId l = 0; l < sharing.links(); ++l) {
    const LinkUse of = use(l);
    const double rounding = 1e-12 * sharing.link(l).promised;  // matters while nearly all is still owed
    const double excess = of.bytes - of.capacity_bytes - (forgiven_ticks + sharing.closings(l)) * sharing.highest_capacity(l) - rounding;
    if (excess > 0) worst = std::max(worst, excess / of.capacity_bytes);
  }
  return worst;
}

std::size_t Network::flows() const { return inside_->flows.size() + (inside_->packets ? inside_->packets->messages() : 0); }
std::size_t Network::packet_events() const { return inside_->packets ? inside_->packets->scheduled() : 0; }
std::size_t Network::links() const { return inside_->sharing.links(); }
Time Network::next() const { return inside_->sharing.next(); }
bool Network::unsettled() const { return inside_->sharing.unsettled(); }
void Network::settle() { inside_->sharing.settle(); }

void Network::act() {
  Inside& in = *inside_;
  const fluid::GroupIndex group = in.sharing.first_group();
  bool late = in.queue.now() == Time::limit();  // then the first flow may be done later only
  if (!late && !in.sharing.unsettled()) in.deliver(in.sharing.take_first(group));
  for (FlowIndex index; (index = in.sharing.take_done(group)) != fluid::none; late = false) in.deliver(index);
  if (late && !in.sharing.unsettled()) {
    throw TimeOverflow("a message would not arrive within 100 simulated days: look for a link that is too slow");
  }
  in.sharing.retime(group);
}

}  // namespace straggler

#include "sim/network/packets.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "sim/engine/later.hpp"
#include "sim/network/recovery.hpp"

namespace straggler::packets {

namespace {
constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double ticks_per_second = static_cast<double>(Time::ticks_per_second);
double ticks_between(Time from, Time to) { return static_cast<double>((to - from).ticks()); }
}  // namespace

// Sender

void Sender::set_rate(Time now, double rate) {
  advance(now);
  rate_ = rate;
  highest_rate_ = std::max(highest_rate_, rate);
}

void Sender::set_bucket(double burst, double peak) {
  burst_ = tokens_ = possible_ = burst;
  peak_per_rate_ = peak / rate_;
}

void Sender::begin(Time now, double bytes) {
  advance(now);
  busy_ = true;
  bytes_ = left_ = bytes;
  largest_ = std::max(largest_, bytes);
  leaving_ = !has_bucket();
}

/// A packet that is larger than the bucket waits until the bucket is full, and leaves a debt.
double Sender::ticks_left() const {
  if (rate_ == 0) return infinity;
  const double leaves = left_ / (rate_ * peak_per_rate_);
  return leaving_ ? leaves : std::max(0.0, std::min(bytes_, burst_) - tokens_) / rate_ + leaves;
}

void Sender::end(Time now) {
  advance(now);
  carried_ += bytes_;
  busy_ = false;
  ++ended_;
}

void Sender::advance(Time now) {
  const double ticks = ticks_between(since_, now);
  if (busy_) {
    busy_time_ += now - since_;
    possible_ += ticks * rate_;
    double leaves = ticks;
    if (has_bucket()) {
      if (!leaving_) {
        const double waits = rate_ > 0 ? std::max(0.0, std::min(bytes_, burst_) - tokens_) / rate_ : infinity;
        leaving_ = ticks >= waits;
        if (leaving_) tokens_ -= bytes_;
        leaves = leaving_ ? ticks - waits : 0;
      }
      tokens_ += ticks * rate_;
    }
    left_ = std::max(0.0, left_ - leaves * rate_ * peak_per_rate_);
  } else if (has_bucket()) {
    const double gained = std::min(burst_ - tokens_, ticks * rate_);
    tokens_ += gained;
    possible_ += gained;
  }
  since_ = now;
}

LinkUse Sender::use(Time now) const {
  Sender later = *this;
  later.advance(now);
  return {later.carried_ + (busy_ ? later.bytes_ - later.left_ : 0), later.busy_time_, later.possible_};
}

double Sender::excess(Time now) const {
  const LinkUse of = use(now);
  const double debt = has_bucket() ? std::max(0.0, largest_ - burst_) : 0;  // of one before, if the first packet waits
  const double rounding = 1e-3 * static_cast<double>(ended_ + 1) * highest_rate_ + 1e-12 * of.bytes;  // Time::round_up
  return of.bytes - of.capacity_bytes - debt - rounding;
}

// Length

QueueUse Length::use(Time now) const {
  Length later = *this;
  later.advance(now);
  return {.longest_bytes = longest_, .byte_seconds = later.byte_ticks_ / ticks_per_second};
}

// Queues

Queues::Queues(EventQueue& queue, const PacketSizes& sizes)
    : queue_(queue),
      sizes_(sizes),
      link_kind_(queue.register_handler(&Queues::on_link, this, nullptr, &Queues::timer_of_link)),
      message_kind_(queue.register_handler(&Queues::on_message, this, nullptr, &Queues::timer_of_message)),
      delay_kind_(queue.register_handler(&Queues::on_delay, this, nullptr, &Queues::timer_of_delay)),
      clock_kind_(queue.register_handler(&Queues::on_clock, this, nullptr, &Queues::timer_of_clock)) {}

Queues::~Queues() {
  for (const Link& link : links_)
    if (link.timed) queue_.cancel(link.timer);
  for (const Message& message : messages_)
    if (message.timed) queue_.cancel(message.timer);
  for (const Delay& delay : delays_)
    if (delay.scheduled) queue_.cancel(delay.timer);
  for (const Clock& clock : clocks_)
    if (clock.scheduled) queue_.cancel(clock.timer);
}

QueueUse Queues::queue(LinkId l) const {
  QueueUse use = links_[l].length.use(queue_.now());
  use.lost_packets = links_[l].lost;
  use.timeouts = links_[l].timeouts;
  return use;
}

void Queues::set_capacity(LinkId l, double rate) {
  links_[l].sender.set_rate(queue_.now(), rate);
  schedule(l);
}

FlowId Queues::start(const FlowRequest& request, Arrival& arrival) {
  return sizes_.connections > 1 && request.bytes > sizes_.packet ? start_bundle(request, arrival) : start_message(request, arrival);
}

FlowId Queues::start_message(const FlowRequest& request, Arrival& arrival) {
  const Index i = take_place();
  Message& message = messages_[i];
  message.arrival = &arrival;
  message.connection = &connection_of(request, i);
  message.route.assign(request.route.begin(), request.route.end());
  message.back.assign(request.back.begin(), request.back.end());
  message.unsent = request.bytes;
  message.latency = request.one_way;
  message.ticks_a_byte = ticks_per_second / request.most_bytes_per_second;
  message.next_departure = later(queue_.now(), request.latency);
  ++size_;
  ++started_;
  const FlowId name = name_of(i);
  message.begun = request.latency == Time();
  if (!message.begun) {
    wake_up(i, message.next_departure);
    return name;
  }
  message.connection->waiting.push_back(i);
  send(*message.connection);
  return name;
}

void Queues::cancel(FlowId name) noexcept {
  if (cancel_bundle(name)) return;
  const auto i = static_cast<Index>(name);
  if (i >= messages_.size() || name != name_of(i) || !messages_[i].arrival) return;
  Message& message = messages_[i];
  if (message.timed) {
    queue_.cancel(message.timer);
    message.timed = false;
    --scheduled_;
  }
  message.connection->waiting.keep_if([i](Index other) { return other != i; });
  finish(i);
  const Ring<Index>& others = message.connection->waiting;
  if (!others.empty() && !messages_[others.front()].timed) wake_up(others.front(), queue_.now());
  if (message.present == 0) release(i);
}

double Queues::worst_overload() const {
  double worst = 0;
  for (const Link& link : links_) {
    const double excess = link.sender.excess(queue_.now());
    if (excess > 0) worst = std::max(worst, excess / link.sender.use(queue_.now()).capacity_bytes);
  }
  return worst;
}

Queues::Index Queues::take_place() {
  if (vacant_.empty()) {
    if (messages_.size() >= bundle_bit) throw std::length_error("more than 2^31 messages are under way");
    messages_.emplace_back();
    return static_cast<Index>(messages_.size() - 1);
  }
  const Index i = vacant_.back();
  vacant_.pop_back();
  return i;
}

/// From now on nobody waits for it. Its place stays taken while packets of it are present.
void Queues::finish(Index i) {
  Message& message = messages_[i];
  message.arrival = nullptr;
  message.generation = (message.generation + 1) & ~(1u << 31);
  --size_;
}

Connection& Queues::connection_of(const FlowRequest& request, Index i) {
  const bool own = request.connection == FlowRequest::own_connection;
  Connection& found = connections_[own ? mark | i : request.connection];
  if (own || found.window == 0) {
    found.window = std::min(sizes_.initial, std::max(sizes_.window, sizes_.packet));
    if (losses()) begin_to_watch(found, request.one_way, request.route.front());
  } else {
    rest(found);
  }
  return found;
}

/// Its window after a time without a packet.
void Queues::rest(Connection& connection) {
  if (connection.present > 0 || (connection.recovery && !connection.recovery->resting())) return;
  const double timeout = static_cast<double>(sizes_.idle.ticks()) + connection.round_trip;
  double idle = ticks_between(connection.last_sent, queue_.now());
  if (connection.recovery) connection.recovery->rest(connection.window, queue_.now() - connection.last_sent);
  for (; idle > timeout && connection.window > sizes_.initial; idle -= timeout)
    connection.window = std::max(sizes_.initial, connection.window / 2);
}

/// As many packets as window, first queue and rate allow.
void Queues::send(Connection& connection) {
  if (connection.recovery && !send_lost(connection)) return;
  while (!connection.waiting.empty() && may_enter(connection)) {
    const Index i = connection.waiting.front();
    Message& message = messages_[i];
    if (message.timed) return;
    const double bytes = next_bytes(connection, message);
    if (bytes == 0) return;
    if (queue_.now() < message.next_departure) return wake_up(i, message.next_departure);
    if (connection.recovery && !host_has_room(message.route.front(), bytes)) return refuse(connection, message.route.front());
    message.unsent -= bytes;
    if (message.unsent == 0) connection.waiting.pop_front();
    send_packet(connection, i, bytes);
  }
}

void Queues::send_packet(Connection& connection, Index i, double bytes) {
  Message& message = messages_[i];
  const Time now = queue_.now();
  if (message.ticks_a_byte > 0) message.next_departure = now + queue_.span(bytes * message.ticks_a_byte);
  if (connection.present == 0) connection.most_unacknowledged = 0;
  connection.unacknowledged += bytes;
  connection.most_unacknowledged = std::max(connection.most_unacknowledged, connection.unacknowledged);
  connection.last_sent = now;
  ++connection.at_first;
  ++connection.present;
  ++message.travelling;
  ++message.present;
  std::uint32_t number = 0;
  if (connection.recovery) {
    number = connection.recovery->send(connection, i, bytes, message.unsent == 0, now);
    ++message.present;
    set_clock(connection);
  }
  enter(message.route.front(), {i, 0, false, number, bytes, bytes, now});
}

/// Of the packet that the window lets go now: a whole one, or what it still holds if that is a third of it; 0: none.
double Queues::next_bytes(const Connection& connection, const Message& message) const {
  constexpr double rounding = 1e-6;
  const double whole = std::min(sizes_.packet, message.unsent), room = connection.window - connection.unacknowledged + rounding;
  if (whole <= room) return whole;
  return 3 * room >= connection.window ? room - rounding : 0;
}

void Queues::wake_up(Index i, Time when) {
  Message& message = messages_[i];
  message.timer = queue_.at(when, message_kind_, i);
  message.timed = true;
  ++scheduled_;
}

/// It begins, or its next packet may leave.
void Queues::woken(Index i) {
  Message& message = messages_[i];
  message.timed = false;
  --scheduled_;
  Connection& connection = *message.connection;
  if (!message.begun) connection.waiting.push_back(i);
  message.begun = true;
  send(connection);
}

void Queues::enter(LinkId l, const Packet& packet) {
  Link& link = links_[l];
  if (!has_room(link, packet.bytes, packet.hop == 0 ? sizes_.own_buffer : sizes_.buffer)) return lose(link, packet);
  link.waiting.push_back(packet);
  link.length.add(queue_.now(), packet.bytes);
  if (link.waiting.size() > 1) return;
  link.sender.begin(queue_.now(), packet.bytes);
  schedule(l);
}

/// When the first packet will have left, again if it was known already.
void Queues::schedule(LinkId l) {
  Link& link = links_[l];
  if (link.timed) {
    queue_.cancel(link.timer);
    link.timed = false;
    --scheduled_;
  }
  if (link.waiting.empty()) return;
  const double ticks = link.sender.ticks_left();
  if (ticks == infinity) return;
  link.timer = queue_.after(queue_.span(ticks), link_kind_, l);
  link.timed = true;
  ++scheduled_;
}

void Queues::first_has_left(LinkId l) {
  Link& link = links_[l];
  link.timed = false;
  --scheduled_;
  link.sender.end(queue_.now());
  const Packet packet = link.waiting.front();
  link.waiting.pop_front();
  link.length.remove(queue_.now(), packet.bytes, link.waiting.empty());
  if (!link.waiting.empty()) {
    link.sender.begin(queue_.now(), link.waiting.front().bytes);
    schedule(l);
  }
  move_on(packet);
}

void Queues::move_on(Packet packet) {
  Message& message = messages_[packet.message];
  if (packet.hop == 0 && !packet.acknowledgement) {
    --message.connection->at_first;
    send(*message.connection);
  }
  const std::vector<LinkId>& route = packet.acknowledgement ? message.back : message.route;
  if (++packet.hop < route.size()) return enter(route[packet.hop], packet);
  if (!packet.acknowledgement) return came(packet);
  if (message.latency > Time()) return delay(packet);
  acknowledged(packet);
}

/// A packet is there, but for the latency. The call to the owner comes last: it may start messages.
void Queues::came(const Packet& packet) {
  Message& message = messages_[packet.message];
  if (message.connection->recovery) return received(packet);
  Arrival* const arrival = --message.travelling == 0 && message.unsent == 0 ? message.arrival : nullptr;
  if (arrival) finish(packet.message);
  if (message.latency > Time())
    delay(packet);
  else
    answer(packet);
  if (arrival) arrival->arrived();
}

void Queues::answer(Packet packet) {
  const Message& message = messages_[packet.message];
  packet.acknowledgement = true;
  packet.hop = 0;
  packet.bytes = sizes_.acknowledgement;
  if (!message.back.empty()) return enter(message.back.front(), packet);
  if (message.latency > Time()) return delay(packet);
  acknowledged(packet);
}

/// A window of which at least half was used grows by what has arrived.
void Queues::acknowledged(const Packet& packet) {
  Message& message = messages_[packet.message];
  Connection& connection = *message.connection;
  if (connection.recovery) return reported(packet);
  const double round_trip = ticks_between(packet.sent, queue_.now());
  connection.round_trip += connection.round_trip == 0 ? round_trip : (round_trip - connection.round_trip) / 8;
  const double most = std::min(std::max(sizes_.window, sizes_.packet), 2 * connection.most_unacknowledged);
  if (connection.window < most) connection.window = std::min(most, connection.window + packet.payload);
  connection.unacknowledged = --connection.present == 0 ? 0 : connection.unacknowledged - packet.payload;
  if (--message.present == 0 && !message.arrival) release(packet.message);
  send(connection);
}

void Queues::delay(const Packet& packet) {
  if (vacant_delays_.empty()) {
    vacant_delays_.push_back(static_cast<std::uint32_t>(delays_.size()));
    delays_.emplace_back();
  }
  const std::uint32_t place = vacant_delays_.back();
  vacant_delays_.pop_back();
  delays_[place] = {packet, true, queue_.after(messages_[packet.message].latency, delay_kind_, place)};
  ++scheduled_;
}

void Queues::delay_over(std::uint32_t place) {
  const Packet packet = delays_[place].packet;
  delays_[place].scheduled = false;
  vacant_delays_.push_back(place);
  --scheduled_;
  if (packet.acknowledgement)
    acknowledged(packet);
  else
    answer(packet);
}

}  // namespace straggler::packets

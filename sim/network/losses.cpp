// Queues with an end: what finds no room is lost, and connections send it again.
#include <utility>

#include "sim/network/packets.hpp"
#include "sim/network/recovery.hpp"

namespace straggler::packets {

/// A connection begins.
void Queues::begin_to_watch(Connection& connection, Time one_way, LinkId first) {
  const auto round_trip = static_cast<double>((one_way + one_way).ticks());
  connection.recovery = std::make_unique<Recovery>(sizes_.packet, sizes_.window, round_trip, first);
  connection.round_trip = round_trip;
  connection.unacknowledged = connection.most_unacknowledged = 0;
  if (connection.clock == ~0u) {
    connection.clock = static_cast<std::uint32_t>(clocks_.size());
    clocks_.push_back({&connection});
  }
}

/// A packet found no room: its sender does not know.
void Queues::lose(Link& link, const Packet& packet) {
  ++link.lost;
  --messages_[packet.message].connection->present;
  forget(packet.message);
}

/// A packet for which the host's own queue has no room is not sent.
void Queues::refuse(Connection& connection, LinkId l) {
  ++links_[l].lost;
  connection.recovery->refused(connection, queue_.now());
  set_clock(connection);
}

/// TCP small queues: some packets, or a millisecond's worth (tcp_small_queue_check()).
bool Queues::may_enter(const Connection& connection) const {
  if (connection.at_first < sizes_.at_first) return true;
  return connection.recovery &&
         static_cast<double>(connection.at_first) * sizes_.packet < connection.recovery->in_a_millisecond(connection);
}

/// As many of the lost packets as may be sent; false: others wait.
bool Queues::send_lost(Connection& connection) {
  Recovery& recovery = *connection.recovery;
  while (const std::optional<Recovery::Number> number = recovery.lost()) {
    if (!may_enter(connection) || !recovery.may_send_again(connection, *number)) return false;
    const Recovery::Packet& packet = recovery.packet(*number);
    const LinkId first = messages_[packet.message].route.front();
    if (!host_has_room(first, packet.bytes)) {
      refuse(connection, first);
      return false;
    }
    send_again(connection, *number);
  }
  return true;
}

void Queues::send_again(Connection& connection, std::uint32_t number) {
  const Recovery::Packet packet = connection.recovery->send_again(connection, number, queue_.now());
  ++connection.at_first;
  ++connection.present;
  ++messages_[packet.message].present;
  set_clock(connection);
  enter(messages_[packet.message].route.front(), {packet.message, 0, false, number, packet.bytes, packet.bytes, queue_.now()});
}

/// Bytes are handed over in order. Calls to owners come last: they may start and cancel messages.
void Queues::received(const Packet& packet) {
  Message& message = messages_[packet.message];
  Recovery& recovery = *message.connection->recovery;
  recovery.arrives(packet.number, packet.sent);
  while (const std::optional<Index> complete = recovery.take_complete()) {
    ++messages_[*complete].present;
    complete_.push_back(*complete);
  }
  Packet arrived = packet;
  arrived.number = recovery.arrivals();
  if (message.latency > Time())
    delay(arrived);
  else
    answer(arrived);
  std::vector<Index> complete;
  std::swap(complete, complete_);
  for (const Index i : complete) {
    Arrival* const arrival = messages_[i].arrival;
    if (arrival) finish(i);
    forget(i);
    if (arrival) arrival->arrived();
  }
  complete.clear();
  std::swap(complete, complete_);
}

/// An acknowledgement is there.
void Queues::reported(const Packet& packet) {
  Connection& connection = *messages_[packet.message].connection;
  Recovery& recovery = *connection.recovery;
  --connection.present;
  recovery.acknowledged(connection, packet.number, packet.sent, queue_.now());
  while (const std::optional<Index> done = recovery.take_done()) forget(*done);
  forget(packet.message);
  send(connection);
  set_clock(connection);
}

/// One of the things that keep a message's place is gone.
void Queues::forget(Index i) {
  if (--messages_[i].present == 0 && !messages_[i].arrival) release(i);
}

void Queues::set_clock(Connection& connection) {
  Clock& clock = clocks_[connection.clock];
  const Time due = connection.recovery->due();
  if (clock.scheduled) {
    if (clock.when <= due && due != Time::never()) return;
    queue_.cancel(clock.timer);
    clock.scheduled = false;
    --scheduled_;
  }
  if (due == Time::never()) return;
  clock.when = due;
  clock.timer = queue_.at(due, clock_kind_, connection.clock);
  clock.scheduled = true;
  ++scheduled_;
}

void Queues::clock_strikes(std::uint32_t place) {
  Clock& clock = clocks_[place];
  clock.scheduled = false;
  --scheduled_;
  Connection& connection = *clock.connection;
  Recovery& recovery = *connection.recovery;
  if (recovery.due() > queue_.now()) return set_clock(connection);
  switch (recovery.expired(connection, queue_.now())) {
    case Recovery::Expired::timeout:
      ++links_[messages_[recovery.oldest()].route.front()].timeouts;
      break;
    case Recovery::Expired::probe:
      send_probe(connection);
      break;
    case Recovery::Expired::nothing:
      break;
  }
  send(connection);
  set_clock(connection);
}

/// New bytes if there are any, whatever the window, or the last packet once more (RFC 8985, 7.3).
void Queues::send_probe(Connection& connection) {
  Recovery& recovery = *connection.recovery;
  const Index next =
      connection.waiting.empty() || messages_[connection.waiting.front()].timed ? recovery.oldest() : connection.waiting.front();
  Message& message = messages_[next];
  const bool again = connection.waiting.empty() || message.timed || queue_.now() < message.next_departure;
  const double bytes = again ? recovery.packet(recovery.last()).bytes : std::min(sizes_.packet, message.unsent);
  if (host_has_room(message.route.front(), bytes)) {
    if (again) {
      send_again(connection, recovery.last());
    } else {
      message.unsent -= bytes;
      if (message.unsent == 0) connection.waiting.pop_front();
      send_packet(connection, next, bytes);
    }
  }
  recovery.probes(connection, again, queue_.now());
}

}  // namespace straggler::packets

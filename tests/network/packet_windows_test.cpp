// Messages as packets: windows, and connections that share and keep them.
#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <span>
#include <stdexcept>

#include "tests/network/packets.hpp"

namespace packets_test {

TEST_CASE("packets: a window waits for its acknowledgements") {
  // A window of w packets leaves within w packets' times; the first acknowledgement is there one round trip after its packet has left. If
  // that is longer, each window takes a round trip and a packet's time.
  const double latency = 0.1;
  for (const double window : {1.0, 5.0}) {
    Packets w(window);
    const LinkId link = w.network.add_link(rate);
    Note note(w.queue);
    const double windows = 20;
    w.network.start({.route = {&link, 1}, .bytes = windows * window * packet, .one_way = seconds(latency)}, note);
    w.run();
    check_about(note.when, seconds((windows - 1) * (packet_seconds + 2 * latency) + window * packet_seconds));
  }
}

TEST_CASE("packets: the way back is longer by the acknowledgement's time on each link") {
  const double latency = 0.1, windows = 20;
  Packets w(1);
  Star star(w, 2);
  Note note(w.queue);
  star.send(0, 1, windows * packet, note, seconds(latency));
  w.run();
  const double round_trip = 2 * packet_seconds + 2 * latency + 2 * acknowledgement / rate;
  check_about(note.when, seconds((windows - 1) * round_trip + 2 * packet_seconds));
  CHECK(w.network.use(star.hosts[1].up).bytes == doctest::Approx(windows * acknowledgement));
  CHECK(w.network.use(star.hosts[0].down).bytes == doctest::Approx(windows * acknowledgement));
}

TEST_CASE("packets: messages of one connection leave one after another, and share its window") {
  World w;
  network_of(w, 4, 2);
  const LinkId link = w.network.add_link(rate), slow = w.network.add_link(rate / 8);
  const auto start = [&](std::span<const LinkId> route, double packets, Note& note, Time latency = no_latency) {
    return w.network.start({.route = route, .bytes = packets * packet, .latency = latency, .connection = 3}, note);
  };
  Note a(w.queue), b(w.queue), c(w.queue), late(w.queue);
  start({&link, 1}, 5, a);
  const FlowId cancelled = start({&link, 1}, 5, c);
  start({&link, 1}, 5, b);
  start({&link, 1}, 1, late, seconds(1));
  w.run_until(2.5 * packet_seconds);
  w.network.cancel(cancelled);  // nothing of it has left
  w.run();
  check_about(a.when, seconds(5 * packet_seconds));
  check_about(b.when, seconds(10 * packet_seconds));
  check_about(late.when, seconds(1 + packet_seconds));
  CHECK(c.times == 0);
  // Four packets are before the second link; those of the second message come when these leave it.
  const LinkId route[] = {link, slow};
  const double begin = w.queue.now().seconds();
  start(route, 4, a);
  start(route, 4, b);
  w.run_until(begin + 7 * packet_seconds);
  CHECK(w.network.use(link).bytes == doctest::Approx((11 + 4) * packet));
  w.run();
  check_about(b.when, seconds(begin + (1 + 8 * 8) * packet_seconds));
}

TEST_CASE("packets: a new connection's window doubles with each round trip") {
  // Of each round the first packet's acknowledgement is there a packet's time and two latencies later, and begins the next one, which has
  // twice as many packets; acknowledgements come a packet's time apart, and each lets two packets go. The last round ends a packet's time
  // for each of its packets later.
  const double latency = 0.2;
  for (const int rounds : {1, 4, 6}) {
    World w;
    w.network.set_packets({.packet = packet, .window = 1000 * packet, .initial = packet});
    const LinkId link = w.network.add_link(rate);
    Note note(w.queue);
    const double last = std::exp2(rounds - 1);
    w.network.start({.route = {&link, 1}, .bytes = (2 * last - 1) * packet, .one_way = seconds(latency)}, note);
    w.run();
    check_about(note.when, seconds((rounds - 1) * (packet_seconds + 2 * latency) + last * packet_seconds));
  }
}

TEST_CASE("packets: a first window that is smaller than a packet sends a smaller one, and stops at the largest window") {
  // 0.3, 0.6, 1.2 (of which a whole packet is used, so the next one is at most 2), 2, 2.
  const double latency = 0.2;
  World w;
  w.network.set_packets({.packet = packet, .window = 2 * packet, .initial = 0.3 * packet});
  const LinkId link = w.network.add_link(rate);
  Note note(w.queue);
  w.network.start({.route = {&link, 1}, .bytes = 5.9 * packet, .one_way = seconds(latency)}, note);
  w.run();
  check_about(note.when, seconds((0.3 + 0.6 + 1 + 1 + 2) * packet_seconds + 4 * 2 * latency));
}

TEST_CASE("packets: what is left of a window goes as a smaller packet if it is a third of the window") {
  // A window of 1.5 packets sends one whole packet and a half. A window of 1.4 sends one whole packet.
  const double latency = 0.2;
  for (const bool third : {true, false}) {
    World w;
    w.network.set_packets({.packet = packet, .window = (third ? 1.5 : 1.4) * packet});
    const LinkId link = w.network.add_link(rate);
    Note note(w.queue);
    w.network.start({.route = {&link, 1}, .bytes = 6 * packet, .one_way = seconds(latency)}, note);
    w.run();
    check_about(note.when, seconds((third ? 3 : 5) * (packet_seconds + 2 * latency) + (third ? 1.5 : 1) * packet_seconds));
  }
}

TEST_CASE("packets: a connection that was idle begins with a smaller window again") {
  // Its first message leaves a window of 16 packets. Idle times are in timeouts: 0.5 s and the smoothed round trip, 0.4 s and the few
  // packets' times between 0 and 0.016 s. A message of 16 packets takes their time if the window is whole; from a window of w packets it
  // takes a round for each doubling, and the last round has what is left: 16 - w - 2 w - ... packets.
  const double latency = 0.2, idle = 0.5;
  struct Case {
    double timeouts, rounds, last;
  };
  for (const Case& each : {Case{0.9, 0, 16}, Case{1.5, 1, 8}, Case{2.5, 2, 4}, Case{3.5, 3, 2}, Case{50, 4, 1}}) {
    CAPTURE(each.timeouts);
    World w;
    w.network.set_packets({.packet = packet, .window = 1000 * packet, .initial = packet, .idle = seconds(idle)});
    const LinkId link = w.network.add_link(rate);
    Note note(w.queue), again(w.queue);
    w.network.start({.route = {&link, 1}, .bytes = 15 * packet, .one_way = seconds(latency), .connection = 7}, note);
    w.run();
    const double begin = note.when.seconds() + each.timeouts * (idle + 2 * latency + 0.008);
    w.run_until(begin);
    w.network.start({.route = {&link, 1}, .bytes = 16 * packet, .one_way = seconds(latency), .connection = 7}, again);
    w.run();
    check_about(again.when, seconds(begin + each.rounds * (packet_seconds + 2 * latency) + each.last * packet_seconds));
  }
}

TEST_CASE("packets: connections share a message, each with a window of its own") {
  // With a window of one packet a connection sends one in R = 2 L + p, p being a packet's time. k connections send k of n packets in that
  // time, one after another: the last one is there after k p + (n / k - 1) R. A message of one packet needs one connection.
  constexpr double each = packet_seconds, latency = 1;
  for (const std::uint32_t connections : {1u, 2u, 4u, 8u}) {
    for (const double buffer : {std::numeric_limits<double>::infinity(), 20 * packet}) {
      CAPTURE(connections);
      World w;
      w.network.set_packets(
          {.packet = packet, .window = packet, .initial = packet, .idle = seconds(1000), .buffer = buffer, .connections = connections});
      const LinkId link = w.network.add_link(rate);
      const double number = 16;
      for (const std::uint64_t connection : {std::uint64_t{7}, FlowRequest::own_connection}) {
        const double began = w.queue.now().seconds();
        Note note(w.queue), small(w.queue), cancelled(w.queue);
        const auto start = [&](double packets, Note& its) {
          return w.network.start({.route = {&link, 1}, .bytes = packets * packet, .one_way = seconds(latency), .connection = connection},
                                 its);
        };
        start(number, note);
        w.run();
        check_about(note.when, seconds(began + connections * each + (number / connections - 1) * (2 * latency + each)));
        const double then = w.queue.now().seconds();
        start(1, small);
        w.run();
        check_about(small.when, seconds(then + each));
        const FlowId name = start(number, cancelled);
        w.run_until(w.queue.now().seconds() + each / 2);
        w.network.cancel(name);
        w.network.cancel(name);
        w.run();
        CHECK(note.times == 1);
        CHECK(small.times == 1);
        CHECK(cancelled.times == 0);
        CHECK(w.network.flows() == 0);
        CHECK(w.network.packet_events() == 0);
      }
    }
  }
  World w;
  CHECK_THROWS_AS(w.network.set_packets({.packet = 1, .window = 1, .connections = 129}), std::invalid_argument);
  // The key of a pair has room for its connections with up to 2^22 ranks.
  w.network.set_packets({.packet = packet, .window = packet, .connections = 2});
  const LinkId link = w.network.add_link(rate);
  Note note(w.queue);
  const FlowRequest far = {.route = {&link, 1}, .bytes = 4 * packet, .connection = std::uint64_t{1} << 54};
  CHECK_THROWS_AS(w.network.start(far, note), std::length_error);
}

}  // namespace packets_test

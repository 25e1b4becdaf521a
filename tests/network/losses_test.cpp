// Queues with an end: what is lost, when it is sent again, and what the windows of CUBIC use of a link.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <deque>
#include <limits>
#include <random>
#include <stdexcept>
#include <utility>
#include <vector>

#include "sim/network/cubic.hpp"
#include "sim/network/packet_sizes.hpp"
#include "sim/network/recovery.hpp"
#include "tests/network/world.hpp"

namespace losses_test {

using namespace straggler;

namespace {

constexpr double packet = 1000, rate = 1e5, each = packet / rate;  // each: seconds of a packet on the bottleneck
constexpr double fast = 1e5 * rate, soon = packet / fast;          // of a way to it on which packets hardly take time
constexpr double least_timeout = 0.2, least_wait = 2e-3;           // beyond the round trip; of a probe and of reordering
constexpr double jiffy = 4e-3;

/// A timer of `wait` fires at the end of a bucket of Linux's wheel, later by less than a jiffy, and by a bucket: a jiffy, eight from 63
/// jiffies on, 64 from 504 on.
double bucket(double wait) {
  const double jiffies = std::ceil(wait / jiffy);
  return jiffy * (jiffies < 63 ? 1 : jiffies < 504 ? 8 : 64);
}

struct Lossy : World {
  Lossy(double buffer, double initial, std::uint64_t at_first = 2, double own_buffer = std::numeric_limits<double>::infinity()) {
    network.set_packets({.packet = packet,
                         .window = 1e6 * packet,
                         .at_first = at_first,
                         .initial = initial * packet,
                         .idle = seconds(1000),
                         .buffer = buffer * packet,
                         .own_buffer = own_buffer * packet});
    bottleneck = network.add_link(rate);
  }
  /// From a host of its own.
  FlowId send(double packets, Note& note, double latency, std::uint64_t connection = FlowRequest::own_connection) {
    const LinkId route[] = {network.add_link(fast), bottleneck};
    own = route[0];
    return network.start({.route = route, .bytes = packets * packet, .one_way = seconds(latency), .connection = connection}, note);
  }
  std::uint64_t timeouts(LinkId link) const { return network.queue(link).timeouts; }
  /// Until a connection that begins at the link has one more.
  void run_to_timeout(LinkId link) {
    const auto before = timeouts(link);
    while (timeouts(link) == before) queue.fire_next();
  }
  double lost() const { return static_cast<double>(network.queue(bottleneck).lost_packets); }
  LinkId bottleneck, own = 0;
};

}  // namespace

TEST_CASE("losses: of a burst the queue takes what it holds, and each lost packet is sent again once") {
  // The burst passes while the first packet leaves. The rest is lost, and comes in proportion to what arrives.
  for (const double burst : {8.0, 12.0, 15.0}) {
    CAPTURE(burst);
    const double buffer = 6, latency = 0.02;
    Lossy w(buffer, burst);
    Note note(w.queue);
    w.send(burst, note, latency);
    w.run_until(each / 2);
    CHECK(w.lost() == burst - buffer);
    w.run();
    CHECK(note.times == 1);
    CHECK(w.lost() == burst - buffer);
    CHECK(w.network.queue(w.own).timeouts == 0);
    CHECK(w.network.use(w.own).bytes == doctest::Approx((2 * burst - buffer) * packet));
    CHECK(w.network.use(w.bottleneck).bytes == doctest::Approx(burst * packet));
    CHECK(w.network.packet_events() == 0);
  }
}

TEST_CASE("losses: the first overshoot of slow start loses what two packets for each acknowledgement add to a full queue") {
  // Acknowledgements come a packet's time apart, and each lets two packets go, so k of them make a queue of k + 1. Of w / 2
  // acknowledgements those beyond the (B - 1)-th lose a packet each. A packet takes longer than the acknowledgements of one train lie
  // apart.
  const double latency = 5;
  for (const int buffer : {6, 7, 8}) {
    CAPTURE(buffer);
    Lossy w(buffer, 1);
    Note note(w.queue);
    w.send(200, note, latency);
    const double window = 16, rounds = 4;  // the round of 8 has a queue of 5
    const double round = each + 2 * latency;
    w.run_until(rounds * round + window * each);
    CHECK(w.lost() == window / 2 - (buffer - 1));
    w.run();
    CHECK(note.times == 1);
    CHECK(w.network.use(w.bottleneck).bytes == doctest::Approx(200 * packet));
  }
}

TEST_CASE("losses: a packet alone that is lost is sent again after a timeout, and then after twice that, as the timer wheel has it") {
  // The queue is full and stands still. The handshake has measured the latencies, and the variation of a first round trip is half of it.
  for (const double latency : {0.01, 0.05}) {
    CAPTURE(latency);
    const double timeout = 2 * latency + std::max(least_timeout, 4 * latency);
    Lossy w(5, 5);
    Note other(w.queue), note(w.queue);
    w.send(5, other, latency);
    w.run_until(1e-3);
    w.network.set_capacity(w.bottleneck, 0);
    w.send(1, note, latency);
    const LinkId own = w.own;
    double since = 1e-3;
    for (int i = 0; i < 4; ++i) {
      CAPTURE(i);
      w.run_to_timeout(own);
      const double wait = std::ldexp(timeout, i), late = w.queue.now().seconds() - since - wait;
      CHECK(late > 0);
      CHECK(late <= std::ldexp(jiffy, i) + bucket(wait));  // it is doubled in whole jiffies
      since += wait + late;
    }
    w.network.set_capacity(w.bottleneck, rate);
    w.run();
    CHECK(note.times == 1);
  }
}

TEST_CASE("losses: timers of one host fire together though they were set one after another, those of two hosts do not") {
  // First timeouts of 51 jiffies end with a jiffy, second ones of 102 with a bucket of eight. Hosts count from when they booted.
  for (const bool one_host : {false, true}) {
    CAPTURE(one_host);
    Lossy w(5, 5);
    Note filling(w.queue), first(w.queue), second(w.queue);
    w.send(5, filling, 1e-4);
    w.run_until(1e-3);
    w.network.set_capacity(w.bottleneck, 0);
    w.send(1, first, 1e-4);
    const LinkId one = w.own;
    w.run_until(11e-3);
    if (!one_host) w.own = w.network.add_link(fast);
    const LinkId other = w.own, its[] = {other, w.bottleneck};
    w.network.start({.route = its, .bytes = packet, .one_way = seconds(1e-4)}, second);
    std::vector<Time> times;
    while (times.size() < 4) {
      const auto before = w.timeouts(one) + (one_host ? 0 : w.timeouts(other));
      w.queue.fire_next();
      const auto after = w.timeouts(one) + (one_host ? 0 : w.timeouts(other));
      for (auto i = before; i < after; ++i) times.push_back(w.queue.now());
    }
    const auto apart = [&](std::size_t i, double of) { return std::remainder((times[i + 1] - times[i]).seconds(), of); };
    if (one_host) {
      CHECK(std::abs(apart(0, jiffy)) < 1e-9);
      CHECK(std::abs(apart(2, 8 * jiffy)) < 1e-9);
    } else {
      CHECK(std::abs(apart(0, jiffy)) > 1e-6);
      CHECK(std::abs(apart(2, 8 * jiffy)) > 1e-6);
    }
  }
}

TEST_CASE("losses: a lost end is found by a probe after two round trips") {
  // A window of eight, of which the queue holds five. The i-th that arrives has the round trip 2 L + i packets' times; the handshake had 2
  // L. The probe waits for two smoothed ones and 2 ms, and up to two jiffies more. Once it has arrived, what was sent a quarter of the
  // least round trip before it is lost (RFC 8985, 6.2), and is sent, one packet in a round trip, two in the next.
  const double buffer = 5, latency = 0.02, least = 2 * latency + each;
  Lossy w(buffer, 8);
  Note note(w.queue);
  w.send(8, note, latency);
  w.run();
  double smoothed = 2 * latency;
  for (int i = 1; i <= buffer; ++i) smoothed += (2 * latency + i * each - smoothed) / 8;
  const double end = 2 * latency + buffer * each + 2 * smoothed + least_wait + least + least + each;
  CHECK(note.when.seconds() > end);
  CHECK(note.when.seconds() < end + 2 * jiffy + 4 * soon);
  CHECK(w.lost() == 3);
  CHECK(w.network.queue(w.own).timeouts == 0);
}

TEST_CASE("losses: in the host's own queue wait two packets of a connection, or a millisecond's worth of twice its rate") {
  // tcp_small_queue_check(), tcp_update_pacing_rate(): 2 W / R / 1024 of a second, for a window W of ten in slow start and a round trip R.
  for (const double latency : {0.4e-3, 0.5e-3, 1e-3, 1.0}) {
    CAPTURE(latency);
    const double window = 10;
    Lossy w(1000, window);
    Note note(w.queue);
    const LinkId own = w.network.add_link(rate);
    w.network.start({.route = {&own, 1}, .bytes = window * packet, .one_way = seconds(latency)}, note);
    w.run_until(1e-3);  // before a probe
    const double worth = std::ceil(2 * window / (2 * latency) / 1024);
    CHECK(w.network.queue(own).longest_bytes == packet * std::clamp(worth, 2.0, window));
    w.run();
    CHECK(note.times == 1);
  }
}

TEST_CASE("losses: a probe sends bytes that were not sent before, if there are any, whatever the window") {
  // RFC 8985, 7.3. The queue is full; of a message of 3.25 packets the window of three is lost, and the probe is the last quarter.
  const double latency = 0.01;
  Lossy w(5, 3);
  Note other(w.queue), note(w.queue);
  w.send(3, other, latency);
  w.send(2, other, latency);
  w.run_until(1e-3);
  w.network.set_capacity(w.bottleneck, 0);
  w.send(3.25, note, latency);
  w.run_until(1e-3 + 2 * 2 * latency + least_wait - 1e-6);
  CHECK(w.network.use(w.own).bytes == doctest::Approx(3 * packet));
  w.run_until(1e-3 + 2 * 2 * latency + least_wait + 2 * jiffy);
  CHECK(w.network.use(w.own).bytes == doctest::Approx(3.25 * packet));
  w.network.set_capacity(w.bottleneck, rate);
  w.run();
  CHECK(note.times == 1);
  CHECK(w.network.queue(w.own).timeouts == 1);
}

TEST_CASE("losses: what is lost again after a timeout begins a recovery with a smaller window") {
  // tcp_fastretrans_alert(): in the state after a timeout, lost retransmissions begin a recovery. All of 32 packets is lost, and sent again
  // in slow start with windows of 1, 2, 4 and 8. Of those 8 the first one is lost again, so the window falls to 0.7 of them,
  // and is that once the recovery is over.
  using packets::Recovery;
  packets::Connection connection;
  connection.window = 32 * packet;
  const double round_trip = 0.01;
  Recovery recovery(packet, 1e6 * packet, round_trip * 1e12, 0);
  connection.round_trip = round_trip * 1e12;
  Time now;
  for (int i = 0; i < 32; ++i) {
    recovery.send(connection, 0, packet, i == 31, now);
    connection.unacknowledged += packet;
  }
  Recovery::Expired expired = Recovery::Expired::nothing;
  while (expired != Recovery::Expired::timeout) {
    now = recovery.due();
    expired = recovery.expired(connection, now);
    if (expired == Recovery::Expired::probe) recovery.probes(connection, false, now);
  }
  CHECK(connection.window == packet);
  int sent = 0;
  bool lost_once = false;
  double window_of_loss = 0, over = 0;
  for (int round = 0; round < 20 && !recovery.resting(); ++round) {
    std::vector<std::pair<Recovery::Number, Time>> flight;
    while (const auto number = recovery.lost()) {
      if (!recovery.may_send_again(connection, *number)) break;
      flight.emplace_back(*number, now);
      recovery.send_again(connection, *number, now);
      ++sent;
    }
    const bool loses = !lost_once && connection.window >= 8 * packet;
    if (loses) window_of_loss = connection.window, lost_once = true, flight.erase(flight.begin());
    now += seconds(round_trip);
    for (const auto& [number, when] : flight) {
      recovery.arrives(number, when);
      recovery.acknowledged(connection, recovery.arrivals(), when, now);
      over = connection.window;
    }
  }
  CHECK(recovery.resting());
  CHECK(lost_once);
  CHECK(sent == 33);
  CHECK(window_of_loss == 8 * packet);
  CHECK(over == doctest::Approx(packets::Cubic::beta * window_of_loss));
}

TEST_CASE("losses: messages of a connection arrive in order, though a packet of the first one comes last") {
  // The first one's last packet is lost, while all of the second one is there.
  const double buffer = 4, latency = 0.2;
  Lossy w(buffer, 3);
  Note other(w.queue), first(w.queue), second(w.queue);
  const LinkId way = w.network.add_link(fast), its[] = {way, w.bottleneck};
  const auto start = [&](double packets, Note& note) {
    w.network.start({.route = its, .bytes = packets * packet, .one_way = seconds(latency), .connection = 5}, note);
  };
  w.send(3, other, latency);
  w.run_until(1e-3);
  start(2, first);
  w.run_until(each * 1.5);
  start(1, second);
  w.run();
  CHECK(w.lost() == 1);
  CHECK(first.times == 1);
  CHECK(second.times == 1);
  CHECK(first.when == second.when);
  CHECK(first.when.seconds() > 0.2);
}

TEST_CASE("losses: a host's own queue refuses what it has no room for, and nothing is sent twice") {
  Lossy w(1e3, 40, 1000, 5);
  Note note(w.queue);
  const LinkId own = w.network.add_link(rate);
  w.network.start({.route = {&own, 1}, .bytes = 100 * packet, .one_way = seconds(0.001)}, note);
  w.run();
  check_about(note.when, seconds(100 * each));
  CHECK(w.network.use(own).bytes == doctest::Approx(100 * packet));
  CHECK(w.network.queue(own).longest_bytes == 5 * packet);
  CHECK(w.network.queue(own).lost_packets > 0);
  CHECK(w.network.queue(own).timeouts == 0);
}

TEST_CASE("losses: what the host's own queue refuses while nothing is under way is tried again after a timeout, then every 500 ms") {
  // Another connection of the host fills the queue, which stands still. Its own timeouts find its packets still there.
  const double latency = 0.01, timeout = 2 * latency + least_timeout, later = 0.5;
  Lossy w(1e3, 5, 5, 5);
  Note other(w.queue), note(w.queue);
  const LinkId own = w.network.add_link(rate);
  const auto start = [&](double packets, Note& its) {
    w.network.start({.route = {&own, 1}, .bytes = packets * packet, .one_way = seconds(latency)}, its);
  };
  start(5, other);
  w.network.set_capacity(own, 0);
  w.run_until(1e-3);
  start(1, note);
  CHECK(w.network.queue(own).lost_packets == 1);
  double since = 1e-3;
  for (int i = 0; i < 4; ++i) {
    CAPTURE(i);
    const auto before = w.network.queue(own).lost_packets;
    while (w.network.queue(own).lost_packets == before) w.queue.fire_next();
    const double wait = i == 0 ? timeout : later, late = w.queue.now().seconds() - since - wait;
    CHECK(late > -1e-12);
    CHECK(late <= jiffy + bucket(wait));
    since += wait + late;
  }
  w.network.set_capacity(own, rate);
  w.run();
  CHECK(note.times == 1);
  CHECK(note.when >= other.when);
}

TEST_CASE("losses: CUBIC is back at the window of the loss after K seconds, and aims lower after a loss at a smaller one") {
  // RFC 9438, 4.2: W(t) = C (t - K)^3 + W_max, K = cbrt((1 - beta) W_max / C). Acknowledgements come often, so the window follows it.
  using packets::Cubic;
  const double segment = 1000, most = 1000, k = std::cbrt((1 - Cubic::beta) * most / Cubic::c), round_trip = 0.1;
  Cubic cubic(segment);
  cubic.reduce(most * segment);
  CHECK(cubic.threshold() == doctest::Approx(Cubic::beta * most * segment));
  double window = cubic.threshold();
  const double step = 1e-3;
  const auto at = [&](double time) { return most + Cubic::c * std::pow(time - k, 3); };
  double worst = 0;
  for (double t = 0; t < 1.5 * k; t += step) {
    window = cubic.grown(seconds(t), window, {window * step / round_trip, round_trip, round_trip, false});
    worst = std::max(worst, std::abs(window / segment / at(t + round_trip) - 1));
  }
  CHECK(worst < 0.005 + (at(round_trip) / at(0) - 1));  // the first acknowledgements catch up with a round trip
  CHECK(window / segment == doctest::Approx(at(1.5 * k)).epsilon(0.01));
  // Two losses at falling windows: the later aim is lower, so that others find room (4.7).
  cubic.reduce(0.8 * window);
  const double half = window / segment * 0.8;
  double shrunk = cubic.threshold();
  for (double t = 0; t < std::cbrt((half * (1 + Cubic::beta) / 2 - Cubic::beta * half) / Cubic::c); t += step)
    shrunk = cubic.grown(seconds(100 + t), shrunk, {shrunk * step / round_trip, round_trip, round_trip, false});
  CHECK(shrunk / segment == doctest::Approx(half * (1 + Cubic::beta) / 2).epsilon(0.01));
}

TEST_CASE("losses: a buffer of half of what the way holds keeps a link busy, a tenth does not") {
  // The window goes from beta W to W = P + B, P being what the way holds, as a cubic does. The aim of the cubic is W, or (1 + beta) / 2 W
  // after a loss at a smaller window than before (fast convergence), so use is between those of the two. The link is idle while the window
  // is below P. It never is for B >= (1 / beta - 1) P = 0.43 P.
  const double latency = 0.05, way = 500;  // packets
  for (const double share : {0.1, 0.5, 1.0}) {
    CAPTURE(share);
    Lossy w(share * way, way);
    const double more = way * packet / (2 * latency);
    w.network.set_capacity(w.bottleneck, more);
    Note note(w.queue);
    w.send(1e7, note, latency);
    w.run_until(30);
    const double before = w.network.use(w.bottleneck).bytes;
    w.run_until(90);
    const double used = (w.network.use(w.bottleneck).bytes - before) / (60 * more);
    double up = 0, through = 0;
    const int steps = 1000;
    constexpr double beta = packets::Cubic::beta;
    for (int i = 0; i < steps; ++i) {
      const double x = (i + 0.5) / steps, y = 2 * x - 1;
      up += std::min(1.0, (1 + share) * (1 - (1 - beta) * x * x * x)) / steps;
      through += std::min(1.0, (1 + share) * ((1 + beta) / 2 + (1 - beta) / 2 * y * y * y)) / steps;
    }
    CHECK(used > through - 0.01);
    CHECK(used < up + 0.01);
    if (share >= 0.5) CHECK(used > 0.995);
    CHECK(w.lost() > 0);
    CHECK(w.network.queue(w.own).timeouts == 0);
  }
}

TEST_CASE("losses: random messages in a star with short queues all arrive once") {
  std::mt19937_64 random(11);
  const auto number = [&](int most) { return static_cast<std::size_t>(random() % static_cast<unsigned>(most)); };
  double lost = 0, timeouts = 0;
  for (int turn = 0; turn < 40; ++turn) {
    World w;
    const double buffer = packet * (0.5 + static_cast<double>(number(12)));
    w.network.set_packets(
        {packet, 50 * packet, 10, 1 + number(4), (1 + static_cast<double>(number(20))) * packet, seconds(0.3), buffer, buffer});
    std::vector<LinkId> up, down;
    for (int host = 0; host < 6; ++host) up.push_back(w.network.add_link(rate)), down.push_back(w.network.add_link(rate));
    std::deque<Note> notes;
    std::vector<FlowId> names;
    std::vector<bool> cancelled;
    for (int i = 0; i < 60; ++i) {
      const std::size_t from = number(6), to = (from + 1 + number(5)) % 6;
      const double bytes = packet * (0.1 + static_cast<double>(number(3000)) / 100);
      const LinkId there[] = {up[from], down[to]}, back[] = {up[to], down[from]};
      // The latencies of a connection are one.
      const Time latency = seconds(1e-3 * static_cast<double>(from + to));
      const std::uint64_t connection = number(2) ? 6 * from + to : FlowRequest::own_connection;
      names.push_back(w.network.start({.route = there, .bytes = bytes, .back = back, .one_way = latency, .connection = connection},
                                      notes.emplace_back(w.queue)));
      cancelled.push_back(false);
      w.run_until(w.queue.now().seconds() + 1e-3 * static_cast<double>(number(100)));
      if (const std::size_t other = number(static_cast<int>(names.size())); number(8) == 0 && notes[other].times == 0) {
        w.network.cancel(names[other]);
        cancelled[other] = true;
      }
    }
    w.run();
    for (std::size_t i = 0; i < notes.size(); ++i) CHECK(notes[i].times == (cancelled[i] ? 0 : 1));
    CHECK(w.network.flows() == 0);
    CHECK(w.network.packet_events() == 0);
    CHECK(w.queue.empty());
    CHECK(w.network.worst_overload() <= 1e-9);
    for (const LinkId link : up) {
      lost += static_cast<double>(w.network.queue(link).lost_packets);
      timeouts += static_cast<double>(w.network.queue(link).timeouts);
    }
    for (std::size_t host = 0; host < 6; ++host) {
      lost += static_cast<double>(w.network.queue(down[host]).lost_packets);
      CHECK(w.network.queue(down[host]).longest_bytes <= std::max(buffer, packet) + 1e-6);
    }
  }
  CHECK(lost > 0);
  CHECK(timeouts > 0);
}

TEST_CASE("losses: with queues longer than any window all is as without an end") {
  for (const bool end : {false, true}) {
    World w;
    PacketSizes sizes{.packet = packet, .window = 8 * packet, .acknowledgement = 10, .at_first = 2, .initial = 8 * packet};
    if (end) sizes.buffer = 1000 * packet;
    w.network.set_packets(sizes);
    const LinkId route[] = {w.network.add_link(rate), w.network.add_link(rate / 3)}, back[] = {w.network.add_link(rate)};
    Note one(w.queue), other(w.queue);
    for (Note* note : {&one, &other})
      w.network.start({.route = route, .bytes = 100 * packet, .back = back, .one_way = seconds(0.1)}, *note);
    w.run();
    check_about(std::max(one.when, other.when), seconds(each + 200 * 3 * each));
    CHECK(w.network.losses() == end);
    CHECK(w.network.queue(route[1]).lost_packets == 0);
  }
}

TEST_CASE("losses: a queue of nothing is refused, and a network ends while packets are missing") {
  EventQueue queue;
  {
    Network network(queue);
    CHECK_THROWS_AS(network.set_packets({.packet = 1, .window = 1, .buffer = 0}), std::invalid_argument);
    network.set_packets({.packet = packet, .window = 20 * packet, .at_first = 2, .buffer = 2 * packet});
    const LinkId route[] = {network.add_link(fast), network.add_link(rate)};
    Note note(queue);
    network.start({.route = route, .bytes = 90 * packet, .one_way = seconds(0.01)}, note);
    while (queue.now() < seconds(0.1)) queue.fire_next();
    CHECK(network.queue(route[1]).lost_packets > 0);
  }
  CHECK(queue.empty());
}

}  // namespace losses_test

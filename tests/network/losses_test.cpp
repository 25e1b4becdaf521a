// Queues with an end: what is lost, when it is sent again, and what the windows of CUBIC use of a link.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <deque>
#include <limits>
#include <random>
#include <stdexcept>
#include <vector>

#include "sim/network/cubic.hpp"
#include "sim/network/packet_sizes.hpp"
#include "tests/network/world.hpp"

namespace losses_test {

using namespace straggler;

namespace {

constexpr double packet = 1000, rate = 1e5, each = packet / rate;  // each: seconds of a packet on the bottleneck
constexpr double fast = 1e5 * rate, soon = packet / fast;          // of a way to it on which packets hardly take time
constexpr double least_timeout = 0.2, tick = 4e-3;                 // beyond the round trip; by which timers are late

struct Lossy : World {
  Lossy(double buffer, double initial, std::uint64_t at_first = 2) {
    network.set_packets({.packet = packet,
                         .window = 1e6 * packet,
                         .at_first = at_first,
                         .initial = initial * packet,
                         .idle = seconds(1000),
                         .buffer = buffer * packet});
    bottleneck = network.add_link(rate);
  }
  /// From a host of its own.
  FlowId send(double packets, Note& note, double latency, std::uint64_t connection = FlowRequest::own_connection) {
    const LinkId route[] = {network.add_link(fast), bottleneck};
    own = route[0];
    return network.start({.route = route, .bytes = packets * packet, .one_way = seconds(latency), .connection = connection}, note);
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

TEST_CASE("losses: a packet alone that is lost is sent again after a timeout, and then after twice that") {
  // Others fill the queue as it comes. The handshake has measured the latencies, and the variation of a first round trip is half of it.
  for (const double latency : {0.01, 0.05}) {
    const double timeout = 2 * latency + std::max(least_timeout, 4 * latency);
    for (const int times : {1, 2, 3}) {
      CAPTURE(latency);
      CAPTURE(times);
      const double buffer = 5;
      Lossy w(buffer, buffer);
      std::deque<Note> others;
      Note note(w.queue);
      double due = 0;
      LinkId own = 0;
      for (int i = 0; i < times; ++i) {
        w.run_until(due - (i > 0 ? 1e-3 : 0));
        w.send(buffer, others.emplace_back(w.queue), latency);
        if (i == 0) {
          w.run_until(1e-3);
          w.send(1, note, latency);
          own = w.own;
          due = 1e-3;
        }
        due += std::ldexp(timeout, i) + tick;
      }
      w.run();
      check_about(note.when, seconds(due + soon + each));
      CHECK(w.lost() == times);
      CHECK(w.network.queue(own).timeouts == static_cast<std::uint64_t>(times));
    }
  }
}

TEST_CASE("losses: a lost end is found by a probe after two round trips") {
  // A window of eight, of which the queue holds five. The last one that arrived has the round trip R = 2 L + 5 packets' times. The smoothed
  // one is between that and 2 L; the probe waits for two of them and 2 ms. Once it has arrived, what is missing before it waits for a
  // quarter of the least round trip, and is then sent, one packet in a round trip, two in the next.
  const double buffer = 5, latency = 0.02;
  Lossy w(buffer, 8);
  Note note(w.queue);
  w.send(8, note, latency);
  w.run();
  const double last = 2 * latency + buffer * each, least = 2 * latency + each;
  const auto end = [&](double smoothed) { return last + 2 * smoothed + 2e-3 + tick + least + least / 4 + tick + least + each; };
  CHECK(note.when.seconds() > end(2 * latency));
  CHECK(note.when.seconds() < end(last) + 3 * soon);
  CHECK(w.lost() == 3);
  CHECK(w.network.queue(w.own).timeouts == 0);
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
  Lossy w(5, 40, 1000);
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
    w.network.set_packets({packet, 50 * packet, 10, 1 + number(4), (1 + static_cast<double>(number(20))) * packet, seconds(0.3), buffer});
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

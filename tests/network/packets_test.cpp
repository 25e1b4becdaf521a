// Messages as packets: closed forms of queues in order of arrival, windows and acknowledgements.
#include <doctest/doctest.h>

#include <cmath>
#include <deque>
#include <limits>
#include <random>
#include <stdexcept>
#include <vector>

#include "tests/network/packets.hpp"

namespace packets_test {

TEST_CASE("packets: a message alone passes link after link, and its slowest link has it all") {
  // The first packet passes the links before the slowest one, all packets pass that one, and the last packet passes the links behind it.
  for (const std::size_t slowest : {0u, 1u, 2u}) {
    Packets w(no_window);
    std::vector<LinkId> route;
    double others = 0;
    for (std::size_t k = 0; k < 3; ++k) {
      const double its = k == slowest ? rate : rate * static_cast<double>(k + 2);
      route.push_back(w.network.add_link(its));
      if (k != slowest) others += packet / its;
    }
    Note note(w.queue);
    w.network.start(route, 50 * packet, no_latency, note);
    CHECK(w.network.flows() == 1);
    w.run();
    check_about(note.when, seconds(50 * packet_seconds + others));
    CHECK(note.times == 1);
    CHECK(w.network.flows() == 0);
    CHECK(w.network.worst_overload() == 0);
  }
}

TEST_CASE("packets: the last one has the rest") {
  Packets w(no_window);
  const LinkId route[] = {w.network.add_link(rate), w.network.add_link(rate)};
  Note note(w.queue);
  w.network.start(route, 2.25 * packet, seconds(1), note);
  w.run();
  check_about(note.when, seconds(1 + (1 + 2.25) * packet_seconds));  // it waits for the one before
  CHECK(w.network.use(route[1]).bytes == doctest::Approx(2.25 * packet));
}

TEST_CASE("packets: without bytes or links a message arrives after its latency") {
  Packets w(4);
  const LinkId link = w.network.add_link(rate);
  Note empty(w.queue), nowhere(w.queue), limited(w.queue);
  w.network.start({&link, 1}, 0, seconds(2), empty);
  w.network.start({}, 1e9, seconds(3), nowhere);
  w.network.start({{}, {}, 4e6, no_latency, 1, 1e6}, limited);
  CHECK(w.network.flows() == 3);
  w.run();
  check_about(empty.when, seconds(2));
  check_about(nowhere.when, seconds(3));
  check_about(limited.when, seconds(4));
}

TEST_CASE("packets: messages on a link take turns, and keep it busy") {
  Packets w(4);
  const LinkId link = w.network.add_link(rate);
  Note a(w.queue), b(w.queue), c(w.queue);
  w.network.start({&link, 1}, 60 * packet, no_latency, a);
  w.network.start({&link, 1}, 60 * packet, no_latency, b);
  w.network.start({&link, 1}, 20 * packet, no_latency, c);
  w.run();
  // Of each turn of four packets, c ends with its fifth; a and b share what is left.
  check_about(c.when, seconds(5 * 12 * packet_seconds));
  check_about(b.when, seconds(140 * packet_seconds));
  check_about(a.when, seconds(136 * packet_seconds));
  check_about(w.network.use(link).busy, seconds(140 * packet_seconds));
  CHECK(w.network.use(link).bytes == doctest::Approx(140 * packet));
  CHECK(w.network.use(link).capacity_bytes == doctest::Approx(140 * packet));
}

TEST_CASE("packets: whoever comes later waits for what was sent before") {
  Packets w(no_window);
  const LinkId link = w.network.add_link(rate);
  Note a(w.queue), b(w.queue);
  w.network.start({&link, 1}, 100 * packet, no_latency, a);
  w.run_until(0.01);
  w.network.start({&link, 1}, packet, no_latency, b);
  w.run();
  check_about(a.when, seconds(100 * packet_seconds));
  check_about(b.when, seconds(101 * packet_seconds));
}

TEST_CASE("packets: beside k uploads an answer has C / k, since its acknowledgements wait behind them") {
  // k uploads of w packets under way each keep the server's queue at k w packets. An acknowledgement of the answer waits behind them, and
  // the answer moves w packets in that time: w / (k w / C) = C / k, whatever the window. Before the queue is full one window of 400 packets
  // passes; each packet also costs the time of the acknowledgements beside it.
  for (const double window : {3.0, 6.0}) {
    for (const std::size_t uploads : {1u, 2u, 3u, 5u}) {
      Packets w(window);
      Star star(w, static_cast<int>(uploads) + 2);
      std::deque<Note> others;
      for (std::size_t k = 0; k < uploads; ++k) star.send(2 + k, 0, 1e6 * packet, others.emplace_back(w.queue));
      Note answer(w.queue);
      star.send(0, 1, 400 * packet, answer);
      while (answer.times == 0) REQUIRE(step(w.queue, w.network));
      CHECK(answer.when.seconds() / (400 * packet_seconds) == doctest::Approx(static_cast<double>(uploads)).epsilon(0.03));
      CHECK(w.network.worst_overload() == 0);
    }
  }
}

TEST_CASE("packets: few of a message wait in its host's own queue") {
  // Each of two messages has two packets there at a time, so they take turns by two; by their windows of ten the first one would be done
  // before the second begins. On a second link, which is slower, a whole window waits.
  World w;
  network_of(w, 10, 2);
  const LinkId own = w.network.add_link(rate), next = w.network.add_link(rate / 4);
  const LinkId route[] = {own, next};
  Note a(w.queue), b(w.queue);
  w.network.start({&own, 1}, 4 * packet, no_latency, a);
  w.network.start({&own, 1}, 4 * packet, no_latency, b);
  w.run();
  check_about(a.when, seconds(6 * packet_seconds));
  check_about(b.when, seconds(8 * packet_seconds));
  w.network.start(route, 20 * packet, no_latency, a);
  w.run_until(w.queue.now().seconds() + 12.5 * packet_seconds);
  // The second link has let two packets leave by then, which were acknowledged at once. Ten more have passed the first.
  CHECK(w.network.use(own).bytes == doctest::Approx((8 + 12) * packet));
  w.run();
  CHECK(w.network.use(next).bytes == doctest::Approx(20 * packet));
}

TEST_CASE("packets: a token bucket lets a burst pass, then a packet whenever it has tokens for one") {
  // All packets but those that the burst pays for wait for tokens; the last one has left a packet's time at the peak later.
  const double burst = 10 * packet, peak = 20 * rate;
  Packets w(no_window);
  const LinkId link = w.network.add_link(rate);
  w.network.set_bucket(link, burst, peak);
  Note first(w.queue), again(w.queue);
  w.network.start({&link, 1}, 50 * packet, no_latency, first);
  w.run();
  const double end = (50 * packet - burst) / rate + packet / peak;
  check_about(first.when, seconds(end));
  // Idle for 2 packets' times it regains 2 of them; the third has tokens left from the last one's time on the link.
  w.run_until(end + 2 * packet_seconds);
  w.network.start({&link, 1}, 3 * packet, no_latency, again);
  w.run();
  const double tokens = 2 * packet + rate * packet / peak;
  check_about(again.when, seconds(end + 2 * packet_seconds + (3 * packet - tokens) / rate + packet / peak));
  CHECK(w.network.use(link).bytes == doctest::Approx(53 * packet));
  CHECK(w.network.worst_overload() == 0);
}

TEST_CASE("packets: one that is larger than the bucket waits for a full one") {
  Packets w(no_window);
  const LinkId link = w.network.add_link(rate);
  w.network.set_bucket(link, packet / 4, 20 * rate);
  Note note(w.queue);
  w.network.start({&link, 1}, 3 * packet, no_latency, note);
  w.run();
  // It leaves a debt of three quarters, and what a packet's time on the link brings counts against it.
  check_about(note.when, seconds(2 * packet_seconds + packet / (20 * rate)));
  CHECK(w.network.worst_overload() == 0);
}

TEST_CASE("packets: a capacity changes while a packet leaves, stops it, and lets it go on") {
  Packets w(no_window);
  const LinkId link = w.network.add_link(rate);
  Note note(w.queue);
  w.network.start({&link, 1}, 2 * packet, no_latency, note);
  w.run_until(0.25 * packet_seconds);
  w.network.set_capacity(link, rate / 2);  // three quarters are left
  w.run_until(0.75 * packet_seconds);
  w.network.set_capacity(link, 0);  // a half is left
  CHECK(w.network.packet_events() == 0);
  w.run_until(5 * packet_seconds);
  CHECK(note.times == 0);
  CHECK(w.network.use(link).bytes == doctest::Approx(0.5 * packet));
  w.network.set_capacity(link, 2 * rate);
  CHECK(w.network.packet_events() == 1);
  w.run();
  check_about(note.when, seconds((5 + 0.25 + 0.5) * packet_seconds));
  CHECK(w.network.worst_overload() == 0);
}

TEST_CASE("packets: a bucket's capacity changes while a packet waits for tokens, and while one leaves") {
  const double peak = 4 * rate;
  Packets w(no_window);
  const LinkId link = w.network.add_link(rate);
  w.network.set_bucket(link, packet, peak);
  Note note(w.queue);
  w.network.start({&link, 1}, 2 * packet, no_latency, note);
  // The first one leaves in a quarter, which brings a quarter of the second one's tokens. At half of the rate the rest takes 1.5.
  w.run_until(0.25 * packet_seconds);
  w.network.set_capacity(link, rate / 2);
  w.run_until(1.75 * packet_seconds - 1e-9);
  CHECK(w.network.use(link).bytes == doctest::Approx(packet));
  // It leaves at half of the peak: in half a packet's time. After half of that the peak is the old one again.
  w.run_until(2 * packet_seconds);
  CHECK(w.network.use(link).bytes == doctest::Approx(1.5 * packet));
  w.network.set_capacity(link, rate);
  w.run();
  check_about(note.when, seconds(2.125 * packet_seconds));
  CHECK(w.network.worst_overload() == 0);
}

TEST_CASE("packets: a message with a rate of its own keeps it") {
  for (const double share : {0.25, 4.0}) {
    Packets w(no_window);
    const LinkId link = w.network.add_link(rate);
    Note note(w.queue);
    w.network.start({.route = {&link, 1}, .bytes = 10 * packet, .most_bytes_per_second = share * rate}, note);
    w.run();
    check_about(note.when, seconds((9 / std::min(share, 1.0) + 1) * packet_seconds));
  }
}

TEST_CASE("packets: a cancelled message sends no more, and what is under way travels on") {
  Packets w(4);
  const LinkId link = w.network.add_link(rate);
  Note cancelled(w.queue), next(w.queue), latent(w.queue);
  const FlowId id = w.network.start({&link, 1}, 100 * packet, no_latency, cancelled);
  const FlowId early = w.network.start({&link, 1}, packet, seconds(1), latent);
  w.run_until(9.5 * packet_seconds);
  w.network.start({&link, 1}, packet, no_latency, next);
  w.network.cancel(id);
  w.network.cancel(early);
  w.network.cancel(id);
  CHECK(w.network.flows() == 1);
  w.run();
  CHECK(cancelled.times == 0);
  CHECK(latent.times == 0);
  check_about(next.when, seconds(14 * packet_seconds));  // the tenth is leaving, three more wait
  CHECK(w.network.use(link).bytes == doctest::Approx(14 * packet));
  const FlowId other = w.network.start({&link, 1}, packet, no_latency, next);
  CHECK(other != id);
  w.network.cancel(id);  // of an old name nothing happens
  w.run();
  CHECK(next.times == 2);
}

TEST_CASE("packets: random messages all arrive once, and every link carries what was sent and acknowledged") {
  std::mt19937_64 random(7);
  const auto number = [&](int most) { return static_cast<std::size_t>(random() % static_cast<unsigned>(most)); };
  for (int turn = 0; turn < 30; ++turn) {
    Packets w(1 + static_cast<double>(number(8)));
    Star star(w, 6);
    for (const Host& host : star.hosts)
      if (number(2) == 0) w.network.set_bucket(host.up, packet * (0.5 + static_cast<double>(number(9))), 3 * rate);
    std::vector<double> up(6), down(6);
    std::deque<Note> notes;
    for (int i = 0; i < 60; ++i) {
      const std::size_t from = number(6), to = (from + 1 + number(5)) % 6;
      const double bytes = packet * (0.1 + static_cast<double>(number(3000)) / 100), packets = std::ceil(bytes / packet);
      up[from] += bytes, down[to] += bytes;
      up[to] += packets * acknowledgement, down[from] += packets * acknowledgement;
      star.send(from, to, bytes, notes.emplace_back(w.queue), Time::from_seconds(1e-4 * static_cast<double>(number(30))));
      w.run_until(w.queue.now().seconds() + 1e-3 * static_cast<double>(number(10)));
      w.network.set_capacity(star.hosts[number(6)].down, rate * (0.5 + static_cast<double>(number(100)) / 100));
    }
    w.run();
    for (const Note& note : notes) CHECK(note.times == 1);
    for (std::size_t host = 0; host < 6; ++host) {
      CHECK(w.network.use(star.hosts[host].up).bytes == doctest::Approx(up[host]));
      CHECK(w.network.use(star.hosts[host].down).bytes == doctest::Approx(down[host]));
    }
    CHECK(w.network.flows() == 0);
    CHECK(w.network.packet_events() == 0);
    CHECK(w.network.worst_overload() <= 1e-9);
  }
}

TEST_CASE("packets: a network ends while messages are under way") {
  EventQueue queue;
  {
    Network network(queue);
    network.set_packets({packet, 4 * packet, acknowledgement});
    const LinkId link = network.add_link(rate);
    Note note(queue);
    network.start({.route = {&link, 1}, .bytes = 9 * packet, .one_way = seconds(1)}, note);
    network.start({&link, 1}, packet, seconds(1), note);
    while (queue.now() < seconds(0.5)) queue.fire_next();
  }
  CHECK(queue.empty());
}

TEST_CASE("packets: what cannot be") {
  World w;
  CHECK_THROWS_AS(w.network.set_packets({0, 1, 1}), std::invalid_argument);
  CHECK_THROWS_AS(w.network.set_packets({1, 0, 1}), std::invalid_argument);
  CHECK_THROWS_AS(w.network.set_packets({1, 1, -1}), std::invalid_argument);
  CHECK_THROWS_AS(w.network.set_packets({1, 1, 1, 0}), std::invalid_argument);
  CHECK_THROWS_AS(w.network.set_packets({1, 1, 1, 1, 0}), std::invalid_argument);
  CHECK_THROWS_AS(w.network.set_packets({1, 1, 1, 1, 1, Time::from_ticks(-1)}), std::invalid_argument);
  CHECK_THROWS_AS(w.network.set_packets({1, std::numeric_limits<double>::infinity(), 1}), std::invalid_argument);
  const LinkId early = w.network.add_link(rate);  // links may come before
  w.network.set_packets({packet, packet, 0});
  const LinkId link = w.network.add_link(rate), unknown = 7;
  Note note(w.queue);
  const double volume = 2;
  CHECK_THROWS_AS(w.network.start({{&link, 1}, {&volume, 1}, 1}, note), std::invalid_argument);
  CHECK_THROWS_AS(w.network.start({&link, 1}, 1, no_latency, note, 2), std::invalid_argument);
  CHECK_THROWS_AS(w.network.start({.route = {&link, 1}, .bytes = 1, .back = {&unknown, 1}}, note), std::invalid_argument);
  const FlowId id = w.network.start({&early, 1}, packet, no_latency, note);
  CHECK_THROWS_AS(w.network.rate(id), std::logic_error);
  CHECK_THROWS_AS(w.network.set_packets({packet, packet, 0}), std::logic_error);
  w.run();
  check_about(note.when, seconds(packet_seconds));
}

TEST_CASE("packets: without contention messages are flows again") {
  Packets w(1);
  w.network.set_contention(false);
  CHECK_THROWS_AS(w.network.set_packets({packet, packet, 0}), std::logic_error);
  const LinkId route[] = {w.network.add_link(rate), w.network.add_link(rate)};
  Note note(w.queue);
  w.network.start(route, 10 * packet, no_latency, note);
  w.run();
  check_about(note.when, seconds(10 * packet_seconds));
}

}  // namespace packets_test

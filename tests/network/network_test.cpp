// Closed forms. Capacities are in bytes per second; 1e6 bytes at 1e6 bytes per second take a second.
#include <doctest/doctest.h>

#include <limits>
#include <stdexcept>
#include <vector>

#include "tests/network/world.hpp"

namespace network_test {

using namespace straggler;

TEST_CASE("a message alone takes latency plus bytes over the narrowest link") {
  World w;
  const LinkId route[] = {w.network.add_link(2e6), w.network.add_link(1e6), w.network.add_link(3e6)};
  Note note(w.queue);
  const FlowId id = w.network.start(route, 5e5, seconds(0.25), note);
  CHECK(w.network.flows() == 1);
  CHECK(w.network.rate(id) == 0);
  w.run_until(0.5);
  CHECK(w.network.rate(id) == doctest::Approx(1e6));
  w.run();
  check_about(note.when, seconds(0.25 + 0.5));
  CHECK(note.times == 1);
  CHECK(w.network.flows() == 0);
  CHECK(w.network.rate(id) == 0);
}

TEST_CASE("completion is rounded up to a whole tick") {
  // 1 byte at 3e11 bytes per second: 3 1/3 ticks.
  World w;
  const LinkId link = w.network.add_link(3e11);
  Note note(w.queue);
  w.network.start({&link, 1}, 1, no_latency, note);
  w.run();
  CHECK(note.when == Time::from_ticks(4));
}

TEST_CASE("two flows on one link") {
  // 1e6 and 2e6 bytes start together, at half of 1e6 bytes/s each. The first is done at 2 s; by then the other has sent 1e6 and
  // needs 1 s more alone. The link was busy for 3 s with 3e6 bytes.
  World w;
  const LinkId link = w.network.add_link(1e6);
  Note small(w.queue), large(w.queue);
  w.network.start({&link, 1}, 1e6, no_latency, small);
  w.network.start({&link, 1}, 2e6, no_latency, large);
  w.run();
  check_about(small.when, seconds(2));
  check_about(large.when, seconds(3));
  CHECK(w.network.use(link).bytes == doctest::Approx(3e6).epsilon(1e-12));
  check_about(w.network.use(link).busy, seconds(3));
}

TEST_CASE("weights divide a link, and a late flow takes its share") {
  // Weights 1 and 3 on 4e6: 1e6 and 3e6 bytes/s. From 0.5 s a third flow of weight 4: 0.5e6, 1.5e6, 2e6.
  World w;
  const LinkId link = w.network.add_link(4e6);
  Note a(w.queue), b(w.queue), c(w.queue);
  const FlowId light = w.network.start({&link, 1}, 1e7, no_latency, a, 1), heavy = w.network.start({&link, 1}, 1e7, no_latency, b, 3);
  w.run_until(0.25);
  CHECK(w.network.rate(light) == doctest::Approx(1e6));
  CHECK(w.network.rate(heavy) == doctest::Approx(3e6));
  const FlowId late = w.network.start({&link, 1}, 1e7, seconds(0.25), c, 4);
  w.run_until(0.75);
  CHECK(w.network.rate(light) == doctest::Approx(0.5e6));
  CHECK(w.network.rate(heavy) == doctest::Approx(1.5e6));
  CHECK(w.network.rate(late) == doctest::Approx(2e6));
}

TEST_CASE("p workers into one server: each gets a p-th of the server's link") {
  for (const int p : {2, 3, 17, 100}) {
    CAPTURE(p);
    World w;
    const auto up = w.links(p, 1e6);
    const LinkId server = w.network.add_link(1e6);
    std::vector<Note> notes(static_cast<std::size_t>(p), Note(w.queue));
    for (std::size_t i = 0; i < notes.size(); ++i) {
      const LinkId route[] = {up[i], server};
      w.network.start(route, 1e5, no_latency, notes[i]);
    }
    w.run();
    for (const Note& note : notes) check_about(note.when, seconds(0.1 * p));
    check_about(w.network.use(server).busy, seconds(0.1 * p));
    CHECK(w.network.use(up[0]).bytes == doctest::Approx(1e5));
  }
}

TEST_CASE("clients behind slow private links leave their share to the others") {
  // Server 10e6. Twelve clients of 0.5e6 (6e6 together) and 8 of 4e6: these share 4e6, 0.5e6 each as well: all equal. With a
  // server of 14e6 they share 8e6: 1e6 each. With one of 100e6 nobody shares.
  struct Case {
    double server, slow, fast;
  };
  for (const Case& c : {Case{10e6, 0.5e6, 0.5e6}, {14e6, 0.5e6, 1e6}, {100e6, 0.5e6, 4e6}, {5e6, 0.25e6, 0.25e6}}) {
    CAPTURE(c.server);
    World w;
    const LinkId server = w.network.add_link(c.server);
    const auto narrow = w.links(12, 0.5e6), wide = w.links(8, 4e6);
    std::vector<Note> notes(20, Note(w.queue));
    std::vector<FlowId> ids;
    for (std::size_t i = 0; i < 20; ++i) {
      const LinkId route[] = {i < 12 ? narrow[i] : wide[i - 12], server};
      ids.push_back(w.network.start(route, 1e6, no_latency, notes[i]));
    }
    for (std::size_t i = 0; i < 20; ++i) CHECK(w.network.rate(ids[i]) == doctest::Approx(i < 12 ? c.slow : c.fast).epsilon(1e-12));
    w.run();
    // When the fast ones are done the slow ones may get more, at most what their own link gives.
    CHECK(notes[12].when <= notes[0].when);
    CHECK(w.network.use(server).bytes == doctest::Approx(20e6).epsilon(1e-12));
  }
}

TEST_CASE("no bytes, or no route: it arrives when the latency has passed, and not before the caller continues") {
  World w;
  const LinkId link = w.network.add_link(1e6);
  Note no_bytes(w.queue), no_route(w.queue), nothing(w.queue);
  w.network.start({&link, 1}, 0, seconds(0.5), no_bytes);
  w.network.start({}, 1e6, seconds(0.25), no_route);
  w.network.start({}, 0, no_latency, nothing);
  CHECK(nothing.times == 0);
  w.run();
  CHECK(no_bytes.when == seconds(0.5));
  CHECK(no_route.when == seconds(0.25));
  CHECK(nothing.when == Time());
  CHECK(w.network.use(link).bytes == 0);
  CHECK(w.network.use(link).busy == Time());
}

TEST_CASE("cancelling") {
  World w;
  const LinkId link = w.network.add_link(1e6);
  Note stays(w.queue), goes(w.queue);
  SUBCASE("on the way: the other takes over, and what was sent counts") {
    // Both at 0.5e6 until 1 s; then 0.5e6 of 1e6 bytes are left for 0.5 s. Carried: 1e6 and 0.5e6.
    w.network.start({&link, 1}, 1e6, no_latency, stays);
    const FlowId id = w.network.start({&link, 1}, 1e6, no_latency, goes);
    w.run_until(1);
    w.network.cancel(id);
    CHECK(w.network.use(link).bytes == doctest::Approx(1e6));
    w.run();
    check_about(stays.when, seconds(1.5));
    CHECK(w.network.use(link).bytes == doctest::Approx(1.5e6));
  }
  SUBCASE("during the latency: it never comes, and the clock does not wait for it") {
    const FlowId id = w.network.start({&link, 1}, 1e6, seconds(5), goes);
    w.network.start({&link, 1}, 1e6, seconds(1), stays);
    w.run_until(0.5);
    w.network.cancel(id);
    w.run();
    CHECK(w.queue.now() == stays.when);
    check_about(stays.when, seconds(2));
  }
  SUBCASE("at the instant it was started") {
    w.network.start({&link, 1}, 1e6, no_latency, stays);
    const FlowId on_link = w.network.start({&link, 1}, 1e6, no_latency, goes), empty = w.network.start({&link, 1}, 0, no_latency, goes);
    w.network.cancel(on_link);
    w.network.cancel(empty);
    w.run();
    check_about(stays.when, seconds(1));
  }
  SUBCASE("a second time, or after it has arrived, or when its place has another flow") {
    const FlowId id = w.network.start({&link, 1}, 1e6, no_latency, goes);
    w.network.cancel(id);
    const FlowId other = w.network.start({&link, 1}, 1e6, no_latency, stays);
    CHECK(other != id);
    w.network.cancel(id);
    w.run();
    check_about(stays.when, seconds(1));
    w.network.cancel(other);
    CHECK(w.network.flows() == 0);
  }
  CHECK(goes.times == 0);
  CHECK(stays.times == 1);
}

TEST_CASE("a change of capacity: what flowed before flowed at the old one") {
  // 1e6 bytes/s for 1 s, stopped for 2 s, then 2e6 bytes/s: 3e6 bytes take 1 + 2 + 1 s.
  for (const int flows : {1, 2, 40}) {
    CAPTURE(flows);
    World w;
    const LinkId link = w.network.add_link(1e6);
    std::vector<Note> notes(static_cast<std::size_t>(flows), Note(w.queue));
    FlowId id = 0;
    for (Note& note : notes) id = w.network.start({&link, 1}, 3e6 / flows, no_latency, note);
    w.run_until(1);
    w.network.set_capacity(link, 0);
    CHECK(w.network.rate(id) == 0);
    w.run_until(3);
    CHECK(w.network.use(link).bytes == doctest::Approx(1e6));
    CHECK(w.network.next() == Time::never());
    w.network.set_capacity(link, 2e6);
    w.run();
    for (const Note& note : notes) check_about(note.when, seconds(4));
    check_about(w.network.use(link).busy, seconds(4));
  }
}

TEST_CASE("a flow over a great many links is one flow") {
  // A fluid collective over 2,000 links of 1e6; one of them, shared with a small flow of weight 3 and 3e5 bytes, gives it 0.25e6
  // until that is done at 0.4 s. 1e6 - 1e5 bytes are left then: done at 0.4 + 0.9 s.
  World w;
  const auto route = w.links(2000, 1e6);
  Note collective(w.queue), small(w.queue);
  w.network.start(route, 1e6, no_latency, collective);
  w.network.start({&route[1234], 1}, 3e5, no_latency, small, 3);
  w.run();
  check_about(small.when, seconds(0.4));
  check_about(collective.when, seconds(1.3));
  CHECK(w.network.use(route[0]).bytes == doctest::Approx(1e6));
  CHECK(w.network.use(route[1234]).bytes == doctest::Approx(1.3e6));
  CHECK(w.network.use(route[1999]).busy == collective.when);
}

TEST_CASE("arrivals start and cancel flows, within the instant") {
  // Four flows of equal size are done at one instant; the first to arrive cancels the second and starts another.
  struct Meddler final : Arrival {
    void arrived() override {
      w->network.cancel(victim);
      w->network.start({&link, 1}, 1e6, no_latency, *note);
    }
    World* w = nullptr;
    LinkId link = 0;
    FlowId victim = 0;
    Note* note = nullptr;
  };
  World w;
  Meddler meddler;
  Note started(w.queue), victim(w.queue), other(w.queue);
  meddler.w = &w;
  meddler.link = w.network.add_link(1e6);
  meddler.note = &started;
  w.network.start({&meddler.link, 1}, 1e6, no_latency, meddler);
  meddler.victim = w.network.start({&meddler.link, 1}, 1e6, no_latency, victim);
  w.network.start({&meddler.link, 1}, 1e6, no_latency, other);
  w.network.start({&meddler.link, 1}, 1e6, no_latency, other);
  w.run();
  CHECK(victim.times == 0);
  CHECK(other.times == 2);
  check_about(other.when, seconds(4));
  check_about(started.when, seconds(5));
}

TEST_CASE("a flow of more than 100 days ends the run, unless it gets faster in time") {
  World w;
  const auto link = w.links(2, 1e-3);  // 1e6 bytes: 1e9 s
  Note note(w.queue), other(w.queue);
  SUBCASE("alone") { w.network.start({&link[0], 1}, 1e6, no_latency, note); }
  SUBCASE("with another") {
    w.network.start({&link[0], 1}, 1e6, no_latency, note);
    w.network.start({&link[0], 1}, 1e6, no_latency, other);
  }
  CHECK_THROWS_AS(w.run(), TimeOverflow);
}

TEST_CASE("a flow that is far too slow for now may wait for better times") {
  World w;
  const LinkId link = w.network.add_link(1e-3);
  Note note(w.queue);
  w.network.start({&link, 1}, 1e6, no_latency, note);
  w.run_until(1000);  // a byte is through
  w.network.set_capacity(link, 1e6);
  w.run();
  check_about(note.when, seconds(1000 + 0.999999));
}

TEST_CASE("unusable arguments are refused") {
  World w;
  const auto link = w.links(8, 1e6);
  Note note(w.queue);
  const LinkId unknown[] = {99}, twice[] = {1, 0, 1};
  const LinkId long_twice[] = {0, 1, 2, 3, 4, 5, 6, 0};
  CHECK_THROWS_AS(w.network.start(unknown, 1, no_latency, note), std::invalid_argument);
  CHECK_THROWS_AS(w.network.start(twice, 1, no_latency, note), std::invalid_argument);
  CHECK_THROWS_AS(w.network.start(long_twice, 1, no_latency, note), std::invalid_argument);
  CHECK_THROWS_AS(w.network.start(link, -1, no_latency, note), std::invalid_argument);
  CHECK_THROWS_AS(w.network.start(link, std::numeric_limits<double>::infinity(), no_latency, note), std::invalid_argument);
  CHECK_THROWS_AS(w.network.start(link, 1, no_latency, note, 0), std::invalid_argument);
  CHECK_THROWS_AS(w.network.start(link, 1, Time::from_ticks(-1), note), std::invalid_argument);
  CHECK_THROWS_AS(w.network.start(link, 1, Time::limit() + Time::from_ticks(1), note), TimeOverflow);
  CHECK_THROWS_AS(w.network.add_link(0), std::invalid_argument);
  CHECK_THROWS_AS(w.network.set_capacity(0, -1), std::invalid_argument);
  CHECK_THROWS_AS(w.network.set_capacity(8, 1), std::invalid_argument);
  CHECK(w.network.flows() == 0);
}

TEST_CASE("memory does not grow with flows that start and end") {
  // A long flow keeps the link's group alive while 200,000 short ones of ever longer size are cancelled behind it. Flow names
  // hold the place in their lower half: two places are ever used.
  World w;
  const LinkId link = w.network.add_link(1e6);
  Note note(w.queue);
  w.network.start({&link, 1}, 1e3, no_latency, note);
  std::uint32_t highest = 0;
  for (int i = 0; i < 200'000; ++i) {
    const FlowId id = w.network.start({&link, 1}, 1e9 - i, no_latency, note);
    highest = std::max(highest, static_cast<std::uint32_t>(id));
    w.network.cancel(id);
  }
  CHECK(highest == 1);
  w.run();
  CHECK(note.times == 1);
  check_about(note.when, seconds(1e-3));
}

}  // namespace network_test

// Closed forms of flows with volumes and of flows with a most. Capacities are in bytes per second.
#include <doctest/doctest.h>

#include <algorithm>
#include <limits>
#include <stdexcept>
#include <vector>

#include "tests/network/world.hpp"

namespace uneven_test {

using namespace straggler;

namespace {
constexpr double unlimited = std::numeric_limits<double>::infinity();
}

TEST_CASE("an uneven flow alone is held back by its narrowest link for its volume there") {
  // Rate x takes 2 x of 1e6 and 0.5 x of 3e5: at most 5e5 and 6e5. 1e6 bytes take 2 s; 2e6 and 5e5 bytes are carried.
  World w;
  const LinkId route[] = {w.network.add_link(1e6), w.network.add_link(3e5)};
  const double volumes[] = {2, 0.5};
  Note note(w.queue);
  const FlowId id = w.network.start({route, volumes, 1e6, seconds(0.25)}, note);
  w.run_until(1);
  CHECK(w.network.rate(id) == doctest::Approx(5e5));
  CHECK(w.network.use(route[0]).bytes == doctest::Approx(2 * 5e5 * 0.75));
  w.run();
  check_about(note.when, seconds(2.25));
  CHECK(w.network.use(route[0]).bytes == doctest::Approx(2e6));
  CHECK(w.network.use(route[1]).bytes == doctest::Approx(5e5));
  CHECK(w.network.use(route[0]).capacity_bytes == doctest::Approx(2e6));
  CHECK(w.network.use(route[1]).capacity_bytes == doctest::Approx(6e5));
}

TEST_CASE("max-min makes levels fair: rate per weight, for any volume") {
  // Weights 1 and 3, volumes 1 and 2: 7e6 = level * (1 + 3 * 2). Then a third of weight 1 and volume 3: 7e6 = level * (1 + 6 + 3).
  World w;
  const LinkId link = w.network.add_link(7e6);
  const double two[] = {2}, three[] = {3};
  Note a(w.queue), b(w.queue), c(w.queue);
  const FlowId plain = w.network.start({&link, 1}, 1e7, no_latency, a);
  const FlowId twice = w.network.start({{&link, 1}, two, 1e7, no_latency, 3}, b);
  CHECK(w.network.rate(plain) == doctest::Approx(1e6));
  CHECK(w.network.rate(twice) == doctest::Approx(3e6));
  const FlowId thrice = w.network.start({{&link, 1}, three, 1e7, no_latency}, c);
  CHECK(w.network.rate(plain) == doctest::Approx(0.7e6));
  CHECK(w.network.rate(twice) == doctest::Approx(2.1e6));
  CHECK(w.network.rate(thrice) == doctest::Approx(0.7e6));
  w.run();
  CHECK(w.network.use(link).bytes == doctest::Approx(6e7));
  CHECK(w.network.worst_overload() == 0);
}

TEST_CASE("a flow with a most never exceeds it and leaves the rest to the others") {
  World w;
  const LinkId link = w.network.add_link(1e6);
  Note slow(w.queue), other(w.queue);
  const FlowId capped = w.network.start({{&link, 1}, {}, 2e5, no_latency, 1, 1e5}, slow);
  CHECK(w.network.rate(capped) == doctest::Approx(1e5));
  SUBCASE("alone") {
    w.run();
    check_about(slow.when, seconds(2));
  }
  SUBCASE("with one that takes what is left: 0.9e6 bytes in a second") {
    w.network.start({&link, 1}, 0.9e6, no_latency, other);
    w.run();
    check_about(other.when, seconds(1));
    check_about(slow.when, seconds(2));
  }
  SUBCASE("with nineteen more, which leave it less: 5e4 each, the first second") {
    std::vector<Note> notes(19, Note(w.queue));
    for (Note& note : notes) w.network.start({&link, 1}, 5e4, no_latency, note);
    CHECK(w.network.rate(capped) == doctest::Approx(5e4));
    w.run();
    check_about(notes[0].when, seconds(1));
    check_about(slow.when, seconds(1 + 1.5e5 / 1e5));
  }
  SUBCASE("the link slows down below it for a second, to 2e4, and is twice as fast then: 1 s at 1e5, 1 s at 2e4, 0.8 s at 1e5") {
    w.run_until(1);
    w.network.set_capacity(link, 2e4);
    CHECK(w.network.rate(capped) == doctest::Approx(2e4));
    w.run_until(2);
    w.network.set_capacity(link, 2e6);
    CHECK(w.network.rate(capped) == doctest::Approx(1e5));
    w.run();
    check_about(slow.when, seconds(2.8));
    CHECK(w.network.use(link).capacity_bytes == doctest::Approx(1e6 + 2e4 + 0.8 * 2e6));
  }
  SUBCASE("cancelled half way") {
    w.run_until(1);
    w.network.cancel(capped);
    w.run();
    CHECK(slow.times == 0);
    CHECK(w.network.use(link).bytes == doctest::Approx(1e5));
  }
  CHECK(w.network.worst_overload() == 0);
}

TEST_CASE("a rate cap acts as a private link of the flow, also without a route") {
  World w;
  Note note(w.queue), at_once(w.queue);
  w.network.start({{}, {}, 1e6, seconds(0.5), 1, 4e6}, note);
  w.network.start({{}, {}, 0, seconds(0.5), 1, 4e6}, at_once);
  w.run();
  check_about(note.when, seconds(0.75));
  CHECK(at_once.when == seconds(0.5));
}

TEST_CASE("an uneven flow among many plain ones behind private links") {
  // A server of 21e6: 40 workers with 1e6 links of their own, and one uneven flow that takes 2 x of it: level 21e6 / (40 + 2) = 0.5e6,
  // all the same. When it is cancelled they get 21e6 / 40.
  World w;
  const LinkId server = w.network.add_link(21e6);
  const auto up = w.links(41, 1e6);
  std::vector<Note> notes(41, Note(w.queue));
  std::vector<FlowId> ids;
  for (std::size_t i = 0; i < 40; ++i) {
    const LinkId route[] = {up[i], server};
    ids.push_back(w.network.start(route, 1e6, no_latency, notes[i]));
  }
  CHECK(w.network.rate(ids[0]) == doctest::Approx(21e6 / 40));
  const LinkId route[] = {server, up[40]};
  const double volumes[] = {2, 1};
  const FlowId uneven = w.network.start({route, volumes, 1e9, no_latency}, notes[40]);
  CHECK(w.network.rate(ids[7]) == doctest::Approx(0.5e6));
  CHECK(w.network.rate(uneven) == doctest::Approx(0.5e6));
  w.network.cancel(uneven);
  CHECK(w.network.rate(ids[7]) == doctest::Approx(21e6 / 40));
  w.run();
  check_about(notes[39].when, seconds(40.0 / 21));
  CHECK(w.network.worst_overload() == 0);
}

TEST_CASE("a collective with volumes over a great many links is one flow") {
  // Over 3,000 links of 1e6 listed backwards, with volume 1 on even and 2 on odd ones: 5e5 alone, for its 1e6 bytes. On one odd link a
  // plain flow of weight 1 and 1e5 bytes: level 1e6 / 3 for both, until 0.3 s; then 9e5 bytes are left for 1.8 s.
  World w;
  auto route = w.links(3000, 1e6);
  std::reverse(route.begin(), route.end());
  std::vector<double> volumes;
  for (const LinkId l : route) volumes.push_back(l % 2 ? 2 : 1);
  Note collective(w.queue), small(w.queue);
  w.network.start({route, volumes, 1e6, no_latency}, collective);
  const LinkId shared = 1235;
  w.network.start({&shared, 1}, 1e5, no_latency, small);
  w.run();
  check_about(small.when, seconds(0.3));
  check_about(collective.when, seconds(0.3 + 1.8));
  CHECK(w.network.use(0).bytes == doctest::Approx(1e6));
  CHECK(w.network.use(1).bytes == doctest::Approx(2e6));
  CHECK(w.network.use(shared).bytes == doctest::Approx(2.1e6));
  CHECK(w.network.worst_overload() == 0);
}

TEST_CASE("unusable volumes and mosts are refused") {
  World w;
  const auto link = w.links(2, 1e6);
  Note note(w.queue);
  const double one[] = {1}, zero[] = {1, 0}, endless[] = {unlimited, 1}, fine[] = {1, 2};
  CHECK_THROWS_AS(w.network.start({link, one, 1}, note), std::invalid_argument);
  CHECK_THROWS_AS(w.network.start({link, zero, 1}, note), std::invalid_argument);
  CHECK_THROWS_AS(w.network.start({link, endless, 1}, note), std::invalid_argument);
  CHECK_THROWS_AS(w.network.start({link, fine, 1, no_latency, 1, 0}, note), std::invalid_argument);
  CHECK_THROWS_AS(w.network.start({link, fine, 1, no_latency, 1, std::numeric_limits<double>::quiet_NaN()}, note), std::invalid_argument);
  CHECK_THROWS_AS(w.network.start({link, fine, -1}, note), std::invalid_argument);
  CHECK_THROWS_AS(w.network.start({link, fine, 1, Time::from_ticks(-1)}, note), std::invalid_argument);
  CHECK(w.network.flows() == 0);
  w.network.start({link, fine, 1}, note);
  w.run();
  CHECK(note.times == 1);
}

TEST_CASE("a most that would take more than 100 days ends the run") {
  World w;
  Note note(w.queue);
  w.network.start({{}, {}, 1e6, no_latency, 1, 1e-3}, note);
  CHECK_THROWS_AS(w.run(), TimeOverflow);
}

TEST_CASE("memory does not grow with uneven flows that start and end") {
  World w;
  const auto route = w.links(9, 1e6);
  const std::vector<double> volumes(9, 0.5);
  Note note(w.queue);
  std::uint32_t highest = 0;
  w.network.start({&route[3], 1}, 1e3, no_latency, note);
  for (int i = 0; i < 20'000; ++i) {
    const FlowId id = w.network.start({route, volumes, 1e9 - i, no_latency, 1, 1e5}, note);
    highest = std::max(highest, static_cast<std::uint32_t>(id));
    if (i % 2) w.network.settle();
    w.network.cancel(id);
  }
  CHECK(highest == 1);
  w.run();
  CHECK(note.times == 1);
  check_about(note.when, seconds(1e-3));
}

}  // namespace uneven_test

// Without contention every flow has the whole of its narrowest link.
#include <doctest/doctest.h>

#include <stdexcept>
#include <vector>

#include "tests/network/world.hpp"

namespace no_contention_test {

using namespace straggler;

namespace {
struct Empty : World {
  Empty() { network.set_contention(false); }
};
}  // namespace

TEST_CASE("no contention: p flows on one link take as long as one") {
  Empty w;
  const LinkId link = w.network.add_link(1e6);
  std::vector<Note> notes(50, Note(w.queue));
  FlowId id = 0;
  for (Note& note : notes) id = w.network.start({&link, 1}, 1e6, no_latency, note, 3);
  CHECK(w.network.rate(id) == doctest::Approx(1e6));
  w.run_until(0.5);
  CHECK(w.network.use(link).bytes == doctest::Approx(25e6));
  w.network.cancel(id);
  w.run();
  for (std::size_t i = 0; i < 49; ++i) check_about(notes[i].when, seconds(1));
  CHECK(notes[49].times == 0);
  CHECK(w.network.use(link).bytes == doctest::Approx(49.5e6));
  check_about(w.network.use(link).busy, seconds(1));
  CHECK(w.network.worst_overload() == 0);
}

TEST_CASE("no contention: volumes and mosts hold back") {
  Empty w;
  const LinkId route[] = {w.network.add_link(1e6), w.network.add_link(3e6)};
  const double volumes[] = {0.5, 2};  // at most 2e6 and 1.5e6
  Note a(w.queue), b(w.queue), c(w.queue);
  w.network.start({route, volumes, 3e6}, a);
  w.network.start({route, volumes, 3e6, no_latency, 1, 1e6}, b);
  w.network.start({{}, {}, 3e6, no_latency, 1, 0.5e6}, c);
  w.run();
  check_about(a.when, seconds(2));
  check_about(b.when, seconds(3));
  check_about(c.when, seconds(6));
  CHECK(w.network.use(route[0]).bytes == doctest::Approx(3e6));
  CHECK(w.network.use(route[1]).bytes == doctest::Approx(12e6));
}

TEST_CASE("no contention: a change of capacity acts at once, whichever link is the narrowest then") {
  // Links of 1e6 and 2e6. Two flows over both: 1e6 each. At 1 s the first link gets 4e6: the second holds them back, 2e6. At 2 s the
  // second is stopped, at 3 s it has 5e6: the first holds them back, 4e6. 1 + 2 + 0 + 4 * 0.5 = 5e6 bytes at 3.5 s.
  Empty w;
  const LinkId route[] = {w.network.add_link(1e6), w.network.add_link(2e6)};
  Note a(w.queue), b(w.queue);
  const FlowId id = w.network.start(route, 5e6, no_latency, a);
  w.network.start(route, 5e6, no_latency, b);
  w.run_until(1);
  w.network.set_capacity(route[0], 4e6);
  CHECK(w.network.rate(id) == doctest::Approx(2e6));
  w.run_until(2);
  w.network.set_capacity(route[1], 0);
  CHECK(w.network.rate(id) == 0);
  w.run_until(3);
  CHECK(w.network.use(route[0]).bytes == doctest::Approx(6e6));
  w.network.set_capacity(route[1], 5e6);
  CHECK(w.network.rate(id) == doctest::Approx(4e6));
  w.run();
  check_about(a.when, seconds(3.5));
  check_about(b.when, seconds(3.5));
  CHECK(w.network.use(route[1]).capacity_bytes == doctest::Approx(2e6 + 2e6 + 0 + 0.5 * 5e6));
}

TEST_CASE("no contention is decided before the first flow") {
  World w;
  const LinkId link = w.network.add_link(1e6);
  w.network.set_contention(false);
  CHECK_THROWS_AS(w.network.set_bucket(link, 1e5, 2e6), std::logic_error);
  w.network.set_contention(true);
  Note note(w.queue);
  w.network.start({&link, 1}, 1, no_latency, note);
  CHECK_THROWS_AS(w.network.set_contention(false), std::logic_error);
  w.run();
}

}  // namespace no_contention_test

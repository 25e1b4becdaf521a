// Closed forms of token buckets. With capacity C, burst B and peak P a full bucket, loaded at P, is empty after B / (P - C); P B / (P - C)
// bytes have gone by then. What comes after goes at C: m bytes take B / (P - C) + (m - P B / (P - C)) / C = (m - B) / C in all.
#include <doctest/doctest.h>

#include <stdexcept>
#include <vector>

#include "tests/network/world.hpp"

namespace bucket_test {

using namespace straggler;

namespace {

constexpr double C = 1e6, P = 5e6, B = 2e5;  // empty after 0.05 s, 2.5e5 bytes

double seconds_for(double bytes, double tokens = B) { return bytes <= P * tokens / (P - C) ? bytes / P : (bytes - tokens) / C; }

struct Loaded : World {
  LinkId bucket(double capacity = C, double burst = B, double peak = P) {
    const LinkId link = network.add_link(capacity);
    network.set_bucket(link, burst, peak);
    return link;
  }
};

}  // namespace

TEST_CASE("a message on an idle network: at the peak while the burst lasts, at the capacity after it") {
  for (const double bytes : {1.0, 1e5, 2.49e5, 2.5e5, 2.51e5, 1e6}) {
    for (const int buckets : {1, 2}) {  // two on a route drain at once
      CAPTURE(bytes);
      CAPTURE(buckets);
      Loaded w;
      std::vector<LinkId> route{w.network.add_link(7e6)};
      for (int i = 0; i < buckets; ++i) route.push_back(w.bucket());
      Note note(w.queue);
      w.network.start(route, bytes, no_latency, note);
      w.run();
      check_about(note.when, seconds(seconds_for(bytes)));
      CHECK(w.queue.now() == note.when);  // filling up again is no event
      CHECK(w.network.use(route[1]).bytes == doctest::Approx(bytes));
      CHECK(w.network.use(route[1]).capacity_bytes == doctest::Approx(C * note.when.seconds() + B));
      CHECK(w.network.worst_overload() == 0);
    }
  }
}

TEST_CASE("of two unequal buckets on a route the one that empties first slows the flow down, and the other fills up meanwhile") {
  // The second, with three times the burst and C' = 2e6, P' = 8e6, lets 5e6 through and loses 3e6 a second; at 0.05 s it has lost
  // 1.5e5 of its 6e5 bytes. From then on it gains 1e6 a second, and is full after another 0.15 s.
  Loaded w;
  const LinkId route[] = {w.bucket(), w.bucket(2e6, 6e5, 8e6)};
  Note note(w.queue), burst(w.queue);
  w.network.start(route, 4.5e5, no_latency, note);
  w.run_until(0.15);
  const FlowId second = w.network.start({&route[1], 1}, 1e9, no_latency, burst);
  // The two share 8e6; the first still gets 1e6 only. The second bucket, with 5.5e5 bytes, loses 6e6 a second: empty at 0.241666... s.
  CHECK(w.network.rate(second) == doctest::Approx(7e6));
  w.run_until(0.15 + 5.5e5 / 6e6 - 1e-6);
  CHECK(w.network.rate(second) == doctest::Approx(7e6));
  w.run_until(0.15 + 5.5e5 / 6e6 + 1e-6);
  CHECK(w.network.rate(second) == doctest::Approx(1e6));
  w.network.cancel(second);
  w.run();
  check_about(note.when, seconds(seconds_for(4.5e5)));
  CHECK(w.network.worst_overload() == 0);
}

TEST_CASE("between messages the bucket fills up again, at the capacity") {
  for (const double pause : {0.01, 0.1, 0.2, 1.0}) {
    CAPTURE(pause);
    Loaded w;
    const LinkId link = w.bucket();
    Note first(w.queue), second(w.queue);
    w.network.start({&link, 1}, 1e6, no_latency, first);
    w.run();
    w.network.start({&link, 1}, 4e5, seconds(pause), second);
    w.run();
    const double tokens = std::min(B, pause * C);
    check_about(second.when, first.when + seconds(pause) + seconds(seconds_for(4e5, tokens)));
    CHECK(w.network.use(link).capacity_bytes == doctest::Approx(C * w.network.use(link).busy.seconds() + B + tokens));
    CHECK(w.network.worst_overload() == 0);
  }
}

TEST_CASE("under a light load a bucket refills at the unused rate") {
  // After the burst a flow with a most of 4e5 runs for 0.25 s: 0.6e6 * 0.25 = 1.5e5 bytes come back. A second flow then gets 4.6e6, and
  // the bucket loses 4e6 a second.
  Loaded w;
  const LinkId link = w.bucket();
  Note first(w.queue), light(w.queue), second(w.queue);
  w.network.start({&link, 1}, 1e6, no_latency, first);
  w.run();
  const double begin = first.when.seconds();
  w.network.start({{&link, 1}, {}, 1e6, no_latency, 1, 4e5}, light);
  w.run_until(begin + 0.25);
  const FlowId id = w.network.start({&link, 1}, 1e6, no_latency, second);
  CHECK(w.network.rate(id) == doctest::Approx(4.6e6));
  w.run_until(begin + 0.25 + 1.5e5 / 4e6 - 1e-6);
  CHECK(w.network.rate(id) == doctest::Approx(4.6e6));
  w.run_until(begin + 0.25 + 1.5e5 / 4e6 + 1e-6);
  CHECK(w.network.rate(id) == doctest::Approx(0.6e6));
  w.run();
  CHECK(w.network.worst_overload() == 0);
}

TEST_CASE("incast: n workers onto one link with a bucket") {
  for (const int n : {2, 3, 40}) {
    for (const double own : {1e6, 1e7}) {  // the workers' own links; slower than the peak only if there are few
      CAPTURE(n);
      CAPTURE(own);
      Loaded w;
      const LinkId server = w.bucket();
      const auto up = w.links(n, own);
      std::vector<Note> notes(static_cast<std::size_t>(n), Note(w.queue));
      for (std::size_t i = 0; i < notes.size(); ++i) {
        const LinkId route[] = {up[i], server};
        w.network.start(route, 1e6 / n, no_latency, notes[i]);
      }
      w.run();
      // At min(n own, P) until the bucket is empty, at C then: whatever the first rate is, C t + B bytes are through at t.
      for (const Note& note : notes) check_about(note.when, seconds((1e6 - B) / C));
      CHECK(w.network.worst_overload() == 0);
    }
  }
}

TEST_CASE("an empty bucket that has regained less than 1/1024 of its burst stays at the capacity") {
  for (const double part : {0.9, 1.1}) {
    Loaded w;
    const LinkId link = w.bucket();
    Note first(w.queue), second(w.queue);
    w.network.start({&link, 1}, 1e6, no_latency, first);
    w.run();
    const FlowId id = w.network.start({&link, 1}, 1e5, seconds(part * B / 1024 / C), second);
    w.run_until(first.when.seconds() + part * B / 1024 / C);
    CHECK(w.network.rate(id) == doctest::Approx(part > 1 ? P : C));
    w.run();
  }
}

TEST_CASE("a change of capacity changes the peak in proportion; a link that is down carries nothing, even with tokens") {
  // 0.01 s at 5e6: 5e4 bytes, 4e4 tokens gone. Down for 0.1 s. At half its capacity and peak: 1.6e5 tokens last 0.08 s, in which 2e5
  // bytes go; the other 1e5 of 3.5e5 take 0.2 s.
  Loaded w;
  const LinkId link = w.bucket();
  Note note(w.queue);
  const FlowId id = w.network.start({&link, 1}, 3.5e5, no_latency, note);
  w.run_until(0.01);
  w.network.set_capacity(link, 0);
  CHECK(w.network.rate(id) == 0);
  w.run_until(0.11);
  CHECK(w.network.use(link).bytes == doctest::Approx(5e4));
  w.network.set_capacity(link, C / 2);
  CHECK(w.network.rate(id) == doctest::Approx(P / 2));
  w.run();
  check_about(note.when, seconds(0.11 + 0.08 + 0.2));
  CHECK(w.network.use(link).capacity_bytes == doctest::Approx(0.01 * C + 0.28 * C / 2 + B));
  CHECK(w.network.worst_overload() == 0);
}

TEST_CASE("volumes count when tokens are taken") {
  // Rate x takes 2 x: at peak 2.5e6 for 0.05 s, 1.25e5 bytes; the other 1.75e5 at 0.5e6.
  Loaded w;
  const LinkId link = w.bucket();
  const double volume[] = {2};
  Note note(w.queue);
  w.network.start({{&link, 1}, volume, 3e5}, note);
  w.run();
  check_about(note.when, seconds(0.05 + 1.75e5 / 0.5e6));
}

TEST_CASE("a flow that ends at the moment at which the bucket is empty") {
  Loaded w;
  const LinkId link = w.bucket();
  Note a(w.queue), b(w.queue);
  w.network.start({&link, 1}, 1.25e5, no_latency, a);  // two halves of the 2.5e5 bytes that go at the peak
  w.network.start({&link, 1}, 1.25e5, no_latency, b);
  w.run();
  check_about(a.when, seconds(0.05));
  check_about(b.when, seconds(0.05));
  w.network.start({&link, 1}, 1e5, no_latency, a);
  w.run();
  check_about(a.when, seconds(0.05 + 0.1));
}

TEST_CASE("the default peak drains a full bucket in 100 ns") {
  const double burst = 131072, capacity = 12.5e9, peak = default_peak(burst, capacity);
  CHECK(burst / (peak - capacity) == doctest::Approx(100e-9));
  Loaded w;
  const LinkId link = w.bucket(capacity, burst, peak);
  Note note(w.queue);
  w.network.start({&link, 1}, 1e6, no_latency, note);
  w.run();
  check_about(note.when, seconds((1e6 - burst) / capacity));
}

TEST_CASE("a bucket may be lent to a network that dies while it drains") {
  EventQueue queue;
  {
    Network network(queue);
    const LinkId link = network.add_link(C);
    network.set_bucket(link, B, P);
    Note note(queue);
    network.start({&link, 1}, 1e6, no_latency, note);
    network.settle();
    CHECK(queue.pending() > 0);
  }
  CHECK(queue.pending() == 0);
}

TEST_CASE("unusable buckets are refused") {
  Loaded w;
  const LinkId link = w.network.add_link(C);
  CHECK_THROWS_AS(w.network.set_bucket(link, 0, P), std::invalid_argument);
  CHECK_THROWS_AS(w.network.set_bucket(link, INFINITY, P), std::invalid_argument);
  CHECK_THROWS_AS(w.network.set_bucket(link, B, C), std::invalid_argument);
  CHECK_THROWS_AS(w.network.set_bucket(link, B, INFINITY), std::invalid_argument);
  CHECK_THROWS_AS(w.network.set_bucket(link + 1, B, P), std::invalid_argument);
  w.network.set_bucket(link, B, P);
  CHECK_THROWS_AS(w.network.set_contention(false), std::logic_error);
  w.network.set_bucket(link, B / 2, 2 * P);  // the last word counts
  Note note(w.queue);
  w.network.start({&link, 1}, 1e5 * 2 * P / (2 * P - C), no_latency, note);
  CHECK_THROWS_AS(w.network.set_bucket(link, B, P), std::logic_error);
  CHECK_THROWS_AS(w.network.set_contention(false), std::logic_error);
  w.run();
  check_about(note.when, seconds(1e5 / (2 * P - C)));
}

}  // namespace bucket_test

// Gloo's ring: its segments, and how long they wait for each other.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <queue>
#include <tuple>
#include <vector>

#include "tests/collectives/world.hpp"

namespace gloo_test {

using namespace straggler;

namespace {

constexpr double latency = 1e-6, bandwidth = 12.5e9;  // of a card's link: a message crosses two
const UniformLinks links{2 * latency, 1 / bandwidth};
constexpr std::uint64_t mebi = 1 << 20;

void check_close(double a, double b, double tolerance) { CHECK_MESSAGE(std::abs(a - b) <= tolerance * b, a, " s and ", b, " s"); }

// gloo/allreduce.cc and gloo/transport/tcp/pair.cc once more, event by event. Ranks of a ring do the same at each moment, so one of them
// stands for all. Ticks until the last segment of a half of the ring has come. `adds`: each rank adds a segment up before it posts the next
// receive; what comes in the same moment is served first.
std::uint64_t gloo_half(std::size_t segments, std::uint64_t flowing, std::uint64_t way, bool adds) {
  enum Kind { segment_comes, word_comes };
  using Happens = std::tuple<std::uint64_t, int, Kind, std::size_t>;  // when, order in one moment
  std::priority_queue<Happens, std::vector<Happens>, std::greater<>> events;
  std::uint64_t link_free = 0, now = 0;
  // The word waits for the bytes that are leaving; so does the next segment.
  const auto post = [&](std::size_t segment) { events.push({std::max(now, link_free) + way, adds ? 0 : 1, word_comes, segment}); };
  for (std::size_t segment = 0; segment < std::min<std::size_t>(2, segments); ++segment) post(segment);
  while (!events.empty()) {
    const auto [when, order, kind, segment] = events.top();
    events.pop();
    now = when;
    if (kind == word_comes) {
      link_free = std::max(now, link_free) + flowing;
      events.push({link_free + way, adds ? 1 : 0, segment_comes, segment});
    } else if (segment + 2 < segments) {
      post(segment + 2);
    }
  }
  return now;
}

}  // namespace

TEST_CASE("gloo: two segments of at most 1 MiB are in progress each way, and each waits for its receiver's word") {
  constexpr double tick = 1e-6;
  for (const std::size_t p : {2u, 3u, 4u, 5u, 8u, 16u}) {
    for (const std::uint64_t segments : {2u, 3u, 7u, 16u}) {
      for (const std::uint64_t flowing : {2u, 30u, 1000u, 8000u}) {
        for (const std::uint64_t way : {2u, 30u, 40u, 1000u, 20000u}) {
          CAPTURE(p);
          CAPTURE(segments);
          CAPTURE(flowing);
          CAPTURE(way);
          const std::uint64_t bytes = p * mebi * segments, of_half = (p - 1) * segments;
          const std::uint64_t both = gloo_half(of_half, flowing, way, true) + gloo_half(of_half, flowing, way, false);
          const std::uint64_t expected = 2 * of_half * flowing + 4 * way + (of_half - 1) / 2 * (4 * way - std::min(way, 2 * flowing));
          // Where a word that is a little late would find the next segment leaving, the formula is longer.
          CHECK(both <= expected);
          if (way < flowing || way >= 2 * flowing) CHECK(expected <= both + (of_half % 2 == 0 ? 0 : way));
          const double per_byte = static_cast<double>(flowing) * tick / mebi, seconds = static_cast<double>(expected) * tick;
          const Nic slow{1 / per_byte, 1 / per_byte, Time::from_seconds(static_cast<double>(way) * tick / 2)};
          const UniformLinks ways{static_cast<double>(way) * tick, per_byte};
          World world(equal_hosts(p, 1, 0, slow));
          const CollectiveShape shape{p, 0, {}};
          const auto schedule = make_schedule(collective("gloo"), bytes, shape, ways);
          check_close(collective("gloo").seconds(static_cast<double>(bytes), shape, ways, {}), seconds, 1e-9);
          check_close(world.fluid(*schedule, {}), seconds, 1e-6);
          if (p <= 5) check_close(world.stepwise(*schedule, {}), seconds, 1e-6);
        }
      }
    }
  }
}

TEST_CASE("gloo: a ring of at least two segments a chunk, of at most 1 MiB; small ones pay each step's latency twice") {
  for (const std::size_t p : {2u, 3u, 8u}) {
    for (const std::uint64_t bytes : {std::uint64_t{4}, mebi, 2 * p * mebi, 2 * p * mebi + p, 64 * mebi}) {
      CAPTURE(p);
      CAPTURE(bytes);
      const CollectiveShape shape{p, 0, {}};
      World world(equal_hosts(p, 1, 0, {bandwidth, bandwidth, Time::from_seconds(latency)}));
      const auto schedule = make_schedule(collective("gloo"), bytes, shape, links);
      const double seconds = world.stepwise(*schedule, {});
      check_close(seconds, collective("gloo").seconds(static_cast<double>(bytes), shape, links, {}), 0.001);
      const std::uint64_t segments = std::max<std::uint64_t>(2, (bytes + p * mebi - 1) / (p * mebi));
      CHECK(world.messages == 2 * (p - 1) * p * segments);
      check_close(world.fluid(*schedule, {}), seconds, 0.001);
      if (bytes == 4) check_close(seconds, 4 * static_cast<double>(p - 1) * 2 * latency, 0.001);
    }
  }
}

}  // namespace gloo_test

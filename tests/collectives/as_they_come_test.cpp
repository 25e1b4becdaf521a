// Ranks that begin when they come: what they wait for, what they do not, and when each is done.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <vector>

#include "sim/collectives/message_run.hpp"
#include "tests/collectives/world.hpp"

namespace as_they_come_test {

using namespace straggler;

namespace {

constexpr double alpha = 10e-6, bytes_per_second = 1e9;
const Nic nic{bytes_per_second, bytes_per_second, Time::from_seconds(alpha / 2)};

/// One or several collectives on a world, and when which rank is done.
class AsTheyCome final : private CollectiveWatch {
 public:
  explicit AsTheyCome(World& world, const CollectiveCosts& costs = {}, std::uint64_t eager_most = MessageRun::any_size)
      : world_(world), run_(world.simulation, world.network, *world.transport, costs, MessageRun::Start::as_they_come, eager_most, *this) {}

  /// Rank i begins at `begins[i]` seconds. Seconds at which each rank is done.
  std::vector<double> run(const CollectiveSchedule& schedule, const std::vector<double>& begins) {
    std::vector<std::uint32_t> places(schedule.ranks());
    std::iota(places.begin(), places.end(), 0u);
    sent.assign(schedule.ranks(), 0);
    received.assign(schedule.ranks(), 0);
    ends_.assign(schedule.ranks(), -1);
    const std::uint64_t number = run_.open(schedule, places);
    std::vector<Start> starts(schedule.ranks());
    for (std::size_t rank = 0; rank < starts.size(); ++rank) {
      starts[rank].begin = [this, number, rank] { run_.begin(number, static_cast<CollectiveRank>(rank)); };
      world_.simulation.queue().at(Time::from_seconds(begins[rank]), starts[rank]);
    }
    world_.simulation.run();
    CHECK(world_.network.flows() == 0);
    CHECK(under_way == 0);
    return ends_;
  }
  std::vector<std::uint64_t> sent, received;
  std::uint64_t under_way = 0;
  std::uint64_t messages() const { return run_.messages(); }

 private:
  struct Start final : Event {
    void happen() override { begin(); }
    std::function<void()> begin;
  };
  void posted(std::uint64_t, CollectiveRank from, CollectiveRank, std::uint64_t bytes) override {
    sent[from] += bytes;
    under_way += bytes;
  }
  void arrived(CollectiveRank, CollectiveRank to, std::uint64_t bytes) override {
    received[to] += bytes;
    under_way -= bytes;
  }
  void done(std::uint64_t, CollectiveRank rank) override {
    CHECK(ends_[rank] == -1);
    ends_[rank] = world_.simulation.now().seconds();
  }
  World& world_;
  std::vector<double> ends_;
  MessageRun run_;
};

void check_near(double a, double b) { CHECK_MESSAGE(std::abs(a - b) <= 1e-9 * std::max(b, 1e-3), a, " s and ", b, " s"); }

std::vector<double> late(std::size_t ranks, std::size_t which, double by) {
  std::vector<double> begins(ranks, 0);
  begins[which] = by;
  return begins;
}

}  // namespace

TEST_CASE("two ranks, one late: it continues while its last message leaves") {
  // Halves of t seconds. Rank 1 comes at d. Rank 0's first half left at 0 and is there at t + a. Rank 1's first half leaves at d; its
  // second when rank 0's has come, at max(d, t + a), and the first has left, at d + t: it is with rank 0 at max(d + t, t + a) + t + a, and
  // rank 0 is done. Rank 0's second half leaves when rank 1's first has come, at d + t + a, and is with rank 1 at d + 2 t + 2 a.
  const double n = 2e6, t = n / 2 / bytes_per_second, a = alpha;
  for (const double d : {0.0, a / 2, a, t / 2, t, t + a, 1.5 * t, 20 * t}) {
    CAPTURE(d);
    World world(2, nic);
    AsTheyCome run(world);
    const auto ring = make_schedule(collective("ring"), static_cast<std::uint64_t>(n), {2, 0, {}});
    const std::vector<double> ends = run.run(*ring, late(2, 1, d));
    check_near(ends[0], std::max(d + t, t + a) + t + a);
    check_near(ends[1], d + 2 * t + 2 * a);
    CHECK(run.messages() == 4);
  }
}

TEST_CASE("three ranks, one late: the others have already forwarded what they could") {
  // Thirds of t seconds; 0 sends to 1, 1 to 2, 2 to 0. Rank 2 comes at d, long after the others. Round k of rank r is its k-th message.
  // - Rank 1's rounds 0 and 1 need nothing of rank 2 and are there. So rank 2 posts its rounds 0, 1 and 2 at d: they are with rank 0 at
  //   d + t + a, d + 2 t + a, d + 3 t + a.
  // - Rank 0 has sent round 0, and sends 1, 2 and 3 as those come: with rank 1 at d + 2 t + 2 a, d + 3 t + 2 a, d + 4 t + 2 a, when rank 1
  // is
  //   done (round 0 of rank 0 it had before).
  // - Rank 1 sends rounds 2 and 3 when it has rounds 1 and 2 of rank 0: with rank 2 at d + 3 t + 3 a and d + 4 t + 3 a, when rank 2 is
  // done.
  // - Rank 2 sends round 3 when it has round 2 of rank 1: with rank 0 at d + 4 t + 4 a.
  const double n = 3e6, t = n / 3 / bytes_per_second, a = alpha, d = 50 * t;
  World world(3, nic);
  AsTheyCome run(world);
  const auto ring = make_schedule(collective("ring"), static_cast<std::uint64_t>(n), {3, 0, {}});
  const std::vector<double> ends = run.run(*ring, late(3, 2, d));
  check_near(ends[0], d + 4 * t + 4 * a);
  check_near(ends[1], d + 4 * t + 2 * a);
  check_near(ends[2], d + 4 * t + 3 * a);
}

TEST_CASE("a ring with a late rank and bursts: chunks that fit the buckets pass the links that waited at once") {
  // Chunks of n/p, as large as a bucket. All buckets are full when the late rank comes, at d; the others' messages are there. It posts p
  // messages at once: chunk j has left it when its link has carried j + 1 chunks, the first of them its bucket, after j t. Behind it every
  // link passes what comes at most so fast: at the peak, in e seconds, since its bucket refills between two chunks. Chunk j goes round, p
  // links; the late rank's last is p - 2: (p - 2) t + p (e + a) after d. Rounds that all begin together need 2 (p - 1) (t + a) less a
  // burst.
  const std::size_t p = 8;
  const double n = 8e6, chunk = n / static_cast<double>(p), t = chunk / bytes_per_second, a = alpha;
  const double peak = 1000 * bytes_per_second, e = chunk / peak, d = 100 * t;
  World world(p, nic);
  for (LinkId link = 0; link < world.network.links(); ++link) world.network.set_bucket(link, chunk, peak);
  AsTheyCome run(world);
  const auto ring = make_schedule(collective("ring"), static_cast<std::uint64_t>(n), {p, 0, {}});
  const double took = run.run(*ring, late(p, 3, d))[3] - d;
  const double expected = static_cast<double>(p - 2) * t + static_cast<double>(p) * (e + a);
  CHECK(std::abs(took - expected) < 0.02 * expected);
  CHECK(took < 0.5 * (2 * static_cast<double>(p - 1) * (t + a) - t));
}

TEST_CASE("a rendezvous waits for its receiver: a late rank holds up all") {
  // Nothing that counts happens before the late rank comes; then all rounds follow one another, each t + a.
  for (const std::size_t p : {2u, 3u, 5u}) {
    for (std::size_t which = 0; which < p; ++which) {
      CAPTURE(p);
      CAPTURE(which);
      const double n = 1e6 * static_cast<double>(p), t = 1e6 / bytes_per_second, d = 50 * t;
      World world(p, nic);
      AsTheyCome run(world, {}, 999'999);
      const auto ring = make_schedule(collective("ring"), static_cast<std::uint64_t>(n), {p, 0, {}});
      const double rounds = static_cast<double>(2 * (p - 1));
      for (const double end : run.run(*ring, late(p, which, d))) check_near(end, d + rounds * (t + alpha));
    }
  }
}

TEST_CASE("ranks that start together: a ring takes the time of its formula, eager or not, with arithmetic and processor time") {
  const double gamma = 2e-10, fixed = 3e-6, per_byte = 1e-10;
  for (const std::size_t p : {2u, 3u, 8u, 13u}) {
    for (const std::uint64_t eager_most : {MessageRun::any_size, std::uint64_t{0}}) {
      CAPTURE(p);
      CAPTURE(eager_most);
      const double chunk = 130'000, ranks = static_cast<double>(p);
      World world(p, nic);
      CollectiveCosts costs;
      costs.reduce_seconds_per_byte = gamma;
      costs.per_message = Time::from_seconds(fixed);
      costs.per_byte = per_byte;
      AsTheyCome run(world, costs, eager_most);
      const auto ring = make_schedule(collective("ring"), static_cast<std::uint64_t>(chunk * ranks), {p, 0, {}});
      const double round = 2 * (fixed + chunk * per_byte) + chunk / bytes_per_second + alpha;
      for (const double end : run.run(*ring, std::vector<double>(p, 0))) check_near(end, (ranks - 1) * (2 * round + chunk * gamma));
    }
  }
}

TEST_CASE("shared cores handle one message per core at a time") {
  // p ranks, all at once, one core, no bytes: in each round the core first handles p sends, then p receives; the first receive can begin a
  // after the first send, which is sooner than the last send ends. A rank sends its next as soon as it has received, behind what is
  // waiting. So the core is never idle after the first send until the last receive: 2 p handlings a round, 2 (p - 1) rounds.
  const double h = 20e-6;
  const std::size_t p = 4, rounds = 2 * (p - 1);
  for (const std::size_t cores : {1u, 2u, 4u, 100u}) {
    CAPTURE(cores);
    CorePool pool(cores);
    CollectiveCosts costs;
    costs.per_message = Time::from_seconds(h);
    costs.cores = &pool;
    World world(p, nic);
    AsTheyCome run(world, costs);
    const auto ring = make_schedule(collective("ring"), 0, {p, 0, {}});
    const std::vector<double> ends = run.run(*ring, std::vector<double>(p, 0));
    const double end = *std::max_element(ends.begin(), ends.end());
    if (cores == 1)
      check_near(end, static_cast<double>(2 * p * rounds) * h);
    else if (cores >= p)
      check_near(end, static_cast<double>(rounds) * (2 * h + alpha));
    else
      CHECK(end >= static_cast<double>(2 * p * rounds) * h / 2 - 1e-12);
  }
}

TEST_CASE("work goes to the core that was free for the shortest time, or is free first") {
  const auto us = [](int microseconds) { return Time::from_ticks(microseconds * 1'000'000LL); };
  CorePool pool(2);
  CHECK(pool.run(us(0), us(10)) == us(10));
  CHECK(pool.run(us(0), us(4)) == us(4));
  CHECK(pool.run(us(0), us(3)) == us(7));      // at 4
  CHECK(pool.run(us(12), us(1)) == us(13));    // on the one free since 10
  CHECK(pool.run(us(8), us(100)) == us(108));  // on the one free since 7
  CHECK(pool.run(us(9), us(5)) == us(18));     // both are taken: at 13
}

TEST_CASE("every algorithm, with any rank late: the same bytes, and no rank is done before all have begun") {
  for (const CollectiveEntry& entry : collectives()) {
    for (const std::size_t hosts : {2u, 3u, 4u, 5u, 8u, 11u}) {
      for (const std::size_t per_host : {1u, 2u}) {
        const Placement placement = equal_hosts(hosts, per_host, 2, nic);
        const CollectiveShape shape = shape_of(placement);
        if (!entry.unfit(shape).empty()) continue;
        for (const std::uint64_t eager_most : {MessageRun::any_size, std::uint64_t{20'000}, std::uint64_t{0}}) {
          const std::size_t p = shape.workers;
          const auto schedule = make_schedule(entry, 123'457, shape);
          for (std::size_t which = 0; which < p; ++which) {
            CAPTURE(entry.name);
            CAPTURE(p);
            CAPTURE(eager_most);
            CAPTURE(which);
            World world(placement);
            AsTheyCome run(world, {1e-10, Time::from_seconds(1e-6)}, eager_most);
            std::vector<double> begins(schedule->ranks(), 0);
            for (std::size_t rank = 0; rank < p; ++rank) begins[rank] = 40e-6 * static_cast<double>(rank * rank % 7);
            begins[which] = 0.01;
            const std::vector<double> ends = run.run(*schedule, begins);
            for (std::size_t rank = 0; rank < schedule->ranks(); ++rank) {
              CHECK(run.sent[rank] == schedule->bytes_sent(static_cast<CollectiveRank>(rank)));
              CHECK(run.received[rank] == schedule->bytes_received(static_cast<CollectiveRank>(rank)));
              if (rank < p) CHECK(ends[rank] >= begins[which]);
            }
          }
        }
      }
    }
  }
}

TEST_CASE("a collective may begin while the one before is in flight; messages of a rank keep their order") {
  // Two ranks, two collectives of two halves each; rank 1 comes to the first at d, each comes to the second at once when it is done. As
  // above, rank 0 is done at d + 2 t + a, rank 1 at d + 2 t + 2 a. Rank 0's first message of the second leaves when its last of the first
  // has left, at d + 2 t + a, which is at once. Rank 1's leaves at d + 2 t + 2 a: the second takes two rounds from then on, for rank 0; for
  // rank 1 rank 0's second half leaves at d + 3 t + 3 a.
  struct Two final : CollectiveWatch {
    Two(World& its_world, const CollectiveSchedule& its_schedule)
        : world(its_world),
          schedule(its_schedule),
          run(its_world.simulation, its_world.network, *its_world.transport, {}, MessageRun::Start::as_they_come, MessageRun::any_size,
              *this) {
      for (int i = 0; i < 2; ++i) run.open(schedule, places);
    }
    void posted(std::uint64_t, CollectiveRank, CollectiveRank, std::uint64_t) override {}
    void arrived(CollectiveRank, CollectiveRank, std::uint64_t) override {}
    void done(std::uint64_t number, CollectiveRank rank) override {
      ends[number][rank] = world.simulation.now().seconds();
      if (number == 0) run.begin(1, rank);
    }
    World& world;
    const CollectiveSchedule& schedule;
    const std::vector<std::uint32_t> places{0, 1};
    double ends[2][2] = {};
    MessageRun run;
  };
  struct Late final : Event {
    explicit Late(Two& its_two) : two(its_two) {}
    void happen() override { two.run.begin(0, 1); }
    Two& two;
  };
  const double n = 2e6, t = n / 2 / bytes_per_second, a = alpha, d = 3 * t;
  World world(2, nic);
  const auto ring = make_schedule(collective("ring"), static_cast<std::uint64_t>(n), {2, 0, {}});
  Two two(world, *ring);
  Late it(two);
  world.simulation.queue().at(Time::from_seconds(d), it);
  two.run.begin(0, 0);
  CHECK_THROWS_AS(two.run.begin(0, 0), std::logic_error);
  CHECK_THROWS_AS(two.run.begin(2, 0), std::logic_error);
  world.simulation.run();
  check_near(two.ends[0][0], d + 2 * t + a);
  check_near(two.ends[0][1], d + 2 * t + 2 * a);
  // Second: rank 0's first half is there at d + 3 t + 2 a. Rank 1's first leaves at d + 2 t + 2 a, its second behind it, at d + 3 t + 2 a.
  check_near(two.ends[1][0], d + 4 * t + 3 * a);
  check_near(two.ends[1][1], d + 4 * t + 4 * a);
}

// One slow way, out of rank 0: s seconds a chunk, f on the others. A chunk comes back to it after s + (p-1) f + p α; in that time it sends
// p chunks where p s is more. Then it is never idle: 2(p-1) messages a lap, and the last one's latency. In step, each round pays α as well.
TEST_CASE("latencies pass while a slow link is busy: a ring whose ranks do not wait for each other, in one lap and in four") {
  constexpr std::size_t p = 4;
  constexpr double slow = 1e8, chunk = 100'000, s = chunk / slow, f = chunk / bytes_per_second;
  static_assert(p * s > s + (p - 1) * f + p * alpha);
  for (const std::size_t laps : {1u, 4u}) {
    CAPTURE(laps);
    Placement placement = equal_hosts(p, 1, 0, nic);
    placement.nics[0].up_bytes_per_second = slow;
    World world(placement);
    const auto bytes = static_cast<std::uint64_t>(chunk) * p * laps;
    const auto ring = make_schedule(collective("ring"), bytes, {p, 0, {}}, {}, {{"chunk", chunk}});
    const std::vector<double> ends = AsTheyCome(world).run(*ring, std::vector<double>(p, 0));
    const double rounds = static_cast<double>(2 * (p - 1) * laps);
    check_near(*std::max_element(ends.begin(), ends.end()), rounds * s + alpha);
    check_near(world.stepwise(*ring, {}), rounds * (s + alpha));
  }
}

// Of k slices of s seconds each, slice q leaves when slice q - k has come and slice q - 1 has left, so that k slices take max(k s, s + α)
// on equal links, and the last one's latency passes at the end.
TEST_CASE("a ring in slices hides the latency behind the other slices") {
  constexpr std::size_t p = 4, laps = 3;
  constexpr double s = 20 * alpha, rounds = 2 * (p - 1) * laps;
  for (const double latencies : {1.0, 30.0}) {  // below and above the time of a slice
    for (const std::size_t slices : {2u, 3u}) {
      CAPTURE(slices);
      CAPTURE(latencies);
      const auto k = static_cast<double>(slices);
      const double chunk = std::round(k * s * bytes_per_second), a = latencies * alpha;
      World world(p, Nic{bytes_per_second, bytes_per_second, Time::from_seconds(a / 2)});  // a message crosses two links
      const auto ring = make_schedule(collective("ring"), static_cast<std::uint64_t>(chunk) * p * laps, {p, 0, {}}, {},
                                      {{"chunk", chunk}, {"slices", static_cast<std::int64_t>(slices)}});
      const double end = (rounds - 1) * std::max(k * s, s + a) + k * s + a;
      for (const double each : AsTheyCome(world).run(*ring, std::vector<double>(p, 0))) CHECK(each == doctest::Approx(end).epsilon(1e-3));
    }
  }
}

// Large slices take s and then a latency of a > s, so a pair takes s + a. The last lap has small slices, of s' and a' with s' + a' < s. Its
// first one leaves when the first of the last large pair has come, and comes before the second one, which comes s later. It counts then.
TEST_CASE("a slice that overtakes the one before it waits for it") {
  constexpr std::size_t p = 4;
  constexpr double s = 20 * alpha, a = 30 * alpha, small = alpha, rounds = 2 * (p - 1);
  const auto bytes = [](double seconds) { return static_cast<std::uint64_t>(std::llround(seconds * bytes_per_second)); };
  World world(equal_hosts(p, 1, 0, nic), "max_min", {{2 * small * bytes_per_second, 1, 1}, {1e15, a / alpha, 1}});
  const auto ring = make_schedule(collective("ring"), p * 2 * (bytes(s) + bytes(small)), {p, 0, {}}, {},
                                  {{"chunk", 2 * s * bytes_per_second}, {"slices", std::int64_t{2}}});
  AsTheyCome run(world);
  const double end = rounds * (s + a) + s + rounds * (small + alpha);
  for (const double each : run.run(*ring, std::vector<double>(p, 0))) check_near(each, end);
  for (CollectiveRank rank = 0; rank < p; ++rank) CHECK(run.received[rank] == ring->bytes_received(rank));
}

TEST_CASE("a run in which ranks start as they come, destroyed in flight, leaves nothing") {
  for (const CollectiveEntry& entry : collectives()) {
    for (const double when : {1e-6, 12e-6, 500e-6, 3e-3}) {
      CAPTURE(entry.name);
      CAPTURE(when);
      const Placement placement = equal_hosts(7, 1, 2, nic);
      World world(placement);
      const auto schedule = make_schedule(entry, 4'000'000, shape_of(placement));
      std::vector<std::uint32_t> places(schedule->ranks());
      std::iota(places.begin(), places.end(), 0u);
      struct Nobody final : CollectiveWatch {
        void posted(std::uint64_t, CollectiveRank, CollectiveRank, std::uint64_t) override {}
        void arrived(CollectiveRank, CollectiveRank, std::uint64_t) override {}
        void done(std::uint64_t, CollectiveRank) override { told = true; }
        bool told = false;
      } nobody;
      {
        MessageRun run(world.simulation, world.network, *world.transport, {1e-9, Time::from_seconds(2e-6)}, MessageRun::Start::as_they_come,
                       600'000, nobody);
        run.open(*schedule, places);
        for (std::size_t rank = 0; rank < schedule->ranks(); ++rank) run.begin(0, static_cast<CollectiveRank>(rank));
        world.simulation.run(Time::from_seconds(when));
        nobody.told = false;
      }
      CHECK(world.network.flows() == 0);
      CHECK(world.simulation.queue().empty());
      world.simulation.run();
      CHECK(!nobody.told);
    }
  }
}

}  // namespace as_they_come_test

// What a run message by message promises besides its times: who is told when, and what it leaves behind.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <stdexcept>
#include <vector>

#include "tests/collectives/world.hpp"

namespace stepwise_test {

using namespace straggler;

namespace {

constexpr double latency = 5e-6, bytes_per_second = 1.25e9;
const Nic nic{bytes_per_second, bytes_per_second, Time::from_seconds(latency)};
const CollectiveShape four{4, 0, {}};

void check_near(double a, double b) { CHECK_MESSAGE(std::abs(a - b) <= 1e-9 * b, a, " s and ", b, " s"); }

/// Rank 0 sends to rank 1 in round 0; rank 1 thinks that this happens in round `expected`.
struct Mismatched final : CollectiveSchedule {
  explicit Mismatched(std::size_t its_expected) : expected(its_expected) {}
  std::size_t ranks() const override { return 2; }
  std::size_t rounds() const override { return 2; }
  void part(CollectiveRank rank, std::size_t round, RoundPart& out) const override {
    out.clear();
    if (rank == 0 && round == 0) out.sends.push_back({1, 10});
    if (rank == 1 && round == expected) out.receives = 1;
  }
  std::vector<Stretch> stretches() const override { return {{0, 1}, {1, 1}}; }
  std::size_t expected;
};

}  // namespace

TEST_CASE("the slowest link governs a ring, wherever it is") {
  const double n = 4e6;
  for (std::size_t slow = 0; slow < 5; ++slow) {
    Placement placement = equal_hosts(5, 1, 0, nic);
    placement.nics[slow].down_bytes_per_second /= 7;
    placement.nics[slow].latency = Time::from_seconds(3 * latency);
    World world(placement);
    const auto schedule = make_schedule(collective("ring"), static_cast<std::uint64_t>(n), {5, 0, {}});
    const double round = latency + 3 * latency + n / 5 / (bytes_per_second / 7);
    check_near(world.stepwise(*schedule, {}), 8 * round);
    check_near(world.fluid(*schedule, {}), 8 * round);
  }
}

TEST_CASE("messages take their ranks' processors one after the other") {
  const double t = 1e-6;
  const CollectiveCosts costs{0, Time::from_seconds(t)};
  SUBCASE("a ring: a rank sends one message, and takes one, in each round") {
    World world(4, nic);
    const auto schedule = make_schedule(collective("ring"), 4000, four);
    const double expected = 6 * (2 * t + 2 * latency + 1000 / bytes_per_second);
    check_near(world.stepwise(*schedule, costs), expected);
    check_near(world.fluid(*schedule, costs), expected);
  }
  SUBCASE("a server takes p messages and sends p") {
    World world(equal_hosts(9, 1, 1, nic));
    const auto schedule = make_schedule(collective("parameter_server"), 0, {9, 1, {}});
    const double expected = 2 * (t + 2 * latency + 9 * t);
    check_near(world.stepwise(*schedule, costs), expected);
    check_near(world.fluid(*schedule, costs), expected);
  }
}

TEST_CASE("every rank is notified once, and the last one may start the next") {
  World world(6, nic);
  const auto first = make_schedule(collective("ring"), 6000, {6, 0, {}});
  const auto second = make_schedule(collective("double_binary_tree"), 6000, {6, 0, {}});
  const auto third = make_schedule(collective("binomial_tree"), 6000, {3, 0, {}});
  std::vector<const CollectiveSchedule*> next{third.get(), second.get()};
  std::vector<int> told(6);
  std::optional<TogetherRun> run;
  run.emplace(world.simulation, world.network, *world.transport, CollectiveCosts(), [&](CollectiveRank rank) {
    ++told[rank];
    if (run->running() || next.empty()) return;
    const CollectiveSchedule* schedule = next.back();
    next.pop_back();
    run->start(*schedule);
  });
  CHECK(!run->running());
  run->start(*first);
  CHECK(run->running());
  world.simulation.run();
  CHECK(!run->running());
  CHECK(told == std::vector<int>{3, 3, 3, 2, 2, 2});
  // A ring of 6: 10 rounds of 6. Two trees of 5 edges, up and down, one piece. Two edges, up and down.
  CHECK(run->messages() == 60 + 20 + 4);
}

TEST_CASE("a run may grow, and a rank with nothing to do is notified by the queue") {
  World world(8, nic);
  std::vector<CollectiveRank> told;
  TogetherRun run(world.simulation, world.network, *world.transport, {}, [&](CollectiveRank rank) { told.push_back(rank); });
  for (const std::size_t ranks : {1u, 2u, 8u, 3u}) {
    told.clear();
    const auto schedule = make_schedule(collective("recursive_doubling"), 100, {ranks, 0, {}});
    run.start(*schedule);
    CHECK(told.empty());
    CHECK(run.running());
    world.simulation.run();
    CHECK(!run.running());
    std::sort(told.begin(), told.end());
    CHECK(told.size() == ranks);
    CHECK(std::unique(told.begin(), told.end()) == told.end());
  }
}

TEST_CASE("two at once share the links") {
  World world(4, nic);
  const double n = 4e6;
  const auto schedule = make_schedule(collective("ring"), static_cast<std::uint64_t>(n), four);
  TogetherRun one(world.simulation, world.network, *world.transport, {}, [](CollectiveRank) {});
  TogetherRun other(world.simulation, world.network, *world.transport, {}, [](CollectiveRank) {});
  one.start(*schedule);
  other.start(*schedule);
  world.simulation.run();
  check_near(world.simulation.now().seconds(), 6 * (2 * latency + 2 * (n / 4) / bytes_per_second));
}

TEST_CASE("a run that is destroyed in flight leaves nothing") {
  for (const double when : {1e-6, 10e-6, 14e-6, 500e-6, 3e-3}) {
    for (const CollectiveEntry& entry : collectives()) {
      CAPTURE(when);
      CAPTURE(entry.name);
      World world(equal_hosts(7, 1, 2, nic));
      const auto schedule = make_schedule(entry, 4'000'000, {7, 2, {}});
      bool told = false;
      {
        TogetherRun run(world.simulation, world.network, *world.transport, {1e-9, Time::from_seconds(2e-6)},
                        [&](CollectiveRank) { told = true; });
        run.start(*schedule);
        world.simulation.run(Time::from_seconds(when));
        CHECK(run.running());
        told = false;
      }
      CHECK(world.network.flows() == 0);
      CHECK(world.simulation.queue().empty());
      world.simulation.run();
      CHECK(!told);
    }
  }
}

TEST_CASE("the same run takes the same time to the tick") {
  for (const CollectiveEntry& entry : collectives()) {
    std::vector<Time> ends;
    for (int i = 0; i < 2; ++i) {
      Placement placement = equal_hosts(13, 1, 3, nic);
      for (std::size_t h = 0; h < placement.nics.size(); ++h) placement.nics[h].up_bytes_per_second /= static_cast<double>(1 + h * h % 5);
      World world(placement);
      world.stepwise(*make_schedule(entry, 1'234'567, {13, 3, {}}), {1e-10, Time()});
      ends.push_back(world.simulation.now());
    }
    CHECK(ends[0] == ends[1]);
    CHECK(ends[0] > Time());
  }
}

TEST_CASE("a schedule whose sides disagree does not pass in silence") {
  World world(2, nic);
  TogetherRun run(world.simulation, world.network, *world.transport, {}, [](CollectiveRank) {});
  // Rank 1 is in round 1 already, or through: the message of round 0 has nobody to go to.
  const Mismatched mismatched(1);
  const auto starts_and_runs = [&] {
    run.start(mismatched);
    world.simulation.run();
  };
  CHECK_THROWS_AS(starts_and_runs(), std::logic_error);
}

}  // namespace stepwise_test

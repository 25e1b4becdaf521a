// One flow instead of a whole collective: what it consists of, and how it does beside other traffic.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "tests/collectives/world.hpp"

namespace fluid_test {

using namespace straggler;

namespace {

constexpr double latency = 5e-6, bytes_per_second = 1.25e9, per_byte_reduced = 1 / 4e9;
const Nic nic{bytes_per_second, bytes_per_second, Time::from_seconds(latency)};
const UniformLinks uniform{2 * latency, 1 / bytes_per_second, per_byte_reduced};
const CollectiveCosts costs{per_byte_reduced, Time()};

void check_near(double a, double b, double tolerance) { CHECK_MESSAGE(std::abs(a - b) <= tolerance * b, a, " and ", b); }

/// Numbers of a random stream of its own, in [0, 1).
struct Uniform {
  double operator()() {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return static_cast<double>(state >> 40) / (1 << 24);
  }
  std::uint64_t state;
};

/// Each bandwidth and latency up to ten times worse than `nic`.
Placement unequal(std::size_t workers, std::size_t servers, std::uint64_t seed) {
  Placement placement = equal_hosts(workers, 1, servers, nic);
  Uniform uniform_draw{seed};
  for (Nic& one : placement.nics) {
    one.up_bytes_per_second *= std::pow(10, -uniform_draw());
    one.down_bytes_per_second *= std::pow(10, -uniform_draw());
    one.latency = Time::from_seconds(latency * std::pow(10, uniform_draw()));
  }
  return placement;
}

/// Flows that stay for the whole test.
struct Background final : Arrival {
  explicit Background(World& its_world) : world(its_world) {}
  ~Background() {
    for (const FlowId flow : flows) world.network.cancel(flow);
  }
  void add(LinkId link) { flows.push_back(world.network.start({&link, 1}, 1e15, Time(), *this)); }
  void arrived() override { FAIL("a background flow has ended"); }
  World& world;
  std::vector<FlowId> flows;
};

struct End final : Arrival {
  explicit End(World& its_world) : world(its_world) {}
  void arrived() override {
    when = world.simulation.now();
    world.simulation.stop();
  }
  World& world;
  Time when;
};

double stepwise_beside(World& world, const CollectiveSchedule& schedule) {
  std::size_t left = schedule.ranks();
  TogetherRun run(world.simulation, world.network, *world.transport, costs, [&](CollectiveRank) {
    if (--left == 0) world.simulation.stop();
  });
  const Time start = world.simulation.now();
  run.start(schedule);
  CHECK(world.simulation.run());
  return (world.simulation.now() - start).seconds();
}

double fluid_beside(World& world, const CollectiveSchedule& schedule) {
  const FluidPlan plan = fluid_plan(schedule, costs, *world.transport);
  End end(world);
  const Time start = world.simulation.now();
  world.network.start(plan.flow(), end);
  CHECK(world.simulation.run());
  return (end.when - start + plan.arithmetic).seconds();
}

}  // namespace

TEST_CASE("a ring is an ordinary flow over all its links") {
  World world(8, nic);
  for (const std::uint64_t bytes : {8'000'000u, 8'000'003u}) {
    const FluidPlan plan = fluid_plan(*make_schedule(collective("ring"), bytes, {8, 0, {}}), costs, *world.transport);
    CHECK(plan.links.size() == 16);
    CHECK(plan.volumes.empty());
    CHECK(!plan.capped);
    CHECK(plan.weight == 1);
    check_near(plan.bytes, 14e6, 1e-5);
    check_near(plan.most_bytes_per_second, bytes_per_second, 1e-9);
    CHECK(plan.latency == Time::from_seconds(14 * 2 * latency));
    check_near(plan.arithmetic.seconds(), 7e6 * per_byte_reduced, 1e-5);
    check_near(plan.seconds(), plan.latency.seconds() + plan.bytes / bytes_per_second + plan.arithmetic.seconds(), 1e-12);
  }
}

TEST_CASE("a server's links carry, and weigh, as many flows as the stepwise form has there on average") {
  const std::size_t p = 10;
  World world(equal_hosts(p, 1, 1, nic));
  const double n = 1e6;
  const FluidPlan plan = fluid_plan(*make_schedule(collective("parameter_server"), 1'000'000, {p, 1, {}}), {}, *world.transport);
  CHECK(plan.bytes == 2 * n);
  check_near(plan.most_bytes_per_second, bytes_per_second / p, 1e-9);
  CHECK(plan.capped);
  REQUIRE(plan.links.size() == 2 * (p + 1));
  REQUIRE(plan.volumes.size() == plan.links.size());
  for (std::size_t i = 0; i < plan.links.size(); ++i) CHECK(plan.volumes[i] == (plan.links[i] / 2 == p ? p / 2.0 : 0.5));
}

TEST_CASE("without bytes there is latency only, and alone there is nothing") {
  for (const CollectiveEntry& entry : collectives()) {
    World world(equal_hosts(6, 1, 2, nic));
    const auto schedule = make_schedule(entry, 0, {6, 2, {}});
    const FluidPlan plan = fluid_plan(*schedule, costs, *world.transport);
    CHECK(plan.links.empty());
    CHECK(plan.bytes == 0);
    CHECK(plan.seconds() == plan.latency.seconds());
    check_near(world.stepwise(*schedule, costs), plan.seconds(), 1e-9);
    check_near(world.fluid(*schedule, costs), plan.seconds(), 1e-9);
    if (needs_servers(entry)) continue;
    CHECK(fluid_plan(*make_schedule(entry, 1000, {1, 0, {}}), costs, *world.transport).seconds() == 0);
  }
}

TEST_CASE("on unequal links one flow takes as long as all messages") {
  // Exact for most; the pieces of double trees overtake one another, and shards of unequal servers do not end together.
  for (const CollectiveEntry& entry : collectives()) {
    const bool loose = entry.name == "double_binary_tree" || needs_servers(entry) || entry.name == "nccl";
    double largest = 0;
    for (const std::size_t p : {2, 3, 5, 8, 12, 16, 23, 33}) {
      for (std::uint64_t seed = 1; seed <= 6; ++seed) {
        World world(unequal(p, 2, seed));
        for (const std::uint64_t bytes : {64u, 65'536u, 1u << 20, 1u << 26}) {
          const auto schedule = make_schedule(entry, bytes, {p, 2, {}}, uniform);
          const double stepwise = world.stepwise(*schedule, costs);
          const double difference = std::abs(world.fluid(*schedule, costs) / stepwise - 1);
          check_near(fluid_plan(*schedule, costs, *world.transport).seconds(), stepwise, loose ? 0.05 : 0.001);
          largest = std::max(largest, difference);
        }
      }
    }
    MESSAGE(entry.name, ": fluid differs by up to ", 100 * largest, " % on unequal links");
    CHECK(largest <= (loose ? 0.05 : 0.001));
  }
}

TEST_CASE("bytes first, the latency after: messages of a round share its links, however far they go") {
  // Six messages come to the server's link at once, and share it; the two far ones arrive when their latency has passed, too. So back.
  const double far = 0.5, n = 1e6;
  Placement placement = equal_hosts(6, 1, 1, nic);
  placement.nics[3].latency = placement.nics[4].latency = Time::from_seconds(far);
  World world(placement);
  const auto schedule = make_schedule(collective("parameter_server"), 1'000'000, {6, 1, {}});
  const double expected = 2 * (6 * n / bytes_per_second + far + latency);
  check_near(world.stepwise(*schedule, {}), expected, 1e-9);
  check_near(world.fluid(*schedule, {}), expected, 1e-9);
}

TEST_CASE("beside other traffic the difference is what is printed") {
  // Four flows stay on a worker's up-link, and one on the down-link of another (of the server, where there is one).
  const std::size_t p = 8;
  for (const CollectiveEntry& entry : collectives()) {
    World world(equal_hosts(p, 1, 1, nic));
    const auto schedule = make_schedule(entry, 16'000'000, {p, 1, {}}, uniform);
    const double alone = world.stepwise(*schedule, costs);
    Background background(world);
    for (int i = 0; i < 4; ++i) background.add(2 * 2);
    background.add(2 * (needs_servers(entry) ? static_cast<LinkId>(p) : 5) + 1);
    const double stepwise = stepwise_beside(world, *schedule), fluid = fluid_beside(world, *schedule);
    MESSAGE(entry.name, ": alone ", 1e3 * alone, " ms; beside others ", 1e3 * stepwise, " ms, as one flow ", 1e3 * fluid, " ms (",
            100 * (fluid / stepwise - 1), " %)");
    CHECK(stepwise > 1.001 * alone);
    CHECK(fluid >= 0.999 * alone);
    CHECK(fluid <= 2 * stepwise);
    CHECK(fluid >= 0.5 * stepwise);
    if (entry.name == "ring" || entry.name == "hierarchical") check_near(fluid, stepwise, 0.01);
  }
}

TEST_CASE("hierarchical rings where workers share their host's link: formula, messages and one flow") {
  const double intra_bandwidth = 10e9, intra_latency = 1e-6;
  double furthest = 0;
  for (std::size_t hosts = 1; hosts <= 5; ++hosts) {
    for (std::size_t g = 1; g <= 8; ++g) {
      if (hosts * g < 2) continue;
      Placement placement = equal_hosts(hosts, g, 0, nic);
      placement.intra = Placement::Intra{intra_bandwidth, Time::from_seconds(intra_latency)};
      World world(placement);
      const CollectiveShape shape = shape_of(placement);
      UniformLinks links = uniform;
      links.intra_alpha = intra_latency;
      links.intra_beta = 1 / intra_bandwidth;
      CHECK(collective("hierarchical").exact(shape) == (hosts == 1 || g == 1));
      std::vector<std::uint64_t> sizes;
      for (std::uint64_t bytes = 4; bytes <= 1u << 30; bytes *= 16) sizes.insert(sizes.end(), {bytes, bytes * g});
      for (const std::uint64_t bytes : sizes) {
        CAPTURE(hosts);
        CAPTURE(g);
        CAPTURE(bytes);
        const double m = static_cast<double>(hosts), k = static_cast<double>(g), n = static_cast<double>(bytes);
        const double expected = 2 * (k - 1) * intra_latency + 2 * ((k - 1) / k) * n / intra_bandwidth + 2 * (m - 1) * 2 * latency +
                                2 * ((m - 1) / m) * n / bytes_per_second + ((k - 1) / k + (m - 1) / (k * m)) * n * per_byte_reduced;
        const auto schedule = make_schedule(collective("hierarchical"), bytes, shape);
        check_near(collective("hierarchical").seconds(n, shape, links, {}), expected, 1e-12);
        const double stepwise = world.stepwise(*schedule, costs);
        const double fluid = world.fluid(*schedule, costs);
        if (bytes % g == 0) {
          check_near(stepwise, expected, 0.001);
          check_near(fluid, stepwise, 0.01);
        } else {
          CHECK(stepwise <= 1.001 * expected);
          CHECK(fluid <= 1.001 * expected);
          furthest = std::max(furthest, 1 - stepwise / fluid);
        }
      }
    }
  }
  MESSAGE("hierarchical, rings that do not keep step: up to ", 100 * furthest, " % less than one flow takes");
  CHECK(furthest < 0.03);
}

TEST_CASE("the formula of the double binary tree bounds it from above") {
  const CollectiveEntry& entry = collective("double_binary_tree");
  for (const std::size_t p : {2, 3, 4, 5, 7, 8, 12, 16, 31, 32, 33, 64}) {
    World world(p, nic);
    for (std::uint64_t bytes = 4; bytes <= 1u << 26; bytes *= 4) {
      const CollectiveShape shape{p, 0, {}};
      const double stepwise = world.stepwise(*make_schedule(entry, bytes, shape, uniform), costs);
      const double seconds = entry.seconds(static_cast<double>(bytes), shape, uniform, {});
      CHECK(seconds >= 0.9999 * stepwise);
      CHECK(seconds <= (p < 16 ? 1.2 : 1.06) * stepwise);
    }
  }
}

TEST_CASE("the number of pieces of a double binary tree") {
  const CollectiveEntry& entry = collective("double_binary_tree");
  const CollectiveShape shape{16, 0, {}};
  const auto rounds = [&](std::uint64_t bytes, const UniformLinks& links, const Parameters& given) {
    return make_schedule(entry, bytes, shape, links, given)->rounds();
  };
  CHECK(rounds(1 << 20, uniform, {{"pieces", std::int64_t{9}}}) == 2 * 4 + 9 - 1);
  // What the default is, is no worse than any other number.
  World world(16, nic);
  const double chosen = world.stepwise(*make_schedule(entry, 1 << 24, shape, uniform), costs);
  for (const std::int64_t pieces : {1, 10, 50, 200, 1000})
    CHECK(world.stepwise(*make_schedule(entry, 1 << 24, shape, uniform, {{"pieces", pieces}}), costs) >= 0.99 * chosen);
  // Links unknown: 128 KiB, at most 64.
  CHECK(rounds(1 << 20, {}, {}) == 2 * 4 + 4 - 1);
  CHECK(rounds(1 << 30, {}, {}) == 2 * 4 + 64 - 1);
  CHECK(rounds(0, {}, {}) == 2 * 4);
  CHECK(rounds(0, uniform, {}) == 2 * 4);
}

TEST_CASE("auto takes the fastest algorithm") {
  for (const std::size_t p : {2, 3, 8, 13, 32}) {
    World world(equal_hosts(p, 1, 3, nic));
    for (const std::size_t servers : {std::size_t{0}, std::size_t{3}}) {
      const CollectiveShape shape{p, servers, {}};
      for (std::uint64_t bytes = 4; bytes <= 1u << 30; bytes *= 64) {
        double least = 1e99;
        for (const CollectiveEntry& entry : collectives())
          if (!entry.library && entry.unfit(shape).empty())
            least = std::min(least, world.stepwise(*make_schedule(entry, bytes, shape, uniform), costs));
        const CollectiveEntry& best = cheapest_collective(bytes, shape, uniform, costs, *world.transport);
        CHECK(best.unfit(shape).empty());
        CHECK(world.stepwise(*make_schedule(best, bytes, shape, uniform), costs) <= 1.01 * least);
      }
    }
  }
}

TEST_CASE("auto: ties go to the first by name, and very many ranks by formula") {
  World world(1, nic);
  CHECK(&cheapest_collective(1000, {1, 0, {}}, uniform, costs, *world.transport) == &collectives().front());
  // 2^17 ranks, which the transport of this world does not have. Few bytes: fewest rounds. Many bytes: fewest bytes and rounds.
  const CollectiveShape shape{std::size_t{1} << 17, 0, {}};
  CHECK(cheapest_collective(4, shape, uniform, costs, *world.transport).name == "recursive_doubling");
  const std::string large = cheapest_collective(std::uint64_t{1} << 30, shape, uniform, costs, *world.transport).name;
  CHECK(large == "halving_doubling");
}

TEST_CASE("one flow under the other sharing models, with a protocol, and on cables that carry one direction at a time") {
  const std::vector<ProtocolSegment> segments{{1000, 2, 0.5}, {65'536, 1.5, 0.8}, {1e6, 1, 0.95}};
  for (const CollectiveEntry& entry : collectives()) {
    for (const std::size_t p : {2, 5, 8, 19}) {
      for (const std::uint64_t bytes : {4u, 5000u, 1u << 20, 100'000'000u}) {
        CAPTURE(entry.name);
        CAPTURE(p);
        CAPTURE(bytes);
        const CollectiveShape shape{p, 2, {}};
        const auto schedule = make_schedule(entry, bytes, shape, uniform);
        World none(equal_hosts(p, 1, 2, nic), "none"), none_unequal(unequal(p, 2, 4), "none");
        for (World* world : {&none, &none_unequal}) check_near(world->fluid(*schedule, costs), world->stepwise(*schedule, costs), 0.01);
        World lv08(equal_hosts(p, 1, 2, nic), "lv08");
        check_near(lv08.fluid(*schedule, costs), lv08.stepwise(*schedule, costs), 0.01);
        World protocol(equal_hosts(p, 1, 2, nic), "max_min", segments);
        check_near(protocol.fluid(*schedule, costs), protocol.stepwise(*schedule, costs), 0.01);
        Placement half = equal_hosts(p, 1, 2, nic);
        half.half_duplex = true;
        World cables(half);
        check_near(cables.fluid(*schedule, costs), cables.stepwise(*schedule, costs), 0.01);
      }
    }
  }
}

TEST_CASE("a ring on cables that carry one direction at a time takes twice the bytes") {
  Placement half = equal_hosts(6, 1, 0, nic);
  half.half_duplex = true;
  World world(half);
  const auto schedule = make_schedule(collective("ring"), 6'000'000, {6, 0, {}});
  const double expected = 10 * (2 * latency + 2 * 1e6 / bytes_per_second);
  check_near(world.stepwise(*schedule, {}), expected, 1e-9);
  check_near(world.fluid(*schedule, {}), expected, 1e-9);
}

}  // namespace fluid_test

// The closed forms of docs/model.md against message by message, and one flow against both.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "tests/collectives/world.hpp"

namespace formulas_test {

using namespace straggler;

namespace {

constexpr double latency = 5e-6, bytes_per_second = 1.25e9, gamma = 1 / 4e9;
const Nic nic{bytes_per_second, bytes_per_second, Time::from_seconds(latency)};
const UniformLinks uniform{2 * latency, 1 / bytes_per_second, gamma};  // a message crosses two links
const CollectiveCosts costs{gamma, Time()};

std::vector<std::uint64_t> sizes() {
  std::vector<std::uint64_t> all;
  for (std::uint64_t bytes = 4; bytes <= std::uint64_t{1} << 30; bytes *= 4) all.push_back(bytes);
  return all;
}

double lg(std::size_t p) { return std::floor(std::log2(static_cast<double>(p)) + 1e-9); }
bool power_of_two(std::size_t p) { return std::exp2(lg(p)) == static_cast<double>(p); }

/// docs/model.md once more, written down independently.
double formula(const std::string& name, std::size_t ranks, std::size_t servers, double n) {
  const double p = static_cast<double>(ranks), a = uniform.alpha, b = uniform.beta, q = std::exp2(lg(ranks));
  if (name == "ring" || name == "hierarchical") return 2 * (p - 1) * a + 2 * (p - 1) / p * n * b + (p - 1) / p * n * gamma;
  if (name == "halving_doubling") {
    if (power_of_two(ranks)) return 2 * lg(ranks) * a + 2 * (p - 1) / p * n * b + (p - 1) / p * n * gamma;
    return (2 * lg(ranks) + 2) * a + (2 * (q - 1) / q + 2) * n * b + (1 + (q - 1) / q) * n * gamma;
  }
  if (name == "recursive_doubling") {
    if (power_of_two(ranks)) return lg(ranks) * (a + n * b + n * gamma);
    return (lg(ranks) + 2) * (a + n * b) + (lg(ranks) + 1) * n * gamma;
  }
  if (name == "binomial_tree") {
    const double levels = power_of_two(ranks) ? lg(ranks) : lg(ranks) + 1;
    return 2 * levels * (a + n * b) + levels * n * gamma;
  }
  if (name == "parameter_server") {
    const double shard = std::ceil(n / static_cast<double>(servers));
    return 2 * (std::max(n * b, p * shard * b) + a) + (p - 1) * shard * gamma;
  }
  FAIL("no formula for ", name);
  return 0;
}

void check_near(double a, double b, double tolerance) { CHECK_MESSAGE(std::abs(a - b) <= tolerance * b, a, " s and ", b, " s"); }

struct Times {
  double stepwise, fluid;
};

Times run_both(const CollectiveSchedule& schedule, World& world, const CollectiveCosts& its_costs = costs) {
  const double stepwise = world.stepwise(schedule, its_costs);
  return {stepwise, world.fluid(schedule, its_costs)};
}

}  // namespace

// Libraries: libraries_test.cpp.
TEST_CASE("every formula, p = 2 to 33, 4 B to 1 GiB: stepwise to 0.1 %, fluid to 1 %") {
  for (const CollectiveEntry& entry : collectives()) {
    for (std::size_t p = 2; p <= 33; ++p) {
      for (std::size_t servers = 1; servers <= (entry.name == "parameter_server" ? 5 : 1); ++servers) {
        World world(equal_hosts(p, 1, servers, nic));
        const CollectiveShape shape{p, servers, {}};
        for (const std::uint64_t bytes : sizes()) {
          if (entry.name == "double_binary_tree" && bytes > 1u << 26) continue;  // thousands of pieces; the larger, the better it agrees
          CAPTURE(entry.name);
          CAPTURE(p);
          CAPTURE(servers);
          CAPTURE(bytes);
          const auto schedule = make_schedule(entry, bytes, shape, uniform);
          const Times times = run_both(*schedule, world);
          check_near(times.fluid, times.stepwise, 0.01);
          const double seconds = entry.seconds(static_cast<double>(bytes), shape, uniform, complete(entry.parameters, {}));
          if (entry.name != "double_binary_tree" && !entry.library) {
            check_near(seconds, formula(entry.name, p, servers, static_cast<double>(bytes)), 1e-12);
            CHECK(entry.exact(shape));
          }
          if (entry.exact(shape)) check_near(times.stepwise, seconds, 0.001);
        }
      }
    }
  }
}

// 2(p-1) L α + 2((p-1)/p) n β + ((p-1)/p) n γ with L = ⌈n / (p c)⌉ laps; bytes stay those of a ring: all chunks but one in each half.
TEST_CASE("a ring in laps: its formula, its bytes, and one lap where the chunk holds n/p") {
  for (const std::size_t p : {1u, 2u, 3u, 8u, 13u}) {
    const CollectiveShape shape{p, 0, {}};
    World world(p, nic);
    for (const std::uint64_t bytes : {0u, 1u, 1'000'000u, 16'777'216u, 100'000'001u}) {
      for (const double chunk : {262'144.0, 2'097'152.0, 1e9}) {
        CAPTURE(p);
        CAPTURE(bytes);
        CAPTURE(chunk);
        const CollectiveEntry& ring = collective("ring");
        const Parameters parameters = complete(ring.parameters, {{"chunk", chunk}});
        const auto schedule = ring.make(bytes, shape, uniform, parameters), plain = make_schedule(ring, bytes, shape, uniform);
        const double ranks = static_cast<double>(p), n = static_cast<double>(bytes), laps = std::max(1.0, std::ceil(n / (ranks * chunk)));
        CHECK(schedule->rounds() == static_cast<std::size_t>(laps) * 2 * (p - 1));
        const double seconds =
            2 * (ranks - 1) * laps * uniform.alpha + 2 * (ranks - 1) / ranks * n * uniform.beta + (ranks - 1) / ranks * n * gamma;
        check_near(ring.seconds(n, shape, uniform, parameters), seconds, 1e-12);
        const Times times = run_both(*schedule, world);
        if (bytes > p) check_near(times.stepwise, seconds, 0.001);
        check_near(times.fluid, times.stepwise, 0.01);
        if (chunk >= n) check_near(times.stepwise, run_both(*plain, world).stepwise, 1e-12);
        for (CollectiveRank rank = 0; rank < p; ++rank) {
          CHECK(schedule->bytes_sent(rank) == schedule->CollectiveSchedule::bytes_sent(rank));
          CHECK(schedule->bytes_received(rank) == schedule->CollectiveSchedule::bytes_received(rank));
          const double differs = static_cast<double>(schedule->bytes_sent(rank)) - static_cast<double>(plain->bytes_sent(rank));
          CHECK(std::abs(differs) <= 2 * laps);
        }
      }
    }
  }
}

}  // namespace formulas_test

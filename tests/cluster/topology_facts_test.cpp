// Bisection bandwidths against all halves by force, over the ranges where the closed forms change.
#include "tests/cluster/topology_cases.hpp"

namespace straggler {
namespace {

/// Exact where it says so, and never below.
void check_bisection(const TopologyCase& c, const std::vector<Nic>& nics, bool exact) {
  const auto topology = make_topology(c.kind, c.parameters, request_of(nics, nics.size() - c.servers));
  const TopologyFacts facts = topology->facts();
  const double expected = bisection_by_force(Listed(*topology));
  CAPTURE(c.kind);
  CAPTURE(nics.size());
  CAPTURE(expected);
  CAPTURE(facts.bisection_bytes_per_second);
  CHECK(facts.bisection_bytes_per_second >= expected * (1 - 1e-9));
  if (!facts.bisection_is_bound) CHECK(facts.bisection_bytes_per_second == doctest::Approx(expected).epsilon(1e-9));
  if (exact) CHECK(!facts.bisection_is_bound);
}

/// Faster down than up.
std::vector<Nic> lopsided(std::size_t n) { return std::vector<Nic>(n, Nic{60, 100, microseconds(1)}); }

TEST_CASE("two_level: the bisection of equal hosts packs them into racks") {
  for (const std::size_t n : {3, 5, 6, 7}) {
    for (std::size_t racks = 1; racks <= n; ++racks) {
      for (const double oversubscription : {1.0, 1.5, 2.0, 4.0, 20.0}) {
        const TopologyCase c{"two_level", {{"racks", static_cast<std::int64_t>(racks)}, {"oversubscription", oversubscription}}, n};
        CAPTURE(racks);
        CAPTURE(oversubscription);
        check_bisection(c, equal_nics(n), true);
        check_bisection(c, lopsided(n), true);
        check_bisection(c, unequal_nics(n), oversubscription == 1 || racks == 1);
      }
    }
  }
}

TEST_CASE("two_level and rails: the bisection with a bandwidth of its own for each cable to the core") {
  for (const std::size_t n : {3, 5, 6, 7}) {
    for (std::size_t racks = 1; racks <= n; ++racks) {
      for (const double rate : {3.0, 40.0, 70.0, 110.0, 250.0, 1e6}) {
        const TopologyCase c{"two_level", {{"racks", static_cast<std::int64_t>(racks)}, {"bandwidth", rate}}, n};
        CAPTURE(racks);
        CAPTURE(rate);
        check_bisection(c, equal_nics(n), true);
        check_bisection(c, lopsided(n), true);
        check_bisection(c, unequal_nics(n), rate == 1e6 || racks == 1);
      }
    }
  }
  for (const double rate : {3.0, 40.0, 110.0, 1e6}) {
    TopologyRequest request = request_of(unequal_nics(6), 6);
    for (std::uint32_t e = 0; e < 6; ++e) request.card.push_back(e % 2);
    const auto topology = make_topology("rails", {{"bandwidth", rate}}, request);
    const double expected = bisection_by_force(Listed(*topology));
    CAPTURE(rate);
    CHECK(topology->facts().bisection_bytes_per_second >= expected * (1 - 1e-9));
    if (rate == 1e6) CHECK(!topology->facts().bisection_is_bound);
    if (!topology->facts().bisection_is_bound) CHECK(topology->facts().bisection_bytes_per_second == doctest::Approx(expected));
  }
}

TEST_CASE("ring, star and wan: the bisection is exact for any cards") {
  for (const std::size_t n : {2, 3, 4, 5, 8}) {
    for (const double rate : {5.0, 50.0, 110.0, 500.0}) {
      CAPTURE(rate);
      for (const auto& nics : {equal_nics(n), lopsided(n), unequal_nics(n)}) {
        check_bisection({"ring", {{"bandwidth", rate}}, n}, nics, true);
        check_bisection({"star", {}, n}, nics, true);
        for (std::size_t servers = 1; servers < n; ++servers) check_bisection({"wan", {{"backbone", rate}}, n, servers}, nics, true);
      }
    }
  }
}

TEST_CASE("torus: the bisection is exact where the largest dimension is even, and in a hypercube") {
  for (const double rate : {3.0, 20.0, 70.0, 300.0}) {
    CAPTURE(rate);
    for (const Counts& dims : {Counts{4, 2}, Counts{2, 4}, Counts{2, 2}, Counts{2, 2, 2}, Counts{6}, Counts{8, 1}}) {
      std::size_t n = 1;
      for (const std::int64_t size : dims) n *= static_cast<std::size_t>(size);
      check_bisection({"torus", {{"dims", dims}, {"bandwidth", rate}}, n}, equal_nics(n), true);
      check_bisection({"torus", {{"dims", dims}, {"bandwidth", rate}}, n}, lopsided(n), true);
      check_bisection({"torus", {{"dims", dims}, {"bandwidth", rate}}, n}, unequal_nics(n), false);
    }
    check_bisection({"torus", {{"dims", Counts{3, 2}}, {"bandwidth", rate}}, 6}, equal_nics(6), false);
    check_bisection({"torus", {{"dims", Counts{2, 3}}, {"bandwidth", rate}}, 6}, unequal_nics(6), false);
  }
  // Nine switches, four against five: two rings cut across, and within the ring between them twice more.
  const auto nine = make_topology("torus", {{"dims", Counts{3, 3}}, {"bandwidth", 1.0}}, request_of(equal_nics(9), 9));
  CHECK(nine->facts().bisection_bytes_per_second == 2 * 3 + 2 * 1);
  CHECK(bisection_by_force(Listed(*nine)) == doctest::Approx(8));
}

TEST_CASE("fat_tree: the bisection is the slower of card and core cable for half of the hosts") {
  for (std::size_t n = 2; n <= 8; ++n) {
    for (const double rate : {10.0, 60.0, 100.0, 300.0}) {
      CAPTURE(rate);
      const TopologyCase c{"fat_tree", {{"k", std::int64_t{4}}, {"bandwidth", rate}}, n};
      check_bisection(c, equal_nics(n), rate >= 100);
      check_bisection(c, lopsided(n), rate >= 60);
      check_bisection(c, unequal_nics(n), rate >= 300);
    }
  }
  // Full trees: n / 2 core cables if those are the slower, k/2 pods against k/2.
  for (const std::int64_t k : {2, 4, 6, 8}) {
    const std::size_t n = static_cast<std::size_t>(k * k * k / 4);
    const auto slow = make_topology("fat_tree", {{"k", k}, {"bandwidth", 10.0}}, request_of(equal_nics(n), n));
    CHECK(slow->facts().bisection_bytes_per_second == doctest::Approx(static_cast<double>(n) / 2 * 10));
    CHECK(!slow->facts().bisection_is_bound);
    const auto fast = make_topology("fat_tree", {{"k", k}}, request_of(equal_nics(n), n));
    CHECK(fast->facts().bisection_bytes_per_second == doctest::Approx(static_cast<double>(n) / 2 * 100));
  }
}

TEST_CASE("dragonfly: the bisection is never below the truth, and exact between groups") {
  for (const double rate : {2.0, 30.0, 200.0}) {
    for (const auto& [groups, routers, hosts] :
         {std::tuple<std::int64_t, std::int64_t, std::int64_t>{2, 2, 2}, {4, 2, 1}, {2, 3, 1}, {3, 2, 1}, {4, 1, 2}}) {
      const std::size_t n = static_cast<std::size_t>(groups * routers * hosts);
      const TopologyCase c{"dragonfly", {{"groups", groups}, {"routers", routers}, {"hosts", hosts}, {"global_bandwidth", rate}}, n};
      CAPTURE(rate);
      check_bisection(c, equal_nics(n), false);
      check_bisection(c, lopsided(n), false);
      check_bisection(c, unequal_nics(n), false);
    }
  }
  // Six groups, narrow global cables: three against three, 9 cables.
  const auto six = make_topology(
      "dragonfly", {{"groups", std::int64_t{6}}, {"routers", std::int64_t{3}}, {"hosts", std::int64_t{4}}, {"global_bandwidth", 10.0}},
      request_of(equal_nics(72), 72));
  CHECK(six->facts().bisection_bytes_per_second == 90);
  CHECK(!six->facts().bisection_is_bound);
}

TEST_CASE("facts: sizes and diameters of large regular topologies, from their definitions") {
  const auto facts = [](const std::string& kind, const Parameters& parameters, std::size_t n) {
    return make_topology(kind, parameters, request_of(equal_nics(n), n))->facts();
  };
  const TopologyFacts fat_tree = facts("fat_tree", {{"k", std::int64_t{16}}}, 1024);
  CHECK(fat_tree.switches == 16 * 16 + 64);  // k switches in each of k pods, (k/2)² cores
  CHECK(fat_tree.cables == 3 * 1024);
  CHECK(fat_tree.diameter_hops == 6);
  CHECK(fat_tree.diameter_latency == microseconds(3 + 4 * 7 + 3));
  CHECK(fat_tree.bisection_bytes_per_second == 512 * 100);
  const TopologyFacts torus = facts("torus", {{"dims", Counts{16, 8, 8}}}, 1024);
  CHECK(torus.switches == 1024);
  CHECK(torus.cables == 1024 + 3 * 1024);
  CHECK(torus.diameter_hops == 2 + 8 + 4 + 4);
  CHECK(torus.bisection_bytes_per_second == 2 * 64 * 100);
  const TopologyFacts full = facts("full", {}, 1000);
  CHECK(full.switches == 0);
  CHECK(full.cables == 499'500);
  CHECK(full.bisection_bytes_per_second == 500.0 * 500 * 100);
  const TopologyFacts dragonfly =
      facts("dragonfly", {{"groups", std::int64_t{33}}, {"routers", std::int64_t{8}}, {"hosts", std::int64_t{4}}}, 1056);
  CHECK(dragonfly.switches == 33 * 8);
  CHECK(dragonfly.cables == 1056 + 33 * 28 + 33 * 16);
  CHECK(dragonfly.diameter_hops == 5);
}

TEST_CASE("facts: the slowest route where only a few cards are slow") {
  // Host 5 is slow by 100 us, host 3 of its own rack by 60 us, host 2 of another rack by 50 us.
  std::vector<Nic> nics = equal_nics(9);
  nics[5].latency = microseconds(103);
  nics[2].latency = microseconds(53);
  nics[3].latency = microseconds(63);
  const auto topology = make_topology("two_level", {{"racks", std::int64_t{3}}}, request_of(nics, 9));
  CHECK(topology->facts().diameter_latency == microseconds(103 + 7 + 7 + 53));  // not 103 + 63 within the rack
}

}  // namespace
}  // namespace straggler

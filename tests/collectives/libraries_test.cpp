// Libraries that choose among algorithms: NCCL's lines and where they cross, Open MPI's rule; and what starting a collective costs. Gloo:
// gloo_test.cpp.
#include <doctest/doctest.h>

#include <cmath>
#include <string>
#include <vector>

#include "sim/collectives/nccl_tuning.hpp"
#include "tests/collectives/world.hpp"
#include "tests/support/text.hpp"

namespace libraries_test {

using namespace straggler;

namespace {

constexpr double us = 1e-6;
constexpr double latency = 1e-6, bandwidth = 12.5e9;                 // of a card's link: a message crosses two
constexpr double inside_latency = 0.3e-6, inside_bandwidth = 100e9;  // of the whole path inside a host
const Nic card{bandwidth, bandwidth, Time::from_seconds(latency)};
const UniformLinks links{2 * latency, 1 / bandwidth, 0, inside_latency, 1 / inside_bandwidth};

Placement machines(std::size_t hosts, std::size_t per_host) {
  Placement placement = equal_hosts(hosts, per_host, 0, card);
  placement.intra = Placement::Intra{inside_bandwidth, Time::from_seconds(inside_latency)};
  return placement;
}

Parameters settings(Parameters given) { return complete(nccl_parameters(), std::move(given)); }

void check_close(double a, double b, double tolerance) { CHECK_MESSAGE(std::abs(a - b) <= tolerance * b, a, " s and ", b, " s"); }

struct Measured {
  double stepwise, fluid, formula;
};

Measured measure(const std::string& name, std::size_t hosts, std::size_t per_host, std::uint64_t bytes, const Parameters& given,
                 const CollectiveCosts& costs = {}, CollectiveKind operation = CollectiveKind::all_reduce) {
  World world(machines(hosts, per_host));
  const CollectiveShape shape = shape_of(machines(hosts, per_host));
  const CollectiveEntry& entry = algorithms_of(operation).at(name);
  const auto schedule = make_schedule(entry, bytes, shape, links, given);
  const double stepwise = world.stepwise(*schedule, costs);
  return {stepwise, world.fluid(*schedule, costs),
          entry.seconds(static_cast<double>(bytes), shape, links, complete(entry.parameters, given))};
}

// Once more, independently of the code: src/graph/tuning.cc of NCCL 2.8, by protocol (LL, LL128, Simple), in us.
const std::vector<std::string> protocols = {"LL", "LL128", "Simple"};
const double ring_base[] = {3.6, 10.0, 8.4}, ring_nvlink[] = {0.47, 1.9, 3.4}, ring_pcie[] = {1.0, 2.5, 5.7},
             ring_network[] = {2.7, 4.0, 9.6};
const double tree_base[] = {4.4, 4.4, 0}, tree_nvlink[] = {0.52, 1.2, 28}, tree_network[] = {5.0, 8.5, 50};
const double ring_share[] = {0.25, 0.92, 1};
// The tree's bandwidth has a factor by size: that of 1 MiB (2^14 lines of 64 B) and of 128 B (2^1).
const double tree_at_mebi[] = {0.5, 0.6, 0.5}, tree_at_128[] = {1, 1, 0.9};
const double tree_one_host[] = {0.9 / 3.8, 0.9 * 7 / 9, 0.9}, tree_hosts[] = {0.9 / 3.8, 0.9 * 0.915, 0.9};

Parameters forced(const std::string& algorithm, const std::string& protocol, const std::string& inside = "nvlink") {
  return {{"version", std::string("2.8")}, {"algorithm", algorithm}, {"protocol", protocol}, {"inside", inside}};
}

constexpr std::uint64_t mebi = 1 << 20;

}  // namespace

TEST_CASE("nccl, rings in one host: base + 2(p-1)(step + link) + 2(p-1)/p n / (share of the bandwidth)") {
  for (const std::size_t p : {2u, 3u, 4u, 8u, 16u}) {
    for (std::size_t protocol = 0; protocol < 3; ++protocol) {
      for (const bool nvlink : {true, false}) {
        for (const std::uint64_t bytes : {std::uint64_t{4}, std::uint64_t{1000}, mebi, 100 * mebi}) {
          CAPTURE(p);
          CAPTURE(protocols[protocol]);
          CAPTURE(bytes);
          const double steps = 2.0 * static_cast<double>(p - 1), n = static_cast<double>(bytes);
          const double expected = us * (ring_base[protocol] + steps * (nvlink ? ring_nvlink : ring_pcie)[protocol]) +
                                  steps * inside_latency + steps / static_cast<double>(p) * n / (inside_bandwidth * ring_share[protocol]);
          const Measured times = measure("nccl", 1, p, bytes, forced("ring", protocols[protocol], nvlink ? "nvlink" : "pcie"));
          check_close(times.formula, expected, 1e-12);
          check_close(times.stepwise, expected, 0.001);
          check_close(times.fluid, expected, 0.001);
        }
      }
    }
  }
}

TEST_CASE("nccl, all-gathers and reduce-scatters: a ring's steps and bytes, once around, whatever `algorithm` is") {
  // In one host LL has a third of the bandwidth, and not a quarter; the steps inside a host, where there are several, follow those between.
  for (const CollectiveKind operation : {CollectiveKind::all_gather, CollectiveKind::reduce_scatter}) {
    for (const auto& [hosts, per_host] :
         {std::pair(1, 2), std::pair(1, 8), std::pair(2, 1), std::pair(5, 1), std::pair(2, 8), std::pair(4, 4)}) {
      for (std::size_t protocol = 0; protocol < (hosts == 1 ? 3 : 2); ++protocol) {
        for (const std::uint64_t bytes : {std::uint64_t{800}, 64 * mebi}) {
          CAPTURE(hosts);
          CAPTURE(per_host);
          CAPTURE(protocols[protocol]);
          CAPTURE(bytes);
          const double m = hosts, p = m * per_host, n = static_cast<double>(bytes), gathered = (p - 1) / p * n;
          const double step_inside = us * ring_nvlink[protocol] * (protocol == 0 && hosts > 1 ? 1.8 : 1) + inside_latency;
          const double step_between = us * ring_network[protocol] + 2 * latency;
          const double steps = per_host == 1 ? (p - 1) * step_between : (m - 1) * step_between + (p - m) * step_inside;
          const double share = protocol == 0 ? (hosts == 1 ? 1.0 / 3 : 0.25) : protocol == 1 && per_host == 1 ? 0.7 : ring_share[protocol];
          const double expected = us * ring_base[protocol] + steps + gathered / ((hosts == 1 ? inside_bandwidth : bandwidth) * share);
          const Measured times = measure("nccl", static_cast<std::size_t>(hosts), static_cast<std::size_t>(per_host), bytes,
                                         forced("tree", protocols[protocol]), {}, operation);
          check_close(times.formula, expected, 1e-12);
          check_close(times.stepwise, expected, 0.001);
          check_close(times.fluid, times.stepwise, 0.01);
        }
      }
    }
  }
}

TEST_CASE("nccl, rings over hosts: 2(m-1) steps between them, the others along the chains inside") {
  for (const auto& shape : std::vector<std::pair<std::size_t, std::size_t>>{{2, 1}, {5, 1}, {2, 2}, {2, 8}, {4, 4}}) {
    const std::size_t hosts = shape.first, per_host = shape.second;
    for (std::size_t protocol = 0; protocol < 2; ++protocol) {
      for (const std::uint64_t bytes : {std::uint64_t{800}, 8 * mebi, 64 * mebi}) {
        CAPTURE(hosts);
        CAPTURE(per_host);
        CAPTURE(bytes);
        const double m = static_cast<double>(hosts), p = m * static_cast<double>(per_host), n = static_cast<double>(bytes);
        const double between = 2 * (m - 1), inside = 2 * (p - 1) - between;
        const double step_inside = ring_nvlink[protocol] * (protocol == 0 ? 1.8 : 1);
        const double share = protocol == 1 && per_host == 1 ? 0.7 : ring_share[protocol];
        // With one rank on each host all steps go over the network.
        const double steps = per_host == 1
                                 ? 2 * (p - 1) * (us * ring_network[protocol] + 2 * latency)
                                 : between * (us * ring_network[protocol] + 2 * latency) + inside * (us * step_inside + inside_latency);
        const double expected = us * ring_base[protocol] + steps + 2 * (p - 1) / p * n / (bandwidth * share);
        const Measured times = measure("nccl", hosts, per_host, bytes, forced("ring", protocols[protocol]));
        check_close(times.formula, expected, 1e-12);
        check_close(times.stepwise, expected, 0.001);
        check_close(times.fluid, times.stepwise, 0.01);
      }
    }
  }
  // Simple over hosts: from p/16 · 64 KiB on all latencies of the library are 1.9 times as long.
  const double lat = us * (ring_base[2] + 6 * ring_network[2]);
  const auto seconds = [&](std::uint64_t bytes) { return measure("nccl", 4, 1, bytes, forced("ring", "Simple")).stepwise; };
  const double edge = 4.0 / 16 * 65536;
  for (const double n : {edge - 4, edge}) {
    const double flowing = 1.5 * n / bandwidth;  // half of it covers latencies of links
    check_close(seconds(static_cast<std::uint64_t>(n)), (n < edge ? 1 : 1.9) * lat + 6 * 2 * latency + flowing / 2, 0.001);
  }
}

TEST_CASE("nccl, rings over hosts with Simple: bytes cover the latencies of links, but for the last one") {
  const double far = 5e-3;  // of a card's link
  const Nic distant{bandwidth, bandwidth, Time::from_seconds(far)};
  const UniformLinks ways{2 * far, 1 / bandwidth, 0, inside_latency, 1 / inside_bandwidth};
  for (const auto& [hosts, per_host] : std::vector<std::pair<std::size_t, std::size_t>>{{2, 1}, {4, 1}, {16, 1}, {4, 4}}) {
    for (const std::uint64_t bytes : {std::uint64_t{4000}, 64 * mebi, 400 * mebi, 4000 * mebi}) {
      CAPTURE(hosts);
      CAPTURE(per_host);
      CAPTURE(bytes);
      Placement placement = equal_hosts(hosts, per_host, 0, distant);
      placement.intra = Placement::Intra{inside_bandwidth, Time::from_seconds(inside_latency)};
      const double m = static_cast<double>(hosts), p = m * static_cast<double>(per_host);
      const double between = 2 * (m - 1), flowing = 2 * (p - 1) / p * static_cast<double>(bytes) / bandwidth;
      // Of the library and inside hosts: below 2 ms.
      const double links_alone = std::max(flowing + 2 * far, flowing / 2 + between * 2 * far);
      World world(placement);
      const CollectiveShape shape = shape_of(placement);
      const Parameters given = forced("ring", "Simple");
      const auto schedule = make_schedule(collective("nccl"), bytes, shape, ways, given);
      const double formula = collective("nccl").seconds(static_cast<double>(bytes), shape, ways, settings(given));
      const double library = us * 1.9 * (ring_base[2] + between * ring_network[2] + (2 * (p - 1) - between) * ring_nvlink[2]) +
                             (2 * (p - 1) - between) * inside_latency;
      CHECK(formula >= links_alone);
      CHECK(formula <= (links_alone + library) * (1 + 1e-12));
      check_close(world.stepwise(*schedule, {}), formula, 0.001);
      check_close(world.fluid(*schedule, {}), formula, 0.001);
      // The library does not know that when it chooses.
      const std::vector<NcclLine> lines = nccl_lines(static_cast<double>(bytes), HostChains(shape), ways, settings(given));
      REQUIRE(lines.size() == 1);
      CHECK(lines[0].rated == doctest::Approx(flowing + between * 2 * far).epsilon(0.02));
    }
  }
}

TEST_CASE("nccl, trees: chains up and down inside a host, two binary trees between hosts") {
  for (std::size_t protocol = 0; protocol < 3; ++protocol) {
    for (const std::uint64_t bytes : {std::uint64_t{128}, mebi}) {
      CAPTURE(protocols[protocol]);
      CAPTURE(bytes);
      const double n = static_cast<double>(bytes), corrected = (bytes == mebi ? tree_at_mebi : tree_at_128)[protocol];
      // The middle of a chain sends the message up and down, its two ends once.
      for (const std::size_t p : {2u, 3u, 8u}) {
        const double sent = p == 2 ? 1 : 2;
        const double expected = us * tree_base[protocol] + 2 * static_cast<double>(p - 1) * (us * tree_nvlink[protocol] + inside_latency) +
                                sent * n / (inside_bandwidth * tree_one_host[protocol] * corrected);
        const Measured times = measure("nccl", 1, p, bytes, forced("tree", protocols[protocol]));
        check_close(times.formula, expected, 1e-12);
        check_close(times.stepwise, expected, 0.001);
        check_close(times.fluid, expected, 0.01);
      }
      // Hosts of one rank: in all inner nodes of a tree, which is a leaf of the other, half of the message goes up and to two children, and
      // up in the other; of two hosts each is root of one tree, with one child.
      for (const std::size_t m : {2u, 4u, 8u, 16u, 32u}) {
        const double sent = m == 2 ? 1 : 2, levels = std::log2(static_cast<double>(m));
        const double expected = us * tree_base[protocol] + 2 * levels * (us * tree_network[protocol] + 2 * latency) +
                                sent * n / (bandwidth * tree_hosts[protocol] * corrected);
        const Measured times = measure("nccl", m, 1, bytes, forced("tree", protocols[protocol]));
        check_close(times.formula, expected, 1e-12);
        check_close(times.stepwise, expected, 0.02);
        check_close(times.fluid, times.stepwise, 0.02);
      }
      // Hosts of four: chains of three steps in front and behind; the cards are the narrowest links.
      const double expected = us * tree_base[protocol] + 6 * (us * tree_nvlink[protocol] + inside_latency) +
                              4 * (us * tree_network[protocol] + 2 * latency) + 2 * n / (bandwidth * tree_hosts[protocol] * corrected);
      const Measured times = measure("nccl", 4, 4, bytes, forced("tree", protocols[protocol]));
      check_close(times.formula, expected, 1e-12);
      check_close(times.stepwise, expected, 0.02);
      check_close(times.fluid, times.stepwise, 0.02);
    }
  }
}

TEST_CASE("nccl takes the lower line: protocols change where two of them cross") {
  const std::size_t p = 8;
  const CollectiveShape shape = shape_of(machines(1, p));
  const double steps = 2 * (p - 1), per_byte = steps / p / inside_bandwidth;
  const auto alpha = [&](std::size_t protocol) { return us * (ring_base[protocol] + steps * ring_nvlink[protocol]); };
  const auto crossing = [&](std::size_t a, std::size_t b) {
    return (alpha(b) - alpha(a)) / (per_byte * (1 / ring_share[a] - 1 / ring_share[b]));
  };
  const double to_ll128 = crossing(0, 1), to_simple = crossing(1, 2);
  REQUIRE(to_ll128 < to_simple);
  const auto choice = [&](double bytes, const Parameters& given) {
    return collective("nccl").choice(bytes, shape, links, settings(given));
  };
  const Parameters rings{{"version", std::string("2.8")}, {"algorithm", std::string("ring")}};
  CHECK(choice(0.999 * to_ll128, rings) == "ring, LL");
  CHECK(choice(1.001 * to_ll128, rings) == "ring, LL128");
  CHECK(choice(0.999 * to_simple, rings) == "ring, LL128");
  CHECK(choice(1.001 * to_simple, rings) == "ring, Simple");
  // Over PCIe there is no LL128, unless it is asked for.
  const double pcie = us * (ring_base[2] - ring_base[0] + steps * (ring_pcie[2] - ring_pcie[0])) / (per_byte * (1 / ring_share[0] - 1));
  const Parameters slots{{"version", std::string("2.8")}, {"algorithm", std::string("ring")}, {"inside", std::string("pcie")}};
  CHECK(choice(0.999 * pcie, slots) == "ring, LL");
  CHECK(choice(1.001 * pcie, slots) == "ring, Simple");
  CHECK(choice(4, forced("ring", "LL128", "pcie")) == "ring, LL128");
  // NCCL takes the fastest line, and `choice` names it.
  for (const std::string version : {"2.8", "2.30"}) {
    for (const auto& [hosts, per_host] : std::vector<std::pair<std::size_t, std::size_t>>{{1, 8}, {4, 8}, {16, 1}}) {
      const CollectiveShape where = shape_of(machines(hosts, per_host));
      const HostChains chains(where);
      for (double bytes = 4; bytes < 1e9; bytes *= 8) {
        const Parameters given = settings({{"version", version}});
        const NcclLine chosen = nccl_choice(bytes, chains, links, given);
        for (const NcclLine& line : nccl_lines(bytes, chains, links, given)) CHECK(chosen.rated <= line.rated * (1 + 1e-9));
        CHECK(nccl_lines(bytes, chains, links, given).size() == 6);
        CHECK(collective("nccl").choice(bytes, where, links, given) == chosen.name());
      }
    }
  }
}

TEST_CASE("nccl 2.30: latencies of posting, a ring of single ranks, and the limits of LL") {
  const auto seconds = [](std::size_t hosts, std::size_t per_host, double bytes, const Parameters& given) {
    return collective("nccl").seconds(bytes, shape_of(machines(hosts, per_host)), links, settings(given));
  };
  const Parameters ring_ll{{"algorithm", std::string("ring")}, {"protocol", std::string("LL")}};
  // One host: 6.6 + 14 · 0.6 us, half of 100 GB/s (below the 87.7 GB/s of an Ampere GPU, above the 39 of a Volta).
  const double n = 1e6;
  check_close(seconds(1, 8, n, ring_ll), us * (6.6 + 14 * 0.6) + 14 * inside_latency + 1.75 * n / 50e9, 1e-12);
  const Parameters volta{{"algorithm", std::string("ring")}, {"protocol", std::string("LL")}, {"gpu", std::string("volta")}};
  check_close(seconds(1, 8, n, volta), us * (6.6 + 14 * 0.6) + 14 * inside_latency + 1.75 * n / 39e9, 1e-12);
  // Hosts of one: the network's step is that of the tree, 5 us; half of the card's bandwidth is below the limit of 20.4 GB/s.
  check_close(seconds(8, 1, n, ring_ll), us * (6.6 + 14 * 5.0) + 14 * 2 * latency + 1.75 * n / (bandwidth / 2), 1e-12);
  // Hosts of two: a step inside costs 1 us of posting, not 0.6.
  check_close(seconds(2, 2, n, ring_ll), us * (6.6 + 4 * 1.0 + 2 * 2.7) + 4 * inside_latency + 2 * 2 * latency + 1.5 * n / (bandwidth / 2),
              1e-12);
  // A channel's limit: 20 GB/s with LL128 on Ampere.
  const Parameters two_channels{{"algorithm", std::string("ring")}, {"protocol", std::string("LL128")}, {"channels", std::int64_t{2}}};
  check_close(seconds(1, 8, n, two_channels), us * (14 + 14 * 1.9) + 14 * inside_latency + 1.75 * n / 40e9, 1e-12);
}

TEST_CASE("NVLS: 25 us, and n + n/p bytes each way at 0.85 of the link; only where a switch reduces") {
  const Parameters hopper{{"gpu", std::string("hopper")}, {"nvls", true}};
  const std::uint64_t bytes = 256 * mebi;
  const double n = static_cast<double>(bytes);
  CollectiveCosts arithmetic;  // the switch adds up
  arithmetic.reduce_seconds_per_byte = 1e-9;
  for (const std::size_t p : {3u, 4u, 5u, 8u}) {
    CAPTURE(p);
    const double expected = 25 * us + 2 * inside_latency + (n + n / static_cast<double>(p)) / (0.85 * inside_bandwidth);
    const Measured times = measure("nccl", 1, p, bytes, hopper, arithmetic);
    check_close(times.formula, expected, 1e-12);
    check_close(times.stepwise, expected, 0.001);
    check_close(times.fluid, expected, 0.001);
    const auto schedule = make_schedule(collective("nccl"), 1'000'003, shape_of(machines(1, p)), links, hopper);
    for (CollectiveRank rank = 0; rank < p; ++rank) {
      CHECK(schedule->bytes_sent(rank) == 1'000'003 + (1'000'003 + p - 1) / p);
      CHECK(schedule->bytes_received(rank) == schedule->bytes_sent(rank));
    }
  }
  // NCCL takes it for 2 · 0.85 times as fast as a ring.
  const auto lines = nccl_lines(n, HostChains(shape_of(machines(1, 4))), links, settings(hopper));
  CHECK(lines.back().name() == "NVLS, Simple");
  check_close(lines.back().rated, 25 * us + 2 * inside_latency + 1.5 * n / (2 * 0.85 * inside_bandwidth), 1e-12);
  const auto choice = [&](std::size_t hosts, const Parameters& given) {
    return collective("nccl").choice(n, shape_of(machines(hosts, 8)), links, settings(given));
  };
  CHECK(choice(1, hopper) == "NVLS, Simple");
  CHECK(collective("nccl").choice(n, shape_of(machines(1, 2)), links, settings(hopper)) == "ring, Simple");  // NCCL: from 3 GPUs on
  CHECK(choice(1, {{"gpu", std::string("hopper")}}) == "ring, Simple");
  CHECK(choice(1, {{"gpu", std::string("ampere")}, {"nvls", true}}) == "ring, Simple");
  CHECK(choice(1, {{"gpu", std::string("hopper")}, {"nvls", true}, {"version", std::string("2.8")}}) == "ring, Simple");
  CHECK(choice(4, hopper) != "NVLS, Simple");
}

TEST_CASE("nccl on hosts of unequal sizes, dealt out in any order") {
  for (const std::string algorithm : {"tree", "ring"}) {
    for (const std::vector<std::uint32_t>& hosts :
         std::vector<std::vector<std::uint32_t>>{{0, 0, 0, 1}, {5, 2, 5, 2, 9}, {1, 0, 0, 0, 2, 2, 0, 1}}) {
      const CollectiveShape shape{hosts.size(), 0, hosts};
      const auto schedule = make_schedule(collective("nccl"), 1'000'003, shape, links, {{"algorithm", algorithm}});
      std::uint64_t sent = 0, received = 0;
      for (std::size_t rank = 0; rank < hosts.size(); ++rank) {
        sent += schedule->bytes_sent(static_cast<CollectiveRank>(rank));
        received += schedule->bytes_received(static_cast<CollectiveRank>(rank));
      }
      CHECK(sent == received);
      const std::uint64_t least = 2 * (hosts.size() - 1) * 1'000'003;
      CHECK(sent >= least);
      CHECK(sent <= least + 2 * hosts.size());  // a ring's share is rounded up
    }
  }
}

TEST_CASE("openmpi takes its algorithm by ranks and bytes, and runs as that one") {
  struct Case {
    std::size_t ranks;
    std::uint64_t bytes;
    const char* algorithm;
  };
  // Both sides of bounds of the rule. A ring of fewer elements than ranks is recursive doubling.
  const std::vector<Case> cases = {{3, 4095, "recursive_doubling"},
                                   {3, 4096, "ring"},
                                   {3, 8192, "recursive_doubling"},
                                   {3, 16'384, "ring"},
                                   {3, 262'143, "ring"},
                                   {3, 262'144, "halving_doubling"},
                                   {4, 12, "recursive_doubling"},
                                   {4, 8191, "recursive_doubling"},
                                   {4, 8192, "halving_doubling"},
                                   {8, 8191, "recursive_doubling"},
                                   {16, 4095, "recursive_doubling"},
                                   {16, 4096, "halving_doubling"},
                                   {31, 60, "recursive_doubling"},
                                   {32, 128, "halving_doubling"},
                                   {64, 262'143, "recursive_doubling"},
                                   {64, 262'144, "halving_doubling"},
                                   {128, 131'071, "binomial_tree"},
                                   {128, 131'072, "recursive_doubling"},
                                   {256, 4095, "binomial_tree"},
                                   {256, 4096, "halving_doubling"},
                                   {512, 2048, "recursive_doubling"},
                                   {2048, 4000, "recursive_doubling"},
                                   {2048, 16'384, "halving_doubling"},
                                   {4096, 16'383, "recursive_doubling"},
                                   {4096, 32'768, "halving_doubling"}};
  const CollectiveEntry& openmpi = collective("openmpi");
  for (const Case& each : cases) {
    CAPTURE(each.ranks);
    CAPTURE(each.bytes);
    const CollectiveShape shape{each.ranks, 0, {}};
    CHECK(openmpi.choice(static_cast<double>(each.bytes), shape, links, {}) == each.algorithm);
    const auto own = make_schedule(openmpi, each.bytes, shape, links),
               other = make_schedule(collective(each.algorithm), each.bytes, shape, links);
    CHECK(own->rounds() == other->rounds());
    CHECK(own->bytes_sent(0) == other->bytes_sent(0));
    CHECK(openmpi.seconds(1e6, shape, links, {}) > 0);
  }
  for (const std::size_t p : {2u, 5u, 8u, 33u}) {
    for (const std::uint64_t bytes : {std::uint64_t{4}, std::uint64_t{10'000}, std::uint64_t{100'000}, 10 * mebi}) {
      const Measured times = measure("openmpi", p, 1, bytes, {});
      check_close(times.stepwise, times.formula, 0.001);
    }
  }
}

TEST_CASE("auto never takes a library, and wrong settings of one are reported") {
  for (const CollectiveEntry& entry : collectives()) CHECK(entry.library == (entry.choice != nullptr));
  World world(machines(2, 8));
  const CollectiveShape shape = shape_of(machines(2, 8));
  for (std::uint64_t bytes = 4; bytes <= 1u << 30; bytes *= 16)
    CHECK(!cheapest_collective(bytes, shape, links, {}, *world.transport).library);
  const auto told = [](Parameters given) -> std::string {
    return test::error_of<std::invalid_argument>([&] { settings(std::move(given)); });
  };
  CHECK(told({{"protocol", std::string("LL64")}}).find("LL128") != std::string::npos);
  CHECK(told({{"version", std::string("2.9")}}).find("2.8") != std::string::npos);
  CHECK(told({{"channels", std::int64_t{0}}}).find("channels") != std::string::npos);
}

TEST_CASE("every collective is launched once on each rank, in both fidelities; one without rounds is not launched") {
  CollectiveCosts costs, launched;
  const double launch = 12e-6;
  launched.launch = Time::from_seconds(launch);
  for (const CollectiveEntry& entry : collectives()) {
    CAPTURE(entry.name);
    const Placement placement = equal_hosts(6, 1, 2, card);
    const CollectiveShape shape = shape_of(placement);
    const auto schedule = make_schedule(entry, mebi, shape, links);
    World world(placement);
    const double stepwise = world.stepwise(*schedule, costs), fluid = world.fluid(*schedule, costs);
    check_close(world.stepwise(*schedule, launched), stepwise + launch, 1e-9);
    check_close(world.fluid(*schedule, launched), fluid + launch, 1e-9);
    // As they come: all but the last are launched before it comes.
    struct Ends final : CollectiveWatch {
      void done(std::uint64_t, CollectiveRank) override { ++count; }
      std::size_t count = 0;
    };
    const auto last_after = [&](const CollectiveCosts& its, double late) {
      struct Late final : Event {
        void happen() override { run->begin(0, 0); }
        MessageRun* run = nullptr;
      } event;
      World own(placement);
      std::vector<std::uint32_t> places(schedule->ranks());
      for (std::size_t rank = 0; rank < places.size(); ++rank) places[rank] = static_cast<std::uint32_t>(rank);
      Ends ends;
      MessageRun run(own.simulation, own.network, *own.transport, its, MessageRun::Start::as_they_come, MessageRun::any_size, ends);
      run.open(*schedule, places);
      event.run = &run;
      own.simulation.queue().at(Time::from_seconds(late), event);
      for (std::size_t rank = 1; rank < schedule->ranks(); ++rank) run.begin(0, static_cast<CollectiveRank>(rank));
      CHECK_THROWS_AS(run.begin(0, 1), std::logic_error);
      own.simulation.run();
      CHECK(ends.count == schedule->ranks());
      return own.simulation.now().seconds();
    };
    check_close(last_after(launched, 0.01), last_after(costs, 0.01) + launch, 1e-9);
    World alone(equal_hosts(1, 1, 2, card));
    if (entry.name != "parameter_server") CHECK(alone.stepwise(*make_schedule(entry, mebi, {1, 0, {}}, links), launched) == 0);
  }
}

}  // namespace libraries_test

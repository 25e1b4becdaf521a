// NVLSTree: the switches of hosts add up and hand out, and trees go between hosts.
#include <doctest/doctest.h>

#include <cmath>
#include <set>

#include "sim/collectives/nccl_tuning.hpp"
#include "tests/collectives/world.hpp"

namespace nvls_tree_test {

using namespace straggler;

namespace {

constexpr double us = 1e-6, gb = 1e9;
constexpr double latency = 50e-6, inside_latency = 0.3e-6;  // far hosts: a latency that is lost would show
constexpr double share = 0.85;                              // of NVLink that NVLS uses on Hopper

struct Case {
  std::size_t hosts, per_host, per_card;
  double bandwidth, inside_bandwidth;  // of a card, of a GPU inside its host
  double m() const { return static_cast<double>(hosts); }
  double g() const { return static_cast<double>(per_host); }
  double p() const { return m() * g(); }
  double cards() const { return g() / static_cast<double>(per_card); }
  double levels() const { return std::floor(std::log2(m())); }
  UniformLinks links() const { return {2 * latency, 1 / bandwidth, 0, inside_latency, 1 / inside_bandwidth}; }
  CollectiveShape shape() const {
    CollectiveShape all{hosts * per_host, 0, {}};
    for (std::size_t rank = 0; rank < all.workers; ++rank) all.host_of.push_back(static_cast<std::uint32_t>(rank / per_host));
    if (per_card < per_host) all.workers_per_card = per_card;
    return all;
  }
  Placement placement() const {
    Placement all = equal_hosts(hosts, per_host, 0, Nic{bandwidth, bandwidth, Time::from_seconds(latency)});
    all.intra = Placement::Intra{inside_bandwidth, Time::from_seconds(inside_latency), {}, {}, {}, {per_card, CardPlace::beside}};
    return all;
  }
};
// The narrowest are the cards in the first three, the hosts' switches in two, and NCCL's limit in three.
const std::vector<Case> cases = {{2, 8, 8, 50e9, 370e9}, {4, 8, 1, 40e9, 370e9}, {4, 4, 2, 50e9, 370e9}, {2, 8, 1, 50e9, 150e9},
                                 {4, 4, 1, 200e9, 60e9}, {2, 8, 1, 50e9, 370e9}, {4, 8, 1, 50e9, 370e9}, {8, 4, 1, 50e9, 370e9}};

Parameters given(Parameters more = {}) {
  Parameters all{{"gpu", std::string("hopper")}, {"nvls", true}, {"algorithm", std::string("nvls")}};
  for (const auto& [name, value] : more.all()) all.set(name, value);
  return complete(nccl_parameters(), all);
}
NcclLine line_of(const Case& c, double bytes, const Parameters& more = {}) {
  const std::vector<NcclLine> lines = nccl_lines(bytes, HostChains(c.shape()), c.links(), given(more));
  REQUIRE(lines.size() == 1);
  return lines[0];
}
void check_close(double a, double b, double tolerance) { CHECK_MESSAGE(std::abs(a - b) <= tolerance * b, a, " s and ", b, " s"); }

}  // namespace

TEST_CASE("NVLSTree takes the longest of n + n/g on each GPU's link at 0.85, of two trees on the cards, and of NCCL's limit of a GPU") {
  const std::uint64_t bytes = 64'000'000;
  const auto n = static_cast<double>(bytes);
  for (const Case& c : cases) {
    CAPTURE(c.hosts);
    CAPTURE(c.per_host);
    CAPTURE(c.per_card);
    // A GPU's link carries all of its message to the switch, and of the sum its own n/g; as much comes back. In two trees an inner node of
    // one is a leaf of the other: half goes to its parent and to two children in one, and to its parent in the other. Of two hosts each is
    // root of one.
    const double inside = (n + n / c.g()) / (share * c.inside_bandwidth);
    const double limit = 2 * (c.p() - 1) / c.p() * n / (c.g() * (c.hosts == 2 ? 57.7 : 45.5) * gb);  // of a bus bandwidth
    const double between = (c.hosts == 2 ? 1 : 2) * n / c.cards() / c.bandwidth;
    const double steps = 25 * us + 2 * inside_latency + 2 * c.levels() * (20.9 * us + 2 * latency);
    const double expected = steps + std::max({inside, limit, between});
    check_close(line_of(c, n).seconds, expected, 1e-12);
    World world(c.placement());
    const auto schedule = make_schedule(collective("nccl"), bytes, c.shape(), c.links(), given());
    const double stepwise = world.stepwise(*schedule, {});
    check_close(stepwise, expected, 0.001);
    check_close(world.fluid(*schedule, {}), expected, 0.001);
    // Only GPUs add up, and only what comes from other hosts: in an inner node two halves of each GPU's share.
    CollectiveCosts arithmetic;
    arithmetic.reduce_seconds_per_byte = 1e-9;
    UniformLinks adding = c.links();
    adding.gamma = 1e-9;
    const double added = (c.hosts == 2 ? 0.5 : 1) * n / c.g() * 1e-9;
    check_close(nccl_choice(n, HostChains(c.shape()), adding, given()).seconds, expected + added, 1e-12);
    World slower(c.placement());
    CHECK(slower.stepwise(*schedule, arithmetic) >= stepwise + added * (1 - 1e-9));
  }
}

TEST_CASE("NVLSTree: every message has its receiver, and each GPU talks to those of its place on other hosts") {
  for (const auto& [bytes, hosts] :
       std::vector<std::pair<std::uint64_t, std::vector<std::uint32_t>>>{{1'000'003, {0, 0, 0, 1, 1, 1}},
                                                                         {5, {2, 1, 2, 1, 2, 1, 9, 9, 9, 9}},
                                                                         {1'000'000, {0, 0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 3, 3, 3}}}) {
    const CollectiveShape shape{hosts.size(), 0, hosts};
    const auto schedule = make_schedule(collective("nccl"), bytes, shape, cases[0].links(), given());
    const NcclLine line = nccl_choice(static_cast<double>(bytes), HostChains(shape), cases[0].links(), given());
    std::vector<std::uint64_t> inside(hosts.size()), between(hosts.size());
    RoundPart part;
    for (std::size_t round = 0; round < schedule->rounds(); ++round) {
      std::uint64_t sent = 0, received = 0, messages = 0;
      for (std::size_t rank = 0; rank < hosts.size(); ++rank) {
        schedule->part(static_cast<CollectiveRank>(rank), round, part);
        for (const RoundPart::Send& send : part.sends) {
          sent += send.bytes;
          const bool same = hosts[rank] == hosts[send.to];
          (same ? inside : between)[rank] += send.bytes;
          CHECK(schedule->wire_factor(static_cast<CollectiveRank>(rank), send.to) == (same ? line.wire_factor : 1));
        }
        messages += part.sends.size() - part.receives;
        received += part.received_bytes;
      }
      CHECK(sent == received);
      CHECK(messages == 0);
    }
    // The smallest host has three: each of three shares goes up all edges of both trees, and down them.
    std::uint64_t all = 0;
    std::size_t in_charge = 0;
    for (std::size_t rank = 0; rank < hosts.size(); ++rank) {
      all += between[rank];
      in_charge += between[rank] > 0 ? 1 : 0;
      CHECK(inside[rank] >= bytes);
      CHECK(inside[rank] <= bytes + (bytes + 2) / 3);
    }
    const std::size_t m = std::set<std::uint32_t>(hosts.begin(), hosts.end()).size();
    CHECK(all == 2 * (m - 1) * bytes);
    if (bytes > 100) CHECK(in_charge == 3 * m);
  }
}

TEST_CASE("NCCL rates NVLSTree by twice NVLS, by its network, twice on two hosts, and by a limit of each GPU") {
  const double n = 1e9;
  const auto rated = [&](const Case& c, const Parameters& more = {}) {
    const double p = c.p(), steps = 25 * us + 2 * inside_latency + 2 * c.levels() * (20.9 * us + 2 * latency);
    return 2 * (p - 1) / p * n / (line_of(c, n, more).rated - steps);  // bus bandwidth
  };
  CHECK(rated({2, 8, 1, 50e9, 370e9}) == doctest::Approx(8 * 57.7 * gb));                 // of 800 GB/s and 2 · 0.85 · 7/8 · 370 GB/s
  CHECK(rated({4, 8, 1, 50e9, 370e9}) == doctest::Approx(8 * 45.5 * gb));                 // of 400 GB/s
  CHECK(rated({4, 8, 1, 40e9, 370e9}) == doctest::Approx(320 * gb));                      // the network
  CHECK(rated({2, 8, 4, 40e9, 370e9}) == doctest::Approx(2 * 80 * gb));                   // twice, by two cards
  CHECK(rated({2, 8, 1, 50e9, 200e9}) == doctest::Approx(2 * share * 7 / 8 * 200 * gb));  // the switches
  // Blackwell: 0.74 of NVLink, other limits, and the correction of trees with Simple, which is 0.9 at 2^23 lines of 64 B (1 beyond).
  const Parameters blackwell{{"gpu", std::string("blackwell")}};
  CHECK(rated({2, 8, 1, 100e9, 700e9}, blackwell) == doctest::Approx(8 * 96 * gb));
  const Case wide{4, 8, 1, 100e9, 700e9};
  const double small = 1 << 20;  // 2^14 lines: 0.5
  const double steps = line_of(wide, 0, blackwell).rated;
  CHECK(line_of(wide, small, blackwell).rated - steps == doctest::Approx(2 * 31 / 32.0 * small / (8 * 80 * gb) / 0.5));
}

TEST_CASE("NVLSTree is there where switches reduce, on several hosts, for all-reduces with Simple, and NCCL takes it when it is fastest") {
  const Case c{4, 8, 1, 50e9, 370e9};
  const auto choice = [&](const Parameters& more, const Case& where, double n = 64e6) {
    Parameters all{{"gpu", std::string("hopper")}, {"nvls", true}};
    for (const auto& [name, value] : more.all()) all.set(name, value);
    return nccl_choice(n, HostChains(where.shape()), where.links(), complete(nccl_parameters(), all)).name();
  };
  CHECK(choice({}, c) == "NVLSTree, Simple");
  CHECK(choice({}, c, 8) == "tree, LL");
  // A ring's bus has 400 GB/s, NVLSTree 8 · 45.5 on more than two hosts, and 8 · 57.7 on two: the ring's latencies are what it pays for
  // that.
  CHECK(choice({}, c, 1e10) == "ring, Simple");
  CHECK(choice({}, {2, 8, 1, 50e9, 370e9}, 1e9) == "NVLSTree, Simple");
  CHECK(choice({}, {1, 8, 8, 50e9, 370e9}) == "NVLS, Simple");
  CHECK(choice({{"nvls", false}}, c) != "NVLSTree, Simple");
  CHECK(choice({{"gpu", std::string("ampere")}}, c) != "NVLSTree, Simple");
  CHECK(choice({{"version", std::string("2.8")}}, c) != "NVLSTree, Simple");
  CHECK(choice({{"protocol", std::string("LL128")}}, c).ends_with("LL128"));
  CHECK(choice({}, {4, 2, 1, 50e9, 370e9}) != "NVLSTree, Simple");  // NCCL: from 3 GPUs of a host on
  // Forced: at any size; where there is none, as if it were not.
  const Parameters forced{{"algorithm", std::string("nvls")}};
  CHECK(choice(forced, c, 8) == "NVLSTree, Simple");
  CHECK(choice(forced, {1, 8, 8, 50e9, 370e9}, 8) == "NVLS, Simple");
  CHECK(choice({{"algorithm", std::string("nvls")}, {"protocol", std::string("LL")}}, c, 8) == "tree, LL");
  const Parameters all = complete(nccl_parameters(), {{"gpu", std::string("hopper")}, {"nvls", true}});
  for (const CollectiveKind kind : {CollectiveKind::all_gather, CollectiveKind::reduce_scatter})
    CHECK(nccl_choice(1e9, HostChains(c.shape()), c.links(), all, kind).name() == "ring, Simple");
  CHECK(nccl_contradiction(complete(nccl_parameters(), forced)).find("nvls: true") != std::string::npos);
  CHECK(nccl_contradiction(given({{"version", std::string("2.8")}})).find("2.30") != std::string::npos);
  CHECK(nccl_contradiction(given()).empty());
}

TEST_CASE("what a network reports replaces the links' latency in NCCL's rating, twice with Simple, and changes no time") {
  const double reported = 75 * us, n = 1e6;
  for (const Case& c : {Case{2, 8, 2, 12.5e9, 240e9}, Case{4, 8, 1, 50e9, 370e9}, Case{4, 1, 1, 12.5e9, 240e9}}) {
    const Parameters plain{{"gpu", std::string("hopper")}, {"nvls", true}};
    Parameters told = plain;
    told.set("reported_latency", reported);
    const HostChains chains(c.shape());
    const auto before = nccl_lines(n, chains, c.links(), complete(nccl_parameters(), plain));
    const auto after = nccl_lines(n, chains, c.links(), complete(nccl_parameters(), told));
    REQUIRE(before.size() == after.size());
    for (std::size_t i = 0; i < before.size(); ++i) {
      CAPTURE(before[i].name());
      const bool ring = before[i].algorithm == NcclAlgorithm::ring, simple = before[i].protocol == NcclProtocol::simple;
      const double steps = ring ? 2 * (c.m() - 1) : 2 * c.levels();
      const double times = (simple ? 2 : 1) * (ring && simple ? 1.4 : 1);  // 1.4: a ring with Simple on long messages
      const double rated = after[i].rated - before[i].rated;
      CHECK(rated == doctest::Approx(steps * (times * reported - 2 * latency)));
      CHECK(after[i].seconds == before[i].seconds);
    }
  }
  CHECK(nccl_contradiction(complete(nccl_parameters(), {{"version", std::string("2.8")}, {"reported_latency", reported}})).find("2.30") !=
        std::string::npos);
}

}  // namespace nvls_tree_test

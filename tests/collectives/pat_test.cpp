// PAT, NCCL's all-gather and reduce-scatter with one rank on each host: a tree for each block, all at once.
#include <doctest/doctest.h>

#include <bit>
#include <set>

#include "sim/collectives/nccl_tuning.hpp"
#include "tests/collectives/world.hpp"

namespace pat_test {

using namespace straggler;

namespace {

constexpr double us = 1e-6, latency = 1e-6, bandwidth = 12.5e9;
const Nic nic{bandwidth, bandwidth, Time::from_seconds(latency)};
const UniformLinks links{2 * latency, 1 / bandwidth, 0, 0, 0};
constexpr CollectiveKind both[] = {CollectiveKind::all_gather, CollectiveKind::reduce_scatter};

HostChains chains(std::size_t hosts, std::size_t per_host) { return HostChains(shape_of(equal_hosts(hosts, per_host, 0, nic))); }
NcclLine line_of(NcclAlgorithm algorithm, double bytes, std::size_t p, CollectiveKind kind, const Parameters& given = {}) {
  for (const NcclLine& line : nccl_lines(bytes, chains(p, 1), links, complete(nccl_parameters(), given), kind))
    if (line.algorithm == algorithm && line.protocol == NcclProtocol::simple) return line;
  REQUIRE(false);
  return {};
}
void check_close(double a, double b, double tolerance) { CHECK_MESSAGE(std::abs(a - b) <= tolerance * b, a, " s and ", b, " s"); }

}  // namespace

TEST_CASE("PAT: ⌈lg p⌉ rounds of a link's latency and 4 us, 8 us and 2.8 for each rank, and a ring's bytes at 0.75 of the bandwidth") {
  const std::uint64_t bytes = 1 << 16;
  const auto n = static_cast<double>(bytes);
  for (const CollectiveKind kind : both) {
    for (const std::size_t p : {5u, 8u, 13u, 16u, 32u}) {
      CAPTURE(p);
      const double rounds = std::ceil(std::log2(static_cast<double>(p))), ranks = static_cast<double>(p);
      const double expected = us * (8 + 2.8 * ranks) + rounds * (4 * us + 2 * latency) + (ranks - 1) / ranks * n / (0.75 * bandwidth);
      check_close(line_of(NcclAlgorithm::pat, n, p, kind).seconds, expected, 1e-12);
      const CollectiveEntry& entry = algorithms_of(kind).at("nccl");
      const CollectiveShape shape{p, 0, {}};
      REQUIRE(entry.choice(n, shape, links, complete(entry.parameters, {})) == "PAT, Simple");
      const auto schedule = make_schedule(entry, bytes, shape, links);
      World world(p, nic);
      check_close(world.stepwise(*schedule, {}), expected, 0.001);
      check_close(world.fluid(*schedule, {}), expected, 0.001);
      // A reduce-scatter adds up what it receives.
      CollectiveCosts arithmetic;
      arithmetic.reduce_seconds_per_byte = 1e-9;
      const double added = kind == CollectiveKind::reduce_scatter ? (ranks - 1) / ranks * n * 1e-9 : 0;
      World slower(p, nic);
      check_close(slower.stepwise(*schedule, arithmetic), expected + added, 0.001);
    }
  }
}

TEST_CASE("PAT: every rank has every block in the end, once, and a gather sends the least the farthest") {
  const std::uint64_t block = 1 << 16;
  for (const std::size_t p : {4u, 6u, 7u, 11u, 16u}) {
    CAPTURE(p);
    const CollectiveShape shape{p, 0, {}};
    const auto gather = make_schedule(algorithms_of(CollectiveKind::all_gather).at("nccl"), block * p, shape, links);
    const auto scatter = make_schedule(algorithms_of(CollectiveKind::reduce_scatter).at("nccl"), block * p, shape, links);
    const std::size_t rounds = static_cast<std::size_t>(std::bit_width(p - 1));
    REQUIRE(gather->rounds() == rounds);
    REQUIRE(scatter->rounds() == rounds);
    // Who has which blocks, if a message brings those of its sender that its receiver lacks, of the tree of each block: told by counts
    // alone.
    std::vector<std::set<std::size_t>> has(p);
    for (std::size_t rank = 0; rank < p; ++rank) has[rank] = {rank};
    RoundPart part, back;
    for (std::size_t round = 0; round < rounds; ++round) {
      const std::size_t away = std::size_t{1} << (rounds - 1 - round);
      std::vector<std::set<std::size_t>> after = has;
      for (std::size_t rank = 0; rank < p; ++rank) {
        gather->part(static_cast<CollectiveRank>(rank), round, part);
        REQUIRE(part.sends.size() == 1);
        const std::size_t to = part.sends[0].to;
        CHECK(to == (rank + away) % p);
        std::set<std::size_t> brought;
        for (const std::size_t each : has[rank])
          if (has[to].count(each) == 0 && (to + p - each) % p % (2 * away) == away) brought.insert(each);
        CHECK(part.sends[0].bytes == brought.size() * block);
        after[to].insert(brought.begin(), brought.end());
        // The same messages backwards.
        scatter->part(static_cast<CollectiveRank>(to), rounds - 1 - round, back);
        REQUIRE(back.sends.size() == 1);
        CHECK(back.sends[0].to == rank);
        CHECK(back.sends[0].bytes == part.sends[0].bytes);
      }
      has = after;
    }
    for (std::size_t rank = 0; rank < p; ++rank) {
      CHECK(has[rank].size() == p);
      CHECK(gather->bytes_received(static_cast<CollectiveRank>(rank)) == (p - 1) * block);
      CHECK(scatter->bytes_sent(static_cast<CollectiveRank>(rank)) == (p - 1) * block);
    }
  }
}

TEST_CASE("NCCL rates PAT by its whole message, a level at 1/3.5 of a tree's step, and takes it where ranks have hosts of their own") {
  const double reported = 75 * us;
  for (const CollectiveKind kind : both) {
    for (const double n : {1e3, 1e6, 1e9}) {
      // On two hosts at twice the bandwidth, as trees.
      for (const auto& [p, levels, times] : {std::tuple(2, 1, 2), std::tuple(5, 2, 1), std::tuple(16, 4, 1)}) {
        const double base = us * (8 + 2.8 * p) + n / (0.75 * times * bandwidth);
        const auto ranks = static_cast<std::size_t>(p);
        check_close(line_of(NcclAlgorithm::pat, n, ranks, kind).rated, base + levels * (14 * us + 2 * latency) / 3.5, 1e-12);
        check_close(line_of(NcclAlgorithm::pat, n, ranks, kind, {{"reported_latency", reported}}).rated,
                    base + levels * (14 * us + 2 * reported) / 3.5, 1e-12);
      }
    }
    const auto choice = [&](double n, const HostChains& hosts, const Parameters& given = {}) {
      return nccl_choice(n, hosts, links, complete(nccl_parameters(), given), kind).name();
    };
    CHECK(choice(1e6, chains(16, 1)) == "PAT, Simple");
    CHECK(choice(1e9, chains(16, 1)) == "ring, Simple");
    CHECK(choice(1e6, chains(8, 2)).starts_with("ring, "));
    CHECK(choice(1e6, chains(1, 8)).starts_with("ring, "));
    CHECK(choice(1e6, chains(16, 1), {{"algorithm", std::string("ring")}}).starts_with("ring, "));
    CHECK(choice(1e6, chains(16, 1), {{"protocol", std::string("LL")}}) == "ring, LL");
    CHECK(choice(1e6, chains(16, 1), {{"version", std::string("2.8")}}).starts_with("ring, "));
  }
  CHECK(nccl_choice(1e6, chains(16, 1), links, complete(nccl_parameters(), {})).algorithm != NcclAlgorithm::pat);  // all-reduces have none
}

}  // namespace pat_test

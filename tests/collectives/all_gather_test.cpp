// All-gather as a ring: every block reaches every rank, in the time of its formula.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>
#include <vector>

#include "sim/collectives/all_gather.hpp"
#include "tests/collectives/world.hpp"

namespace all_gather_test {

using namespace straggler;

namespace {

constexpr double gather_alpha = 10e-6, gather_bandwidth = 1.25e9;  // a message crosses two links
const Nic gather_nic{gather_bandwidth, gather_bandwidth, Time::from_seconds(gather_alpha / 2)};

void check_seconds(double a, double b) { CHECK_MESSAGE(std::abs(a - b) <= 1e-9 * b + 1e-12 * 64, a, " s and ", b, " s"); }

}  // namespace

TEST_CASE("all-gather, equal blocks: (p - 1)(alpha + n beta), message by message and as one flow") {
  // In each of p - 1 steps every rank sends one block of n bytes, and receives one: all links are used alike, and all steps are.
  for (const std::size_t p : {2u, 3u, 4u, 7u, 16u, 33u}) {
    for (const std::uint64_t n : {std::uint64_t{0}, std::uint64_t{4}, std::uint64_t{10'000}, std::uint64_t{100'000'000}}) {
      CAPTURE(p);
      CAPTURE(n);
      World world(p, gather_nic);
      const auto schedule = all_gather_ring(std::vector<std::uint64_t>(p, n));
      const double expected = static_cast<double>(p - 1) * (gather_alpha + static_cast<double>(n) / gather_bandwidth);
      check_seconds(world.stepwise(*schedule, {}), expected);
      CHECK(world.messages == p * (p - 1));
      check_seconds(world.fluid(*schedule, {}), expected);
    }
  }
}

TEST_CASE("all-gather of one block that is not empty: it goes round once") {
  // The others' messages carry no bytes and take alpha; the block passes p - 1 links, one after another.
  const std::size_t p = 5;
  const double n = 1e6;
  for (std::size_t owner = 0; owner < p; ++owner) {
    World world(p, gather_nic);
    std::vector<std::uint64_t> blocks(p, 0);
    blocks[owner] = static_cast<std::uint64_t>(n);
    const auto schedule = all_gather_ring(blocks);
    const double expected = static_cast<double>(p - 1) * (gather_alpha + n / gather_bandwidth);
    check_seconds(world.stepwise(*schedule, {}), expected);
    check_seconds(world.fluid(*schedule, {}), expected);
  }
}

TEST_CASE("all-gather: each rank forwards its blocks, and ends with every block once") {
  for (const std::size_t p : {1u, 2u, 3u, 8u, 11u}) {
    CAPTURE(p);
    std::vector<std::uint64_t> blocks;  // their sizes say which they are
    for (std::size_t rank = 0; rank < p; ++rank) blocks.push_back(std::uint64_t{1} << rank);
    const auto schedule = all_gather_ring(blocks);
    std::vector<std::set<std::uint64_t>> has(p);
    for (std::size_t rank = 0; rank < p; ++rank) has[rank].insert(blocks[rank]);
    std::vector<std::uint64_t> sent(p), received(p);
    for (std::size_t round = 0; round < schedule->rounds(); ++round) {
      const std::vector<std::set<std::uint64_t>> before = has;
      for (std::size_t rank = 0; rank < p; ++rank) {
        RoundPart part, theirs;
        schedule->part(static_cast<CollectiveRank>(rank), round, part);
        REQUIRE(part.sends.size() == 1);
        CHECK(before[rank].count(part.sends[0].bytes) == 1);
        CHECK(has[part.sends[0].to].insert(part.sends[0].bytes).second);
        schedule->part(part.sends[0].to, round, theirs);
        CHECK(theirs.received_bytes == part.sends[0].bytes);
        CHECK(theirs.reduced_bytes == 0);
        sent[rank] += part.sends[0].bytes;
        received[part.sends[0].to] += part.sends[0].bytes;
      }
    }
    for (std::size_t rank = 0; rank < p; ++rank) {
      CHECK(has[rank].size() == p);
      CHECK(schedule->bytes_sent(static_cast<CollectiveRank>(rank)) == sent[rank]);
      CHECK(schedule->bytes_received(static_cast<CollectiveRank>(rank)) == received[rank]);
    }
  }
}

}  // namespace all_gather_test

// All-gathers and reduce-scatters: every block reaches every rank once, every part is summed once, in the time of the formulas.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "tests/collectives/world.hpp"

namespace gathering_test {

using namespace straggler;

namespace {

constexpr double latency = 5e-6, bytes_per_second = 1.25e9, gamma = 1 / 4e9;
const Nic nic{bytes_per_second, bytes_per_second, Time::from_seconds(latency)};
const UniformLinks uniform{2 * latency, 1 / bytes_per_second, gamma};  // a message crosses two links
const CollectiveCosts costs{gamma, Time()};
const CollectiveKind gather = CollectiveKind::all_gather, scatter = CollectiveKind::reduce_scatter;

void check_near(double a, double b, double tolerance) { CHECK_MESSAGE(std::abs(a - b) <= tolerance * b, a, " s and ", b, " s"); }

/// Two, three, … hosts of equal numbers of workers, and hosts of one.
std::vector<CollectiveShape> shapes() {
  std::vector<CollectiveShape> all;
  for (std::size_t p = 1; p <= 17; ++p) all.push_back({p, 0, {}});
  for (const auto& [hosts, each] : {std::pair(2, 2), std::pair(3, 4), std::pair(4, 2), std::pair(2, 8)}) {
    CollectiveShape shape{static_cast<std::size_t>(hosts * each), 0, {}};
    for (int rank = 0; rank < hosts * each; ++rank) shape.host_of.push_back(static_cast<std::uint32_t>(rank % hosts));
    all.push_back(shape);
  }
  return all;
}

/// [ranks][blocks]: the ranks whose part is in what that rank has of that block, as bits.
using Holdings = std::vector<std::vector<std::uint64_t>>;

/// Blocks of 2^k bytes: the bytes of a message say which it carries.
template <class Take>
void run_rounds(const CollectiveSchedule& schedule, Holdings& has, const Take& take) {
  for (std::size_t round = 0; round < schedule.rounds(); ++round) {
    const Holdings before = has;
    std::vector<std::uint64_t> received(has.size());
    std::vector<std::uint32_t> messages(has.size());
    RoundPart part;
    for (std::size_t from = 0; from < has.size(); ++from) {
      schedule.part(static_cast<CollectiveRank>(from), round, part);
      for (const RoundPart::Send& send : part.sends) {
        received[send.to] += send.bytes;
        ++messages[send.to];
        for (std::size_t block = 0; block < has.size(); ++block)
          if (send.bytes >> block & 1) take(before[from][block], has[from][block], has[send.to][block]);
      }
    }
    for (std::size_t rank = 0; rank < has.size(); ++rank) {
      schedule.part(static_cast<CollectiveRank>(rank), round, part);
      CHECK(part.receives == messages[rank]);
      CHECK(part.received_bytes == received[rank]);
    }
  }
}

CollectiveShape with_blocks(CollectiveShape shape) {
  for (std::size_t rank = 0; rank < shape.workers; ++rank) shape.blocks.push_back(std::uint64_t{1} << rank);
  return shape;
}

bool cuts_evenly(const CollectiveEntry& entry) { return entry.name == "nccl"; }

}  // namespace

TEST_CASE("every all-gather: each block reaches each rank, once") {
  for (const CollectiveEntry& entry : algorithms_of(gather).entries()) {
    for (const CollectiveShape& shape : shapes()) {
      if (cuts_evenly(entry) || !entry.unfit(shape).empty()) continue;
      const std::size_t p = shape.workers;
      CAPTURE(entry.name);
      CAPTURE(p);
      const auto schedule = make_schedule(entry, (std::uint64_t{1} << p) - 1, with_blocks(shape));
      Holdings has(p, std::vector<std::uint64_t>(p));
      for (std::size_t rank = 0; rank < p; ++rank) has[rank][rank] = 1;
      run_rounds(*schedule, has, [](std::uint64_t sent, std::uint64_t&, std::uint64_t& received) {
        CHECK(sent == 1);
        CHECK(received == 0);
        received = 1;
      });
      CHECK(has == Holdings(p, std::vector<std::uint64_t>(p, 1)));
    }
  }
}

TEST_CASE("every reduce-scatter: each rank ends with its block of the sum, in which each rank's part is once") {
  for (const CollectiveEntry& entry : algorithms_of(scatter).entries()) {
    for (const CollectiveShape& shape : shapes()) {
      if (cuts_evenly(entry) || !entry.unfit(shape).empty()) continue;
      const std::size_t p = shape.workers;
      CAPTURE(entry.name);
      CAPTURE(p);
      const auto schedule = make_schedule(entry, (std::uint64_t{1} << p) - 1, with_blocks(shape));
      Holdings has(p, std::vector<std::uint64_t>(p));
      for (std::size_t rank = 0; rank < p; ++rank)
        for (std::uint64_t& block : has[rank]) block = std::uint64_t{1} << rank;
      run_rounds(*schedule, has, [](std::uint64_t sent, std::uint64_t& sender, std::uint64_t& received) {
        CHECK(sent != 0);
        CHECK((sent & received) == 0);
        sender &= ~sent;
        received |= sent;
      });
      for (std::size_t rank = 0; rank < p; ++rank) CHECK(has[rank][rank] == (std::uint64_t{1} << p) - 1);
      RoundPart part;
      for (std::size_t round = 0; round < schedule->rounds(); ++round) {
        schedule->part(0, round, part);
        CHECK(part.reduced_bytes == part.received_bytes);
      }
    }
  }
}

TEST_CASE("bytes of a rank: what is counted at once is what the rounds add up to, and what is sent is received") {
  for (const CollectiveKind kind : {gather, scatter}) {
    for (const CollectiveEntry& entry : algorithms_of(kind).entries()) {
      for (CollectiveShape shape : shapes()) {
        if (!entry.unfit(shape).empty()) continue;
        const std::size_t p = shape.workers;
        CAPTURE(entry.name);
        CAPTURE(p);
        for (const bool alike : {true, false}) {
          const std::uint64_t bytes = 1'000'003;
          if (!alike) shape.blocks.assign(p, 0), shape.blocks.back() = bytes;
          const auto schedule = make_schedule(entry, bytes, shape);
          std::uint64_t sent = 0, received = 0;
          for (CollectiveRank rank = 0; rank < p; ++rank) {
            CHECK(schedule->bytes_sent(rank) == schedule->CollectiveSchedule::bytes_sent(rank));
            CHECK(schedule->bytes_received(rank) == schedule->CollectiveSchedule::bytes_received(rank));
            sent += schedule->bytes_sent(rank);
            received += schedule->bytes_received(rank);
          }
          CHECK(sent == received);
          if (p == 1 || !cuts_evenly(entry)) CHECK(sent == (p - 1) * bytes);
        }
      }
    }
  }
}

// n bytes in p blocks: (p-1) α + ((p-1)/p) n β around a ring, lg p α + … by halving or doubling, ⌈lg p⌉ α + … by Bruck's algorithm; of a
// reduce-scatter ((p-1)/p) n γ more.
TEST_CASE("every formula, p = 2 to 33, 4 B to 1 GiB: stepwise to 0.1 %, fluid to 1 %") {
  for (const CollectiveKind kind : {gather, scatter}) {
    for (const CollectiveEntry& entry : algorithms_of(kind).entries()) {
      for (std::size_t p = 2; p <= 33; ++p) {
        const CollectiveShape shape{p, 0, {}};
        if (entry.library || !entry.unfit(shape).empty()) continue;
        World world(p, nic);
        const auto ranks = static_cast<double>(p);
        const double rounds = entry.name == "ring" || entry.name == "hierarchical" ? ranks - 1 : std::ceil(std::log2(ranks) - 1e-9);
        for (std::uint64_t bytes = 4; bytes <= std::uint64_t{1} << 30; bytes *= 8) {
          CAPTURE(entry.name);
          CAPTURE(p);
          CAPTURE(bytes);
          const auto n = static_cast<double>(bytes);
          const double added = kind == scatter ? gamma : 0;
          const double expected = rounds * uniform.alpha + (ranks - 1) / ranks * n * (uniform.beta + added);
          check_near(entry.seconds(n, shape, uniform, complete(entry.parameters, {})), expected, 1e-12);
          CHECK(entry.exact(shape));
          const auto schedule = make_schedule(entry, bytes, shape, uniform);
          const double stepwise = world.stepwise(*schedule, costs);
          check_near(stepwise, expected, 0.001);
          check_near(world.fluid(*schedule, costs), stepwise, 0.01);
        }
      }
    }
  }
}

TEST_CASE("a reduce-scatter, then an all-gather of the same name: the time of that all-reduce") {
  const std::uint64_t bytes = 96'000'000;  // in equal parts on all of these
  for (const char* name : {"ring", "halving_doubling", "hierarchical"}) {
    for (const auto& [hosts, each] : {std::pair(4, 1), std::pair(8, 1), std::pair(2, 4), std::pair(4, 4)}) {
      CAPTURE(name);
      CAPTURE(hosts);
      CAPTURE(each);
      if (each > 1 && std::string(name) == "halving_doubling") continue;  // other neighbours exchange half of the bytes
      World world(equal_hosts(static_cast<std::size_t>(hosts), static_cast<std::size_t>(each), 0, nic));
      CollectiveShape shape{static_cast<std::size_t>(hosts * each), 0, {}};
      for (int rank = 0; rank < hosts * each; ++rank) shape.host_of.push_back(static_cast<std::uint32_t>(rank / each));
      const auto whole = make_schedule(collective(name), bytes, shape, uniform);
      const auto first = make_schedule(algorithms_of(scatter).at(name), bytes, shape, uniform);
      const auto second = make_schedule(algorithms_of(gather).at(name), bytes, shape, uniform);
      check_near(world.stepwise(*first, costs) + world.stepwise(*second, costs), world.stepwise(*whole, costs), 1e-9);
      check_near(world.fluid(*first, costs) + world.fluid(*second, costs), world.fluid(*whole, costs), 1e-3);
      for (CollectiveRank rank = 0; rank < shape.workers; ++rank)
        CHECK(first->bytes_sent(rank) + second->bytes_sent(rank) == whole->bytes_sent(rank));
    }
  }
}

TEST_CASE("an all-gather of one block that is not empty: around a ring it goes once") {
  // The others' messages carry no bytes and take alpha; the block passes p - 1 links, one after another.
  const std::size_t p = 5;
  const double n = 1e6;
  for (std::size_t owner = 0; owner < p; ++owner) {
    World world(p, nic);
    CollectiveShape shape{p, 0, {}};
    shape.blocks.assign(p, 0);
    shape.blocks[owner] = static_cast<std::uint64_t>(n);
    const auto schedule = make_schedule(algorithms_of(gather).at("ring"), shape.blocks[owner], shape);
    const double expected = static_cast<double>(p - 1) * (uniform.alpha + n / bytes_per_second);
    check_near(world.stepwise(*schedule, {}), expected, 1e-9);
    check_near(world.fluid(*schedule, {}), expected, 1e-9);
  }
}

TEST_CASE("the cheapest of each operation has the least seconds of its algorithms, and is no library") {
  for (const CollectiveKind kind : {gather, scatter}) {
    for (const std::size_t p : {2u, 7u, 16u}) {
      for (const std::uint64_t bytes : {64u, 1u << 20, 1u << 28}) {
        World world(p, nic);
        const CollectiveShape shape{p, 0, {}};
        const CollectiveEntry& best = cheapest_collective(bytes, shape, uniform, costs, *world.transport, kind);
        CHECK(best.operation == kind);
        CHECK_FALSE(best.library);
        for (const CollectiveEntry& entry : algorithms_of(kind).entries()) {
          if (entry.library || !entry.unfit(shape).empty()) continue;
          const auto n = static_cast<double>(bytes);
          CHECK(best.seconds(n, shape, uniform, {}) <= entry.seconds(n, shape, uniform, {}) * (1 + 1e-6));
        }
      }
    }
  }
}

}  // namespace gathering_test

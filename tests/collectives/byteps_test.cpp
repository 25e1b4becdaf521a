// BytePS's partitions, against its closed forms, and against what hosts and servers have to carry.
#include <doctest/doctest.h>

#include <algorithm>

#include "tests/collectives/world.hpp"

namespace byteps_test {

using namespace straggler;

namespace {

constexpr double rate = 1.25e9, alpha = 10e-6, inside_rate = 8e9, inside_alpha = 4e-6, gamma = 1 / 5e9;
constexpr std::uint64_t partition = 4'096'000;
const Nic nic{rate, rate, Time::from_seconds(alpha / 2)};

Parameters cut_into(std::uint64_t bytes) {
  Parameters parameters;
  parameters.set("partition", static_cast<double>(bytes));
  return parameters;
}

void check_near(double a, double b, double tolerance) { CHECK_MESSAGE(std::abs(a - b) <= tolerance * b, a, " s and ", b, " s"); }

}  // namespace

TEST_CASE("alone on their hosts: a stripe is pushed while the one before is pulled") {
  for (const std::size_t m : {2, 3, 8}) {
    for (const std::size_t servers : {1, 2, 8}) {
      CAPTURE(m);
      CAPTURE(servers);
      const std::size_t stripes = 5;
      World world(equal_hosts(m, 1, servers, nic));
      const auto schedule = make_schedule(collective("byteps"), stripes * servers * partition, {m, servers, {}}, {}, cut_into(partition));
      const double c = static_cast<double>(partition), workers = static_cast<double>(m);
      const double expected =
          (stripes + 1) * (std::max(static_cast<double>(servers), workers) * c / rate + alpha) + stripes * (workers - 1) * c * gamma;
      check_near(world.stepwise(*schedule, {gamma, Time()}), expected, 1e-6);
      check_near(world.fluid(*schedule, {gamma, Time()}), expected, 0.01);
    }
  }
}

TEST_CASE("if the host's bus is the bottleneck, stripes are summed and distributed concurrently") {
  const std::size_t hosts = 2, members = 4, servers = 2, stripes = 6;
  Placement placement = equal_hosts(hosts, members, servers, {1e15, 1e15, Time()});
  placement.intra = Placement::Intra{inside_rate, Time::from_seconds(inside_alpha)};
  const CollectiveShape shape = shape_of(placement);
  World world(std::move(placement));
  const auto schedule = make_schedule(collective("byteps"), stripes * servers * partition, shape, {}, cut_into(partition));
  // Each stripe is added up in one round and spread in another; each of the stripes + 3 rounds has its latency.
  const double one = 3.0 / 4 * static_cast<double>(servers * partition) / inside_rate;
  const double expected = 2 * stripes * one + (stripes + 3) * inside_alpha;
  check_near(world.stepwise(*schedule, {}), expected, 1e-4);
  check_near(world.fluid(*schedule, {}), expected, 0.02);
}

TEST_CASE("each host pushes and pulls the gradient once, for any number of pieces") {
  for (const std::uint64_t bytes : {std::uint64_t{10}, std::uint64_t{1'000'003}, std::uint64_t{70'000'001}}) {
    for (const std::size_t members : {1, 3, 4}) {
      const std::size_t hosts = 3, servers = 2;
      CAPTURE(bytes);
      CAPTURE(members);
      const CollectiveShape shape = shape_of(equal_hosts(hosts, members, servers, nic));
      const auto schedule = make_schedule(collective("byteps"), bytes, shape, {}, cut_into(1'000'000));
      std::uint64_t to_servers = 0, from_servers = 0;
      RoundPart part;
      for (std::size_t round = 0; round < schedule->rounds(); ++round) {
        for (CollectiveRank rank = 0; rank < schedule->ranks(); ++rank) {
          schedule->part(rank, round, part);
          for (const RoundPart::Send& send : part.sends) {
            if (send.to >= shape.workers) to_servers += send.bytes;
            if (rank >= shape.workers) from_servers += send.bytes;
          }
        }
      }
      CHECK(to_servers == hosts * bytes);
      CHECK(from_servers == hosts * bytes);
    }
  }
}

TEST_CASE("on one host nothing goes to a server") {
  const CollectiveShape shape = shape_of(equal_hosts(1, 4, 1, nic));
  const auto schedule = make_schedule(collective("byteps"), 10'000'000, shape, {}, cut_into(partition));
  CHECK(schedule->ranks() == 4);
  CHECK(schedule->bytes_sent(0) == 2 * 3 * 2'500'000);
}

}  // namespace byteps_test

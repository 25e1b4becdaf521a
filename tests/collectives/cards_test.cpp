// Collectives across hosts with several network cards, against closed forms.
#include <doctest/doctest.h>

#include "tests/collectives/world.hpp"

namespace cards_test {

using namespace straggler;

namespace {

constexpr double latency = 1e-6, bandwidth = 12.5e9;                 // of a card's link: a message crosses two
constexpr double inside_latency = 0.3e-6, inside_bandwidth = 300e9;  // of the whole way inside a host
const Nic nic{bandwidth, bandwidth, Time::from_seconds(latency)};
const UniformLinks links{2 * latency, 1 / bandwidth, 0, inside_latency, 1 / inside_bandwidth};

struct Case {
  std::size_t hosts, per_host, per_card;
  double m() const { return static_cast<double>(hosts); }
  double g() const { return static_cast<double>(per_host); }
  double p() const { return m() * g(); }
  double cards() const { return g() / static_cast<double>(per_card); }
};
const std::vector<Case> cases = {{2, 4, 4}, {2, 4, 2}, {2, 4, 1}, {4, 8, 4}, {4, 8, 2}, {4, 8, 1}};

struct Measured {
  double stepwise, fluid, formula;
};

Measured measure(const std::string& name, const Case& c, std::uint64_t bytes, const Parameters& given = {}, std::size_t servers = 0) {
  Placement placement = equal_hosts(c.hosts, c.per_host, servers, nic);
  placement.intra = Placement::Intra{inside_bandwidth, Time::from_seconds(inside_latency), {}, {}, {}, {c.per_card, CardPlace::beside}};
  CollectiveShape shape = shape_of(placement);
  if (c.per_card < c.per_host) shape.workers_per_card = c.per_card;
  World world(std::move(placement));
  const CollectiveEntry& entry = collective(name.c_str());
  const Parameters parameters = complete(entry.parameters, given);
  const auto schedule = make_schedule(entry, bytes, shape, links, given);
  for (std::size_t round = 0; round < schedule->rounds(); ++round) {  // each message is counted by its receiver
    std::uint64_t sent = 0, received = 0, messages = 0;
    RoundPart part;
    for (std::size_t rank = 0; rank < schedule->ranks(); ++rank) {
      schedule->part(static_cast<CollectiveRank>(rank), round, part);
      for (const RoundPart::Send& send : part.sends) sent += send.bytes;
      messages += part.sends.size() - part.receives;
      received += part.received_bytes;
    }
    CHECK(sent == received);
    CHECK(messages == 0);
  }
  const double stepwise = world.stepwise(*schedule, {});
  return {stepwise, world.fluid(*schedule, {}), entry.seconds(static_cast<double>(bytes), shape, links, parameters)};
}

void check_close(double a, double b, double tolerance) { CHECK_MESSAGE(std::abs(a - b) <= tolerance * b, a, " s and ", b, " s"); }

constexpr std::uint64_t n = 64'000'000;
constexpr auto bytes = static_cast<double>(n);

}  // namespace

TEST_CASE("hierarchical: rings between hosts run side by side on the cards of their members") {
  for (const Case& c : cases) {
    CAPTURE(c.per_host);
    CAPTURE(c.per_card);
    const double inside = 2 * (c.g() - 1) * inside_latency + 2 * (c.g() - 1) / c.g() * bytes / inside_bandwidth;
    const double between = 2 * (c.m() - 1) * 2 * latency + 2 * (c.m() - 1) / c.m() * bytes / c.cards() / bandwidth;
    const Measured times = measure("hierarchical", c, n);
    check_close(times.formula, inside + between, 1e-12);
    check_close(times.stepwise, inside + between, 1e-4);
    check_close(times.fluid, inside + between, 1e-3);
  }
}

TEST_CASE("a plain ring enters and leaves a host by one card, however many there are") {
  const double one = measure("ring", cases[0], n).stepwise;
  for (const Case& c : {cases[1], cases[2]}) check_close(measure("ring", c, n).stepwise, one, 1e-9);
}

TEST_CASE("nccl: a ring or a pair of trees for each card, each over its share") {
  // Base, step inside and step between in us, and shares of the bandwidth, of LL128 in NCCL 2.8: as in libraries_test.cpp.
  for (const Case& c : cases) {
    CAPTURE(c.hosts);
    CAPTURE(c.per_card);
    const auto given = [](const char* algorithm) {
      return Parameters{{"version", std::string("2.8")}, {"algorithm", std::string(algorithm)}, {"protocol", std::string("LL128")}};
    };
    const double between = 2 * (c.m() - 1), inside = 2 * (c.p() - 1) - between;
    const double ring_steps = between * (4.0e-6 + 2 * latency) + inside * (1.9e-6 + inside_latency);
    const double ring = 10.0e-6 + ring_steps + 2 * (c.p() - 1) / c.p() * bytes / (c.cards() * bandwidth * 0.92);
    const Measured of_ring = measure("nccl", c, n, given("ring"));
    check_close(of_ring.formula, ring, 1e-12);
    check_close(of_ring.stepwise, ring, 1e-3);
    check_close(of_ring.fluid, of_ring.stepwise, 0.01);
    const double levels = std::floor(std::log2(c.m())), sent = c.hosts == 2 ? 1 : 2;
    const double tree_steps = 2 * (c.g() - 1) * (1.2e-6 + inside_latency) + 2 * levels * (8.5e-6 + 2 * latency);
    const Measured of_tree = measure("nccl", c, n, given("tree"));
    // The factor of the tree's bandwidth by size is that of 64 MB: 1 from 2^20 lines of 64 B on is not reached, 0.9 below it is.
    const double share = 0.9 * 0.915;
    const double least = 4.4e-6 + tree_steps + sent * bytes / (c.cards() * bandwidth * share);
    CHECK(of_tree.formula >= least * (1 - 1e-12));
    check_close(of_tree.stepwise, of_tree.formula, 0.02);
    check_close(of_tree.fluid, of_tree.stepwise, 0.02);
    const Case one{c.hosts, c.per_host, c.per_host};
    // Bytes pass as many times faster as there are cards; latencies stay.
    const double latencies = 4.4e-6 + tree_steps;
    check_close(of_tree.formula - latencies, (measure("nccl", one, n, given("tree")).formula - latencies) / c.cards(), 1e-9);
  }
}

TEST_CASE("byteps: a host's pushes leave by its cards; pulling after all pushes takes twice the rounds") {
  const std::size_t servers = 2;
  const std::uint64_t partition = 4'000'000;  // n is eight stripes
  for (const Case& c : {Case{2, 1, 1}, cases[1], cases[2]}) {
    for (const std::string pull : {"beside_push", "after_push"}) {
      CAPTURE(c.per_host);
      CAPTURE(pull);
      const Measured times = measure("byteps", c, n, {{"partition", static_cast<double>(partition)}, {"pull", pull}}, servers);
      const double servers_bytes = c.m() * static_cast<double>(partition);  // that each server takes in a round
      const double host_bytes = 2 * static_cast<double>(partition) / c.cards();
      const double round = std::max(servers_bytes, host_bytes) / bandwidth + 2 * latency;
      const double rounds = pull == "after_push" ? 16 : 9;
      if (c.per_host == 1) {
        check_close(times.stepwise, rounds * round, 1e-6);
        check_close(times.formula, rounds * round, 1e-12);
      } else {  // hosts add up before and spread behind: hidden but for one round each, and faster by far
        CHECK(times.stepwise >= rounds * round * (1 - 1e-9));
        CHECK(times.stepwise < rounds * round * 1.2);
      }
      check_close(times.fluid, times.stepwise, 0.03);
    }
  }
}

}  // namespace cards_test

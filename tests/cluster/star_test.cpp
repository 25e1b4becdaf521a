#include <malloc.h>

#include "sim/cluster/nics.hpp"
#include "tests/cluster/topology_cases.hpp"

namespace straggler {
namespace {

/// Three workers and two servers: 1 Gbit/s and 50 us, but worker 1 has a tenth of it, receives at half of that and has 1 ms, server 0 has
/// 20 us, server 1 ten times the bandwidth and 10 us.
std::vector<Nic> five() {
  const Nic plain{125e6, 125e6, microseconds(50)};
  return {plain, {12.5e6, 6.25e6, microseconds(1000)}, plain, {125e6, 125e6, microseconds(20)}, {1250e6, 1250e6, microseconds(10)}};
}

std::unique_ptr<Topology> star(std::vector<Nic> nics, std::size_t workers) {
  return make_topology("star", {}, request_of(std::move(nics), workers));
}

TEST_CASE("star: an up-link and a down-link each, named after their end point") {
  const auto topology = star(five(), 3);
  CHECK(topology->endpoints() == 5);
  CHECK(topology->links() == 10);
  const char* names[] = {"worker/0", "worker/1", "worker/2", "server/0", "server/1"};
  for (LinkId i = 0; i < 5; ++i) {
    const LinkDescription up = topology->link(2 * i), down = topology->link(2 * i + 1);
    CHECK(topology->name(i) == names[i]);
    CHECK(up.name == std::string(names[i]) + ":up");
    CHECK(up.from == names[i]);
    CHECK(up.to == "switch");
    CHECK(up.bytes_per_second == five()[i].up_bytes_per_second);
    CHECK(up.latency == five()[i].latency);
    CHECK(down.name == std::string(names[i]) + ":down");
    CHECK(down.from == "switch");
    CHECK(down.to == names[i]);
    CHECK(down.bytes_per_second == five()[i].down_bytes_per_second);
    CHECK(down.latency == five()[i].latency);
  }
}

TEST_CASE("star: a route goes up at its sender and down at its receiver, and pays both latencies") {
  const auto topology = star(five(), 3);
  Route route{{7, 7, 7}, Time::from_ticks(1)};  // overwritten
  for (std::uint32_t from = 0; from < 5; ++from) {
    for (std::uint32_t to = 0; to < 5; ++to) {
      if (from == to) continue;
      topology->route(from, to, route);
      CHECK(route.links == std::vector<LinkId>{2 * from, 2 * to + 1});
      CHECK(route.latency == five()[from].latency + five()[to].latency);
    }
  }
}

TEST_CASE("a million equal cards are one record, and so are a million names") {
  std::vector<Nic> nics(1'000'000, Nic{125e6, 12.5e6, microseconds(50)});
  nics.push_back({1250e6, 1250e6, microseconds(50)});
  const std::size_t given = nics.size() * sizeof(Nic);
  const Nics cards(nics, [](std::size_t e) { return std::to_string(e); });
  CHECK(cards.runs().runs().size() == 2);
  CHECK(cards[999'999].up_bytes_per_second == 125e6);
  CHECK(cards[1'000'000].up_bytes_per_second == 1250e6);

  const std::pair<const char*, Parameters> kinds[] = {
      {"star", {}},
      {"hosts", {}},
      {"wan", {{"up", 1e6}, {"backbone", 1e9}}},
      {"two_level", {{"racks", std::int64_t{40'000}}, {"oversubscription", 3.0}}},
      {"fat_tree", {}},
      {"ring", {}},
      {"dragonfly", {{"groups", std::int64_t{1000}}, {"routers", std::int64_t{32}}, {"hosts", std::int64_t{32}}}}};
  for (const auto& kind : kinds) {
    CAPTURE(kind.first);
    TopologyRequest request = request_of(nics, 1'000'000);
    const std::size_t before = mallinfo2().uordblks + mallinfo2().hblkhd;  // 0 under AddressSanitizer
    const auto topology = make_topology(kind.first, kind.second, std::move(request));
    const std::size_t after = mallinfo2().uordblks + mallinfo2().hblkhd;
    // The request's cards are gone, and the topology itself takes next to nothing.
    if (before > 0) CHECK(after + given < before + 10'000);
    CHECK(topology->link(1'999'998).name == "worker/999999:up");
    CHECK(topology->link(2'000'001).name == "server/0:down");
    CHECK(topology->bytes_per_second(2'000'001) == 1250e6);
    Route route;
    topology->route(999'999, 1'000'000, route);
    CHECK(route.links.front() == 1'999'998);
    CHECK(route.links.back() == 2'000'001);
  }
}

TEST_CASE("cards that cannot be are refused") {
  const Nic good{125e6, 125e6, Time()};
  CHECK_THROWS_WITH_AS(star({good, {0, 125e6, Time()}}, 1), "server/0: link.bandwidth is 0.000000 B/s; it must be above 0",
                       std::invalid_argument);
  CHECK_THROWS_AS(star({good, {125e6, -1, Time()}}, 1), std::invalid_argument);
  CHECK_THROWS_AS(star({good, {125e6, std::numeric_limits<double>::infinity(), Time()}}, 1), std::invalid_argument);
  CHECK_THROWS_AS(star({good, {std::nan(""), 125e6, Time()}}, 1), std::invalid_argument);
  CHECK_THROWS_AS(star({{125e6, 125e6, Time::from_ticks(-1)}}, 1), std::invalid_argument);
  CHECK_THROWS_AS(star({{125e6, 125e6, Time::limit()}}, 1), std::invalid_argument);
  CHECK_THROWS_AS(star({}, 0), std::invalid_argument);
}

}  // namespace
}  // namespace straggler

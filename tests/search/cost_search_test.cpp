// Searches and crossovers by price and by energy: other answers than by time.
#include <doctest/doctest.h>

#include <string>

#include "scenarios/schema/errors.hpp"
#include "tests/search/search_fixture.hpp"

namespace cost_search_test {

using namespace straggler;
using namespace straggler::test;

namespace {

constexpr double work = 102400 * clockwork_per_sample;  // seconds of one worker an update
constexpr double bandwidth = 120e3;

/// Workers cost 1 a second, a server `server`.
std::string priced(double server) {
  std::string text = clockwork_scenario;
  const std::string node = "{compute: {affine: {per_sample: 10us}}}", servers = "servers: {count: 1}";
  text.replace(text.find(node), node.size(), "{compute: {affine: {per_sample: 10us}}, price_per_hour: 3600, power: {busy: 100W}}");
  text.replace(text.find(servers), servers.size(), "servers: {count: 1, price_per_hour: " + std::to_string(3600 * server) + "}");
  return text;
}

std::string refused(const std::string& scenario, const std::string& body) {
  const Files files;
  return said(files, [&] {
    const SearchFile search = search_of(files, scenario, body);
    run_search(search);
  });
}

std::string find_by(const std::string& metric) {
  return "find: {metric: " + metric + ", over: {\"cluster.workers[0].count\": {from: 1, to: 32, whole: true}}, budget: 16}\n";
}

}  // namespace

TEST_CASE("the cheapest number of workers: n workers and a server of price s cost (n + s) (W / n + 2 (l + n b / B)) an update") {
  // The derivative, -s W / n^2 + 2 l + 4 n b / B + 2 s b / B, is 0 at n = 8 for this s. By time the best is 16.
  constexpr double n = 8, per_worker = clockwork_bytes / bandwidth;
  const double server = (2 * clockwork_latency + 4 * n * per_worker) / (work / (n * n) - 2 * per_worker);
  const Files files;
  const Searched found = run_search(search_of(files, priced(server), find_by("price")));
  const FoundGroup& group = found.outcome.found.at(0);
  const FoundPoint& best = group.points.at(group.best.value().point);
  CHECK(best.values[0].yaml == "8");
  const double step = work / n + 2 * (clockwork_latency + n * per_worker);
  CHECK(best.measured.statistics.mean == doctest::Approx(100 * step * (n + server)).epsilon(0.01));
  CHECK(found.outcome.timing_runs == found.outcome.runs);
  CHECK(found.text.find("least price at cluster.workers[0].count=8") == 0);
}

TEST_CASE("where the winner by price changes: a ring of four needs no server") {
  // u updates, after the last of which no answer is awaited: (4 + s) (u W / 4 + (2 u - 1) (l + 4 b / B)) = 4 u (W / 4 + 6 (l + b / (4 B))).
  constexpr double server = 0.1;
  constexpr double updates = 100, answers = (4 + server) * (2 * updates - 1), ring = 4 * 6 * updates;
  const double crossing = clockwork_bytes * (4 * answers - ring / 4) /
                          (work * updates - (4 + server) * work * updates / 4 + (ring - answers) * clockwork_latency);
  const std::string body =
      "crossover:\n  between: [{label: server, value: {kind: ssgd, via: server}}, {label: ring, value: {kind: ssgd, via: all_reduce}}]\n"
      "  along: cluster.network.link.bandwidth\n  from: 10kB/s\n  to: 10MB/s\n  metric: price\n  tolerance: 1%\n";
  const Files files;
  const Searched searched = run_search(search_of(files, priced(server), body));
  const CrossoverGroup& group = searched.outcome.crossed.at(0);
  REQUIRE(group.crossings.size() == 1);
  const ComparedPoint &below = group.points[group.crossings[0].below], &above = group.points[group.crossings[0].above];
  CHECK(below.value <= crossing * 1.01);
  CHECK(crossing <= above.value * 1.01);
}

TEST_CASE("a search by what the scenario does not state says what to write") {
  const std::string by_price = refused(clockwork_scenario, find_by("price"));
  CHECK(by_price.find("find.metric: price needs a price, and the scenario has none; write devices.node.price_per_hour") !=
        std::string::npos);
  CHECK(refused(clockwork_scenario, find_by("energy_joules")).find("energy_joules needs the power of the machines") != std::string::npos);
  CHECK(refused(priced(1), find_by("price_to_target")).find("price_to_target needs a target") != std::string::npos);
  CHECK(refused(priced(1), find_by("energy_to_0.9_joules")).find("refers to a threshold that the scenario does not list; add 0.9 to") !=
        std::string::npos);
  CHECK(refused(priced(1), find_by("price_per_hour")).find("unknown metric 'price_per_hour'") != std::string::npos);
}

TEST_CASE("keys of thresholds, and what they are values of") {
  CHECK(threshold_of("price_to_0.8") == 0.8);
  CHECK(threshold_of("energy_to_0.85_joules") == 0.85);
  CHECK(threshold_of("bytes_to_1e-1") == 0.1);
  CHECK(threshold_of("time_to_0.8_s") == 0.8);
  for (const char* const key : {"price_to_target", "time_to_target_s", "price_to_", "energy_to_0.8", "price"})
    CHECK_FALSE(threshold_of(key).has_value());
  CHECK(measure_of("energy_to_0.85_joules") == Measure::energy);
  CHECK(measure_of("price") == Measure::price);
  CHECK(measure_of("bytes_sent") == Measure::bytes);
  CHECK_FALSE(measure_of("updates").has_value());
  CHECK(key_to(row_of(Measure::energy), "0.8") == "energy_to_0.8_joules");
}

}  // namespace cost_search_test

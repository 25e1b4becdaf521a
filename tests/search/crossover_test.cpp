#include <doctest/doctest.h>

#include <cmath>
#include <functional>

#include "scenarios/sweep/range.hpp"
#include "tests/search/search_fixture.hpp"

namespace crossover_test {

using namespace straggler;
using namespace straggler::test;

namespace {

CrossoverSpec spec_of(const SettingRange& range, double tolerance, std::size_t grid = 9) {
  CrossoverSpec spec{{}, "scheme", {{"a", "a", {}}, {"b", "b", {}}}, Setting::range("x", range, whole_file, 1e-5), tolerance, grid, 1};
  return spec;
}

using Metrics = std::function<std::pair<Measured, Measured>(double)>;

CrossoverGroup search(const CrossoverSpec& spec, const Metrics& metrics) {
  CrossoverSearch search(spec, false);
  while (true) {
    const std::vector<AxisValue> values = search.next();
    if (values.empty()) return search.finish({});
    for (const AxisValue& at : values) {
      auto [first, second] = metrics(parse_range_end(at.yaml)->value);
      search.tell(at, std::move(first), std::move(second));
    }
  }
}

Measured once(double value) { return Measured::of({value}); }

bool holds(const CrossoverGroup& group, std::size_t crossing, double truth, double tolerance) {
  const ComparedPoint &below = group.points[group.crossings.at(crossing).below], &above = group.points[group.crossings.at(crossing).above];
  return below.value <= truth && truth <= above.value && above.value - below.value <= tolerance * above.value;
}

/// Server against ring, along the link's bandwidth B. n = 4 workers that are equal: by the server a step waits for 2 (latency + n b / B),
/// by the ring for 2 (n - 1) (latency + b / (n B)); equal at B = b (2 n - 2 (n - 1) / n) / (latency (2 (n - 1) - 2)).
const char* const server_or_ring = R"(crossover:
  between: [{label: server, value: {kind: ssgd, via: server}}, {label: ring, value: {kind: ssgd, via: all_reduce}}]
  along: cluster.network.link.bandwidth
  from: 10kB/s
  to: 10MB/s
  metric: simulated_seconds
  tolerance: 1%
)";
constexpr double crossing_bandwidth = clockwork_bytes * (8 - 6.0 / 4) / (clockwork_latency * 4);

}  // namespace

TEST_CASE("one crossing: held within the tolerance, on a linear scale and on a logarithmic one") {
  const Metrics metrics = [](double x) { return std::pair(once(1 / x), once(0.1)); };  // cross at 10
  for (const double tolerance : {0.1, 0.01, 0.001}) {
    const CrossoverGroup logarithmic = search(spec_of({"0.1", "10000", true, false}, tolerance), metrics);
    REQUIRE(logarithmic.crossings.size() == 1);
    CHECK(holds(logarithmic, 0, 10, tolerance));
    const CrossoverGroup linear = search(spec_of({"1", "300", false, false}, tolerance), metrics);
    REQUIRE(linear.crossings.size() == 1);
    CHECK(holds(linear, 0, 10, tolerance));
  }
  // log2 of a stretch of the grid, ln(1e5) / 8, over the tolerance: 8 halvings after 9 values.
  CHECK(search(spec_of({"0.1", "10000", true, false}, 0.01), metrics).points.size() == 17);
}

TEST_CASE("several crossings are all seen, and each is halved") {
  const Metrics metrics = [](double x) { return std::pair(once(std::sin(x)), once(0)); };
  const CrossoverGroup group = search(spec_of({"1", "11", false, false}, 0.01, 11), metrics);
  REQUIRE(group.crossings.size() == 3);
  for (std::size_t i = 0; i < 3; ++i) CHECK(holds(group, i, static_cast<double>(i + 1) * 3.14159265, 0.01));
  CHECK(group.points.front().winner == Winner::second);
}

TEST_CASE("whole numbers end with neighbours; a stretch without a winner has two ends") {
  const Metrics metrics = [](double x) {
    if (x < 20) return std::pair(once(1), once(2));
    if (x > 40) return std::pair(once(2), once(1));
    return std::pair(Measured::of({std::nullopt}), Measured::of({std::nullopt}));
  };
  const CrossoverGroup group = search(spec_of({"1", "64", false, true}, 0.0001), metrics);
  REQUIRE(group.crossings.size() == 2);
  CHECK(group.points[group.crossings[0].below].value == 19);
  CHECK(group.points[group.crossings[0].above].value == 20);
  CHECK(group.points[group.crossings[1].below].value == 40);
  CHECK(group.points[group.crossings[1].above].value == 41);
  CHECK(group.points[group.crossings[0].above].winner == Winner::neither);
}

TEST_CASE("noise that is wider than the tolerance around a crossing is reported") {
  const auto with_noise = [](double noise) {
    return search(spec_of({"1", "100", true, false}, 0.01), [noise](double x) {
      // Logarithms of pairs differ by log10(x) - 1 and plus, minus the noise: mean log10(x) - 1, half of the interval 4.3027 noise /
      // sqrt(3).
      const double difference = std::log10(x) - 1 + 1e-7;
      const auto value = [&](double more) { return std::optional(5 * std::exp(difference + more)); };
      return std::pair(Measured::of({value(0), value(noise), value(-noise)}), Measured::of({5, 5, 5}));
    });
  };
  const CrossoverGroup noisy = with_noise(0.1), clear = with_noise(1e-4);
  REQUIRE(noisy.crossings.size() == 1);
  REQUIRE(clear.crossings.size() == 1);
  CHECK(noisy.crossings[0].noisy);
  CHECK_FALSE(clear.crossings[0].noisy);
  const double unclear = std::pow(10, 4.3027 * 0.1 / std::sqrt(3.0));  // times 10 or divided by it: as far as the interval holds 0
  CHECK(noisy.points[noisy.crossings[0].unclear_from].value >= 10 / unclear);
  CHECK(noisy.points[noisy.crossings[0].unclear_to].value <= 10 * unclear);
}

TEST_CASE("who is ahead: more repeats with a value, then the mean") {
  const Measured both = Measured::of({5, 7}), one = Measured::of({1, std::nullopt});
  CHECK(ahead_of(both, one, false) == Winner::first);
  CHECK(ahead_of(one, both, false) == Winner::second);
  CHECK(ahead_of(both, Measured::of({4, 7}), false) == Winner::second);
  CHECK(ahead_of(both, Measured::of({4, 7}), true) == Winner::first);
  CHECK(ahead_of(both, both, false) == Winner::neither);
}

TEST_CASE("the bandwidth at which a server overtakes a ring") {
  const Files files;
  const SearchFile search = search_of(files, clockwork_scenario, server_or_ring);
  const Searched found = run_search(search);
  const CrossoverGroup& group = found.outcome.crossed.at(0);
  REQUIRE(group.crossings.size() == 1);
  const ComparedPoint &below = group.points[group.crossings[0].below], &above = group.points[group.crossings[0].above];
  CHECK(below.winner == Winner::second);
  CHECK(above.winner == Winner::first);
  CHECK(std::sqrt(below.value * above.value) == doctest::Approx(crossing_bandwidth).epsilon(0.03));
  CHECK(found.outcome.timing_runs == found.outcome.runs);
  CHECK(found.text.find("ring has the better simulated_seconds below cluster.network.link.bandwidth=") == 0);
  CHECK(found.text.find(", server above") != std::string::npos);
  CHECK(run_search(search, 3).table == found.table);
}

TEST_CASE("the bandwidth from which on dense gradients are faster than top-k, where coding takes time") {
  // An all-reduce of d floats around a ring of p takes 2 (p - 1)(α + 4 d β / p), an all-gather of k values with their indices (p - 1)(α + 8
  // k β), and coding c = p times a message's: equal at β = (c - (p - 1) α) / ((p - 1)(8 d / p - 8 k)).
  const Files files;
  const Searched found = run_search(
      search_of(files, clockwork_scenario, R"(set: {devices.node.compress: 100kB/s, training.scheme: {kind: ssgd, via: all_reduce}}
crossover:
  path: training.compression
  between: [none, {kind: top_k, fraction: 0.01}]
  along: cluster.network.link.bandwidth
  from: 10kB/s
  to: 10MB/s
  metric: simulated_seconds
  tolerance: 1%
)"));
  const double d = clockwork_bytes / 4, k = std::round(0.01 * d), p = 4, c = p * clockwork_bytes / 100e3;
  const double beta = (c - (p - 1) * clockwork_latency) / ((p - 1) * (8 * d / p - 8 * k));
  REQUIRE(beta > 0);
  const CrossoverGroup& group = found.outcome.crossed.at(0);
  REQUIRE(group.crossings.size() == 1);
  const ComparedPoint &below = group.points[group.crossings[0].below], &above = group.points[group.crossings[0].above];
  CHECK(below.winner == Winner::second);
  CHECK(above.winner == Winner::first);
  CHECK(std::sqrt(below.value * above.value) == doctest::Approx(1 / beta).epsilon(0.05));
}

TEST_CASE("where coding is free, top-k of less than 1 / 2p has fewer bytes and latencies at any bandwidth") {
  const Files files;
  const Searched found = run_search(search_of(files, clockwork_scenario, R"(set: {training.scheme: {kind: ssgd, via: all_reduce}}
crossover:
  path: training.compression
  between: [none, {kind: top_k, fraction: 0.12}]
  along: cluster.network.link.bandwidth
  from: 10kB/s
  to: 10GB/s
  metric: simulated_seconds
)"));
  CHECK(found.outcome.crossed.at(0).crossings.empty());
  for (const ComparedPoint& point : found.outcome.crossed.at(0).points) CHECK(point.winner == Winner::second);
}

TEST_CASE("no crossing: who wins over the whole range, and by how much; for every setting of the axes") {
  const Files files;
  const Searched found = run_search(search_of(files, clockwork_scenario, R"(axes: {cluster.network.link.latency: [1ms, 1us]}
crossover:
  between: [{label: server, value: {kind: ssgd, via: server}}, {label: ring, value: {kind: ssgd, via: all_reduce}}]
  along: cluster.network.link.bandwidth
  from: 1MB/s
  to: 4MB/s
  metric: simulated_seconds
)"));
  REQUIRE(found.outcome.crossed.size() == 2);
  CHECK(found.outcome.crossed[0].crossings.empty());
  CHECK(found.outcome.crossed[1].crossings.empty());
  CHECK(found.text.find("latency=1ms: server has the better simulated_seconds everywhere from 1MB/s to 4MB/s") != std::string::npos);
  // A step takes 257.9 and 256.4 ms at 1 MB/s, 256.5 and 256.1 ms at 4 MB/s: the ring is ahead, there by less than half a per cent.
  CHECK(found.text.find(
            "latency=1us: ring is ahead in simulated_seconds everywhere from 1MB/s to 4MB/s of cluster.network.link.bandwidth, by ") !=
        std::string::npos);
  CHECK(found.text.find("; it is better at 1 of 9 values, elsewhere: no difference") != std::string::npos);
  // By the lead at an end: 100 steps of 256 ms and of their messages.
  const auto step = [](bool ring, double latency, double bandwidth) {
    return 0.256 + (ring ? 6 * (latency + clockwork_bytes / 4 / bandwidth) : 2 * (latency + 4 * clockwork_bytes / bandwidth));
  };
  const ComparedPoint& last = found.outcome.crossed[0].points.back();
  CHECK(-last.difference.mean == doctest::Approx(100 * (step(true, 2e-3, 4e6) - step(false, 2e-3, 4e6))).epsilon(0.02));
}

TEST_CASE("with math: runs that do not change along the axis are evaluated once") {
  const Files files;
  const SearchFile search = search_of(files, learning_scenario, R"(crossover:
  between: [asgd, ssgd]
  along: cluster.network.link.bandwidth
  from: 5kB/s
  to: 500kB/s
  grid: 5
  tolerance: 20%
)");
  const Searched found = run_search(search, 2);
  CHECK(found.outcome.metric.name == "time_to_target_s");
  CHECK(found.outcome.timing_runs == 0);
  // Half of the runs are synchronous. They apply the same updates at every bandwidth, so that all but the first are known; until the target
  // they have as many evaluations each.
  const CrossoverGroup& group = found.outcome.crossed.at(0);
  const std::size_t points = group.points.size();
  REQUIRE(points >= 5);
  SweepState state(":memory:");
  EvaluationFile store(":memory:");
  PointPool pool({}, state, &store, {});
  const SweepGroup base = groups_of(search.sweep).at(0);
  const auto at = [&](std::vector<std::string> more) {
    pool.run({{"ssgd", [&] { return PointReader(search.sweep, more).read(base, 0); }, false}});
  };
  at({});
  at({"cluster.network.link.bandwidth=2MB/s"});
  const std::uint64_t each = pool.progress().saved;
  REQUIRE(each > 2);
  CHECK(found.progress.saved >= (points - 1) * each);
}

}  // namespace crossover_test

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "tests/search/search_fixture.hpp"
#include "tests/support/text.hpp"

namespace find_test {

using namespace straggler;
using namespace straggler::test;

namespace {

const char* const best_count = R"(find:
  metric: simulated_seconds
  over: {"cluster.workers[0].count": {from: 1, to: 64, whole: true}}
  budget: 24
)";

const FoundPoint& best(const FoundGroup& group) { return group.points.at(group.best.value().point); }

}  // namespace

TEST_CASE("the best number of workers is where computing less stops paying for sending more") {
  // n workers share a batch of 102,400 and one server: a step takes 102,400 c / n + 2 (latency + n b / B), least at n = sqrt(102,400 c B /
  // (2 b)).
  const double bandwidth = 120e3;
  const double bottom = std::sqrt(102400 * clockwork_per_sample * bandwidth / (2 * clockwork_bytes));
  CHECK(bottom == doctest::Approx(16));
  const Files files;
  const SearchFile search = search_of(files, clockwork_scenario, best_count);
  const Searched found = run_search(search);
  const FoundGroup& group = found.outcome.found.at(0);
  CHECK(best(group).values[0].yaml == "16");
  const double step = 102400 * clockwork_per_sample / 16 + 2 * (clockwork_latency + 16 * clockwork_bytes / bandwidth);
  CHECK(best(group).measured.statistics.mean == doctest::Approx(100 * step).epsilon(0.01));
  CHECK(group.best->edge == std::vector<int>{0});
  CHECK(found.outcome.runs == group.points.size());
  CHECK(found.outcome.timing_runs == found.outcome.runs);  // the metric needs no math
  CHECK(found.progress.evaluations == 0);
  CHECK(count(found.table, "\n") == group.points.size() + 1);
  CHECK(found.table.starts_with("cluster.workers[0].count,batch,simulated_seconds_mean,"));
  CHECK(found.text.find("least simulated_seconds at cluster.workers[0].count=16") == 0);
}

TEST_CASE("a best setting on the edge of the range gets a warning; a flat bottom is reported") {
  const Files files;
  const Searched few =
      run_search(search_of(files, clockwork_scenario,
                           "find: {metric: simulated_seconds, over: {\"cluster.workers[0].count\": {from: 1, to: 8, whole: true}}}\n"));
  CHECK(best(few.outcome.found[0]).values[0].yaml == "8");
  CHECK(few.outcome.found[0].best->edge == std::vector<int>{1});
  CHECK(few.outcome.found[0].exhaustive);
  CHECK(few.text.find("warning: cluster.workers[0].count=8 lies on the edge of its range; widen the range upwards") != std::string::npos);
  // Of timing, the learning rate changes nothing: all are as good.
  const Searched flat = run_search(search_of(
      files, clockwork_scenario,
      "find: {metric: samples_per_second, over: {training.optimizer.learning_rate: {from: 0.01, to: 1, scale: log}}, budget: 10}\n"));
  CHECK(flat.outcome.metric.maximize);
  CHECK(flat.outcome.found[0].best->as_good.size() == flat.outcome.found[0].points.size());
  CHECK(flat.outcome.found[0].best->edge == std::vector<int>{0});
  CHECK(flat.text.find("learning_rate from 0.01 to 1") != std::string::npos);
}

TEST_CASE("within every setting of the axes; the same points and table for one job and for three, and when it is run again") {
  const Files files;
  const SearchFile search =
      search_of(files, clockwork_scenario, std::string("axes: {cluster.network.link.bandwidth: [30kB/s, 480kB/s]}\n") + best_count);
  SweepState state(":memory:");
  const Searched one = run_search(search, state, 1);
  REQUIRE(one.outcome.found.size() == 2);
  // sqrt(102,400 c B / (2 b)): a quarter of the bandwidth, half as many.
  CHECK(best(one.outcome.found[0]).values[0].yaml == "8");
  CHECK(best(one.outcome.found[1]).values[0].yaml == "32");
  CHECK(run_search(search, 3).table == one.table);
  const Searched again = run_search(search, state, 2);
  CHECK(again.progress.found == one.outcome.runs);
  CHECK(again.table == one.table);
  CHECK(again.text == one.text);
}

TEST_CASE("ended at any moment, a search continues to the same table") {
  const Files files;
  const SearchFile search = search_of(files, clockwork_scenario, best_count);
  const std::string expected = run_search(search).table;
  SweepState state(":memory:");
  std::size_t interruptions = 0;
  while (true) {
    const std::size_t known = state.points();
    const Searched part = run_search(search, state, 1, false, [&](const SweepProgress&) { return state.points() >= known + 5; });
    if (!part.outcome.interrupted) {
      CHECK(part.table == expected);
      break;
    }
    ++interruptions;
    REQUIRE(state.points() > known);
  }
  CHECK(interruptions >= 2);
}

TEST_CASE("settings whose repeats miss the target count as worse than any that reach it") {
  const Files files;
  const SearchFile search = search_of(files, learning_scenario, R"(set: {training.stop: {epochs: 4, target_accuracy: 0.7}}
find:
  metric: time_to_target_s
  over: {training.optimizer.learning_rate: {from: 0.0001, to: 1, scale: log}}
  budget: 10
  repeats: 2
)");
  const Searched found = run_search(search, 2);
  const FoundGroup& group = found.outcome.found.at(0);
  REQUIRE(group.best);
  CHECK(best(group).measured.reached == 2);
  bool one_missed = false;
  for (const FoundPoint& point : group.points) {
    CHECK_FALSE(is_ahead(point.measured.contender(), best(group).measured.contender(), false));
    one_missed = one_missed || point.measured.reached < 2;
  }
  CHECK(one_missed);  // a rate of 0.0001 learns nothing in four epochs
  CHECK(found.outcome.timing_runs == 0);
  CHECK(found.text.find("(2 of 2)") != std::string::npos);
}

TEST_CASE("ahead: more repeats with a value, then the mean") {
  const auto measured = [](std::vector<std::optional<double>> values) { return Measured::of(std::move(values)); };
  const Measured both = measured({5, 7}), one = measured({1, std::nullopt}), none = measured({std::nullopt, std::nullopt});
  const auto ahead = [](const Measured& a, const Measured& b, bool maximize) { return is_ahead(a.contender(), b.contender(), maximize); };
  CHECK(ahead(both, one, false));
  CHECK(ahead(one, none, false));
  CHECK_FALSE(ahead(none, none, false));
  CHECK(ahead(measured({5, 6}), both, false));
  CHECK(ahead(both, measured({5, 6}), true));
  // Pairs 5 - 1 and 7 - 4: mean 3.5, deviation sqrt(1/2), t(0.975; 1) = 12.7062.
  const RepeatStatistics paired = paired_difference(both, measured({1, 4}));
  CHECK(paired.mean == 3.5);
  CHECK(paired.half_width == doctest::Approx(12.7062047 * std::sqrt(0.5) / std::sqrt(2.0)));
  CHECK(paired_difference(both, one).count == 1);
}

}  // namespace find_test

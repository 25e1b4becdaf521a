#include <doctest/doctest.h>

#include "tests/search/search_fixture.hpp"

namespace read_search_test {

using namespace straggler;
using namespace straggler::test;

namespace {

std::string wrong(const std::string& body, const std::string& scenario = clockwork_scenario, bool timing_only = false) {
  const Files files;
  return said(files, [&] {
    SweepState state(":memory:");
    run_search(search_of(files, scenario, body), state, 1, timing_only);
  });
}

std::string find_with(const std::string& keys) {
  return "find: {over: {training.optimizer.learning_rate: {from: 0.1, to: 1}}, " + keys + "}\n";
}

std::string find_over(const std::string& over) { return "find: {metric: simulated_seconds, over: " + over + "}\n"; }

std::string crossover_with(const std::string& keys) {
  return "crossover: {between: [ssgd, asgd], metric: simulated_seconds, along: cluster.network.link.bandwidth, " + keys + "}\n";
}

void has(const std::string& text, const std::string& part) {
  CAPTURE(text);
  CHECK(text.find(part) != std::string::npos);
}

}  // namespace

TEST_CASE("a search as it is written") {
  const Files files;
  const SearchFile find = search_of(files, clockwork_scenario, R"(repeats: 3
find:
  metric: final_test_accuracy
  over:
    training.optimizer.learning_rate: {from: 0.001, to: 1, scale: log}
    training.scheme: [{kind: ssgd}, {label: stale, value: {kind: asgd}}]
  budget: 7
)");
  REQUIRE(find.find);
  CHECK(find.find->budget == 7);
  CHECK(find.find->repeats == 3);
  CHECK(find.find->metric.maximize);
  REQUIRE(find.find->over.size() == 2);
  CHECK(find.find->over[0].logarithmic());
  CHECK(find.find->over[1].value(0.9).label == "stale");
  const SearchFile crossover =
      search_of(files, clockwork_scenario, crossover_with("from: 100Mbps, to: 100Gbps, tolerance: 5%, repeats: 2"));
  REQUIRE(crossover.crossover);
  CHECK(crossover.crossover->along.logarithmic());  // spans decades
  CHECK(crossover.crossover->path == "training.scheme");
  CHECK(crossover.crossover->tolerance == 0.05);
  CHECK(crossover.crossover->repeats == 2);
  CHECK_FALSE(search_of(files, clockwork_scenario, crossover_with("from: 1Gbps, to: 2Gbps")).crossover->along.logarithmic());
  CHECK_FALSE(search_of(files, clockwork_scenario, "repeats: 2\n").searches());
}

TEST_CASE("errors of a search name their place") {
  CHECK(wrong(find_with("metric: time_to_traget_s")).starts_with("sweep.yaml:4:"));
  has(wrong(find_with("metric: time_to_traget_s")), "find.metric: unknown metric 'time_to_traget_s'; did you mean 'time_to_target_s'?");
  has(wrong(find_with("metric: mood")), " more, or time_to_ACCURACY_s");
  has(wrong(find_with("metric: time_to_target_s")), "find.metric: time_to_target_s needs a target, and the scenario has none");
  has(wrong(find_with("metric: time_to_0.9_s")), "time_to_0.9_s refers to a threshold that the scenario does not list; add 0.9");
  has(wrong(find_with("budget: 0")), "find.budget: ");
  has(wrong(find_with("budget: 0")), "must be at least 1");
  has(wrong(find_with("repeats: 0")), "find.repeats: ");
  has(wrong(find_with("minimize: true, maximize: true")), "contradicts minimize");
  has(wrong(find_with("buget: 3")), "did you mean 'budget'?");
  has(wrong("find: {metric: simulated_seconds}\n"), "find.over: is missing; write the settings to choose");
  has(wrong(find_over("{training.batch.global: 3}")), "find.over.training.batch.global: is '3'; write a range");
  has(wrong(find_over("{training.batch.global: {from: 64, to: 8}}")), "find.over.training.batch.global.from: is above `to`");
  has(wrong(find_over("{training.batch.global: {from: 8}}")), "find.over.training.batch.global.to: is missing");
  has(wrong(find_over("{training.batch.global: {from: 8, to: 64, times: 2}}")), "unknown key 'times'");
  has(wrong(find_over("{training.optimizer.lerning_rate: {from: 0.1, to: 1}}")), "did you mean 'learning_rate'?");
  has(wrong(find_over("{training.optimizer.lerning_rate: {from: 0.1, to: 1}}")), "sweep.yaml:4:");
  has(wrong("axes: {training.batch.global: [8, 16]}\n" + find_over("{training.batch.global: {from: 8, to: 64}}")),
      "training.batch.global is varied by the axes, too");
  has(wrong(find_with("metric: simulated_seconds") + crossover_with("from: 1Gbps, to: 2Gbps")),
      "cannot be combined with find; put one of them in a separate file");
  has(wrong("until_ci: {relative: 2%}\n" + find_with("metric: simulated_seconds")), "until_ci: works with axes only");
  has(wrong("timing_only: true\n" + find_with("metric: final_test_loss")), "which needs the math that timing_only leaves out");
  has(wrong(find_with("metric: final_test_loss"), clockwork_scenario, true),
      "needs the math that timing-only leaves out; remove --timing-only");
}

TEST_CASE("without the math a search takes samples per second, whether the file or the command line leaves it out") {
  const Files files;
  const std::string find = "find: {over: {training.batch.per_worker: [10, 20]}, budget: 2}\n";
  const std::string crossover =
      "crossover: {between: [asgd, ssgd], along: cluster.network.link.bandwidth, from: 100kB/s, to: 1MB/s, grid: 2, tolerance: 50%}\n";
  for (const bool by_file : {true, false}) {
    CAPTURE(by_file);
    const std::string head = by_file ? "timing_only: true\n" : "";
    SweepState state(":memory:");
    const Searched found = run_search(search_of(files, learning_scenario, head + find), state, 1, !by_file);
    CHECK(found.outcome.metric.name == "samples_per_second");
    CHECK(found.outcome.metric.maximize);
    CHECK(found.outcome.found.at(0).best);
    const Searched crossed = run_search(search_of(files, learning_scenario, head + crossover), state, 1, !by_file);
    CHECK(crossed.outcome.metric.name == "samples_per_second");
    CHECK(crossed.outcome.metric.maximize);
    CHECK(crossed.outcome.timing_runs == crossed.outcome.runs);
    for (const ComparedPoint& point : crossed.outcome.crossed.at(0).points) CHECK(point.winner == Winner::first);  // nobody waits
  }
}

TEST_CASE("errors of a crossover name their place") {
  has(wrong(crossover_with("from: 2Gbps, to: 1Gbps")), "crossover.from: is above `to`");
  has(wrong(crossover_with("from: 0bps, to: 1Gbps, scale: log")), "crossover.scale: log needs a range above 0");
  has(wrong(crossover_with("from: 1Gbps, to: 2Gbps, tolerance: 0%")),
      "crossover.tolerance: 0% is out of range; it must be at least 0.0001%, at most 50%");
  has(wrong(crossover_with("from: 1Gbps, to: 2Gbps, tolerance: 0.6")), "0.6 is out of range; it must be at least 1e-6, at most 0.5");
  has(wrong("crossover: {between: [ssgd], along: x, from: 1, to: 2}\n"), "crossover.between: has 1 entry; write the two to compare");
  has(wrong("crossover: {between: [ssgd, asgdd], metric: simulated_seconds, along: cluster.network.link.bandwidth, from: 1Gbps, to: "
            "2Gbps}\n"),
      "did you mean 'asgd'?");
  has(wrong("crossover: {between: [ssgd, asgd], along: training.scheme, from: 1, to: 2}\n"), "is the setting that is compared");
  has(wrong(
          "crossover: {between: [ssgd, asgd], metric: simulated_seconds, along: cluster.network.link.bandwith, from: 1Gbps, to: 2Gbps}\n"),
      "did you mean 'bandwidth'?");
  has(wrong("crossover: {along: x, from: 1, to: 2}\n"), "crossover.between: is missing; write the two to compare");
}

}  // namespace read_search_test

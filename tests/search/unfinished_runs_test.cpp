// Runs that were aborted or stalled: they led searches, as they end early.
#include <doctest/doctest.h>

#include "scenarios/report/search_page.hpp"
#include "tests/search/search_fixture.hpp"
#include "tests/support/crash_scenario.hpp"
#include "tests/support/text.hpp"

namespace unfinished_search_test {

using namespace straggler;
using namespace straggler::test;

TEST_CASE("find: a setting whose run is aborted is not the best") {
  const Files files;
  const SearchFile search =
      search_of(files, crash_scenario, "find: {metric: simulated_seconds, over: {training.scheme.on_failure: [abort, wait, drop]}}\n");
  const Searched found = run_search(search);
  const FoundGroup& group = found.outcome.found.at(0);
  REQUIRE(group.best);
  CHECK(group.points[group.best->point].values[0].label == "drop");
  CHECK(group.best->as_good.size() == 1);
  CHECK(has(found.text, "2 of 3 runs did not finish (1 aborted, 1 stalled)"));
  CHECK(has(found.table.substr(0, found.table.find('\n')), ",best,outcome"));
  CHECK(has(found.table, ",aborted\n"));
  SweepState state(":memory:");
  keep(state, found.outcome);
  const std::string page = search_page(kept_search(state, ""), {});
  CHECK(has(page, "2 of 3 runs did not finish (1 aborted, 1 stalled)"));
  CHECK(has(page, ">aborted<"));
}

TEST_CASE("crossover: the one that is aborted is ahead nowhere") {
  const Files files;
  const SearchFile search = search_of(files, crash_scenario,
                                      "crossover: {metric: simulated_seconds, path: training.scheme.on_failure, between: [abort, drop], "
                                      "along: cluster.network.link.bandwidth, from: 100MB/s, to: 1GB/s, grid: 2}\n");
  const Searched found = run_search(search);
  const CrossoverGroup& group = found.outcome.crossed.at(0);
  for (const ComparedPoint& point : group.points) CHECK(point.winner == Winner::second);
  CHECK(group.crossings.empty());
  CHECK(has(found.table.substr(0, found.table.find('\n')), ",abort_count,abort_outcome,drop_mean,drop_ci95,drop_count,drop_outcome,"));
  CHECK(has(found.text, "2 of 4 runs did not finish (2 aborted)"));
}

}  // namespace unfinished_search_test

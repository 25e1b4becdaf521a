// A run that was aborted: it led races, as it ends early.
#include <doctest/doctest.h>

#include "scenarios/race/race_run.hpp"
#include "scenarios/race/race_tables.hpp"
#include "scenarios/report/race_page.hpp"
#include "tests/support/crash_scenario.hpp"
#include "tests/support/text.hpp"
#include "tests/sweep/sweep_fixture.hpp"

namespace unfinished_race_test {

using namespace straggler;
using namespace straggler::test;

TEST_CASE("race: an entrant that is aborted has no time an epoch, and the other wins") {
  const Files files;
  Race race;
  race.scenario = files.write("crash.yaml", crash_scenario);
  race.entrants =
      entrants_of_schemes("abort={kind: ssgd, via: server, on_failure: abort}, drop={kind: ssgd, via: server, on_failure: drop}");
  race.seeds = 2;  // one run of each tells all: nothing is random
  race.timing_only = true;
  const RaceReader reader(race);
  SweepState state(":memory:");
  PointPool pool({}, state, nullptr, {});
  const RaceOutcome outcome = run_race(race, reader, pool);
  const std::vector<RunValues> times = outcome.times(reader.finishes().front());
  for (const auto& time : times[0]) CHECK_FALSE(time.has_value());
  for (const auto& time : times[1]) CHECK(time.has_value());
  CHECK(has(race_csv(outcome), "abort,epoch,1,missed,aborted\n"));
  CHECK(has(race_table(outcome), "warning: 1 of 2 runs did not finish (1 aborted)"));
  CHECK(has(race_json(outcome, ""), "\"aborted\""));
  keep(state, outcome);
  const std::string page = race_page(kept_race(state, ""), {});
  CHECK(has(page, ">aborted<"));
  CHECK(has(page, "did not finish"));
}

}  // namespace unfinished_race_test

// The page of a run that was rolled back has its timeline, and shows failures and checkpoints on the learning curves.
#include <doctest/doctest.h>

#include "scenarios/report/run_page.hpp"
#include "scenarios/results/results.hpp"
#include "scenarios/schema/writer.hpp"
#include "tests/support/folder.hpp"
#include "tests/support/run.hpp"
#include "tests/support/text.hpp"

using namespace straggler;
using namespace straggler::test;

namespace {

/// Worker 1 fails in the eighth update; updates 1 to 6 are saved.
const std::vector<std::string> sets = {"cluster.faults=[{kind: crash, worker: 1, at: 720ms, restart_after: 1ms}]",
                                       "training.recovery={kind: rollback, checkpoint: {every: {updates: 3}, save: 1ms}, restart: 50ms}",
                                       "training.stop={updates: 10}", "training.evaluate.every={updates: 1}"};

std::string page_of(const RunRecord& record) {
  const TemporaryFolder place;
  ResultFolder::Request request;
  request.out = place / "run";
  request.scenario_name = record.name;
  ResultFolder folder(request);
  write_record(folder, record);
  write_file(folder, "scenario.yaml", write_scenario(read_scenario_text(cluster(3), "test.yaml", sets)));
  return run_page(folder.temporary(""));
}

}  // namespace

TEST_CASE("a run whose updates were lost and made again has a timeline") {
  const Result result = run_timing(cluster(3), sets);
  REQUIRE(result.record.recovery.lost_updates == 1);
  const std::string page = page_of(result.record);
  CHECK(has(page, "id=\"timeline\""));
  CHECK_FALSE(has(page, "There is no timeline"));
  RunRecord undisturbed = result.record;  // its curve.csv has no column `lost`
  undisturbed.recovery = {};
  CHECK(has(page_of(undisturbed), "<h2>Figures</h2>"));
  RunRecord another = result.record;  // one that the scenario does not give
  for (CurvePoint& point : another.curve) point.time = point.time + Time::from_seconds(0.01);
  CHECK(has(page_of(another), "There is no timeline: simulating the run again gives another result"));
}

TEST_CASE("learning curves show failures, rollbacks and checkpoints") {
  RunRecord record = run_timing(cluster(3), sets).record;
  CHECK_FALSE(has(page_of(record), "ticks on the axis checkpoints"));  // nothing is learnt
  for (CurvePoint& point : record.curve) point.test_loss = point.test_accuracy = 0.5;
  const std::string page = page_of(record);
  CHECK(has(page, "Lines are failures, ticks on the axis checkpoints; recovery.csv lists them."));
  CHECK(has(page, "worker/1 failed, back to update 6"));
  CHECK(has(page, "update 3 saved"));
  CHECK(has(page, "class=\"event\""));
  record.recovery.events.clear();
  CHECK_FALSE(has(test::shown(page_of(record)), "recovery.csv"));
}

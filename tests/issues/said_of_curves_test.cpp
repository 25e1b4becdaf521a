// What pages say of an accuracy that was reached: the rule, and when the curve falls below it again.
#include <doctest/doctest.h>

#include <cmath>

#include "scenarios/report/run_page.hpp"
#include "scenarios/results/below_again.hpp"
#include "scenarios/results/results.hpp"
#include "scenarios/schema/writer.hpp"
#include "tests/support/folder.hpp"
#include "tests/support/run.hpp"
#include "tests/support/text.hpp"

using namespace straggler;
using namespace straggler::test;

namespace {

/// The page of a run whose test accuracies are given, evaluated every 5 s from 0 s on, with a target and a threshold of 0.8.
std::string page_of(const std::vector<double>& accuracies, int sustain) {
  Scenario scenario =
      read_scenario_text(cluster(2), "test.yaml", {"training.stop={updates: 9, target_accuracy: 0.8, on_target: continue}"});
  scenario.training.evaluate.sustain = sustain;
  RunRecord record;
  record.name = "demo";
  record.scheme = "ssgd";
  record.sustain = sustain;
  record.target_accuracy = 0.8;
  record.thresholds = {0.8};
  for (std::size_t i = 0; i < accuracies.size(); ++i) {
    CurvePoint point;
    point.time = Time::from_seconds(5.0 * static_cast<double>(i));
    point.update = i;
    point.train_loss = point.test_loss = 1;
    point.train_accuracy = point.test_accuracy = accuracies[i];
    record.curve.push_back(point);
  }
  record.end = record.curve.back().time;
  record.final_test_accuracy = accuracies.back();
  const TemporaryFolder place;
  ResultFolder::Request request;
  request.out = place / "run";
  request.scenario_name = "demo";
  ResultFolder folder(request);
  write_record(folder, record);
  write_file(folder, "scenario.yaml", write_scenario(scenario));
  return run_page(folder.temporary(""));
}

}  // namespace

TEST_CASE("a curve that falls below its target again is reported, with the time") {
  // Below at 5 s, held at 10 s and 15 s, below at 20 s, held at 25 s.
  const std::string page = page_of({0.5, 0.7, 0.81, 0.85, 0.79, 0.9}, 2);
  CHECK(has(page, "0.8 test accuracy is reached after 10 s and held for 2 evaluations; after 20 s it falls below again."));
  CHECK(has(page, "10 s; below it again after 20 s"));
  CHECK_FALSE(has(page, "for good"));
}

TEST_CASE("a curve that stays above its target is reported as sustained") {
  const std::string page = page_of({0.5, 0.7, 0.81, 0.85, 0.88}, 1);
  CHECK(has(page, "0.8 test accuracy is reached after 10 s and held for 1 evaluation."));
  CHECK_FALSE(has(test::shown(page), "below"));
}

TEST_CASE("below again: the first evaluation after the moment, and a loss that is no number counts") {
  const AccuracyCurve curve{{0, 0.9}, {1, 0.1}, {2, 0.8}, {3, 0.9}, {4, std::nan("")}, {5, 0.2}};
  CHECK(below_again(curve, 0.8, 2) == 4.0);
  CHECK(below_again(curve, 0.05, 0) == 4.0);
  CHECK_FALSE(below_again(curve, 0.8, 5));
  CHECK_FALSE(below_again({{0, 0.9}, {1, 0.8}}, 0.8, 0));
}

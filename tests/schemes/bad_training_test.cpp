// Runs that fail to train: warnings about a loss that has become large, and about one that is nan.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "scenarios/results/summary.hpp"
#include "scenarios/sweep/evaluation_file.hpp"
#include "sim/record/loss_warning.hpp"
#include "tests/support/run.hpp"

using namespace straggler;
using namespace straggler::test;

namespace {

using Sets = std::vector<std::string>;

/// Whole-batch descent on a bowl of curvatures 1 and 0.1 from about 10 in both coordinates: the distances to the optimum are multiplied by
/// 1 - rate and 1 - 0.1 rate a step, and the loss is the sum of their squares by curvature, halved, beside a spread that stays.
Sets bowl(const char* rate, int updates, const char* evaluate) {
  return {"workload.model={kind: quadratic}",
          "workload.data={kind: coordinates, samples: 200, test_samples: 50}",
          "training.batch.per_worker=200",
          std::string("training.optimizer.learning_rate=") + rate,
          "training.stop={updates: " + std::to_string(updates) + "}",
          std::string("training.evaluate=") + evaluate};
}

std::vector<std::string> of_the_loss(const RunRecord& record) {
  std::vector<std::string> said;
  for (const std::string& warning : record.warnings)
    if (warning.find("training loss") != std::string::npos) said.push_back(warning);
  return said;
}

}  // namespace

TEST_CASE("a loss far above that of the initial weights is warned of, with both figures, whether these were evaluated or not") {
  // Rate 3 makes (-2)^n and 0.7^n of the distances: 100/2 (4^n + 0.1 * 0.49^n), with a spread below 2: after one step 3.7 times the
  // loss at the start, after two 14.6 times.
  for (const char* evaluate : {"{every: {updates: 1}}", "{}"}) {
    CAPTURE(evaluate);
    CHECK(of_the_loss(run(cluster(1), bowl("3", 1, evaluate)).record).empty());
    const Result worse = run(cluster(1), bowl("3", 2, evaluate));
    CHECK(worse.record.outcome == Outcome::completed);
    const std::vector<std::string> said = of_the_loss(worse.record);
    REQUIRE(said.size() == 1);
    CHECK(said[0].find("smaller training.optimizer.learning_rate") != std::string::npos);
    const double last = *worse.record.curve.back().train_loss, start = std::stod(said[0].substr(said[0].find("was ") + 4));
    CHECK(std::abs(std::stod(said[0].substr(said[0].find("is ") + 3)) - last) <= 0.005 * last);
    CHECK(last / start > 13);
    CHECK(last / start < 15);
    CHECK(of_the_loss(run(cluster(1), bowl("0.5", 5, evaluate)).record).empty());
  }
}

TEST_CASE("the warning follows from the scenario: the store does not change it") {
  const Sets sets = bowl("3", 4, "{}");
  const std::vector<std::string> alone = of_the_loss(run(cluster(1), sets).record);
  REQUIRE(alone.size() == 1);
  EvaluationFile store(":memory:");
  RunOptions options;
  options.store = &store;
  CHECK(of_the_loss(run(cluster(1), sets, options).record) == alone);
  const Experiment::FromStore known = Experiment(read_scenario_text(cluster(1), "test.yaml", sets), options).run_from_store(nullptr);
  REQUIRE(known.record);
  CHECK(of_the_loss(*known.record) == alone);
  CHECK(run_timing(cluster(1), sets).record.warnings.empty());
}

TEST_CASE("ten times the loss is the limit; NaN gives no warning") {
  CHECK_FALSE(loss_warning(2, 20));
  CHECK(loss_warning(2, std::nextafter(20.0, 21.0)));
  CHECK(loss_warning(2.302585, 1e12)->find("is 1e+12 at the end and was 2.3 with") != std::string::npos);
  for (const double odd : {std::nan(""), HUGE_VAL}) {
    CHECK_FALSE(loss_warning(2, odd));
    CHECK_FALSE(loss_warning(odd, 2));
  }
  CHECK_FALSE(loss_warning(0, 1));
}

TEST_CASE("where the loss is no number there is no accuracy: null in summary.json, nan in the curve, below every target") {
  const Result lost = run(cluster(2), {"training.optimizer.learning_rate=1e30", "training.stop={updates: 10, target_accuracy: 0.01}",
                                       "training.evaluate={every: {updates: 1}, thresholds: [0.01], sustain: 3}"});
  CHECK(lost.record.outcome == Outcome::diverged);
  REQUIRE(lost.record.curve.size() >= 2);
  CHECK(*lost.record.curve.front().test_accuracy > 0.01);
  const CurvePoint& last = lost.record.curve.back();
  CHECK_FALSE(std::isfinite(*last.train_loss));
  CHECK(std::isnan(*last.train_accuracy));
  CHECK(std::isnan(*last.test_accuracy));
  CHECK_FALSE(reached(lost.record.curve, 0.01, 3).at);
  const nlohmann::json summary = nlohmann::json::parse(summary_json(summarize(lost.record)));
  for (const char* key : {"final_train_loss", "final_test_loss", "final_train_accuracy", "final_test_accuracy"})
    CHECK(summary[key].is_null());
  CHECK(of_the_loss(lost.record).empty());
}

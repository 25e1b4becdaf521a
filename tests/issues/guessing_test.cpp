// A run that ends no better than guessing says so: in its warnings, on its page, in comparisons, sweeps and races.
#include <doctest/doctest.h>

#include <algorithm>

#include "scenarios/results/endings.hpp"
#include "scenarios/results/verdict.hpp"
#include "scenarios/sweep/evaluation_file.hpp"
#include "scenarios/sweep/sweep_tables.hpp"
#include "tests/report/made_up_sweep.hpp"
#include "tests/support/run.hpp"
#include "tests/support/text.hpp"

namespace guessing_test {

using namespace straggler;
using namespace straggler::test;

namespace {

/// Sample i of these data has class i mod 4: with 202 test samples the first two classes have 51 each.
constexpr double share = 51.0 / 202;

std::vector<std::string> at_rate(const char* rate) {
  return {"workload.data={kind: coordinates, samples: 1000, test_samples: 202}", "training.stop={epochs: 3}",
          std::string("training.optimizer={kind: sgd, momentum: 0.9, learning_rate: ") + rate + "}"};
}

std::vector<std::string> of_guessing(const std::vector<std::string>& all) {
  std::vector<std::string> said;
  for (const std::string& each : all)
    if (has(each, "no better than guessing")) said.push_back(each);
  return said;
}

Learned learned(double accuracy, double guess) { return {"ssgd", accuracy, guess, 2, std::nullopt, false}; }

}  // namespace

TEST_CASE("guessing is to name the most frequent class always") {
  CHECK(only_guesses(learned(0.0985, 0.1)));
  CHECK(only_guesses(learned(0.1, 0.1)));
  CHECK_FALSE(only_guesses(learned(0.1001, 0.1)));
  CHECK(only_guesses(learned(0.9, 0.95)));      // of one class there are many
  CHECK_FALSE(only_guesses(learned(0, 0.25)));  // a model without classes
  Learned begun = learned(0.1, 0.1);
  begun.epochs = 0.5;
  CHECK_FALSE(only_guesses(begun));  // it has not seen all samples
  CHECK_FALSE(only_guesses({"ssgd", 0.1, std::nullopt, 2, std::nullopt, false}));
}

TEST_CASE("the warning has both figures, and names what explain would find") {
  const std::string alone = *guess_warning(learned(0.0985, 0.1));
  CHECK(has(alone, "accuracy of 0.0985"));
  CHECK(has(alone, "has 0.1000 of the test samples"));
  CHECK_FALSE(has(alone, "explain"));
  CHECK(has(alone, "smaller training.optimizer.learning_rate"));
  const auto of = [](const char* scheme, double staleness, bool compressed) {
    return guess_remedy({scheme, 0.1, 0.1, 2, staleness, compressed});
  };
  CHECK(has(of("asgd", 24, false), "straggler explain shows what it learns without stale gradients (24 updates old on average)"));
  CHECK(has(of("asgd", 24, true), "straggler explain shows what it learns without compression"));
  CHECK_FALSE(has(of("asgd", 0, false), "explain"));
  CHECK_FALSE(has(of("easgd", 24, false), "explain"));  // its workers send weights: there is no such row
  CHECK_FALSE(has(of("no such scheme", 24, false), "explain"));
}

TEST_CASE("a run knows the share of the most frequent class, and warns exactly where its accuracy is no higher; with a store, too") {
  bool warned = false, learned = false;
  for (const char* rate : {"0.2", "20", "60", "3000"}) {
    CAPTURE(rate);
    const RunRecord record = run(cluster(2), at_rate(rate)).record;
    CHECK(record.guessing_accuracy == share);
    const bool guesses = is_finished(record.outcome) && *record.final_test_accuracy > 0 && *record.final_test_accuracy <= share;
    CHECK(of_guessing(record.warnings).size() == (guesses ? 1 : 0));
    warned = warned || guesses;
    learned = learned || *record.final_test_accuracy > share;

    EvaluationFile store(":memory:");
    RunOptions options;
    options.store = &store;
    CHECK(run(cluster(2), at_rate(rate), options).record.warnings == record.warnings);
    const Experiment::FromStore known =
        Experiment(read_scenario_text(cluster(2), "test.yaml", at_rate(rate)), options).run_from_store(nullptr);
    REQUIRE(known.record);
    CHECK(known.record->guessing_accuracy == share);
    CHECK(known.record->warnings == record.warnings);
  }
  CHECK(warned);
  CHECK(learned);
  CHECK_FALSE(run_timing(cluster(2), at_rate("0.2")).record.guessing_accuracy);
}

TEST_CASE("sweeps, their pages and comparisons count and name runs that only guess") {
  SweepOutcome outcome = made_up({{"0.1", "10"}}, 2, [](const auto& labels, std::int64_t) {
    return Numbers{{"samples", 10}, {"epochs", 2}, {"final_test_accuracy", labels[0] == "10" ? 0.1 : 0.8}, {"guessing_accuracy", 0.1}};
  });
  const std::vector<std::string> columns = {"training.optimizer.learning_rate"};
  const std::string warning =
      "2 of 4 runs end no better than guessing (the most frequent class has 0.1000 of the test samples): they learned";
  CHECK(has(sweep_table(columns, outcome), "\nwarning: " + warning));
  const std::vector<std::string> all = sentences(columns, outcome);
  CHECK(std::ranges::any_of(all, [&](const std::string& each) { return each.starts_with("Warning: " + warning); }));

  std::vector<RunResult> runs(2);
  for (std::size_t i = 0; i < 2; ++i) {
    runs[i].name = i == 0 ? "learns" : "guesses";
    runs[i].scheme = "ssgd";
    runs[i].summary = outcome.rows[2 * i].fields;
    runs[i].final_test_accuracy = i == 0 ? 0.8 : 0.1;
  }
  const std::vector<std::string> notes = of_guessing(plain(comparison_notes(compare(runs))));
  REQUIRE(notes.size() == 1);
  CHECK(notes[0].starts_with("'guesses': the final test accuracy of 0.1000 is"));
}

}  // namespace guessing_test

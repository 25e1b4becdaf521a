// Runs that diverged, were aborted or stalled: they led tables, pages and searches, as they end early.
#include <doctest/doctest.h>

#include <algorithm>

#include "scenarios/report/sweep_report.hpp"
#include "scenarios/results/verdict.hpp"
#include "tests/report/made_up_sweep.hpp"
#include "tests/support/crash_scenario.hpp"
#include "tests/support/text.hpp"
#include "tests/sweep/sweep_fixture.hpp"

namespace unfinished_runs_test {

using namespace straggler;
using namespace straggler::test;

namespace {

const std::string reactions = "training.scheme.on_failure: [abort, wait, drop]";

/// Gives the rows of these repeats of a setting an outcome; all others are completed.
void set_outcomes(SweepOutcome& outcome, std::size_t group, const std::vector<std::int64_t>& repeats, Outcome what) {
  for (SweepRow& row : outcome.rows) {
    std::erase_if(row.fields, [&](const SummaryField& field) { return field.key == "outcome" && row.group == group; });
    if (scalar_of(row.fields, "outcome").is_none()) row.fields.push_back({"outcome", Scalar(std::string("completed"))});
    if (row.group == group && std::ranges::find(repeats, row.repeat) != repeats.end())
      row.fields.back().value = Scalar(std::string(name_of(what)));
  }
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  for (std::size_t at = 0, end = 0; at < text.size(); at = end + 1) {
    end = text.find('\n', at);
    lines.push_back(text.substr(at, end - at));
  }
  return lines;
}

}  // namespace

TEST_CASE("sweep: the setting that is aborted first does not lead, in table, CSV and page") {
  const Files files;
  files.write("crash.yaml", crash_scenario);
  const Sweep sweep =
      read_sweep(files.write("sweep.yaml", "sweep: 1\nname: try\nscenario: crash.yaml\ntiming_only: true\naxes: {" + reactions + "}\n"));
  const Swept swept = run_afresh(sweep);
  REQUIRE(swept.outcome.rows.size() == 3);
  CHECK(outcome_of(swept.outcome.rows[0].fields) == Outcome::aborted);
  CHECK(outcome_of(swept.outcome.rows[1].fields) == Outcome::stalled);
  CHECK(outcome_of(swept.outcome.rows[2].fields) == Outcome::completed);
  const SweepView view(sweep.columns(), swept.outcome, true);
  CHECK(view.rank({0, 1, 2}).order == std::vector<std::size_t>{2});
  const std::string note = "2 of 3 runs did not finish (1 aborted, 1 stalled)", findings = said(sweep.columns(), swept.outcome, true);
  CHECK(has(findings, note));
  CHECK(has(findings, "1 setting that finished"));
  CHECK_FALSE(has(findings, "on failure abort, with"));
  const std::string table = sweep_table(sweep.columns(), swept.outcome);
  CHECK(has(table, note));
  CHECK(has(lines_of(table)[0], "outcome"));
  const std::vector<std::string> groups = lines_of(swept.groups);
  CHECK(groups[0].starts_with("training.scheme.on_failure,count,outcome,"));
  CHECK(groups[1].starts_with("abort,1,aborted,"));
  CHECK(groups[2].starts_with("wait,1,stalled,"));
  CHECK(groups[3].starts_with("drop,1,completed,"));
  // The unfinished rows have no mean of anything: all cells behind the outcome are empty but for counts of 0.
  CHECK(groups[1].find_first_not_of(",0", std::string("abort,1,aborted").size()) == std::string::npos);
  const std::string page = sweep_report_files({}, sweep.columns(), swept.outcome).front().second;
  CHECK(has(page, ">outcome<"));
  CHECK(has(page, ">aborted<"));
}

TEST_CASE("sweep: without unfinished points there is no column and no line") {
  const SweepOutcome all = made_up({{"ssgd", "asgd"}}, 2, [](const auto&, std::int64_t repeat) {
    return Numbers{{"samples", 10}, {"simulated_seconds", 1 + static_cast<double>(repeat)}};
  });
  CHECK_FALSE(has(groups_csv({"training.scheme"}, all), "outcome"));
  CHECK_FALSE(has(sweep_table({"training.scheme"}, all), "outcome"));
  CHECK_FALSE(has(said({"training.scheme"}, all), "finish"));
}

TEST_CASE("sweep: a repeat that diverges enters no mean and counts as missed, however early it ends") {
  SweepOutcome outcome = made_up({{"ssgd", "asgd"}}, 5, [](const auto& labels, std::int64_t repeat) {
    return Numbers{{"samples", 10}, {"simulated_seconds", (labels[0] == "asgd" ? 5 : 10) + static_cast<double>(repeat)}};
  });
  set_outcomes(outcome, 1, {0}, Outcome::diverged);
  outcome.rows[5].fields[1].value = Scalar(0.001);
  REQUIRE(outcome.rows[5].fields[1].key == "simulated_seconds");
  const SweepView view({"training.scheme"}, outcome);
  CHECK(view.scalars().statistics(view.settings()[1], "simulated_seconds").mean == doctest::Approx((6 + 7 + 8 + 9) / 4.0));
  CHECK(view.rank({0, 1}).order == std::vector<std::size_t>{0, 1});  // it never missed
  const std::vector<std::string> groups = lines_of(groups_csv({"training.scheme"}, outcome));
  CHECK(groups[2].starts_with("asgd,5,\"4 completed, 1 diverged\","));
  CHECK(has(said({"training.scheme"}, outcome), "1 of 10 runs did not finish (1 diverged): it counts as missed and enters no mean."));
}

TEST_CASE("sweep: no speed-up over or of a point that did not finish") {
  SweepOutcome outcome = made_up({{"1", "2", "4"}, {"ssgd", "asgd"}}, 1, [](const auto& labels, std::int64_t) {
    const double workers = std::stod(labels[0]);
    return Numbers{{"workers", workers}, {"samples_per_second", 100 * workers}};
  });
  set_outcomes(outcome, 0, {0}, Outcome::aborted);     // ssgd on one worker
  set_outcomes(outcome, 3, {0}, Outcome::overloaded);  // asgd on two
  const std::vector<std::string> columns = {"cluster.workers[0].count", "training.scheme"};
  const SweepScalars scalars(columns, outcome);
  for (std::size_t row = 0; row < outcome.rows.size(); ++row) {
    CAPTURE(row);
    const bool there = row == 1 || row == 5;  // asgd on one and on four
    CHECK(scalars.find(outcome.rows[row], "speed_up").number().has_value() == there);
  }
}

TEST_CASE("sweep: repeats until an interval is narrow end where no repeat finishes") {
  const Files files;
  files.write("crash.yaml", crash_scenario);
  const Sweep sweep = read_sweep(files.write("sweep.yaml",
                                             "sweep: 1\nname: try\nscenario: crash.yaml\ntiming_only: true\nrepeats: 2\nuntil_ci: "
                                             "{relative: 1%, metric: samples_per_second, most: 6}\naxes: {" +
                                                 reactions + "}\n"));
  CHECK(run_afresh(sweep).outcome.rows.size() == 3 * 2);
}

TEST_CASE("compare: a run that did not finish wins neither by speed nor by accuracy") {
  const auto run = [](const char* name, Outcome outcome, double seconds, std::optional<double> reached) {
    RunResult result;
    result.folder = result.name = name;
    result.scheme = "asgd";
    result.outcome = outcome;
    result.workers = 4;
    result.simulated_seconds = seconds;
    result.samples = 1000;
    result.samples_per_second = 1000 / seconds;
    if (!reached) return result;
    result.with_math = true;
    result.final_test_accuracy = 0.9;
    result.thresholds = {{0.8, *reached > 0 ? reached : std::nullopt, {}, {}, {}, 500, {}}};
    return result;
  };
  const Comparison speed =
      compare({run("a", Outcome::aborted, 1, {}), run("b", Outcome::completed, 10, {}), run("c", Outcome::completed, 20, {})});
  REQUIRE(speed.winner);
  CHECK(speed.labels[*speed.winner] == "b");
  CHECK(has(plain(verdict(speed)), "'b' (asgd) wins on speed: 100 samples per second, 2 times as many as 'c'"));
  CHECK(std::ranges::any_of(plain(comparison_notes(speed)), [](const std::string& note) { return has(note, "'a' was aborted"); }));
  CHECK_FALSE(compare({run("a", Outcome::overloaded, 1, {}), run("b", Outcome::completed, 10, {})}).winner);
  CHECK(
      has(plain(verdict(compare({run("a", Outcome::stalled, 1, {}), run("b", Outcome::aborted, 1, {})}))), "No run wins: none finished."));

  const Comparison accuracy = compare({run("a", Outcome::diverged, 9, 2), run("b", Outcome::completed, 10, 5)});
  REQUIRE(accuracy.winner);
  CHECK(accuracy.labels[*accuracy.winner] == "b");
  CHECK(has(plain(verdict(accuracy)), "which 'a' (asgd) did after 2 s, before it diverged"));
  CHECK_FALSE(speed_ups_of(accuracy)->ratios[0]);
  CHECK(speed_ups_of(accuracy)->ratios[1] == 1.0);
}

}  // namespace unfinished_runs_test

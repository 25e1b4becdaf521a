// Pages of races whose times the test makes up.
#include <doctest/doctest.h>

#include "scenarios/race/race_tables.hpp"
#include "scenarios/report/race_page.hpp"
#include "scenarios/results/out_file.hpp"
#include "tests/support/page_text.hpp"
#include "tests/support/text.hpp"

using namespace straggler;
using namespace straggler::test;

namespace {

const Description description = Description::of_lines({"scenario of the first run: name: base", "seeds: 5"});

/// A run of two epochs that reaches 0.5 and 0.8 after these seconds, having handled as many samples as every other.
StudyRun run(std::uint64_t seed, double half, std::optional<double> target) {
  RunSketch sketch;
  sketch.curve = {{1, 1, 10, 100, 0.5, 0.4, 1.0}, {2, 2, 20, 200, 1.0, 0.8, 0.5}};
  sketch.evaluations = 2;
  ThresholdResult row{0.8, target, {}, {}, {}, {}, {}};
  if (target) row.samples = 420;
  sketch.thresholds = {row};
  return {seed,
          {{"time_to_0.5_s", Scalar(half)},
           {"time_to_target_s", Scalar(target)},
           {"idle_fraction", Scalar(0.5)},
           {"simulated_seconds", Scalar(2 * half)},
           {"epochs", Scalar(2.0)}},
          written(sketch)};
}

/// To 0.5 "fast" is twice as fast as the others, who are level in the mean; to 0.8 "b" gets in three of five runs, the others always.
RaceOutcome raced() {
  RaceOutcome outcome;
  outcome.name = "base";
  for (const char* const entrant : {"fast", "a", "b"}) outcome.entrants.push_back({entrant, "", {{"training.scheme", entrant}}});
  outcome.finishes = {{"0.5", "time_to_0.5_s", 0.5, false}, {"0.8", "time_to_target_s", 0.8, true}, {"0.9", "time_to_0.9_s", 0.9, false}};
  const double half[3][5] = {{10, 10.1, 10.2, 10.3, 10.4}, {20, 20.4, 20.4, 20.6, 20.8}, {20.2, 20.2, 20.6, 20.4, 20.8}};
  for (std::size_t entrant = 0; entrant < 3; ++entrant) {
    outcome.runs.emplace_back();
    for (std::size_t i = 0; i < 5; ++i) {
      const double other = 40 + static_cast<double>(i), own = 50 + static_cast<double>(i);
      outcome.runs.back().push_back(run(7 + i, half[entrant][i],
                                        entrant < 2 ? std::optional(other)
                                        : i < 3     ? std::optional(own)
                                                    : std::nullopt));
    }
  }
  outcome.judge_finishes();
  // At 0.8 "fast" gets with 1 and 0.5, the others with their own; the second candidate of "b" diverged.
  outcome.tuning = Tuning{{"training.optimizer.learning_rate"}, {"learning_rate"}, {{"0.25"}, {"1"}, {"0.5"}}, {{0.1}, {0.9}, {0.5}}, 2};
  outcome.levels = {outcome.finishes[0], outcome.finishes[1]};
  const double none = Criterion().loss;
  outcome.tuned = {{{{false, {{2, 9}, {0, 0}}, 1}, {false, {{2, 10}, {2, 30}}, 0.5}, {false, {{2, 11}, {1, 33}}, 0.6}},
                    {3, 1, 2},
                    1,
                    {"fast: its best training.optimizer.learning_rate, 1, is the largest of the 6 that were tried"}},
                   {{{false, {{2, 20}, {2, 42}}, 0.5}, {false, {{2, 21}, {0, 0}}, 0.6}, {false, {{0, 0}, {0, 0}}, 2}}, {1, 2, 3}, 0, {}},
                   {{{false, {{0, 0}, {0, 0}}, 0.8}, {true, {{0, 0}, {0, 0}}, none}, {false, {{2, 20}, {2, 50}}, 0.4}}, {2, 3, 1}, 2, {}}};
  return outcome;
}

}  // namespace

TEST_CASE("a race's page names the winner, if there is one, and counts missed runs") {
  const std::string page = race_page(raced(), description);
  CHECK(has(page, "Who is first on scenario base: fast, a or b? 5 runs each, of the same seeds, 7 to 11."));
  CHECK(has(page, "Tuned alike before, on samples that are held out: learning rate; 3 candidates each, 2 runs of each."));
  CHECK(has(page, "<li>Time to 0.5: fast wins.</li>"));
  CHECK(has(page, "<li>Time to 0.9: nobody reached it.</li>"));
  CHECK(has(page, "<li>Warning: fast: its best training.optimizer.learning_rate, 1, is the largest of the 6 that were tried.</li>"));
  // The table: means of five, and of three of five. Rows of schemes, then who wins; fast and a are level at 0.8, so nobody does.
  const std::string rows = test::table_rows(page);
  CHECK(has(rows, "| fast | 1 | 10.2 s"));
  CHECK(has(page, "(3 of 5)</td>"));
  CHECK(count(rows, "| missed (0 of 5) |") == 3);
  CHECK(has(rows, "| who wins | | fast | no difference | nobody |\n"));
  // Pictures: hollow where some missed, in the colour of the faster one, grey where no difference is told.
  CHECK(count(page, "\"hollow\":true") == 1);
  CHECK(has(page, "<g class=\"grey\"><title>b over a: "));
  CHECK(has(page, "<g class=\"s0\"><title>a over fast: "));
  // By ranks all five are before all of b: p = 2 / (10 over 5).
  CHECK(has(page, ">by ranks, since some missed it: fast is faster</text>"));
  CHECK(has(page, "<li>Time to 0.8 (target): no difference between fast and a; fast and a are faster than b.</li>"));
  CHECK(count(page, ">missed by all</text>") == 3);
  // Tuning: by the highest level that anybody reached; hollow where one of two runs did.
  CHECK(has(page, "<h3>Tuning: time to 0.8, held-out samples over learning rate</h3>"));
  CHECK(has(page, "<title>fast, chosen, learning rate 1: 30 s</title>"));
  CHECK(has(page, "<g class=\"s0 hollow\"><title>fast, learning rate 0.5: 33 s</title>"));
  CHECK_FALSE(has(page, "learning rate 0.25: 9 s"));
  for (const char* const table : {"race.csv", "verdicts.csv", "tuning.csv"}) CHECK(has(page, std::string("<a href=\"") + table + "\">"));
  CHECK_FALSE(has(test::shown(page), "http://"));
  // Why, the curves up to the target, and a sheet an entrant, to which its marks lead.
  CHECK(has(page,
            "<li>Why: fast is faster to 0.8 (target) than b, "
            "because it handles 1.21 times as many samples per second and needs as many samples; of the 5 runs of b only 3 get there."));
  CHECK(has(page, "<h3>Test accuracy</h3>"));
  CHECK(has(page, "\"idealFlat\":0.8"));
  CHECK(has(page, "In the scenario: training.scheme: b, training.optimizer.learning_rate: 0.5."));
  CHECK(has(page, "\"link\":\"#run-2\""));
}

TEST_CASE("a race's outcome is kept whole; timing alone, unpaired, without tuning") {
  RaceOutcome plain = raced();
  SweepState state(":memory:");
  state.describe(description);
  keep(state, plain);
  const std::string kept = state.answer();
  const RaceOutcome back = kept_race(state, "");
  CHECK((race_page(back, description) == race_page(plain, description)));
  CHECK(race_table(back) == race_table(plain));
  CHECK(race_json(back, "") == race_json(plain, ""));
  keep(state, back);
  CHECK(state.answer() == kept);
  plain.tuning.reset();
  plain.tuned.clear();
  plain.paired = false;
  plain.finishes = {{"epoch", "", 0, false}};
  plain.judge_finishes();
  const std::string page = race_page(plain, description, "elsewhere");
  CHECK(has(page, "no two of one seed"));
  CHECK(has(page, "<li>Time an epoch: fast wins.</li>"));
  CHECK(has(page, "<a href=\"elsewhere/race.csv\">"));
  CHECK_FALSE(has(page, "tuning.csv"));
  CHECK_FALSE(has(page, "Warning"));
  state.keep_answer("{}");
  CHECK_THROWS_AS(kept_race(state, ""), ResultsError);
  state.keep_answer("{\"answer\":5,\"kind\":\"race\"}");
  CHECK(test::error_of<ResultsError>([&] { kept_race(state, "here"); }) ==
        "here: the answer of this race has version 5 of the format; this program reads version 4; run the same straggler race command "
        "again: finished runs are not repeated");
  // Where no candidate reached any level, they were judged by their loss.
  RaceOutcome lost = raced();
  for (Tuned& tuned : lost.tuned)
    for (Criterion& tried : tuned.criteria) tried.levels = {{0, 0}, {0, 0}};
  const std::string losses = race_page(lost, description);
  CHECK(has(losses, "<h3>Tuning: validation loss over learning rate</h3>"));
  CHECK(has(losses, "<title>b, chosen, learning rate 0.5: 0.4</title>"));
}

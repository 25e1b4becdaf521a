// Pages of races whose times the test makes up.
#include <doctest/doctest.h>

#include "scenarios/report/race_page.hpp"
#include "scenarios/results/out_file.hpp"
#include "tests/support/page_text.hpp"

using namespace straggler;
using namespace straggler::test;

namespace {

using Times = std::vector<std::vector<double>>;  // empty: missed

/// To 0.5 "fast" is twice as fast as the others, who are level in the mean; to 0.8 "b" gets in three of five runs, the others always.
RaceAnswer answer() {
  RaceAnswer answer;
  answer.description = Description::of_lines({"scenario of the first run: name: base", "seeds: 5"});
  answer.name = "base";
  answer.entrants = {"fast", "a", "b"};
  answer.seeds.assign(3, {7, 8, 9, 10, 11});
  const Times half{{10}, {10.1}, {10.2}, {10.3}, {10.4}}, one{{20}, {20.4}, {20.4}, {20.6}, {20.8}},
      other{{20.2}, {20.2}, {20.6}, {20.4}, {20.8}};
  const Times never(5), some{{50}, {51}, {52}, {}, {}}, all{{40}, {41}, {42}, {43}, {44}};
  answer.finishes = {
      {"0.5", 0.5, false, {half, one, other}}, {"0.8", 0.8, true, {all, all, some}}, {"0.9", 0.9, false, {never, never, never}}};
  answer.tuned = {"training.optimizer.learning_rate"};
  answer.chosen = {{"1"}, {"0.25"}, {"0.5"}};
  // At 0.8 "fast" gets with 1 and 0.5, the others with their own; the second candidate of "b" diverged.
  answer.candidates = {{"0.25"}, {"1"}, {"0.5"}};
  answer.ordered = {true};
  answer.levels = {"0.5", "0.8"};
  answer.tuning_seeds = 2;
  answer.tuning = {{{{2, 0}, {9, 0}, {1}}, {{2, 2}, {10, 30}, {0.5}}, {{2, 1}, {11, 33}, {0.6}}},
                   {{{2, 2}, {20, 42}, {0.5}}, {{2, 0}, {21, 0}, {0.6}}, {{0, 0}, {0, 0}, {2}}},
                   {{{0, 0}, {0, 0}, {0.8}}, {{0, 0}, {0, 0}, {}}, {{2, 2}, {20, 50}, {0.4}}}};
  answer.reasons = {
      "fast is faster to 0.8 (target) than b, because it handles 1.2 times as many samples per second and needs as many samples"};
  for (const std::string& entrant : answer.entrants) {
    RunSketch sketch;
    sketch.curve = {{1, 1, 10, 100, 0.5, 0.4, 1.0}, {2, 2, 20, 200, 1.0, 0.8, 0.5}};
    sketch.evaluations = 2;
    answer.settings.push_back({entrant, {{"training.scheme", entrant}}, {}});
    for (const std::uint64_t seed : answer.seeds[0])
      answer.settings.back().runs.push_back({seed, {{"idle_fraction", 0.5}}, written(sketch)});
  }
  answer.warnings = {"fast: its best training.optimizer.learning_rate, 1, is the largest of the 6 that were tried"};
  return answer;
}

}  // namespace

TEST_CASE("a race's page names the winner, if there is one, and counts missed runs") {
  const std::string page = race_page(answer());
  CHECK(has(page, "Who is first, fast, a and b, on scenario base? 5 runs each, of the same seeds, 7 to 11."));
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
  CHECK(has(page, "<li>Time to 0.8 (target): no difference between fast and a; fast is faster than b.</li>"));
  CHECK(count(page, ">missed by all</text>") == 3);
  // Tuning: by the highest level that anybody reached; hollow where one of two runs did.
  CHECK(has(page, "<h3>Tuning: time to 0.8, held-out samples over learning rate</h3>"));
  CHECK(has(page, "<title>fast, chosen, learning rate 1: 30 s</title>"));
  CHECK(has(page, "<g class=\"s0 hollow\"><title>fast, learning rate 0.5: 33 s</title>"));
  CHECK_FALSE(has(page, "learning rate 0.25: 9 s"));
  for (const char* const table : {"race.csv", "verdicts.csv", "tuning.csv"}) CHECK(has(page, std::string("<a href=\"") + table + "\">"));
  CHECK_FALSE(has(test::shown(page), "http://"));
  // Why, the curves up to the target, and a sheet an entrant, to which its marks lead.
  CHECK(has(page, "<li>Why: fast is faster to 0.8 (target) than b, because it handles 1.2 times as many samples per second and needs"));
  CHECK(has(page, "<h3>Test accuracy</h3>"));
  CHECK(has(page, "\"idealFlat\":0.8"));
  CHECK(has(page, "In the scenario: training.scheme: b."));
  CHECK(has(page, "\"link\":\"#run-2\""));
}

TEST_CASE("a race's answer is kept whole; timing alone, unpaired, without tuning") {
  RaceAnswer plain = answer();
  const std::string kept = write_answer(plain);
  CHECK(write_answer(read_race_answer(kept)) == kept);
  CHECK((race_page(read_race_answer(kept)) == race_page(plain)));
  plain.tuned.clear();
  plain.chosen.clear();
  plain.warnings.clear();
  plain.paired = false;
  plain.finishes = {{"epoch", 0, false, plain.finishes[0].times}};
  const std::string page = race_page(plain, "elsewhere");
  CHECK(has(page, "no two of one seed"));
  CHECK(has(page, "<li>Time an epoch: fast wins.</li>"));
  CHECK(has(page, "<a href=\"elsewhere/race.csv\">"));
  CHECK_FALSE(has(page, "tuning.csv"));
  CHECK_FALSE(has(page, "Warning"));
  CHECK_THROWS_AS(read_race_answer("{}"), ResultsError);
  // Where no candidate reached any level, they were judged by their loss.
  RaceAnswer lost = answer();
  for (auto& candidates : lost.tuning)
    for (TriedCandidate& tried : candidates) tried.reached = {0, 0};
  const std::string losses = race_page(lost);
  CHECK(has(losses, "<h3>Tuning: validation loss over learning rate</h3>"));
  CHECK(has(losses, "<title>b, chosen, learning rate 0.5: 0.4</title>"));
}

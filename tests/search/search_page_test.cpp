// Pages of searches whose outcome the test makes up, so that it knows what must be said and drawn.
#include <doctest/doctest.h>

#include <limits>
#include <tuple>

#include "scenarios/report/said_words.hpp"
#include "scenarios/report/search_page.hpp"
#include "scenarios/report/search_words.hpp"
#include "scenarios/results/out_file.hpp"
#include "tests/search/search_fixture.hpp"
#include "tests/support/page_text.hpp"
#include "tests/support/text.hpp"

namespace search_page_test {

using namespace straggler;
using namespace straggler::test;

namespace {

using Values = std::vector<std::optional<double>>;

FoundPoint tried(const SearchFile& search, const std::vector<double>& shares, const Values& values) {
  FoundPoint point{{}, shares, 0, Measured::of(values)};
  for (std::size_t i = 0; i < shares.size(); ++i) point.values.push_back(search.find->over[i].value(shares[i]));
  return point;
}

const Description description =
    Description::of_lines({"sweep: a<b", "scenario: base", "scenario of the first point: name: base", "find: whatever"});

/// Its page twice: as it was, and read back from a state.
std::string page_of(const SearchOutcome& outcome, const Description& of = description) {
  SweepState state(":memory:");
  state.describe(of);
  keep(state, outcome);
  const std::string kept = state.answer(), page = search_page(outcome, of);
  const SearchOutcome back = kept_search(state, "");
  CHECK((search_page(back, of) == page));
  CHECK(search_csv(back) == search_csv(outcome));
  CHECK(search_text(back) == search_text(outcome));
  keep(state, back);
  CHECK(state.answer() == kept);
  for (const char* const outside : {"http://", "https://", "url(", "@import", "<link", "src="})
    CHECK_FALSE(has(test::shown(page), outside));
  return page;
}

ComparedPoint compared(const SearchFile& search, double share, const Values& first, const Values& second) {
  CrossoverSearch one(*search.crossover, false);
  one.tell(search.crossover->along.value(share), Measured::of(first), Measured::of(second));
  return one.finish({}).points.at(0);
}

}  // namespace

TEST_CASE("workers of one of several groups are called as in the scenario") {
  const Files files;
  const SearchFile search =
      search_of(files, clockwork_scenario,
                "find: {metric: samples_per_second, over: {\"cluster.workers[0].count\": {from: 1, to: 4, whole: true}}, repeats: 1}\n");
  SearchOutcome outcome = SearchOutcome::of(search);
  FoundGroup group;
  group.points.push_back(tried(search, {0.9}, {10}));  // 4 workers
  for (const auto& [workers, title] : {std::pair(std::uint64_t{4}, "workers"), std::pair(std::uint64_t{5}, "workers[0]")}) {
    group.points[0].measured.runs = {StudyRun{7, {{"workers", Scalar(workers)}}, ""}};
    outcome.found = {group};
    CHECK(setting_title(outcome, outcome.over[0]) == title);
  }
}

TEST_CASE("a search over one number: the curve of tried values, the best, those not significantly worse, those that missed") {
  const Files files;
  const SearchFile search =
      search_of(files, clockwork_scenario,
                "find: {metric: time_to_target_s, over: {\"cluster.workers[0].count\": {from: 1, to: 4, whole: true}}, repeats: 2}\n");
  SearchOutcome outcome = SearchOutcome::of(search);
  outcome.metric = {"time_to_target_s", false, true};
  outcome.runs = 8;
  FoundGroup group;
  // 1 worker never gets there, 2 in one of two repeats, 3 in 10 s, 4 in 10.05 s.
  for (const auto& [share, values] : {std::pair(0.1, Values{std::nullopt, std::nullopt}), std::pair(0.4, Values{9, std::nullopt}),
                                      std::pair(0.6, Values{10, 10}), std::pair(0.9, Values{10.05, 10.05})})
    group.points.push_back(tried(search, {share}, values));
  group.best = FoundBest{2, {0}, {2, 3}};
  outcome.found = {group};
  const std::string page = page_of(outcome);
  CHECK(has(page, "<h1>a&lt;b</h1>"));
  CHECK(has(page, "With which workers (1 to 4) has scenario base the least time to target? 8 runs, 2 seeds for each setting."));
  CHECK(has(page, "<li>Least time to target at workers 3. 10 s (2 of 2), the least of 4 settings."));
  CHECK_FALSE(has(page, "time_to_target_s "));
  // A hollow mark missed in some repeats, a cross in all.
  CHECK(has(page, "<title>workers 3: 10 s</title>"));
  CHECK(has(page, "<title>workers 4: 10.1 s</title>"));
  CHECK(count(page, "<g class=\"s0 hollow\"><title>workers 2: 9 s (1 of 2)</title><circle") == 1);
  CHECK(has(page, ">\u00d7 missed</text>"));
  const std::string rows = table_rows(page);
  CHECK(has(rows, "| missed (0 of 2) |"));
  CHECK(has(rows, "| 3 | 3 | 10 s | the best |\n"));
  CHECK(has(rows, "| 4 | 4 | 10.1 s | no difference |\n"));
  CHECK(has(page, "<a href=\"find.csv\">"));
  CHECK(has(search_page(outcome, description, "../some results"), "<a href=\"../some%20results/find.csv\">"));
}

TEST_CASE("a search among several settings has a picture of each; of choices their bests; of several groups their answers") {
  const Files files;
  const SearchFile search = search_of(files, clockwork_scenario, R"(axes: {cluster.network.link.bandwidth: [1Mbps, 2Mbps]}
find:
  metric: samples_per_second
  over: {training.optimizer.learning_rate: {from: 0.01, to: 1, scale: log}, training.scheme: [{kind: ssgd}, {kind: asgd}]}
)");
  SearchOutcome outcome = SearchOutcome::of(search);
  outcome.metric = {"samples_per_second", true, true};
  for (const char* const bandwidth : {"1Mbps", "2Mbps"}) {
    FoundGroup group{{bandwidth}, {}, {}, false};
    for (const auto& [rate, scheme, value] : {std::tuple(0.0, 0.2, 5.0), std::tuple(0.5, 0.2, 7.0), std::tuple(1.0, 0.8, 3.0)})
      group.points.push_back(tried(search, {rate, scheme}, {value}));
    group.best = FoundBest{1, {0, 0}, {1}};
    outcome.found.push_back(std::move(group));
  }
  const std::string page = page_of(outcome);
  CHECK(has(page,
            "With which learning rate (0.01 to 1) and scheme (ssgd, asgd) has scenario base the most samples per second? Asked for each of "
            "2 settings "
            "of bandwidth."));
  CHECK(has(page, "<h3>Best learning rate</h3>"));
  for (const char* const bandwidth : {"1Mbps", "2Mbps"}) {
    CHECK(has(page, std::string("<h3>Samples per second over learning rate (bandwidth ") + bandwidth + ")</h3>"));
    CHECK(has(page, std::string("<h3>Samples per second by scheme (bandwidth ") + bandwidth + ")</h3>"));
  }
  CHECK(has(page, "<title>learning rate 0.1, scheme ssgd: 7</title>"));
  CHECK(count(page, ">ssgd</text>") == 2);                                       // of two tried with ssgd the better one, in each group
  CHECK(count(page, "<title>learning rate 0.01, scheme ssgd: 5</title>") == 2);  // over the rate alone
}

TEST_CASE("a crossover: both curves, the stretch that holds the crossing, and the wider one that repeats do not tell apart") {
  const Files files;
  const SearchFile search = search_of(files, clockwork_scenario, R"(crossover:
  between: [asgd, ssgd]
  along: cluster.network.link.bandwidth
  from: 1Mbps
  to: 16Mbps
  scale: log
  metric: time_to_target_s
  tolerance: 50%
  repeats: 2
)");
  SearchOutcome outcome = SearchOutcome::of(search);
  outcome.metric = {"time_to_target_s", false, true};
  CrossoverGroup group;
  group.points = {compared(search, 0, {40, 41}, {20, 21}), compared(search, 0.25, {21, 19}, {19, 20}),
                  compared(search, 0.5, {12, 9}, {11, 13}), compared(search, 1, {5, 6}, {std::nullopt, std::nullopt})};
  REQUIRE(group.points[0].winner == Winner::second);
  REQUIRE(group.points[2].winner == Winner::first);
  group.crossings = {{1, 2, 1, 2, false, true, middle_of(search.crossover->along, group.points[1].at, group.points[2].at)}};
  outcome.crossed = {group};
  const std::string page = page_of(outcome);
  CHECK(has(page,
            "Where along bandwidth (1Mbps to 16Mbps) has scenario base the least time to target with scheme asgd, and where with ssgd?"));
  CHECK(has(page, "<li>ssgd has the better time to target below bandwidth 2.828Mbps, asgd above (they cross between 2Mbps and 4Mbps)."));
  CHECK(count(page, "class=\"band\"") == 1);
  CHECK(has(page, ">2.828Mbps</text>"));
  CHECK(has(page, ">2 Mbit/s</text>"));
  CHECK(has(page, "<title>asgd at 1Mbps: 40.5 s"));
  const std::string rows = table_rows(page);
  CHECK(has(rows, "| 16Mbps |"));
  CHECK(has(rows, "| missed (0 of 2) |"));
  CHECK(has(rows, "| too few seeds to tell |"));
  group.crossings[0].noisy = true;
  group.crossings[0].unclear_to = 3;
  outcome.crossed = {group};
  CHECK(count(page_of(outcome), "class=\"band\"") == 2);
}

TEST_CASE("nothing tried yet, values that are not finite, and an answer of another version") {
  const Files files;
  const SearchFile search = search_of(files, clockwork_scenario,
                                      "find: {metric: final_test_loss, over: {training.optimizer.learning_rate: {from: 0.01, to: 1}}}\n");
  SearchOutcome outcome = SearchOutcome::of(search);
  outcome.metric = {"final_test_loss", false, true};
  outcome.interrupted = true;
  outcome.found = {FoundGroup{}};
  CHECK(has(page_of(outcome), "The search was interrupted"));
  outcome.found[0].points = {tried(search, {0.5}, {std::numeric_limits<double>::infinity()}), tried(search, {0.6}, {1})};
  outcome.found[0].best = FoundBest{1, {0}, {1}};
  CHECK(has(page_of(outcome, {}), "<h1>Search</h1>"));
  SweepState state(":memory:");
  for (const char* const text :
       {"", "{", "{\"answer\":4,\"kind\":\"search\",\"described\":[],\"of\":{}}", "{\"answer\":1,\"kind\":\"search\",\"of\":{}}",
        "{\"answer\":4,\"kind\":\"race\",\"described\":[],\"of\":{}}"}) {
    state.keep_answer(text);
    CHECK_THROWS_AS(kept_search(state, ""), ResultsError);
  }
}

TEST_CASE("a page shows the last run, or there is none") {
  const Files files;
  const SearchFile search = search_of(
      files, clockwork_scenario, "find: {metric: samples_per_second, over: {training.batch.global: {from: 10, to: 20, whole: true}}}\n");
  const auto refused = [](SweepState& state) -> std::string { return error_of<ResultsError>([&] { kept_search(state, "here"); }); };
  SweepState state(":memory:");
  state.describe(description);
  CHECK(refused(state) ==
        "here: the search has not finished, or an earlier version ran it; run the search again: finished points are kept");
  keep(state, SearchOutcome::of(search));
  CHECK(refused(state).empty());
  state.describe(Description::of_lines({"sweep: another"}));
  CHECK(refused(state) == "here: the search was changed and has not finished since; run the search again: finished points are kept");
  const std::string again = "; run the same straggler sweep command again: finished runs are not repeated";
  for (const int version : {3, 5}) {
    state.keep_answer("{\"answer\":" + std::to_string(version) + ",\"kind\":\"search\"}");
    CHECK(refused(state) == "here: the answer of this search has version " + std::to_string(version) +
                                " of the format; this program reads version 4" + again);
  }
  for (const char* const text : {"{}", "{", "{\"answer\":\"4\"}"}) {
    state.keep_answer(text);
    CHECK(refused(state) == "here: the answer of this search cannot be read" + again);
  }
}

TEST_CASE("names of a search's metrics, and ticks in the unit of the range") {
  CHECK(metric_title("time_to_target_s") == "time to target");
  CHECK(metric_title("time_to_0.8_s") == "time to 0.8");
  CHECK(metric_title("simulated_seconds") == "simulated time");
  const SaidSetting workers{"cluster.workers[0].count", "4"};
  CHECK(page_sentence({workers, " has the least ", SaidMetric{"time_to_target_s"}, ": ",
                       SaidValue{statistics_of(Values{9, 11}), 2, metric_text("time_to_target_s")}}) ==
        "Workers 4 has the least time to target: 10 s \u00b1 12.7 s (2 of 2).");
  CHECK(page_sentence({SaidName{"asgd"}, " wins at ", workers}) == "asgd wins at workers 4.");
  const LabelNumbers bits = numbers_of_labels({"1Mbps", "500kbps", "auto"});
  CHECK(bits.numbers == std::vector<std::optional<double>>{1e6, 5e5, std::nullopt});
  CHECK(bits.text(2.5e6) == "2.5 Mbit/s");
  const LabelNumbers bytes = numbers_of_labels({"1MB/s"});
  CHECK(bytes.text(*bytes.numbers[0]) == "1 MB/s");
  CHECK(numbers_of_labels({"10ms"}).text(0.02) == "20 ms");
  CHECK(numbers_of_labels({"64"}).text(64) == "64");
}

}  // namespace search_page_test

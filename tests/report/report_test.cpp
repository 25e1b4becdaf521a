// Reports of sweeps whose outcome the test makes up, so that it knows what must be said.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "scenarios/report/axis_title.hpp"
#include "scenarios/report/chart_plan.hpp"
#include "scenarios/report/picture.hpp"
#include "scenarios/report/sweep_report.hpp"
#include "tests/report/made_up_sweep.hpp"
#include "tests/support/text.hpp"
#include "tests/sweep/sweep_fixture.hpp"

using namespace straggler;
using namespace straggler::test;

namespace {

bool says(const std::vector<std::string>& said, const std::string& part) {
  return std::any_of(said.begin(), said.end(), [&](const std::string& sentence) { return has(sentence, part); });
}

const std::vector<std::string> map_columns = {"cluster.workers[0].count", "cluster.network.link.bandwidth", "training.scheme"};
const std::vector<std::vector<std::string>> map_values = {{"4", "8"}, {"100Mbps", "1Gbps", "10Gbps"}, {"ssgd", "asgd"}};

/// asgd wins at 100 Mbit/s; at 1 Gbit/s there is no difference with 4 workers, and too much noise with 8: logarithms of the ratios are
/// ±0.042 and ±0.167, and half of an interval is 3.18 / root 3 times that; at 10 Gbit/s ssgd wins with 4 workers and nobody gets there
/// with 8.
Numbers map_truth(const std::vector<std::string>& labels, std::int64_t repeat) {
  const double workers = std::stod(labels[0]);
  const bool asgd = labels[2] == "asgd";
  const double wiggle = 0.2 * static_cast<double>(repeat);
  double time = 0;
  if (labels[1] == "100Mbps")
    time = (asgd ? 20 : 40) + wiggle;
  else if (labels[1] == "1Gbps")
    time = 12 + (asgd == (repeat % 2 == 0) ? 1 : -1) * (workers == 4 ? 0.25 : 1);
  else
    time = workers == 8 ? -1 : asgd ? 9 + wiggle : 6 + wiggle;
  return {{"workers", workers}, {"samples", 1000},         {"samples_per_second", 100 * workers}, {"target_accuracy", 0.8}, {"epochs", 2},
          {"bytes_sent", 500},  {"time_to_target_s", time}};
}

}  // namespace

TEST_CASE("titles of paths") {
  CHECK(axis_title("cluster.workers[0].count") == "workers");
  CHECK(axis_title("cluster.network.link.bandwidth") == "bandwidth");
  CHECK(axis_title("training.batch.per_worker") == "batch per worker");
  CHECK(axis_title("cluster.workers[1].slowdown") == "slowdown");
  CHECK(axis_title("training.scheme") == "scheme");
  CHECK(axis_title("seed") == "seed");
}

TEST_CASE("a map of workers by bandwidth names the winners, the ties and the places where no scheme arrives") {
  const SweepOutcome outcome = made_up(map_values, 4, map_truth);
  const std::vector<std::string> said = sentences(map_columns, outcome);
  CHECK(says(said,
             "asgd wins in 2 of 6 settings, ssgd wins in 1, there is no difference in 1, there are too few seeds to tell in 1 and nobody "
             "reaches the target in 1."));
  CHECK(says(said, "At workers 4: asgd at 100Mbps; no difference between ssgd and asgd at 1Gbps; ssgd at 10Gbps."));
  CHECK(says(said, "At workers 8: asgd at 100Mbps; too few seeds to tell ssgd from asgd at 1Gbps; nobody reaches the target at 10Gbps."));
  CHECK(says(said,
             "Best of the 10 settings that reached the target: workers 4, bandwidth 10Gbps, scheme ssgd, with a time to 0.8 test accuracy "
             "of 6.3 s"));
  const auto files = sweep_report_files(Description::of_lines({"sweep: who", "scenario: base"}), map_columns, outcome);
  REQUIRE(files.size() == 2);
  CHECK(files[0].first == "report.html");
  CHECK(files[1].first == "map.svg");
  CHECK(has(files[0].second, "<h1>who</h1>"));
  CHECK(has(files[0].second, "Scenario base in 12 settings"));
  const std::string& map = files[1].second;
  CHECK(count(map, ">no difference</text>") == 1);
  CHECK(count(map, ">too few seeds</text>") == 1);
  CHECK(count(map, ">nobody</text>") == 1);
  CHECK(count(files[0].second, "\"kind\":\"winner\",\"lines\":[\"asgd\"") == 2);
  CHECK(count(files[0].second, "\"kind\":\"winner\",\"lines\":[\"ssgd\"") == 1);
  // Its cells say what the losers needed: the mean of 40, 40.2, 40.4 and 40.6.
  CHECK(has(map, "ssgd 40.3 s"));
  CHECK(map.starts_with("<svg xmlns=\"http://www.w3.org/2000/svg\""));
}

TEST_CASE("a page needs nothing from elsewhere, and names are text in it") {
  const SweepOutcome outcome = made_up({{"<b>", "\"q\" & co"}}, 1, [](const auto& labels, std::int64_t) {
    return Numbers{{"samples", 10}, {"simulated_seconds", labels[0] == "<b>" ? 1 : 2}};
  });
  const auto files = sweep_report_files(Description::of_lines({"sweep: a<b"}), {"training.scheme"}, outcome);
  REQUIRE(files.size() == 1);
  const std::string& page = files[0].second;
  for (const char* const outside : {"http://", "https://", "url(", "@import", "<link", "src="})
    CHECK_FALSE(has(test::shown(page), outside));
  CHECK(has(page, "<h1>a&lt;b</h1>"));
  CHECK(has(page, "&quot;q&quot; &amp; co"));
  CHECK_FALSE(has(test::shown(page), "<b>"));
  CHECK(has(page, "prefers-color-scheme:dark"));
  CHECK(says(sentences({"training.scheme"}, outcome), "Every setting ran once"));
}

TEST_CASE("missed targets are counted, never averaged away") {
  // Of five repeats asgd misses two; where it gets there it is faster.
  const SweepOutcome outcome = made_up({{"ssgd", "asgd"}}, 5, [](const auto& labels, std::int64_t repeat) {
    const bool asgd = labels[0] == "asgd";
    const double time = asgd ? (repeat < 3 ? 5 : -1) : 10;
    return Numbers{{"target_accuracy", 0.9}, {"final_test_accuracy", 0.9}, {"time_to_target_s", time}};
  });
  CHECK(says(sentences({"training.scheme"}, outcome), "Ahead of 2 settings: scheme ssgd"));
  const std::string page = sweep_report_files({}, {"training.scheme"}, outcome)[0].second;
  CHECK(has(page, "5 s (3 of 5)"));
}

TEST_CASE("the scaling speed-up is against the fewest workers of the same repeat and scheme") {
  // ssgd: n workers are n^0.5 times as fast; asgd: n times, up to 4.
  const auto rate = [](const std::string& scheme, double n) { return scheme == "ssgd" ? 100 * std::sqrt(n) : 80 * std::min(n, 4.0); };
  const std::vector<std::string> columns = {"training.scheme", "cluster.workers[0].count"};
  SweepOutcome outcome = made_up({{"ssgd", "asgd"}, {"1", "4", "16"}}, 2, [&](const auto& labels, std::int64_t repeat) {
    const double n = std::stod(labels[1]);
    // The second seed is twice as fast throughout: pairing takes that out.
    return Numbers{{"workers", n}, {"samples", 100 * n}, {"samples_per_second", rate(labels[0], n) * (repeat == 1 ? 2 : 1)}};
  });
  const SweepScalars scalars(columns, outcome);
  for (const SweepRow& row : outcome.rows) {
    const std::vector<std::string>& labels = outcome.groups[row.group].labels;
    const double expected = rate(labels[0], std::stod(labels[1])) / rate(labels[0], 1);
    CHECK(scalars.find(row, "speed_up").number().value() == doctest::Approx(expected));
  }
  CHECK(scalars.find(outcome.rows[0], "speed_up_to_target").is_none());
  CHECK(has(groups_csv(columns, outcome), ",speed_up_mean,speed_up_sd,speed_up_ci95,speed_up_count"));
  const std::vector<std::string> said = sentences(columns, outcome);
  CHECK(says(said, "ssgd: the largest scaling speed-up in samples per second is 4 with 16 workers (the largest count tried)."));
  CHECK(says(said, "asgd: the largest scaling speed-up in samples per second is 4 with 4 workers; more do not help."));
  const std::string page = sweep_report_files({}, columns, outcome)[0].second;
  CHECK(has(page, "\"idealName\":\"ideal\""));
  // The points of one worker are gone: nothing to compare with.
  std::erase_if(outcome.rows, [&](const SweepRow& row) { return outcome.groups[row.group].labels[1] == "1"; });
  const SweepScalars rest(columns, outcome);
  for (const SweepRow& row : outcome.rows)
    if (outcome.groups[row.group].labels[1] == "4") CHECK(rest.find(row, "speed_up") == Scalar(1.0));
}

TEST_CASE("columns that are varied together are one axis") {
  SweepOutcome outcome;
  for (const char* const scheme : {"ssgd", "asgd"})
    for (const auto& [batch, rate] : {std::pair("64", "0.1"), std::pair("128", "0.2"), std::pair("256", "0.4")})
      outcome.groups.push_back({{scheme, "one", batch, rate}, {}, {}});
  const std::vector<SweptAxis> axes = swept_axes(4, outcome.groups);
  REQUIRE(axes.size() == 2);
  CHECK(axes[0].columns == std::vector<std::size_t>{0});
  CHECK(axes[1].columns == std::vector<std::size_t>{2, 3});
  CHECK(axes[1].values[1] == std::vector<std::string>{"128", "0.2"});
  CHECK(axes[1].of_group == std::vector<std::size_t>{0, 1, 2, 0, 1, 2});
}

TEST_CASE("columns of a zip are one axis also where one of them repeats a value") {
  SweepOutcome outcome;
  for (const auto& [scheme, rate] : {std::pair("ssgd", "0.1"), std::pair("asgd", "0.1"), std::pair("local_sgd", "0.2")})
    for (const char* const bandwidth : {"1Gbps", "10Gbps"}) outcome.groups.push_back({{scheme, rate, bandwidth}, {}, {}});
  const std::vector<SweptAxis> axes = swept_axes(3, outcome.groups);
  REQUIRE(axes.size() == 2);
  CHECK(axes[0].columns == std::vector<std::size_t>{0, 1});
  CHECK(axes[0].values == std::vector<std::vector<std::string>>{{"ssgd", "0.1"}, {"asgd", "0.1"}, {"local_sgd", "0.2"}});
  CHECK(axes[0].of_group == std::vector<std::size_t>{0, 0, 1, 1, 2, 2});
  // The second determines the first.
  outcome.groups.clear();
  for (const auto& [scheme, rate] : {std::pair("ssgd", "0.1"), std::pair("ssgd", "0.2"), std::pair("asgd", "0.3")})
    outcome.groups.push_back({{scheme, rate}, {}, {}});
  REQUIRE(swept_axes(2, outcome.groups).size() == 1);
  CHECK(swept_axes(2, outcome.groups)[0].values.size() == 3);
}

TEST_CASE("where neither column of a zip determines the other, a scheme without a rival wins nothing") {
  SweepOutcome outcome = made_up({{"ssgd", "asgd"}, {"0.1", "0.2", "0.3"}}, 5, [](const auto& labels, std::int64_t) {
    return Numbers{{"samples", 10}, {"simulated_seconds", labels[0] == "ssgd" ? 1 : 2}};
  });
  // ssgd with 0.1 and 0.2, asgd with 0.1 and 0.3.
  const auto in_zip = [](const std::vector<std::string>& labels) { return labels[1] != (labels[0] == "ssgd" ? "0.3" : "0.2"); };
  std::erase_if(outcome.rows, [&](const SweepRow& row) { return !in_zip(outcome.groups[row.group].labels); });
  const std::vector<std::string> said = sentences({"training.scheme", "training.optimizer.learning_rate"}, outcome);
  CHECK_FALSE(says(said, "asgd wins"));
  CHECK_FALSE(says(said, "asgd at 0.3"));
}

TEST_CASE("scales: logarithmic from a decade on, round ticks within the range") {
  const Scale wide({1, 2, 1000}, 0, 300, true, 0);
  CHECK(wide.logarithmic());
  CHECK(wide(1) == doctest::Approx(0));
  CHECK(wide(10) == doctest::Approx(100));
  CHECK(wide(1000) == doctest::Approx(300));
  CHECK(wide.ticks() == std::vector<double>{1, 10, 100, 1000});
  const Scale narrow({3, 8}, 100, 0, true, 0);
  CHECK_FALSE(narrow.logarithmic());
  CHECK(narrow(0) == doctest::Approx(100));
  CHECK(narrow(8) == doctest::Approx(0));
  CHECK(narrow.ticks() == std::vector<double>{0, 2, 4, 6, 8});
  CHECK(Scale({5}, 0, 10, false).ticks().size() < 10);
  CHECK(Scale({0, 0}, 0, 10, true).ticks().size() < 10);
}

TEST_CASE("heat map of two numeric axes; the best cell is framed") {
  const SweepOutcome outcome = made_up({{"1", "2"}, {"10ms", "20ms"}}, 1, [](const auto& labels, std::int64_t) {
    return Numbers{{"samples", 7}, {"simulated_seconds", std::stod(labels[0]) * (labels[1] == "10ms" ? 10 : 20)}};
  });
  const auto files = sweep_report_files({}, {"a.b", "a.c"}, outcome);
  REQUIRE(files.size() == 2);
  CHECK(count(files[0].second, "\"kind\":\"level\"") == 4);
  CHECK(count(files[0].second, "\"best\":true") == 1);
  CHECK(says(sentences({"a.b", "a.c"}, outcome), "Ahead of 4 settings, one run each: b 1, c 10ms, with a simulated time of 10 s."));
}

TEST_CASE("nothing finished, and one setting only, make pages too") {
  const SweepOutcome nothing;
  CHECK(has(sweep_report_files(Description::of_lines({"sweep: none"}), {"a"}, nothing)[0].second, "No point is finished."));
  const SweepOutcome one = made_up({}, 3, [](const auto&, std::int64_t repeat) {
    return Numbers{{"samples", 10}, {"simulated_seconds", 2 + static_cast<double>(repeat)}};
  });
  CHECK(has(sweep_report_files({}, {}, one)[0].second, "The only setting: 3 s"));
}

TEST_CASE("a real sweep's report is the same with one job and with two, and from shards") {
  const Files files;
  const Sweep sweep = sweep_of(files, R"(set: {training.stop.target_accuracy: 0.6}
axes:
  training.scheme: [{kind: ssgd}, {kind: asgd}]
  cluster.workers[0].count: [1, 2, 3]
repeats: 2
)");
  const auto report = [&](const SweepOutcome& outcome) { return sweep_report_files(describe(sweep, {}), sweep.columns(), outcome); };
  PoolOptions two;
  two.jobs = 2;
  const auto one = report(run_afresh(sweep).outcome);
  CHECK((report(run_afresh(sweep, {}, two).outcome) == one));
  CHECK(has(one[0].second, "<h1>try</h1>"));
  std::vector<std::filesystem::path> shards;
  for (std::size_t shard = 1; shard <= 2; ++shard) {
    SweepOptions part;
    part.shard = std::pair(shard, std::size_t{2});
    shards.push_back(files.folder() / ("shard" + std::to_string(shard)));
    SweepState state(shards.back());
    state.describe(describe(sweep, {}));
    run(sweep, state, nullptr, part);
  }
  SweepState whole(":memory:");
  CHECK((report(merge_sweeps(shards, whole)) == one));
}

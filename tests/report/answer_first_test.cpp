// What pages put first: what binds a setting, peaks and knees, keys that group runs, ticks that differ, menus of charts.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "scenarios/report/figure.hpp"
#include "scenarios/report/run_charts.hpp"
#include "scenarios/report/run_keys.hpp"
#include "scenarios/report/sweep_why.hpp"
#include "scenarios/report/units.hpp"
#include "scenarios/results/most_time.hpp"
#include "scenarios/sweep/time_of_setting.hpp"
#include "sim/base/readable.hpp"
#include "tests/report/made_up_sweep.hpp"

namespace answer_first_test {
namespace {

using namespace straggler;
using Json = nlohmann::json;

RunResult spent(double computing, double communicating, double idle) {
  RunResult run;
  run.shares[Phase::compute] = computing;
  run.shares[Phase::communication] = communicating;
  run.shares[Phase::idle] = idle;
  return run;
}

Curve curve_of(const std::vector<double>& values) {
  Curve curve;
  for (std::size_t i = 0; i < values.size(); ++i)
    curve.points.push_back({static_cast<double>(std::size_t{1} << i), values[i], 0, false, {}});
  return curve;
}

LearningFigure two_seeds() {
  LearningFigure wanted;
  wanted.word = "test accuracy";
  wanted.axes = {{"simulated time", readable_seconds}};
  wanted.target = 0.5;
  wanted.crop = Crop::both;
  RepeatedCurve curve{"both", 0, {{{{0}, 0.1}, {{10}, 0.6}}, {{{0}, 0.1}, {{10}, 0.8}}}};
  curve.reached = {std::vector<double>{8}, std::vector<double>{6}};
  curve.named = {{"a", {{"scheme", "ssgd"}}}, {"b", {{"scheme", "ssgd"}}}};
  wanted.curves.push_back(std::move(curve));
  return wanted;
}

}  // namespace

TEST_CASE("the largest part of workers' time is a phase, with the reason that figures hold; what binds is not said") {
  CHECK(most_time(spent(0.95, 0.03, 0.02), "", 0) == "computing, 95.0 % of the time");
  CHECK(most_time(spent(0.6, 0.3, 0.1), "", 0) == "computing, 60.0 % of the time; then communicating, 30.0 %");
  RunResult waits = spent(0.4, 0.1, 0.5);
  CHECK(most_time(waits, "", 0) == "idle, 50.0 % of the time");
  waits.waited_for = "worker 7 (3x slower)";
  CHECK(most_time(waits, "", 0) == "idle, 50.0 % of the time, waiting for worker 7 (3x slower)");
  CHECK(most_time(spent(0.2, 0.8, 0), "server/0:up", 0.98) ==
        "communicating, 80.0 % of the time; server/0:up carries 98.0 % of its capacity");
  CHECK(most_time(spent(0.2, 0.8, 0), "server/0:up", 0.05).starts_with("communicating, 80.0 % of the time, though no link"));
  CHECK(most_time(RunResult(), "", 0).empty());
}

TEST_CASE("a peak inside a curve is marked, and the first point with nine tenths of its gain") {
  const NumberAxis axis{"workers", {1, 2, 4, 8, 16}, {"1", "2", "4", "8", "16"}};
  Curve up = curve_of({1, 1.5, 1.93, 2, 1.7});  // a gain of 1: 0.93 is the knee
  mark_peak(up, axis, readable_number, false);
  REQUIRE(up.notes.size() == 2);
  CHECK(up.notes[0].text == "peak 2 at 8");
  CHECK(up.notes[1].text == "knee 1.93 at 4");
  Curve down = curve_of({100, 50, 12, 4, 3});  // of 97 s, 88 are saved at 4
  mark_peak(down, axis, readable_seconds, true);
  REQUIRE(down.notes.size() == 1);  // the best is the end
  CHECK(down.notes[0].text == "knee 12 s at 4");
  Curve flat = curve_of({1, 1, 1.001, 1, 1});
  mark_peak(flat, axis, readable_number, false);
  CHECK(flat.notes.empty());
}

TEST_CASE("along an axis a page says what of a worker's time a sample grows and what stays") {
  // One sample a worker and second: a worker computes 0.5 s a sample everywhere; communicating grows from 0.1 s to 0.4 s.
  const auto outcome = test::made_up({{"1", "8"}}, 1, [](const std::vector<std::string>& labels, std::int64_t) {
    const bool many = labels[0] == "8";
    return test::Numbers{{"workers", many ? 8 : 1},          {"samples", many ? 800 : 100},
                         {"simulated_seconds", 100},         {"samples_per_second", many ? 8 : 1},
                         {"compute_fraction", 0.5},          {"communication_fraction", many ? 0.4 : 0.1},
                         {"idle_fraction", many ? 0.1 : 0.4}};
  });
  const std::vector<std::string> columns{"cluster.workers[0].count"};
  const SweepView view(columns, outcome, true);
  const std::vector<std::string> words = along_words(view, curve_plans(view, plan_of(view)).front());
  REQUIRE(words.size() == 1);
  CHECK(
      words[0] ==
      "From workers 1 to 8, of a worker's time a sample: computing stays at 500 ms; communicating grows from 100 ms to 400 ms, 4 times as "
      "long; idle shrinks from 400 ms to 100 ms.");
  CHECK(most_time(view.settings()[0]) == "computing, 50.0 % of the time; then idle, 40.0 %");
}

TEST_CASE("runs are grouped by settings that some of them share") {
  const auto scenario = [&](const char* scheme, int batch, int seed) {
    return fmt::format("straggler: 1\nname: n{2}\nseed: {2}\ntraining:\n  scheme:\n    kind: {0}\n  batch:\n    per_worker: {1}\n", scheme,
                       batch, seed);
  };
  CHECK(settings_of_text("a:\n  b: 1\n  c:\n    - {count: 2}\n    - x\nd: 3\n") ==
        std::vector<std::pair<std::string, std::string>>{{"a.b", "1"}, {"a.c[0]", "{count: 2}"}, {"a.c[1]", "x"}, {"d", "3"}});
  const auto keys = run_keys({scenario("ssgd", 8, 1), scenario("ssgd", 16, 2), scenario("asgd", 32, 3)});
  REQUIRE(keys.size() == 3);
  CHECK(keys[1] == std::vector<std::pair<std::string, std::string>>{{"scheme", "ssgd"}});  // batches differ in all
  CHECK(keys[2].front().second == "asgd");
  CHECK(run_keys({scenario("ssgd", 8, 1), scenario("ssgd", 8, 2)})[0].empty());
}

TEST_CASE("ticks that differ have texts that differ, in one unit") {
  CHECK(tick_texts(readable_seconds, {0, 50, 100}) == std::vector<std::string>{"0 s", "50 s", "100 s"});
  CHECK(tick_texts(readable_seconds, {267, 267.5, 268, 268.5}) == std::vector<std::string>{"267.0 s", "267.5 s", "268.0 s", "268.5 s"});
  CHECK(tick_texts(share_text, {0.5, 0.5002, 0.5004}) == std::vector<std::string>{"50.00 %", "50.02 %", "50.04 %"});
}

TEST_CASE("a chart of curves says where each reaches the target, and has its runs by themselves") {
  const Json json = Json::parse(learning_figure(two_seeds())->data);
  CHECK(json["crop"] == "xy");
  CHECK(json["series"][0]["reached"] == Json::array({7}));  // the mean of 8 s and 6 s
  CHECK(json["series"][0]["band"] == true);
  CHECK_FALSE(json["series"][0].contains("reachedBy"));
  LearningFigure one = two_seeds();
  one.curves[0].reached[1].reset();
  CHECK(Json::parse(learning_figure(one)->data)["series"][0]["reachedBy"] == "1 of 2");
  REQUIRE(json["runs"].size() == 2);
  CHECK(json["runs"][1]["reached"] == Json::array({6}));
  CHECK(json["runs"][1]["keys"]["scheme"] == "ssgd");
  CHECK(json["keys"] == Json::array({"scheme"}));
}

TEST_CASE("charts of one kind are one chart with a menu, whose data are those of each") {
  const auto figure = [](double value) {
    BarChart chart{"Bars", "seconds", readable_seconds, {}};
    chart.rows.push_back({"</script>", 0, false, value, 0, "x"});
    return figure_of("one", "", chart, fmt::format("map-{}.svg", value));
  };
  CHECK(menu_of("all", {{"a", figure(1)}}).title == "one");
  const Figure all = menu_of("all", {{"a", figure(1)}, {"<b>", figure(2)}});
  CHECK(all.drawings.size() == 2);
  CHECK(all.files == std::vector<std::string>{"map-1.svg", "map-2.svg"});
  CHECK(all.data.find('<') == std::string::npos);
  const Json json = Json::parse(all.data);
  CHECK(json["rows"][0]["value"] == 1);
  CHECK(json["menu"][0]["name"] == "a");
  CHECK(json["menu"][1]["name"] == "<b>");
  CHECK(json["menu"][1]["chart"]["rows"][0]["value"] == 2);
}

}  // namespace answer_first_test

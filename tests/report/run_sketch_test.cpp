// What a sweep keeps of a run that leaves no folder: when it reached what, its curve, and what it waited for.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "scenarios/report/chart_plan.hpp"
#include "scenarios/report/run_charts.hpp"
#include "scenarios/report/run_sheets.hpp"
#include "scenarios/results/out_file.hpp"
#include "scenarios/results/run_sketch.hpp"
#include "scenarios/results/verdict.hpp"
#include "scenarios/sweep/point_worker.hpp"
#include "tests/report/made_up_sweep.hpp"
#include "tests/support/run.hpp"
#include "tests/support/scenarios.hpp"
#include "tests/support/text.hpp"

using namespace straggler;
using namespace straggler::test;

namespace {

// Worker 2 computes three times as long as the others; a step of the group takes 30 ms, since latency is 0 and bytes are free.
const std::string scenario = scenario_text({.name = "small",
                                            .workers = "[{count: 2, device: node}, {count: 1, device: node, slowdown: 3}]",
                                            .servers = "",
                                            .network = "{topology: star, link: {bandwidth: 100GB/s, latency: 0s}}",
                                            .model = "{kind: mlp, hidden: [8]}",
                                            .data = "{kind: coordinates, samples: 600, test_samples: 100}",
                                            .scheme = "ssgd",
                                            .batch = "{per_worker: 10}",
                                            .optimizer = "{kind: sgd, learning_rate: 0.2, momentum: 0.5}",
                                            .stop = "{updates: 40, target_accuracy: 0.01, on_target: continue}",
                                            .evaluate = "{every: {updates: 4}, thresholds: [0.02, 0.9999]}"});

RunRecord record() {
  RunRecord record;
  for (std::uint64_t i = 0; i < 10'000; ++i) {
    CurvePoint point;
    point.time = Time::from_seconds(0.001 * static_cast<double>(i));
    point.update = i;
    point.samples = 10 * i;
    point.epoch = std::nan("");
    point.test_accuracy = i == 5'432 ? 0.9 : 0.5 + 0.01 * static_cast<double>(i % 7);
    record.curve.push_back(point);
  }
  return record;
}

std::vector<LearningPoint> line(std::size_t count, double step, double value) {
  std::vector<LearningPoint> points;
  for (std::size_t i = 0; i < count; ++i) points.push_back({{step * static_cast<double>(i)}, value + static_cast<double>(i)});
  return points;
}

}  // namespace

TEST_CASE("a sketch has the curve, the times to accuracies and whom the others waited for, and is read back whole") {
  const Result result = run(scenario);
  const RunSketch sketch = sketch_of(scenario_of(scenario, {}), result.record);
  CHECK(sketch.evaluations == result.record.curve.size());
  REQUIRE(sketch.curve.size() == result.record.curve.size());
  CHECK(sketch.curve.back().test_accuracy == result.record.curve.back().test_accuracy);
  CHECK(sketch.curve.back().update == 40);
  // Two of three workers wait for 20 of 30 ms.
  CHECK(sketch.waited_for == "worker 2 (3x slower)");
  REQUIRE(sketch.thresholds.size() == 3);
  CHECK(sketch.thresholds[0].threshold == 0.01);
  for (const std::size_t i : {0, 1}) {
    const Reached when = reached(result.record.curve, sketch.thresholds[i].threshold, result.record.sustain);
    REQUIRE(when.at.has_value());
    CHECK(sketch.thresholds[i].seconds == nearest_seconds(when.at->time));
    CHECK(sketch.thresholds[i].samples == static_cast<double>(when.at->samples));
  }
  CHECK_FALSE(sketch.thresholds[2].seconds.has_value());
  CHECK_FALSE(sketch.busiest_link.empty());
  CHECK(sketch.busiest_use > 0);
  const std::string text = written(sketch);
  CHECK(written(read_sketch(text)) == text);
  CHECK(read_sketch("").curve.empty());
  CHECK_THROWS_AS(read_sketch("{\"curve\": 3}"), ResultsError);
  // As comparisons see the run.
  const RunResult as_run = result_of(point_fields(result.record), read_sketch(text));
  CHECK(as_run.scheme == "ssgd");
  CHECK(as_run.workers == 3);
  CHECK(as_run.shares[Phase::idle].value() == doctest::Approx(2 * 20.0 / 90).epsilon(1e-3));
  CHECK(as_run.target_accuracy == 0.01);
  CHECK(find_threshold(as_run, 0.02)->seconds == sketch.thresholds[1].seconds);
}

TEST_CASE("of a long curve a sketch keeps the extremes, and how many evaluations there were") {
  const RunSketch sketch = sketch_of(scenario_of(scenario, {}), record());
  CHECK(sketch.evaluations == 10'000);
  CHECK(sketch.curve.size() <= most_sketched);
  CHECK(std::any_of(sketch.curve.begin(), sketch.curve.end(), [](const SketchPoint& point) { return point.test_accuracy == 0.9; }));
  CHECK_FALSE(sketch.curve.front().epoch.has_value());
  CHECK(sketch.curve.back().update == 9'999);
}

TEST_CASE("the mean of runs counts those that reached an accuracy") {
  RunResult fast, slow;
  fast.workers = slow.workers = 4;
  fast.samples_per_second = 300;
  slow.samples_per_second = 100;
  fast.thresholds = {{0.5, 2.0, {}, {}, {}, 200.0, {}}, {0.8, 6.0, {}, {}, {}, 600.0, {}}};
  slow.thresholds = {{0.5, 4.0, {}, {}, {}, 400.0, {}}, {0.8, {}, {}, {}, {}, {}, {}}};
  const RunResult mean = mean_of({fast, slow});
  CHECK(mean.samples_per_second == 200);
  CHECK(find_threshold(mean, 0.5)->seconds == 3);
  CHECK(find_threshold(mean, 0.8)->seconds == 6);
  CHECK_FALSE(mean.shares[Phase::idle].has_value());
  // 200 samples in 2 s against 400 in 4 s: half the samples at the same rate.
  CHECK(why_sooner(fast, slow, 0.5) == "because it needs 50 % fewer samples and handles as many samples per second");
  CHECK(why_sooner(fast, slow, 0.8).empty());
}

TEST_CASE("a mean curve goes on with the runs that have not ended, while all axes grow") {
  const std::vector<LearningPoint> mean = mean_curve({line(3, 1, 0), line(5, 1, 2)});
  REQUIRE(mean.size() == 5);
  CHECK(mean[2].value == 3);
  CHECK(mean[2].low == 2);
  CHECK(mean[2].high == 4);
  CHECK(mean[4].value == 6);
  CHECK(mean[4].low == 6);
  // The second run is five times as fast: at its fourth point it is where the mean of both was long before.
  CHECK(mean_curve({line(3, 5, 0), line(5, 1, 0)}).size() == 3);
  CHECK(mean_curve({line(1, 1, 0)}).empty());
}

TEST_CASE("a setting's sheet has a row a run, and a page draws some of many curves") {
  std::vector<ShownSetting> settings;
  RunSketch sketch;
  sketch.curve = {{1, 1, 10, 100, {}, 0.4, 1.0}, {2, 2, 20, 200, {}, 0.6, 0.5}};
  sketch.evaluations = 2;
  sketch.busiest_link = "server 0, down";
  sketch.busiest_use = 0.93;
  sketch.waited_for = "worker 7 (3x slower)";
  for (int i = 0; i < 20; ++i)
    settings.push_back({"<b>" + std::to_string(i), {{"seed", "1"}}, {{7, {{"idle_fraction", 0.25}}, written(sketch)}, {8, {}, ""}}});
  settings.push_back({"failed", {}, {}});
  const RunSheets sheets(settings, std::vector<std::size_t>(21, 0));
  CHECK(sheets.link(3) == "#run-3");
  CHECK(sheets.link(20).empty());
  CHECK(sheets.link(99).empty());
  const std::string html = sheets.html();
  CHECK(has(html, "<summary>&lt;b&gt;3</summary>"));
  CHECK(has(html, "The others wait for worker 7 (3x slower)."));
  CHECK(has(html, "<td>7</td><td>25.0 %</td><td>server 0, down, 93.0 %</td>"));
  CHECK(has(html, "<td>8</td><td>\u2013</td><td>\u2013</td>"));
  CHECK(busiest_link(settings[0].runs) == "server 0, down, 93.0 %");
  std::vector<std::size_t> order;
  for (std::size_t i = 20; i-- > 0;) order.push_back(i);
  const std::vector<Figure> curves = sheets.curves(order, 0.5);
  REQUIRE(curves.size() == 2);
  CHECK(curves[0].title == "Test accuracy");
  CHECK(has(curves[0].caption, "12 of 20 settings are drawn. Click a curve for its runs."));
  CHECK(has(curves[0].data, "\"link\":\"#run-19\""));
  CHECK(has(curves[0].data, "\"link\":\"#run-0\""));
  CHECK_FALSE(has(curves[0].data, "\"link\":\"#run-13\""));
  CHECK_FALSE(has(curves[0].data, "epochs"));
  const auto looks = [](const std::vector<std::pair<std::string, std::string>>& paths) { return ShownSetting{"", paths, {}}; };
  const std::vector<std::size_t> chosen =
      setting_looks({looks({{"training.scheme", "ssgd"}}), looks({{"training.scheme", "asgd"}}), looks({{"training.scheme", "ssgd"}})});
  CHECK(chosen[2] == chosen[0] + 8);
  CHECK(chosen[1] % 8 != chosen[0] % 8);
  const std::vector<Figure> split = sheets.time_split({0, 1});
  REQUIRE(split.size() == 1);
  CHECK(has(split[0].caption, "Busiest links, with their share of use: <b>0 server 0, down, 93.0 %; <b>1 server 0, down, 93.0 %."));
}

TEST_CASE("a sweep says why the setting ahead is ahead of the other scheme, with everything else equal") {
  const std::vector<std::string> columns{"training.scheme", "cluster.network.link.bandwidth"};
  const SweepOutcome outcome = made_up({{"ssgd", "asgd"}, {"1MB/s", "2MB/s"}}, 1, [](const auto& labels, std::int64_t) -> Numbers {
    const double rate = (labels[0] == "asgd" ? 200 : 100) + (labels[1] == "2MB/s" ? 1 : 0);
    return {{"workers", 4}, {"samples", 10 * rate}, {"simulated_seconds", 10}, {"samples_per_second", rate}};
  });
  const std::vector<std::string> said = sentences(columns, outcome);
  CHECK(std::find(
            said.begin(), said.end(),
            "In these runs scheme asgd, bandwidth 2MB/s is ahead of scheme ssgd, bandwidth 2MB/s, because it handles 1.99 times as many "
            "samples per second.") != said.end());
}

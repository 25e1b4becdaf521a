// Curves of sweeps with several axes of numbers, over each of them; old maps; small shares.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "scenarios/report/chart_plan.hpp"
#include "scenarios/report/findings.hpp"
#include "scenarios/report/said_words.hpp"
#include "scenarios/report/sweep_figures.hpp"
#include "scenarios/report/sweep_report.hpp"
#include "scenarios/report/units.hpp"
#include "tests/report/made_up_sweep.hpp"
#include "tests/support/files.hpp"
#include "tests/support/text.hpp"

using namespace straggler;
using namespace straggler::test;

namespace {

const std::vector<std::string> columns = {"cluster.workers[0].count", "cluster.network.link.bandwidth", "training.scheme"};
const std::vector<std::vector<std::string>> values = {{"1", "2", "4", "8", "16"}, {"1MB/s", "2MB/s", "4MB/s", "8MB/s"}, {"ssgd", "asgd"}};

/// ssgd: n workers do n times the samples; asgd: 3 n^0.5 times those of one. The target is 100 / samples per second away.
Numbers truth(const std::vector<std::string>& labels, std::int64_t) {
  const double n = std::stod(labels[0]), megabytes = std::stod(labels[1].substr(0, 1));
  const double rate = megabytes * (labels[2] == "ssgd" ? n : 3 * std::sqrt(n));
  return {{"workers", n}, {"samples", 10}, {"samples_per_second", rate}, {"target_accuracy", 0.5}, {"time_to_target_s", 100 / rate}};
}

/// Of every chart; "TITLE (NAME)" of those that a menu names.
std::vector<std::string> titles(const SweepOutcome& outcome, const std::vector<std::string>& of_columns) {
  const SweepView view(of_columns, outcome);
  std::vector<std::string> all;
  for (const Figure& figure : sweep_figures(view, plan_of(view), RunSheets({}, {}))) {
    const auto data = nlohmann::json::parse(figure.data);
    if (!data.contains("menu")) all.push_back(figure.title);
    for (const auto& chart : data.value("menu", nlohmann::json::array()))
      all.push_back(figure.title + " (" + chart.at("name").get<std::string>() + ")");
  }
  return all;
}

}  // namespace

TEST_CASE("workers by bandwidth: a map, then curves over each, at the smallest, the middle and the largest of the other") {
  const SweepOutcome outcome = made_up(values, 1, truth);
  const std::vector<std::string> time = {
      "Time to 0.5 test accuracy over bandwidth (workers 1)",     "Time to 0.5 test accuracy over bandwidth (workers 4)",
      "Time to 0.5 test accuracy over bandwidth (workers 16)",    "Time to 0.5 test accuracy over workers (bandwidth 1MB/s)",
      "Time to 0.5 test accuracy over workers (bandwidth 2MB/s)", "Time to 0.5 test accuracy over workers (bandwidth 8MB/s)"};
  std::vector<std::string> expected = {"Who has the best time to 0.5 test accuracy"};
  expected.insert(expected.end(), time.begin(), time.end());
  for (const char* const what : {"Scaling speed-up in samples per second", "Scaling speed-up in time to the target"})
    for (const char* const bandwidth : {"1MB/s", "2MB/s", "8MB/s"})
      expected.push_back(std::string(what) + " (bandwidth " + bandwidth + ")");
  CHECK(titles(outcome, columns) == expected);
  // One line a scheme; the marks say what they are worth: 16 workers are 16 times as fast with ssgd, 4 times with asgd.
  const std::string page = sweep_report_files({}, columns, outcome)[0].second;
  CHECK(count(test::shown(page), "workers 16, bandwidth 8MB/s, scheme ssgd: 16x") == 2);
  CHECK(count(test::shown(page), "workers 16, bandwidth 8MB/s, scheme asgd: 4x") == 2);
  CHECK(has(page, "Of the 5 values of workers the smallest, the middle and the largest are drawn."));
}

TEST_CASE("how far more workers help, at the smallest, the middle and the largest bandwidth") {
  const SweepOutcome outcome = made_up(values, 1, [](const auto& labels, std::int64_t repeat) {
    // With 16 workers ssgd falls back to half of what 8 do.
    return truth({labels[2] == "ssgd" && labels[0] == "16" ? "4" : labels[0], labels[1], labels[2]}, repeat);
  });
  const std::vector<std::string> said = sentences(columns, outcome);
  for (const char* const bandwidth : {"1MB/s", "2MB/s", "8MB/s"}) {
    const std::string expected = std::string("At bandwidth ") + bandwidth +
                                 ": the largest scaling speed-up in time to the target is 8 with 8 workers for ssgd, 4 with 16 for asgd.";
    CHECK_MESSAGE(std::find(said.begin(), said.end(), expected) != said.end(), expected);
  }
}

TEST_CASE("numbers alone: the values of the other axis are the lines; a third axis of numbers gets its curves, too") {
  const SweepOutcome two = made_up({values[0], values[1]}, 1, [](const auto& labels, std::int64_t repeat) {
    return truth({labels[0], labels[1], "ssgd"}, repeat);
  });
  const std::vector<std::string> names = titles(two, {columns[0], columns[1]});
  CHECK(names == std::vector<std::string>{"Time to 0.5 test accuracy", "Time to 0.5 test accuracy over bandwidth",
                                          "Time to 0.5 test accuracy over workers", "Scaling speed-up in samples per second",
                                          "Scaling speed-up in time to the target"});
  const std::string page = sweep_report_files({}, {columns[0], columns[1]}, two)[0].second;
  for (const char* const line : {">workers 1</text>", ">workers 16</text>", ">bandwidth 8MB/s</text>"}) CHECK(has(page, line));

  const SweepOutcome three =
      made_up({{"1", "2"}, {"1MB/s", "2MB/s"}, {"10", "20"}, {"ssgd", "asgd"}}, 1, [](const auto& labels, std::int64_t repeat) {
        return truth({labels[0], labels[1], labels[3]}, repeat);
      });
  const std::vector<std::string> all = titles(three, {columns[0], columns[1], "training.batch.per_worker", columns[2]});
  for (const char* const over : {"over bandwidth (workers 1, batch per worker 10)", "over workers (bandwidth 2MB/s, batch per worker 20)",
                                 "over batch per worker (workers 2, bandwidth 1MB/s)"})
    CHECK_MESSAGE(std::find(all.begin(), all.end(), std::string("Time to 0.5 test accuracy ") + over) != all.end(), over);
}

TEST_CASE("representative values of an axis: both ends and values between them, by rank") {
  ReportAxis axis;
  axis.labels = {"8", "1", "4", "2", "16"};
  axis.numbers = {8, 1, 4, 2, 16};
  CHECK(chosen_values(axis) == std::vector<std::size_t>{1, 2, 4});
  CHECK(chosen_values(axis, 5) == in_order(axis));
  axis.numbers.clear();
  CHECK(chosen_values(axis) == std::vector<std::size_t>{0, 1, 2, 3, 4});
}

TEST_CASE("maps of an earlier report are removed, other files stay") {
  const Files files;
  const auto report = sweep_report_files({}, columns, made_up(values, 1, truth));
  REQUIRE(report.size() == 2);
  files.write("map.svg", report[1].second);
  files.write("map-2.svg", report[1].second);
  files.write("map-3.svg", "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 1 1\"></svg>");
  const auto there = [&](const char* name) { return std::filesystem::exists(files.folder() / name); };
  remove_old_maps(files.folder(), report);
  CHECK(there("map.svg"));
  CHECK_FALSE(there("map-2.svg"));
  CHECK(there("map-3.svg"));
  remove_old_maps(files.folder(), {{"report.html", ""}});
  CHECK_FALSE(there("map.svg"));
  CHECK(there("map-3.svg"));
}

TEST_CASE("a small share is not none") {
  CHECK(share_text(0) == "0 %");
  CHECK(share_text(0.432) == "43.2 %");
  CHECK(share_text(0.01) == "1.0 %");
  CHECK(share_text(0.000341) == "0.034 %");
  CHECK(share_text(4e-6) == "0.0004 %");
}

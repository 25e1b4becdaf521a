// Predictions that are the mean of runs with several seeds.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "tests/support/text.hpp"
#include "tests/validation/claim_support.hpp"
#include "validation/compare/claim_results.hpp"

using namespace straggler;
using test::digits;
using test::Files;
using test::has;

namespace {

const std::string jitter = "devices.node.jitter={kind: lognormal, sigma: 0.5}";

std::string claim(const std::string& rest) {
  return "claim: 1\ntitle: t\nscenario: scenario.yaml\nmeasured: measured.csv\nset: {\"devices.node.jitter\": {kind: lognormal, sigma: "
         "0.5}}\n"
         "bind: {nodes: \"cluster.workers[0].count\"}\n" +
         rest;
}

/// [seeds from `first`] of the asynchronous cluster.
std::vector<double> seconds_of(int nodes, int first, int seeds, const std::string& more = jitter) {
  std::vector<double> all;
  for (int seed = first; seed < first + seeds; ++seed)
    all.push_back(test::simulated_seconds(test::asynchronous(),
                                          {"cluster.workers[0].count=" + std::to_string(nodes), more, "seed=" + std::to_string(seed)}));
  return all;
}

double average(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += value;
  return sum / static_cast<double>(values.size());
}

double spread(const std::vector<double>& values) {
  double squares = 0;
  for (const double value : values) squares += std::pow(value - average(values), 2);
  return std::sqrt(squares / static_cast<double>(values.size() - 1));
}

}  // namespace

TEST_CASE("with seeds a row is predicted by the mean of the runs with the scenario's seed and the ones after it") {
  const Files files;
  std::string scenario = test::asynchronous();
  files.write("scenario.yaml", scenario.replace(scenario.find("seed: 1"), 7, "seed: 7"));
  files.write("measured.csv", "nodes,ms\n2,3000\n5,1000\n");
  const ClaimResult one = test::validate(files.write("claim.yaml", claim("compare: {column: ms, unit: ms, metric: simulated_seconds}\n"
                                                                         "bound: {max: 99%}\n")));
  const ClaimResult result =
      test::validate(files.write("claim.yaml", claim("seeds: 5\ncompare: {column: ms, unit: ms, metric: simulated_seconds}\n"
                                                     "bound: {max: 99%}\n")));
  CHECK(one.runs == 2);
  CHECK(result.runs == 10);
  const int nodes[] = {2, 5};
  for (std::size_t i = 0; i < 2; ++i) {
    const std::vector<double> seconds = seconds_of(nodes[i], 7, 5);
    REQUIRE(spread(seconds) > 0);
    CHECK(one.rows[i].predicted == doctest::Approx(1e3 * seconds.front()).epsilon(1e-12));
    CHECK_FALSE(one.rows[i].seeds);
    const RowResult& row = result.rows[i];
    CHECK(row.predicted == doctest::Approx(1e3 * average(seconds)).epsilon(1e-12));
    CHECK(row.error == doctest::Approx(1e3 * average(seconds) / row.measured - 1).epsilon(1e-12));
    REQUIRE(row.seeds);
    CHECK(row.seeds->runs == 5);
    CHECK(row.seeds->deviation == doctest::Approx(1e3 * spread(seconds)).epsilon(1e-9));
    CHECK(row.seeds->error() == doctest::Approx(1e3 * spread(seconds) / std::sqrt(5)).epsilon(1e-9));
  }
  // The text has shares of the measured value, the files the unit of the column.
  const RowResult& row = result.rows[0];
  CHECK(has(claim_table(result), "between seeds"));
  CHECK(has(claim_table(result), share(row.seeds->deviation / 3000)));
  CHECK(has(claim_table(result), "5 runs of each held-out row"));
  CHECK_FALSE(has(claim_table(one), "seeds"));
  CHECK(has(validation_html({result}), share(row.seeds->error() / 3000)));
  const auto at = validation_json({result}, 0).find("\"seed_deviation\": ");
  REQUIRE(at != std::string::npos);
  CHECK(std::stod(validation_json({result}, 0).substr(at + 18)) == doctest::Approx(row.seeds->deviation).epsilon(1e-6));
}

TEST_CASE("with seeds a row in which nothing is random is run once") {
  const Files files;
  files.write("scenario.yaml", test::asynchronous());
  files.write("measured.csv", "nodes,seconds,sigma\n2,3,0\n2,3,0.4\n");
  const std::string rest =
      "title: t\nscenario: scenario.yaml\nmeasured: measured.csv\n"
      "bind: {sigma: {path: devices.node.jitter, values: {0: none, 0.4: {kind: lognormal, sigma: 0.4}}}}\n"
      "compare: {column: seconds, metric: simulated_seconds}\nbound: {max: 99%}\n";
  const ClaimResult result = test::validate(files.write("claim.yaml", "claim: 1\nseeds: 4\n" + rest));
  CHECK(result.runs == 1 + 4);
  CHECK(result.rows[0].seeds->runs == 1);
  CHECK(result.rows[0].seeds->deviation == 0);
  CHECK(result.rows[1].seeds->runs == 4);
  CHECK(has(claim_table(result), "4 runs of 1 of 2 held-out rows"));
  CHECK(claim_warnings(result).empty());
  const ClaimResult fixed = test::validate(files.write("claim.yaml", "claim: 1\nseeds: 4\nwhere: {sigma: 0}\n" + rest));
  CHECK(fixed.runs == 1);
  REQUIRE(claim_warnings(fixed).size() == 1);
  CHECK(has(claim_warnings(fixed).front(), "no row depends on the seed"));
}

TEST_CASE("with seeds runs with the math are all made: each seed has weights of its own") {
  const Files files;
  files.write("scenario.yaml", test::alone());
  files.write("measured.csv", "batch,loss\n10,1\n");
  const ClaimResult result = test::validate(
      files.write("claim.yaml",
                  "claim: 1\ntitle: t\nseeds: 3\nscenario: scenario.yaml\nmeasured: measured.csv\n"
                  "bind: {batch: training.batch.per_worker}\ncompare: {column: loss, metric: final_train_loss}\nbound: {max: 99%}\n"));
  CHECK(result.runs == 3);
  CHECK(result.rows[0].seeds->deviation > 0);
}

TEST_CASE("a fit meets the mean over seeds, and runs nothing twice") {
  const Files files;
  files.write("scenario.yaml", test::asynchronous());
  const double per_sample = 250e-6;
  std::string table = "nodes,seconds\n";
  for (const int nodes : {2, 3, 6}) {
    std::vector<double> seconds;
    for (int seed = 1; seed <= 3; ++seed)
      seconds.push_back(test::simulated_seconds(
          test::asynchronous(), {"cluster.workers[0].count=" + std::to_string(nodes), jitter, "seed=" + std::to_string(seed),
                                 "devices.node.compute.affine.per_sample=" + digits(per_sample) + "s"}));
    table += std::to_string(nodes) + "," + digits(average(seconds)) + "\n";
  }
  files.write("measured.csv", table);
  const ClaimResult result = test::validate(files.write(
      "claim.yaml", claim("seeds: 3\ncompare: {column: seconds, metric: simulated_seconds}\n"
                          "fit: {parameters: [{path: devices.node.compute.affine.per_sample, from: 50us, to: 1ms}], rows: [{nodes: "
                          "[2, 3]}]}\nbound: {max: 0.1%}\n")));
  CHECK(result.fitted_values[0].value == doctest::Approx(per_sample).epsilon(1e-3));
  CHECK(result.holds());
  CHECK(result.runs % 3 == 0);
}

TEST_CASE("the ratio to a reference row is that of the means, and its deviation that of paired seeds") {
  const Files files;
  files.write("scenario.yaml", test::asynchronous());
  files.write("measured.csv", "nodes,seconds\n1,1\n4,0.3\n");
  const ClaimResult result = test::validate(
      files.write("claim.yaml", claim("seeds: 6\ncompare: {column: seconds, metric: simulated_seconds, relative_to: {nodes: 1}}\n"
                                      "bound: {max: 99%}\n")));
  const std::vector<double> alone = seconds_of(1, 1, 6), four = seconds_of(4, 1, 6);
  CHECK(result.rows[1].predicted == doctest::Approx(average(four) / average(alone)).epsilon(1e-12));
  // The variance of a ratio of means to the first order: (var a - 2 r cov(a, b) + r² var b) / average(b)².
  const double ratio = average(four) / average(alone);
  double covariance = 0;
  for (std::size_t i = 0; i < 6; ++i) covariance += (four[i] - average(four)) * (alone[i] - average(alone)) / 5;
  const double variance = std::pow(spread(four), 2) - 2 * ratio * covariance + std::pow(ratio * spread(alone), 2);
  CHECK(result.rows[1].seeds->deviation == doctest::Approx(std::sqrt(variance) / average(alone)).epsilon(1e-9));
  CHECK(result.rows[0].predicted == 1);
  CHECK(result.rows[0].seeds->deviation == doctest::Approx(0));
}

TEST_CASE("seeds are a whole number from 1, and a failure names its seed") {
  const Files files;
  files.write("scenario.yaml", test::asynchronous());
  files.write("measured.csv", "nodes,seconds\n2,3\n");
  const std::string rest = "compare: {column: seconds, metric: simulated_seconds}\nbound: {max: 99%}\n";
  for (const char* wrong : {"0", "2.5", "many"}) {
    const std::string refused = test::refusal(files, claim(std::string("seeds: ") + wrong + "\n" + rest));
    CHECK_MESSAGE(has(refused, "seeds"), refused);
  }
  CHECK(test::refusal(files, claim("seeds: 1\n" + rest)).empty());
  const std::string missing = test::said(files, [&] {
    test::validate(files.write("claim.yaml", claim("seeds: 2\ncompare: {column: seconds, metric: last_below_target_s}\nbound: {max: 99%}\n"
                                                   "timing_only: false\n")));
  });
  CHECK_MESSAGE(has(missing, "seed 1"), missing);
}

TEST_CASE("a mean that is less certain than the bound gives a warning") {
  const Files files;
  files.write("scenario.yaml", test::asynchronous());
  files.write("measured.csv", "nodes,seconds\n2,2\n");
  const auto warnings = [&](const std::string& bound) {
    return claim_warnings(test::validate(
        files.write("claim.yaml",
                    "claim: 1\ntitle: t\nscenario: scenario.yaml\nmeasured: measured.csv\nseeds: 2\n"
                    "set: {\"devices.node.jitter\": {value: {kind: lognormal, sigma: 0.5}, source: a test}}\n"
                    "bind: {nodes: \"cluster.workers[0].count\"}\ncompare: {column: seconds, metric: simulated_seconds}\nbound: {max: " +
                        bound + "}\n")));
  };
  REQUIRE(warnings("0.0001%").size() == 1);
  CHECK(has(warnings("0.0001%").front(), "1 row has a standard error above the largest error"));
  CHECK(warnings("99%").empty());
}

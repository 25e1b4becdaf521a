// What keeps a claim from flattering its model: fitted rows and ranges that count, rulers, intervals, noise, sources and attempts.
#include <doctest/doctest.h>

#include <boost/math/distributions/students_t.hpp>
#include <cmath>
#include <numbers>

#include "tests/validation/claim_support.hpp"
#include "validation/compare/bands.hpp"
#include "validation/compare/claim_results.hpp"
#include "validation/compare/interpolation.hpp"
#include "validation/compare/noise.hpp"

using namespace straggler;
using test::digits;
using test::Files;

namespace {

/// A claim about one worker, whose 10 updates of a batch of b take 10 b p.
ClaimResult claimed(const std::string& table, const std::string& rest) {
  const Files files;
  files.write("scenario.yaml", test::alone());
  files.write("measured.csv", table);
  return test::validate(files.write(
      "claim.yaml",
      "claim: 1\ntitle: t\nscenario: scenario.yaml\nmeasured: measured.csv\nbind: {batch: training.batch.per_worker}\n" + rest));
}
const std::string of_seconds = "compare: {column: seconds, metric: simulated_seconds}\n";
std::string fit_on(const std::string& rows, const std::string& from = "1us", const std::string& to = "1s") {
  return "fit: {parameters: [{path: devices.node.compute.affine.per_sample, from: " + from + ", to: " + to + "}], rows: " + rows + "}\n";
}

bool says(const std::string& text, const std::string& part) {
  CAPTURE(text);
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("fitted rows are held to the bound of the others") {
  // Fitted to 0.1 s at 10 and 0.4 at 20, p is the geometric mean of 1 and 2 ms: both are off by sqrt(2), and 40 at 40 sqrt(2) ms is met.
  const std::string table = "batch,seconds\n10,0.1\n20,0.4\n40," + digits(0.4 * std::sqrt(2)) + "\n";
  const ClaimResult result = claimed(table, of_seconds + fit_on("[{batch: [10, 20]}]") + "bound: {max: 1%}\n");
  CHECK(result.held_out.max < 1e-6);
  CHECK(result.fitted.max == doctest::Approx(std::sqrt(2) - 1).epsilon(1e-6));
  CHECK(result.max_holds);
  CHECK_FALSE(result.fitted_hold);
  CHECK_FALSE(result.holds());
  CHECK(misses(result) == std::vector<std::string>{"fitted rows: largest 41.4 % (bound 1 %)"});
  CHECK(says(claim_line(result), "MISSED"));
  CHECK(says(claim_line(result), "; the fitted rows miss the bound: MAPE 35.4 %, largest 41.4 %"));
  CHECK(says(claim_table(result), "\nmissed: fitted rows: largest 41.4 % (bound 1 %)\n"));
  CHECK(says(validation_html({result}), "missed: fitted rows"));
  CHECK(claimed(table, of_seconds + fit_on("[{batch: [10, 20]}]") + "bound: {max: 42%}\n").holds());
  CHECK_FALSE(claimed(table, of_seconds + fit_on("[{batch: [10, 20]}]") + "bound: {mape: 35%}\n").holds());
}

TEST_CASE("a fitted value at the end of its range fails the claim") {
  const std::string table = "batch,seconds\n10,0.1\n20,0.2\n40,0.4\n";
  CHECK(claimed(table, of_seconds + fit_on("[{batch: 10}]") + "bound: {max: 1%}\n").holds());
  const ClaimResult ended = claimed(table, of_seconds + fit_on("[{batch: 10}]", "1us", "999us") + "bound: {max: 1%}\n");
  CHECK(ended.held_out.max < 0.01);
  CHECK_FALSE(ended.holds());
  CHECK(misses(ended) == std::vector<std::string>{"devices.node.compute.affine.per_sample is at the end of its range"});
  CHECK(says(claim_line(ended), "; devices.node.compute.affine.per_sample is at the end of its range"));
}

TEST_CASE("the end of a range is its last thousandth, of its logarithm") {
  // The fitted value is 1 ms. From 1 us to `to` the range has ln(to / 1 us) = L, and 1 ms lies ln(to / 1 ms) from its end: a share of
  // 0.0009 or of 0.0011 of L for to = 1 ms · exp(share · ln(1000) / (1 - share)).
  const std::string table = "batch,seconds\n10,0.1\n20,0.2\n40,0.4\n";
  for (const double share : {0.0009, 0.0011}) {
    const std::string to = digits(1e9 * 1e-3 * std::exp(share * std::log(1000.0) / (1 - share))) + "ns";
    const ClaimResult result = claimed(table, of_seconds + fit_on("[{batch: 10}]", "1us", to) + "bound: {max: 1%}\n");
    CHECK(result.fitted_values[0].at_bound == (share < 0.001));
    CHECK(result.holds() == (share > 0.001));
  }
}

TEST_CASE("what says too little is told apart and not counted, whether it holds or misses") {
  const std::string table = "batch,seconds\n10,0.1\n20,0.2\n40,0.4\n";
  const ClaimResult good = claimed(table, of_seconds + "bound: {max: 1%}\n");
  CHECK(not_counted(good).empty());
  CHECK(claims_summary({good}) == "1 of 1 claim holds");

  const ClaimResult mean = claimed(table, of_seconds + "bound: {mape: 1%}\n");
  CHECK(mean.holds());
  REQUIRE(not_counted(mean).size() == 1);
  CHECK(says(not_counted(mean)[0], "its bound has no max"));
  CHECK(says(claim_line(mean), "; not counted"));
  CHECK(claim_warnings(mean) == std::vector<std::string>{"this claim is not counted: " + not_counted(mean)[0]});
  CHECK(claims_summary({mean}) == "1 claim is not counted");
  CHECK(claims_summary({good, mean, mean}) == "1 of 1 claim holds; 2 claims are not counted");
  CHECK(says(validation_json({good, mean}, 0), "\"holding\": 1,"));
  CHECK_FALSE(claimed("batch,seconds\n10,0.2\n20,0.4\n", of_seconds + "bound: {mape: 1%}\n").holds());
}

TEST_CASE("a measured time of each predicted row is a part of its answer") {
  const auto with = [](const std::string& table, const std::string& target) {
    const Files files;
    files.write("scenario.yaml", test::alone());
    files.write("measured.csv", table);
    return test::validate(files.write("claim.yaml",
                                      "claim: 1\ntitle: t\nscenario: scenario.yaml\nmeasured: measured.csv\nbind:\n"
                                      "  batch: training.batch.per_worker\n  alone_s: " +
                                          target + "\n" + of_seconds + "bound: {max: 90%}\n"));
  };
  const std::string each = "batch,alone_s,seconds\n10,0.01,0.2\n20,0.02,0.3\n30,0.03,0.4\n";
  const std::string overhead = "{path: devices.node.compute.affine.overhead, unit: s}";
  REQUIRE(not_counted(with(each, overhead)).size() == 1);
  CHECK(says(not_counted(with(each, overhead))[0], "bind.alone_s gives each held-out row a measured time of its own"));
  // One time for several rows is a figure of the machine; named values are settings.
  CHECK(not_counted(with("batch,alone_s,seconds\n10,0.01,0.2\n20,0.01,0.3\n30,0.03,0.4\n", overhead)).empty());
  CHECK(not_counted(with(each, "{path: devices.node.compute.affine.overhead, values: {0.01: 10ms, 0.02: 20ms, 0.03: 30ms}}")).empty());
}

TEST_CASE("where one row is fitted the ruler scales it: up, down or not, whichever is nearest") {
  const ClaimResult result =
      claimed("batch,seconds\n10,0.1\n20,0.2\n40,0.44\n", of_seconds + fit_on("[{batch: 10}]") + "bound: {max: 20%}\n");
  CHECK(result.linear_scaling);
  REQUIRE(result.interpolation);
  CHECK(result.interpolation->mape == doctest::Approx((0.4 / 0.44 - 1) / -2));  // 0.2 is met, 0.4 stands against 0.44
  CHECK(*result.rows[2].interpolated == doctest::Approx(0.4));
  CHECK(says(claim_line(result), "; scaling "));
  CHECK(says(claim_table(result), "scaling's  2 rows: MAPE"));
  // Rows alike are one.
  const ClaimResult twice =
      claimed("batch,seconds\n10,0.1\n10,0.1\n20,0.2\n", of_seconds + fit_on("[{batch: 10}]") + "bound: {max: 20%}\n");
  CHECK(twice.linear_scaling);
  CHECK(twice.interpolation->mape < 1e-9);

  // y is proportional to the first column, inverse to the second, and does not know the third.
  const std::vector<std::vector<double>> xs{{2, 1, 7}, {3, 4, 1}, {1, 8, 2}};
  std::vector<double> measured;
  for (const auto& x : xs) measured.push_back(5 * x[0] / x[1]);
  const auto scaled = scale_linearly({1, 1, 5}, 5, xs, measured);
  REQUIRE(scaled);
  for (std::size_t i = 0; i < xs.size(); ++i) CHECK((*scaled)[i] == doctest::Approx(measured[i]));
  CHECK_FALSE(scale_linearly({0, 1, 5}, 5, xs, measured));
  CHECK_FALSE(scale_linearly(std::vector<double>(9, 1), 5, {std::vector<double>(9, 1)}, {5}));
}

TEST_CASE("intervals of a scale have a closed form") {
  // log(predicted) is log(p) and a constant: residuals are those of a mean of n, whose variance is s²/n and whose leave-one-out residuals
  // are rᵢ n/(n-1).
  const std::vector<double> factors{1.02, 0.97, 1.05, 0.99, 0.98};  // measured / what p = 1 ms makes
  const std::vector<double> held_out{1.01, 1.2};
  std::string table = "batch,seconds\n";
  double mean = 0;
  const double n = static_cast<double>(factors.size());
  for (std::size_t i = 0; i < factors.size(); ++i) {
    table += std::to_string(10 * (i + 1)) + "," + digits(0.1 * static_cast<double>(i + 1) * factors[i]) + "\n";
    mean += std::log(factors[i]) / n;
  }
  double squares = 0;
  for (const double factor : factors) squares += std::pow(std::log(factor) - mean, 2);
  table += "60," + digits(0.6 * held_out[0]) + "\n70," + digits(0.7 * held_out[1]) + "\n";
  const double t = boost::math::quantile(boost::math::students_t(n - 1), 0.95);
  const double half = t * std::sqrt(squares / (n - 1) / n + squares / n * std::pow(n / (n - 1), 2));

  const ClaimResult result = claimed(table, of_seconds + fit_on("[{batch: [10, 20, 30, 40, 50]}]") + "bound: {mape: 15%}\n");
  CHECK(result.degrees_of_freedom == 4);
  for (std::size_t i = 0; i < 7; ++i) {
    const RowResult& row = result.rows[i];
    REQUIRE(row.low);
    CHECK(row.predicted == doctest::Approx(0.1 * static_cast<double>(i + 1) * std::exp(mean)).epsilon(1e-6));
    CHECK(std::log(*row.high / row.predicted) == doctest::Approx(half).epsilon(1e-4));
    CHECK(std::log(row.predicted / *row.low) == doctest::Approx(half).epsilon(1e-4));
  }
  CHECK(half < std::log(1.2));
  CHECK(half > std::log(1.01));
  CHECK(result.inside == 1);
  CHECK(says(claim_line(result), "; 1 of 2 held-out rows lie in the 90 % interval"));
  CHECK(says(validation_csv({result}), "unit,low,high,outside,seeds,seed_deviation,standard_error\n"));
  CHECK(result.outside == 2);
  CHECK(result.rows[5].outside == std::vector<std::string>{"batch 60 above 50"});
  CHECK(says(validation_csv({result}), ",batch 60 above 50,1,,\n"));
}

TEST_CASE("an interval that reaches further than a factor of ten is none, and the reason is given") {
  // Two rows, one parameter: Student's quantile of one degree of freedom is 6.31, and rows a factor f off each other leave residuals of
  // ± log(f)/2, whose leave-one-out residuals are ± log(f). The interval reaches a factor of ten where 6.31 log(f) does.
  const double limit = std::pow(10, 1 / boost::math::quantile(boost::math::students_t(1), 0.95));
  for (const double factor : {limit * 0.98, limit * 1.02}) {
    const std::string table = "batch,seconds\n10,0.1\n20," + digits(0.2 * factor) + "\n30,0.3\n";
    const ClaimResult result = claimed(table, of_seconds + fit_on("[{batch: [10, 20]}]") + "bound: {mape: 90%}\n");
    CHECK(result.rows[2].low.has_value() == (factor < limit));
    CHECK(says(claim_table(result), "intervals  -, since it would reach further than a factor of 10 either way") == (factor > limit));
  }
}

TEST_CASE("without a degree of freedom there is no interval, and the reason is given") {
  const std::string table = "batch,seconds\n10,0.1\n20,0.2\n";
  const ClaimResult result = claimed(table, of_seconds + fit_on("[{batch: 20}]") + "bound: {max: 1%}\n");
  CHECK_FALSE(result.rows[0].low);
  CHECK(says(claim_line(result), "; no interval"));
  CHECK(says(claim_table(result), "intervals  -, since no degree of freedom is left"));
  CHECK(result.rows[0].outside == std::vector<std::string>{"batch 10 below 20"});
  CHECK(claimed(table, of_seconds + "bound: {mape: 90%}\n").no_band == "nothing is fitted");
}

TEST_CASE("leave-one-out residuals of a line are those of the fits without the row") {
  // y = a + b x, weights 1: left out one by one, and fitted again.
  const std::vector<double> xs{1, 2, 4, 7, 9}, ys{1.1, 1.9, 4.3, 6.8, 9.2};
  Matrix jacobian;
  for (const double x : xs) jacobian.push_back({1, x});
  const std::vector<double> line = *least_squares(jacobian, ys);
  std::vector<double> residuals;
  double squares = 0, left_out = 0;
  for (std::size_t i = 0; i < xs.size(); ++i) {
    residuals.push_back(line[0] + line[1] * xs[i] - ys[i]);
    squares += residuals.back() * residuals.back();
    Matrix others = jacobian;
    std::vector<double> rest = ys;
    others.erase(others.begin() + static_cast<std::ptrdiff_t>(i));
    rest.erase(rest.begin() + static_cast<std::ptrdiff_t>(i));
    const std::vector<double> without = *least_squares(others, rest);
    left_out += std::pow(without[0] + without[1] * xs[i] - ys[i], 2) / static_cast<double>(xs.size());
  }
  const auto spread = spread_of(jacobian, residuals, std::vector<double>(5, 1.0));
  REQUIRE(spread);
  REQUIRE(spread->left_out);
  CHECK(*spread->left_out == doctest::Approx(std::sqrt(left_out)));
  CHECK(spread->quantile == doctest::Approx(2.353363).epsilon(1e-6));  // t of 3 degrees of freedom
  const auto diagonal = *inverse_normal_diagonal(jacobian);
  CHECK(spread->covariance[1][1] == doctest::Approx(squares / 3 * diagonal[1]));
  // Each row decides a parameter alone: leaving it out leaves nothing.
  CHECK_FALSE(spread_of({{1, 0}, {0, 1}}, {0, 0}, {1, 1}));
  const auto alone = spread_of({{1, 0}, {0, 1}, {0, 1}}, {0, 0.1, -0.1}, {1, 1, 1});
  REQUIRE(alone);
  CHECK(*alone->left_out == doctest::Approx(0.2));  // of the two rows that share a parameter
}

TEST_CASE("nine of ten measured values lie in the intervals where the model is right up to noise") {
  // Deterministic noise: normal quantiles in an order that no row knows.
  int inside = 0, rows = 0;
  std::uint64_t state = 88172645463325252u;
  const auto uniform = [&] {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (static_cast<double>(state >> 11) + 0.5) * 0x1p-53;
  };
  const auto normal = [&] { return std::sqrt(-2 * std::log(uniform())) * std::cos(2 * std::numbers::pi * uniform()); };
  for (int trial = 0; trial < 400; ++trial) {
    Matrix jacobian;
    std::vector<double> noise;
    for (int r = 0; r < 8; ++r) {
      jacobian.push_back({1, std::log(1.0 + r)});
      noise.push_back(0.03 * normal());
    }
    const std::vector<double> fitted = *least_squares(jacobian, noise);
    std::vector<double> residuals;
    for (std::size_t r = 0; r < 8; ++r) residuals.push_back(fitted[0] + fitted[1] * jacobian[r][1] - noise[r]);
    const auto spread = spread_of(jacobian, residuals, std::vector<double>(8, 1.0));
    const std::vector<double> gradient{1, std::log(5.5)};
    const double off = fitted[0] + fitted[1] * gradient[1] - 0.03 * normal();
    inside += std::abs(off) <= *band_half_width(*spread, gradient);
    ++rows;
  }
  const double share = static_cast<double>(inside) / rows;
  CHECK(share > 0.87);  // 90 % and 1.5 % of standard error; leave-one-out residuals are wider than residuals
  CHECK(share < 0.98);
}

TEST_CASE("standard deviations weight rows, and give the error of noise alone") {
  // One parameter, log residuals log(p) - log(mᵢ): the fit is the weighted mean of logs. 4 repeats halve each deviation, which no weight
  // sees.
  const std::vector<double> measured{0.1, 0.22, 0.33}, deviations{0.001, 0.022, 0.033};
  std::string table = "batch,seconds,spread\n";
  double sum = 0, weights = 0;
  for (std::size_t i = 0; i < 3; ++i) {
    table += std::to_string(10 * (i + 1)) + "," + digits(measured[i]) + "," + digits(deviations[i]) + "\n";
    const double weight = std::pow(measured[i] / deviations[i], 2);
    sum += weight * std::log(measured[i] / (0.1 * static_cast<double>(i + 1)));
    weights += weight;
  }
  table += "40,0.41,0.02\n50,0.53,0.05\n";
  const ClaimResult result = claimed(table, "compare: {column: seconds, metric: simulated_seconds, std: spread, repeats: 4}\n" +
                                                fit_on("[{batch: [10, 20, 30]}]") + "bound: {mape: 15%}\n");
  CHECK(result.fitted_values[0].value == doctest::Approx(1e-3 * std::exp(sum / weights)).epsilon(1e-6));
  CHECK(result.rows[0].row.weight / result.rows[1].row.weight == doctest::Approx(100));
  CHECK(result.rows[0].row.weight + result.rows[1].row.weight + result.rows[2].row.weight == doctest::Approx(3));
  REQUIRE(result.noise_floor);
  CHECK(*result.noise_floor == doctest::Approx((0.02 / 0.41 + 0.05 / 0.53) / 2 / 2 * std::sqrt(2 / std::numbers::pi)));
  CHECK(says(claim_table(result), "noise      MAPE 2.85 % of the held-out rows is noise of the measurement"));
  // Without a degree of freedom the noise says how well the value is known.
  const ClaimResult exact = claimed(table, "compare: {column: seconds, metric: simulated_seconds, std: spread}\n" +
                                               fit_on("[{batch: 20}]") + "bound: {mape: 1%, max: 2%}\n");
  REQUIRE(exact.fitted_values[0].uncertainty);
  CHECK(*exact.fitted_values[0].uncertainty == doctest::Approx(0.1 * exact.fitted_values[0].value).epsilon(1e-4));
  REQUIRE(claim_warnings(exact).size() == 1);
  CHECK(says(claim_warnings(exact)[0], "noise of the measurement alone gives a MAPE of"));
}

TEST_CASE("rows that are set up alike are repeats: their spread is the noise of all") {
  const ClaimResult result =
      claimed("batch,seconds\n10,0.1\n20,0.2\n20,0.21\n40,0.4\n", of_seconds + fit_on("[{batch: [10, 20]}]") + "bound: {mape: 15%}\n");
  const double sigma = std::log(0.21 / 0.2) / std::sqrt(2.0);  // two values, one degree of freedom
  REQUIRE(result.rows[3].row.noise);
  CHECK(*result.rows[3].row.noise == doctest::Approx(sigma));
  CHECK(*result.noise_floor == doctest::Approx(sigma * std::sqrt(2 / std::numbers::pi)));
  CHECK_FALSE(claimed("batch,seconds\n10,0.1\n20,0.2\n", of_seconds + "bound: {max: 1%}\n").noise_floor);
  // Without deviations the number of repeats is the weight.
  const ClaimResult counted = claimed(
      "batch,seconds,times\n10,0.1,9\n20,0.22,1\n40,0.4,1\n",
      "compare: {column: seconds, metric: simulated_seconds, repeats: times}\n" + fit_on("[{batch: [10, 20]}]") + "bound: {mape: 15%}\n");
  CHECK(counted.fitted_values[0].value == doctest::Approx(1e-3 * std::exp(std::log(1.1) / 10)).epsilon(1e-6));
  // A ratio has the noise of both rows.
  const ClaimResult ratio =
      claimed("batch,seconds,s\n10,0.1,0.003\n20,0.2,0.008\n",
              "compare: {column: seconds, metric: simulated_seconds, std: s, relative_to: {batch: 10}}\nbound: {max: 1%}\n");
  CHECK(*ratio.rows[1].row.noise == doctest::Approx(0.05));
}

TEST_CASE("fixed values without a source are reported, attempts are counted") {
  const std::string table = "batch,seconds\n10,0.2\n20,0.4\n", bound = "bound: {max: 1%}\n";
  const std::string path = "devices.node.compute.affine.per_sample";
  const ClaimResult bare = claimed(table, "set: {" + path + ": 2ms}\n" + of_seconds + bound);
  CHECK(bare.holds());
  CHECK(claim_warnings(bare) == std::vector<std::string>{"set." + path + " has no source; write " + path + ": {value: 2ms, source: …}"});
  CHECK_FALSE(says(claim_line(bare), "attempt"));
  const ClaimResult told = claimed(table, "attempt: 3\nset: {" + path + ": {value: 2ms, source: the data sheet}}\n" + of_seconds + bound);
  CHECK(told.holds());
  CHECK(claim_warnings(told).empty());
  CHECK(says(claim_table(told), "set: " + path + " = 2ms (the data sheet)\n"));
  CHECK(says(claim_line(told), "; attempt 3"));
  CHECK(says(validation_json({told}, 0), "\"attempt\": 3"));
  // A map is a value, too.
  const ClaimResult map = claimed(table, "set: {devices.node.compute: {affine: {overhead: 0s, per_sample: 2ms}}}\n" + of_seconds + bound);
  CHECK(map.holds());
  CHECK(claim_warnings(map).size() == 1);
}

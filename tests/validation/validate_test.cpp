// Claims whose truth is known: the simulator wrote their tables, or arithmetic says what must come out.
#include <doctest/doctest.h>

#include <cmath>

#include "tests/validation/claim_support.hpp"
#include "validation/compare/claim_results.hpp"

using namespace straggler;
using test::digits;
using test::Files;

TEST_CASE("a fit finds the parameters that wrote the table, and the held-out rows follow") {
  const Files files;
  files.write("scenario.yaml", test::asynchronous());
  const double per_sample = 313e-6, per_message = 1.7e-3;
  std::string table = "# written by the simulator\nnodes,time_ms\n";
  for (const int nodes : {1, 2, 4, 8, 16, 32}) {
    const double seconds = test::simulated_seconds(
        test::asynchronous(), {"cluster.workers[0].count=" + std::to_string(nodes), "devices.node.compute.affine.per_sample=313us",
                               "cluster.servers.per_message=1.7ms"});
    table += std::to_string(nodes) + "," + digits(seconds * 1e3) + "\n";
  }
  files.write("measured.csv", table);
  const ClaimResult result = test::validate(files.write("claim.yaml", R"(claim: 1
title: known parameters
scenario: scenario.yaml
measured: measured.csv
bind: {nodes: "cluster.workers[0].count"}
compare: {column: time_ms, unit: ms, metric: simulated_seconds}
fit:
  parameters:
    - {path: devices.node.compute.affine.per_sample, from: 1us, to: 1s}
    - {path: cluster.servers.per_message, from: 1us, to: 1s}
  rows: [{nodes: 1}, {nodes: 4}, {nodes: 32}]
bound: {mape: 0.1%, max: 0.1%}
)"));
  CHECK(result.fitted_values[0].value == doctest::Approx(per_sample).epsilon(1e-6));
  CHECK(result.fitted_values[1].value == doctest::Approx(per_message).epsilon(1e-6));
  CHECK(result.converged);
  CHECK(result.other_values.empty());
  CHECK(result.degrees_of_freedom == 1);
  REQUIRE(result.fitted_values[0].uncertainty);
  CHECK(*result.fitted_values[0].uncertainty < 1e-5 * per_sample);
  CHECK(result.held_out.rows == 3);
  CHECK(result.held_out.max < 1e-5);
  CHECK(result.holds());
  // The curve bends where the server saturates, which a line through three points cannot know.
  REQUIRE(result.interpolation);
  CHECK(result.interpolation->max > 0.05);
}

TEST_CASE("only the fitted rows are run by the fit, and the held-out ones do not move it") {
  const Files files;
  files.write("scenario.yaml", test::alone());
  const std::string claim = R"(claim: 1
title: one parameter
scenario: scenario.yaml
measured: measured.csv
bind: {batch: training.batch.per_worker}
compare: {column: seconds, metric: simulated_seconds}
fit: {parameters: [{path: devices.node.compute.affine.per_sample, from: 1us, to: 1s}], rows: [{batch: [10, 20]}]}
bound: {max: 1%}
)";
  double fitted[2];
  for (int i = 0; i < 2; ++i) {
    files.write("measured.csv", std::string("batch,seconds\n10,0.2\n20,0.4\n40,") + (i == 0 ? "0.8\n" : "80\n"));
    const ClaimResult result = test::validate(files.write("claim.yaml", claim));
    fitted[i] = result.fitted_values[0].value;
    CHECK(result.holds() == (i == 0));
  }
  CHECK(fitted[0] == fitted[1]);
  CHECK(fitted[0] == doctest::Approx(0.002).epsilon(1e-8));
}

TEST_CASE("uncertainty is that of linear least squares where the model is linear") {
  const Files files;
  files.write("scenario.yaml", test::alone());
  // Predicted: 10 updates x batch x p. Residuals c p / m - 1 with c = 10 batch make p = S(c/m) / S((c/m)^2), its variance
  // (sum of squares / (n - 1)) / S((c/m)^2).
  const std::vector<std::pair<double, double>> rows = {{10, 0.21}, {20, 0.39}, {30, 0.63}, {50, 0.97}};
  std::string table = "batch,seconds\n";
  double one = 0, two = 0;
  for (const auto& row : rows) {
    table += digits(row.first) + "," + digits(row.second) + "\n";
    one += 10 * row.first / row.second;
    two += std::pow(10 * row.first / row.second, 2);
  }
  const double p = one / two;
  double squares = 0;
  for (const auto& row : rows) squares += std::pow(10 * row.first * p / row.second - 1, 2);
  files.write("measured.csv", table + "100,2\n");
  const ClaimResult result = test::validate(files.write("claim.yaml", R"(claim: 1
title: linear
scenario: scenario.yaml
measured: measured.csv
bind: {batch: training.batch.per_worker}
compare: {column: seconds, metric: simulated_seconds}
fit:
  parameters: [{path: devices.node.compute.affine.per_sample, from: 0s, to: 10ms}]
  rows: [{batch: 10}, {batch: 20}, {batch: 30}, {batch: 50}]
  errors: relative
bound: {max: 3%}
)"));
  CHECK(result.fitted_values[0].value == doctest::Approx(p).epsilon(1e-7));
  REQUIRE(result.fitted_values[0].uncertainty);
  CHECK(*result.fitted_values[0].uncertainty == doctest::Approx(std::sqrt(squares / 3 / two)).epsilon(1e-5));
  CHECK(result.fitted.signs == "-+-+");
}

TEST_CASE("values that the fitted rows do not determine are reported") {
  const Files files;
  files.write("scenario.yaml", test::alone());
  files.write("measured.csv", "batch,seconds\n10,0.2\n20,0.4\n40,0.81\n80,1.6\n");
  const auto fit = [&](const std::string& parameters, const std::string& rows) {
    return test::validate(files.write("claim.yaml",
                                      "claim: 1\ntitle: t\nscenario: scenario.yaml\nmeasured: measured.csv\n"
                                      "bind: {batch: training.batch.per_worker}\n"
                                      "compare: {column: seconds, metric: simulated_seconds}\n"
                                      "fit: {parameters: [" +
                                          parameters + "], rows: " + rows + "}\nbound: {max: 1%}\n"));
  };
  const std::string per_sample = "{path: devices.node.compute.affine.per_sample, from: 1us, to: 1s}";
  SUBCASE("no degrees of freedom") {
    const ClaimResult result = fit(per_sample, "[{batch: 10}]");
    CHECK(result.degrees_of_freedom == 0);
    CHECK_FALSE(result.fitted_values[0].uncertainty);
    CHECK(claim_table(result).find("uncertainty not determined") != std::string::npos);
  }
  SUBCASE("a parameter without effect") {
    const ClaimResult result = fit("{path: cluster.network.link.latency, from: 1us, to: 1ms}", "[{batch: [10, 20]}]");
    CHECK(result.fitted_values[0].no_effect);
    CHECK_FALSE(result.fitted_values[0].uncertainty);
  }
  SUBCASE("two parameters that do the same") {
    const ClaimResult result = fit(
        "{path: devices.node.compute.affine.per_sample, from: 1us, to: 10ms}, {path: \"cluster.workers[0].slowdown\", from: 0.1, to: 10}",
        "[{batch: [10, 20, 40]}]");
    CHECK(result.degrees_of_freedom == 1);
    CHECK(result.fitted.max < 0.01);  // their product is determined
    REQUIRE(result.other_values.size() == 2);
    CHECK(result.other_values[0] * result.other_values[1] ==
          doctest::Approx(result.fitted_values[0].value * result.fitted_values[1].value).epsilon(1e-3));
    CHECK(claim_table(result).find("as well: devices.node.compute.affine.per_sample = ") != std::string::npos);
    for (const FittedValue& value : result.fitted_values) {
      CHECK_FALSE(value.uncertainty);
      CHECK_FALSE(value.no_effect);
    }
  }
  SUBCASE("the end of the range") {
    const ClaimResult result = fit("{path: devices.node.compute.affine.per_sample, from: 1us, to: 1500us}", "[{batch: [10, 20]}]");
    CHECK(result.fitted_values[0].at_bound);
    CHECK(result.fitted_values[0].value == 1500e-6);
  }
}

TEST_CASE("scores without a fit: errors, their mean, maximum and signs, and the bound") {
  const Files files;
  files.write("scenario.yaml", test::alone());
  // Predicted are 0.01 s x batch.
  files.write("measured.csv", "batch,ms\n10,100\n20,160\n30,400\n");
  const auto with_bound = [&](const std::string& bound) {
    return test::validate(files.write("claim.yaml",
                                      "claim: 1\ntitle: t\nscenario: scenario.yaml\nmeasured: measured.csv\n"
                                      "bind: {batch: training.batch.per_worker}\n"
                                      "compare: {column: ms, unit: ms, metric: simulated_seconds}\nbound: " +
                                          bound));
  };
  const double errors[] = {0, 200.0 / 160 - 1, 300.0 / 400 - 1};
  const double mape = (errors[1] - errors[2]) / 3;
  const ClaimResult result = with_bound("{mape: 17%, max: 26%}");
  for (std::size_t i = 0; i < 3; ++i) CHECK(result.rows[i].error == doctest::Approx(errors[i]));
  CHECK(result.held_out.mape == doctest::Approx(mape));
  CHECK(result.held_out.max == doctest::Approx(0.25));
  CHECK(result.held_out.signs == "0+-");
  CHECK(result.fitted.rows == 0);
  CHECK_FALSE(result.interpolation);
  CHECK(result.holds());
  CHECK_FALSE(with_bound("{mape: 16%}").holds());
  CHECK_FALSE(with_bound("{max: 24%}").holds());
  CHECK(with_bound("{mape: 17%}").holds());
}

TEST_CASE("a ratio to another row that is equal in all other columns") {
  const Files files;
  files.write("scenario.yaml", test::alone());
  files.write("measured.csv", "batch,updates,seconds\n10,10,5\n10,30,15\n20,10,8\n20,30,20\n");
  const ClaimResult result = test::validate(files.write("claim.yaml", R"(claim: 1
title: t
scenario: scenario.yaml
measured: measured.csv
bind: {batch: training.batch.per_worker, updates: training.stop.updates}
compare: {column: seconds, metric: simulated_seconds, relative_to: {updates: 10}}
bound: {max: 25%}
)"));
  CHECK(result.rows[0].row.use == RowUse::reference);
  CHECK(result.rows[1].measured == 3);
  CHECK(result.rows[1].predicted == doctest::Approx(3));
  CHECK(result.rows[3].measured == 2.5);
  CHECK(result.rows[3].error == doctest::Approx(0.2));
  CHECK(result.held_out.rows == 2);
}

TEST_CASE("columns of words, units, lists of paths, fixed changes, where, and metrics by metrics") {
  const Files files;
  std::string two = test::alone();
  two.replace(two.find("[{count: 1, device: node}]"), 26, "[{count: 1, device: node}, {count: 1, device: node}]");
  files.write("scenario.yaml", two);
  files.write("measured.csv",
              "# comment\n\"algorithm, kind\",slow,pause,per_update\n\"SGD, synchronous\",1,0,0.1\n\"SGD, synchronous\",3.0,0,0.3\n"
              "\"SGD, synchronous\",3,20,0.32\nother,1,0,1\n");
  const ClaimResult result = test::validate(files.write("claim.yaml", R"(claim: 1
title: t
scenario: scenario.yaml
measured: measured.csv
set: {training.stop: {updates: 5}, workload.data: {kind: coordinates}}
bind:
  "algorithm, kind": {path: training.scheme, values: {"SGD, synchronous": {kind: ssgd}, unused: asgd}}
  slow: ["cluster.workers[0].slowdown", "cluster.workers[1].slowdown"]
  pause: {path: devices.node.compute.affine.overhead, unit: ms}
where: {slow: [1, 3], "algorithm, kind": "SGD, synchronous"}
compare: {column: per_update, metric: simulated_seconds, divide_by: updates, scale: 1}
bound: {max: 50%}
)"));
  REQUIRE(result.rows.size() == 3);
  // A slowdown multiplies the overhead too: 3 x (20 ms + 100 ms); the exchange of 16 hidden units takes well below a millisecond.
  const double predicted[] = {0.1, 0.3, 0.36};
  for (std::size_t i = 0; i < 3; ++i) CHECK(result.rows[i].predicted == doctest::Approx(predicted[i]).epsilon(0.01));
  CHECK(result.runs == 3);
}

TEST_CASE("a fitted value drives several paths; equal rows are run once") {
  const Files files;
  std::string two = test::alone();
  two.replace(two.find("[{count: 1, device: node}]"), 26, "[{count: 1, device: node}, {count: 1, device: node}]");
  files.write("scenario.yaml", two);
  files.write("measured.csv", "batch,seconds\n10,0.5\n10,0.5\n20,1\n");
  const ClaimResult result = test::validate(files.write("claim.yaml", R"(claim: 1
title: t
scenario: scenario.yaml
measured: measured.csv
bind: {batch: training.batch.per_worker}
compare: {column: seconds, metric: simulated_seconds}
fit:
  parameters: [{paths: ["cluster.workers[0].slowdown", "cluster.workers[1].slowdown"], from: 0.01, to: 100}]
  rows: [{batch: 10}]
bound: {max: 1%}
)"));
  CHECK(result.fitted_values[0].value == doctest::Approx(5).epsilon(1e-3));
  CHECK(result.fitted.rows == 2);
  CHECK(result.degrees_of_freedom == 1);
  CHECK(result.held_out.max < 0.01);
}

TEST_CASE("a metric of the math runs the math") {
  const Files files;
  files.write("scenario.yaml", test::asynchronous());
  std::vector<double> accuracies;
  std::string table = "rate,accuracy\n";
  for (const char* rate : {"0.01", "0.1"}) {
    Experiment experiment(read_scenario_text(test::asynchronous(), "test.yaml", {std::string("training.optimizer.learning_rate=") + rate}),
                          {});
    table += std::string(rate) + "," + digits(experiment.run(nullptr, nullptr).final_test_accuracy.value()) + "\n";
  }
  files.write("measured.csv", table);
  const ClaimResult result = test::validate(files.write("claim.yaml", R"(claim: 1
title: t
scenario: scenario.yaml
measured: measured.csv
bind: {rate: training.optimizer.learning_rate}
compare: {column: accuracy, metric: final_test_accuracy}
bound: {max: 1%}
)"));
  CHECK(result.held_out.max == 0);
  CHECK(result.rows[0].predicted != result.rows[1].predicted);
}

TEST_CASE("a run that ends at an accuracy needs the math for its time") {
  const Files files;
  const std::vector<std::string> sets{"training.stop.target_accuracy=0.5", "training.evaluate.every.updates=10"};
  files.write("scenario.yaml", test::asynchronous());
  const Scenario scenario = read_scenario_text(test::asynchronous(), "test.yaml", sets);
  const RunRecord record = Experiment(scenario, {}).run(nullptr, nullptr);
  REQUIRE(record.outcome == Outcome::target_reached);
  files.write("measured.csv", "rate,seconds\n0.1," + digits(record.end.seconds()) + "\n");
  const ClaimResult result = test::validate(files.write("claim.yaml", R"(claim: 1
title: t
scenario: scenario.yaml
measured: measured.csv
set: {training.stop.target_accuracy: 0.5, training.evaluate.every.updates: 10}
bind: {rate: training.optimizer.learning_rate}
compare: {column: seconds, metric: simulated_seconds}
bound: {max: 1%}
)"));
  CHECK(result.held_out.max < 1e-9);
}

TEST_CASE("an interruption ends the fit") {
  const Files files;
  files.write("scenario.yaml", test::alone());
  files.write("measured.csv", "batch,seconds\n10,0.5\n20,1\n");
  const Claim claim = read_claim(files.write("claim.yaml", R"(claim: 1
title: t
scenario: scenario.yaml
measured: measured.csv
bind: {batch: training.batch.per_worker}
compare: {column: seconds, metric: simulated_seconds}
fit: {parameters: [{path: devices.node.compute.affine.per_sample, from: 1us, to: 1s}], rows: [{batch: 10}]}
bound: {max: 1%}
)"));
  int asked = 0;
  PredictOptions options;
  options.interrupted = [&] { return ++asked > 5; };
  CHECK_THROWS_AS(straggler::validate(claim, options), Interrupted);
}

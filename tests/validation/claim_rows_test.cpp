// Which rows a claim uses, and how far its paths reach: conditions, several targets, workers, topology files, files beside the claim.
#include <doctest/doctest.h>

#include <cmath>

#include "tests/validation/claim_support.hpp"
#include "validation/compare/claim_results.hpp"

using namespace straggler;
using test::digits;
using test::Files;

namespace {

const std::string kinds_table = "batch,kind,seconds\n10,a,0.1\n20,a,0.2\n30,b,0.3\n40,b,0.4\n50,c,0.5\n";

std::string claim_where(const std::string& where) {
  return "claim: 1\ntitle: t\nscenario: scenario.yaml\nmeasured: measured.csv\nbind: {batch: training.batch.per_worker}\nwhere: " + where +
         "\ncompare: {column: seconds, metric: simulated_seconds}\nbound: {max: 1%}\n";
}

/// The batches of the rows that are left, or what is wrong.
std::string left(const std::string& where) {
  const Files files;
  files.write("scenario.yaml", test::alone());
  files.write("measured.csv", kinds_table);
  std::string batches;
  const std::string wrong = test::said(files, [&] {
    const Claim claim = read_claim(files.write("claim.yaml", claim_where(where)));
    for (const ClaimRow& row : read_rows(claim)) batches += (batches.empty() ? "" : " ") + row.bound[0].text;
  });
  return wrong.empty() ? batches : wrong;
}

/// Two equal workers and one that is three times slower.
std::string unequal() {
  std::string text = test::alone();
  const std::string workers = "[{count: 1, device: node}]";
  return text.replace(text.find(workers), workers.size(), "[{count: 2, device: node}, {count: 1, device: node, slowdown: 3}]");
}

}  // namespace

TEST_CASE("where: not, ranges, and one of several patterns") {
  CHECK(left("{kind: {not: b}}") == "10 20 50");
  CHECK(left("{kind: {not: [a, c]}}") == "30 40");
  CHECK(left("{batch: {from: 20, to: 40}}") == "20 30 40");
  CHECK(left("{batch: {above: 20, below: 40}}") == "30");
  CHECK(left("{batch: {from: 20, not: 30}, kind: [a, b]}") == "20 40");
  CHECK(left("[{kind: a}, {batch: {from: 50}}]") == "10 20 50");
  CHECK(left("[{kind: a, batch: 10}, {kind: a}]") == "10 20");  // a row that two match is there once
  CHECK(left("{kind: {from: 1}}") == "claim.yaml:6:8: where: leaves no row of measured.csv; kind has 'a', 'b', 'c'");
}

TEST_CASE("conditions that cannot be meant") {
  CHECK(left("{batch: {from: 30, to: 20}}").find("claim.yaml:6:27: where.batch.to: leaves the range empty") == 0);
  CHECK(left("{batch: {above: 20, to: 20}}").find("where.batch.to: leaves the range empty") != std::string::npos);
  CHECK(left("{batch: {from: 10, above: 20}}").find("where.batch.above: cannot be combined with from; keep one") != std::string::npos);
  CHECK(left("{batch: {}}").find("where.batch: is an empty map; write a value of that column") != std::string::npos);
  CHECK(left("{batch: {form: 10}}").find("where.batch.form: unknown key 'form'; did you mean 'from'?") != std::string::npos);
  CHECK(left("{batch: {from: ten}}").find("where.batch.from: 'ten'") != std::string::npos);
  CHECK(left("[]").find("where: is an empty list, which matches no row") != std::string::npos);
  CHECK(left("[{kind: a}, {kind: d}]").find("where[1]: matches no row of measured.csv; kind has 'a', 'b', 'c'") != std::string::npos);
}

TEST_CASE("fit rows take conditions, and a column may set several paths in several ways") {
  const Files files;
  files.write("scenario.yaml", test::alone());
  // The word sets the slowdown and the scheme, the number the batch and, in milliseconds, the overhead: 10 (b p + b ms) s, where p is 3 ms.
  files.write("measured.csv", "kind,size,seconds\nslow,1,0.08\nslow,2,0.16\nslow,3,0.24\nfast,4,0.16\n");
  const ClaimResult result = test::validate(files.write("claim.yaml", R"(claim: 1
title: t
scenario: scenario.yaml
measured: measured.csv
bind:
  kind: [{path: "cluster.workers[0].slowdown", values: {slow: 2, fast: 1}}, {path: training.scheme, values: {slow: asgd, fast: ssgd}}]
  size: [training.batch.per_worker, {path: devices.node.compute.affine.overhead, unit: ms}]
set: {cluster.servers: {value: {count: 1}, source: asgd needs one}}
compare: {column: seconds, metric: simulated_seconds}
fit: {parameters: [{path: devices.node.compute.affine.per_sample, from: 1us, to: 1s}], rows: [{size: {to: 2}, kind: {not: fast}}]}
bound: {max: 2%}
)"));
  CHECK(result.fitted.rows == 2);
  CHECK(result.rows[0].row.label == "kind=slow, size=1");
  CHECK(result.fitted_values[0].value == doctest::Approx(3e-3).epsilon(0.02));
  CHECK(result.holds());
  CHECK(result.rows[3].outside == std::vector<std::string>{"kind fast not fitted", "size 4 above 2"});
}

TEST_CASE("metrics of single workers") {
  const Files files;
  files.write("scenario.yaml", unequal());
  RunOptions options;
  options.timing_only = true;
  const RunRecord record =
      Experiment(read_scenario_text(unequal(), "test.yaml", {"training.batch.per_worker=20"}), options).run(nullptr, nullptr);
  REQUIRE(record.workers.size() == 3);
  std::string rows = "batch,worker,idle,share\n";
  for (std::size_t i = 0; i < 3; ++i) {
    const double idle = record.workers[i].split[Phase::idle].seconds() + record.workers[i].split[Phase::communication].seconds();
    rows += "20," + std::to_string(i) + "," + digits(record.workers[i].split[Phase::compute].seconds()) + "," + digits(idle) + "\n";
  }
  CHECK(record.workers[2].split[Phase::compute] > record.workers[0].split[Phase::compute]);
  files.write("measured.csv", rows);
  const std::string head =
      "claim: 1\ntitle: t\nscenario: scenario.yaml\nmeasured: measured.csv\nbind: {batch: training.batch.per_worker}\n";
  const ClaimResult result = test::validate(
      files.write("claim.yaml", head + "compare: {column: idle, unit: s, metric: compute_s, rank: worker}\nbound: {max: 0.0001%}\n"));
  CHECK(result.holds());
  CHECK(result.runs == 1);
  CHECK(result.rows[2].row.label == "rank=2");
  // A share of the run, of one worker.
  const double share = record.workers[2].split[Phase::compute].seconds() / record.end.seconds();
  files.write("measured.csv", "batch,share\n20," + digits(share) + "\n");
  CHECK(
      test::validate(files.write("claim.yaml", head + "compare: {column: share, metric: compute_s, divide_by: simulated_seconds, rank: 2}\n"
                                                      "bound: {max: 0.0001%}\n"))
          .holds());

  const auto wrong = [&](const std::string& compare) {
    return test::said(
        files, [&] { test::validate(files.write("claim.yaml", head + "compare: {column: share, " + compare + "}\nbound: {max: 1%}\n")); });
  };
  CHECK(wrong("metric: compute_s").find("compare.metric: 'compute_s' is a metric of one worker; name the worker") != std::string::npos);
  CHECK(wrong("metric: updates_per_second, rank: 0").find("compare.metric: ") != std::string::npos);
  CHECK(wrong("metric: simulated_seconds, rank: 0").find("is a metric of the whole run, and compare.rank names a worker") !=
        std::string::npos);
  CHECK(wrong("metric: compute_s, rank: 3").find("compare.rank: row line 2 names worker 3, and its run has 3, from 0") !=
        std::string::npos);
  CHECK(wrong("metric: compute_s, rank: 0.5").find("compare.rank: is not the number of a worker") != std::string::npos);
  CHECK(wrong("metric: compute_s, rank: who").find("compare.rank: unknown column 'who'") != std::string::npos);
}

TEST_CASE("a fit reaches the cables of a topology file, and paths in a claim start from its folder") {
  const Files files;
  // Two hosts behind two switches; the scenario names a file that is not there, the claim one beside itself.
  files.write("net/two.dot", R"(graph {
  a [kind=host]; b [kind=host]; s [kind=switch]; t [kind=switch];
  a -- s [bandwidth="1Gbps", latency="1us"]; b -- t [bandwidth="1Gbps", latency="1us"]; s -- t [bandwidth="10Gbps", latency="1us"];
})");
  std::string text = test::alone();
  text.replace(text.find("count: 1,"), 9, "count: 2,");
  const auto sets = [&](const std::string& rate, const std::string& bytes) {
    return std::vector<std::string>{"cluster.network.topology={kind: file, path: " + (files.folder() / "net/two.dot").string() +
                                        ", switch_cables: {bandwidth: " + rate + "}}",
                                    "workload.cost.bytes=" + bytes, "devices.node.compute.affine.per_sample=1us"};
  };
  files.write("scenario.yaml", text);
  std::string rows = "bytes,seconds\n";
  for (const char* bytes : {"1000000", "4000000", "16000000"})
    rows += std::string(bytes) + "," + digits(test::simulated_seconds(text, sets("321Mbps", std::string(bytes) + "B"))) + "\n";
  files.write("net/measured.csv", rows);
  const ClaimResult result = test::validate(files.write("net/claim.yaml", R"(claim: 1
title: t
scenario: ../scenario.yaml
measured: measured.csv
set:
  cluster.network.topology: {value: {kind: file, path: two.dot}, source: the wiring}
  devices.node.compute.affine.per_sample: {value: 1us, source: a stopwatch}
bind: {bytes: {path: workload.cost.bytes, unit: B}}
compare: {column: seconds, metric: simulated_seconds}
fit: {parameters: [{path: cluster.network.topology.switch_cables.bandwidth, from: 1Mbps, to: 10Gbps}], rows: [{bytes: 4000000}]}
bound: {max: 0.1%}
)"));
  CHECK(result.fitted_values[0].value == doctest::Approx(321e6 / 8).epsilon(1e-5));
  CHECK(result.holds());
}

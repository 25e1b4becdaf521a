#include <doctest/doctest.h>

#include "scenarios/sweep/sweep.hpp"
#include "tests/sweep/sweep_fixture.hpp"

using namespace straggler;
using namespace straggler::test;

namespace {

std::vector<std::string> values_of(const std::string& range) {
  const Files files;
  std::vector<std::string> all;
  const Sweep sweep = sweep_of(files, "axes: {x: " + range + "}\n");
  for (const auto& values : sweep.axes.at(0).values) all.push_back(values.at(0).yaml);
  return all;
}

std::string wrong(const std::string& body) {
  const Files files;
  return said(files, [&] { sweep_of(files, body); });
}

}  // namespace

TEST_CASE("of a sweep of another version nothing else is said") {
  const Files files;
  const auto refusal = [&](const std::string& text) { return said(files, [&] { read_sweep(files.write("sweep.yaml", text)); }); };
  CHECK(refusal("sweep: 2\nvary: {x: [1]}\n") == "sweep.yaml:1:8: sweep: is '2'; this program reads version 1 of the format only");
  CHECK(refusal("sweep: \"1\"\nname: try\nscenario: small.yaml\n") == "sweep.yaml:1:8: sweep: is text in quotes; write 1, without quotes");
}

TEST_CASE("ranges: geometric, arithmetic, evenly spread, logarithmic") {
  using Texts = std::vector<std::string>;
  CHECK(values_of("{from: 1, to: 64, times: 2}") == Texts{"1", "2", "4", "8", "16", "32", "64"});
  CHECK(values_of("{from: 8, to: 1, times: 0.5}") == Texts{"8", "4", "2", "1"});
  CHECK(values_of("{from: 0.1, to: 0.5, step: 0.1}").size() == 5);  // 0.1 + 4 x 0.1 is a hair above 0.5
  CHECK(values_of("{from: 10ms, to: 30ms, step: 10ms}") == Texts{"10ms", "20ms", "30ms"});
  CHECK(values_of("{from: 1, to: 2, steps: 5}") == Texts{"1", "1.25", "1.5", "1.75", "2"});
  // Each is 10^(2/3) times the one before: 1, 4.6416, 21.544, 100.
  CHECK(values_of("{from: 1, to: 100, steps: 4, scale: log}") == Texts{"1", "4.642", "21.54", "100"});
  CHECK(values_of("{from: 1, to: 100, steps: 4, scale: log, whole: true}") == Texts{"1", "5", "22", "100"});
  CHECK(values_of("{from: 1, to: 2, steps: 5, whole: true}") == Texts{"1", "2"});
  CHECK(values_of("{from: 10%, to: 30%, step: 10%}") == Texts{"10%", "20%", "30%"});
  CHECK(values_of("{from: 1Mbps, to: 1Gbps, steps: 5, scale: log}") ==
        std::vector<std::string>{"1Mbps", "5.623Mbps", "31.62Mbps", "177.8Mbps", "1Gbps"});  // 1000^(1/4) = 5.6234
  CHECK(values_of("{from: 100Mbps, to: 1Gbps, times: 10}").size() == 2);
}

TEST_CASE("axes are crossed, the last one fastest; zips go together; blocks are called by their kind or label") {
  const Files files;
  const Sweep sweep = sweep_of(files, R"(
axes:
  training.scheme: [{kind: ssgd}, {kind: asgd}, {label: adapted, value: {kind: asgd, staleness: inverse}}]
zip:
  - {seed: [1, 2], training.batch.per_worker: [10, 20]}
)");
  CHECK(sweep.columns() == std::vector<std::string>{"training.scheme", "seed", "training.batch.per_worker"});
  const std::vector<SweepGroup> groups = groups_of(sweep);
  REQUIRE(groups.size() == 6);
  CHECK(groups[0].labels == std::vector<std::string>{"ssgd", "1", "10"});
  CHECK(groups[1].labels == std::vector<std::string>{"ssgd", "2", "20"});
  CHECK(groups[4].labels == std::vector<std::string>{"adapted", "1", "10"});
  const Scenario scenario = PointReader(sweep, {"training.stop.epochs=7"}).read(groups[4], 3);
  CHECK(scenario.seed == 4);  // 1, and three repeats on
  CHECK(scenario.training.scheme.name == "asgd");
  CHECK(scenario.training.batch.per_worker == 10);
  CHECK(scenario.training.stop.epochs == 7.0);  // the command line comes last
}

TEST_CASE("the command line cannot replace what a sweep varies, which would make all points alike") {
  const Files files;
  const Sweep sweep = sweep_of(files, "set: {training.scheme: asgd}\naxes: {training.scheme.max_delay: [1, 9]}\n");
  const SweepGroup group = groups_of(sweep)[0];
  for (const std::string set : {"training.scheme.max_delay=3", "training.scheme={kind: asgd}", "training={}"}) {
    CAPTURE(set);
    const std::string text = said(files, [&] { PointReader(sweep, {set}).read(group, 0); });
    const std::string path = set.substr(0, set.find('='));
    CHECK(text.starts_with("--set " + set + ": " + path + ": would replace what the sweep varies, training.scheme.max_delay; write it as"));
  }
  CHECK(PointReader(sweep, {"training.scheme.on_failure=drop"}).read(group, 0).training.scheme.name == "asgd");
}

TEST_CASE("two blocks of one kind are called by all that they are") {
  const Files files;
  const Sweep sweep = sweep_of(files, "axes: {training.scheme: [{kind: asgd}, {kind: asgd, staleness: inverse}]}\n");
  CHECK(sweep.axes[0].values[0][0].label == "{kind: asgd}");
  CHECK(sweep.axes[0].values[1][0].label == "{kind: asgd, staleness: inverse}");
}

TEST_CASE("relative paths in a sweep start from its folder") {
  const Files files;
  files.write("weights.txt", "");
  const Sweep sweep = sweep_of(files, "axes: {workload.data: [{kind: fashion_mnist, path: here}]}\n");
  const Scenario scenario = PointReader(sweep, {}).read(groups_of(sweep)[0], 0);
  CHECK(scenario.workload.data.parameters.text("path") == (files.folder() / "here").string());
}

TEST_CASE("errors of a sweep name their place") {
  CHECK(wrong("axes: {x: 3}\n").starts_with("sweep.yaml:4:11: axes.x: is '3'"));
  CHECK(wrong("axes: {x: []}\n").find("is an empty list") != std::string::npos);
  CHECK(wrong("axes: {x: [1, 1]}\n").find("1 stands there twice") != std::string::npos);
  CHECK(wrong("zip: [{x: [1, 1, 1], y: [2, 3, 2]}]\n").find("zip[0]: has 1, 2 together twice; write each combination once") !=
        std::string::npos);
  CHECK(wrong("zip: [{x: [1, 1]}]\n").find("1 stands there twice") != std::string::npos);
  CHECK(wrong("axes: {x: [1]}\nzip: [{x: [2]}]\n").find("x is varied twice") != std::string::npos);
  CHECK(wrong("zip: [{x: [1, 2], y: [1]}]\n").find("has 1 values, the previous list 2") != std::string::npos);
  CHECK(wrong("axes: {x: {from: 1, to: 64}}\n").find("needs one of times") != std::string::npos);
  CHECK(wrong("axes: {x: {from: 1, to: 64, times: 0.5}}\n").find("never gets from `from` to `to`") != std::string::npos);
  CHECK(wrong("axes: {x: {from: 1s, to: 64, times: 2}}\n").find("another unit") != std::string::npos);
  CHECK(wrong("axes: {x: {from: 0, to: 64, steps: 3, scale: log}}\n").find("log needs a range above 0") != std::string::npos);
  CHECK(wrong("axis: {x: [1]}\n").find("did you mean 'axes'?") != std::string::npos);
  CHECK(wrong("repeats: 0\n").find("repeats") != std::string::npos);
  CHECK(wrong("until_ci: {relative: 2%, metric: acuracy}\n").find("acuracy") != std::string::npos);
  CHECK(wrong("base: {straggler: 1}\n").find("needs either scenario: FILE or an inline base") != std::string::npos);
}

TEST_CASE("an error that a value causes is reported at the value's place") {
  const Files files;
  const Sweep sweep = sweep_of(files, "axes: {training.batch.per_worker: [10, ten]}\n");
  const std::string text = said(files, [&] { run_afresh(sweep); });
  CHECK(text.starts_with("sweep.yaml:4:40: training.batch.per_worker: "));
}

TEST_CASE("an inline scenario") {
  const Files files;
  std::string inline_scenario;
  std::istringstream lines(small_scenario);
  for (std::string line; std::getline(lines, line);) inline_scenario += "  " + line + "\n";
  const Sweep sweep = read_sweep(
      files.write("sweep.yaml", "sweep: 1\nname: try\nbase:\n" + inline_scenario + "axes:\n  cluster.workers[0].count: [1, 2]\n"));
  CHECK(PointReader(sweep, {}).read(groups_of(sweep)[1], 0).workers() == 2);
}

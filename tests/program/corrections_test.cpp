// Slips of the program that misled its users: wrong exit codes, internal errors of input, files that could not be read or written.
#include <doctest/doctest.h>
#include <unistd.h>

#include <string>

#include "tests/program/workplace.hpp"
#include "tests/support/text.hpp"

namespace corrections_test {

using straggler::test::has;
using straggler::test::Workplace;

namespace {

const std::string scenario = straggler::test::on_small_cluster(16, 3000, 500, "  stop: {updates: 20}\n");

/// Runs a command on a folder that cannot be written; false: this machine does not let us have one.
bool read_only(const Workplace& place, const std::string& folder, const std::string& command, Workplace::Done& done) {
  if (::geteuid() != 0) {
    place.shell("chmod a-w " + folder);
    done = place.shell(command);
    place.shell("chmod u+w " + folder);
    return true;
  }
  if (place.shell("unshare -m true").code != 0) return false;
  const std::string program = STRAGGLER_PROGRAM;
  done = place.shell("unshare -m bash -c \"mount --bind " + folder + " " + folder + " && mount -o remount,ro,bind " + folder +
                     " && straggler() { " + program + " \\\"\\$@\\\"; } && " + command + "\"");
  return true;
}

}  // namespace

TEST_CASE("standard output that cannot be written is no internal error and no bad input, and results are where they are") {
  const Workplace place;
  place.write("small.yaml", scenario);
  const std::string problem = "straggler: standard output cannot be written: No space left on device";
  for (const char* const command : {"straggler list", "straggler list schemes", "straggler --version"}) {
    CAPTURE(command);
    const auto done = place.shell(std::string(command) + " >/dev/full");
    CHECK(done.code == 3);
    CHECK(done.err == problem + "\n");
  }
  const auto run = place.shell("straggler run small.yaml --quiet --out here >/dev/full");
  CHECK(run.code == 3);
  CHECK(run.err == problem + "; the results are in here\n");
  CHECK(place.summary("here").at("outcome") == "completed");
}

TEST_CASE("ranges whose ends lie too far out, or too near to 0, are refused where they stand") {
  const Workplace place;
  place.write("small.yaml", scenario);
  const auto told = [&](const std::string& what) {
    place.write("sweep.yaml", "sweep: 1\nname: far\nscenario: small.yaml\n" + what);
    return place.shell("straggler sweep sweep.yaml --quiet --no-store --out far");
  };
  const std::string find = "find:\n  metric: simulated_seconds\n  minimize: true\n  over: {training.optimizer.learning_rate: ";
  struct Case {
    std::string what;
    const char *place, *wrong;
  };
  for (const Case& one :
       {Case{find + "{from: 1e-3, to: 1e308, scale: log}}\n", ".to: ", "'1e308'"},
        Case{find + "{from: 1e-308, to: 1, scale: log}}\n", ".from: ", "'1e-308'"},
        Case{find + "{from: 0, to: 1e300}}\n", ".to: ", "'1e300'"},
        Case{"axes:\n  training.optimizer.learning_rate: {from: 1e-3, to: 1e308, steps: 3, scale: log}\n", ".to: ", "'1e308'"}}) {
    CAPTURE(one.what);
    const auto done = told(one.what);
    CAPTURE(done.err);
    CHECK(done.code == 2);
    CHECK(has(done.err, std::string(one.place) + "is " + one.wrong + "; a range ends "));
  }
}

TEST_CASE("calibrate refuses times and spreads that no scenario takes") {
  const Workplace place;
  for (const auto& one : {std::pair("32,0.01,1e300", "iqr_s"), std::pair("32,0.01,0.5", "iqr_s"), std::pair("32,1e300,", "seconds")}) {
    const char *const row = one.first, *const wrong = one.second;
    CAPTURE(row);
    place.write("steps.csv", std::string("batch,seconds,iqr_s\n16,0.006,0.001\n") + row + "\n");
    const auto done = place.shell("straggler calibrate steps.csv");
    CAPTURE(done.err);
    CHECK(done.code == 2);
    CHECK(has(done.err, "steps.csv:3:"));
    CHECK(has(done.err, wrong));
  }
  place.write("steps.csv", "batch,seconds,iqr_s\n32,0.01,0.25\n");  // wide, and possible
  CHECK(place.shell("straggler calibrate steps.csv").code == 0);
  place.write("steps.csv", "batch,seconds\n32,1e-300\n32,1\n");
  CHECK(place.shell("straggler calibrate steps.csv").code == 0);
}

TEST_CASE("a model whose size cannot be counted is refused at its place") {
  const Workplace place;
  place.write("small.yaml", scenario);
  for (const char* const hidden : {"[4294967296, 4294967296]", "[9223372036854775807]"}) {
    const auto done = place.shell("straggler check small.yaml --set \"workload.model={kind: mlp, hidden: " + std::string(hidden) + "}\"");
    CAPTURE(done.err);
    CHECK(done.code == 2);
    CHECK(has(done.err, "workload.model: has "));
    CHECK(has(done.err, "parameters; write a model of at most 1e+13"));
  }
  const auto cost = place.shell(
      "straggler run small.yaml --timing-only --set \"workload.cost={model: {kind: mlp, hidden: [4294967296, 4294967296]}}\" --out cost");
  CHECK(cost.code == 2);
  CHECK(has(cost.err, "workload.cost.model: has "));
}

TEST_CASE("a finished sweep is read where nothing can be written") {
  const Workplace place;
  place.write("small.yaml", scenario);
  place.write("sweep.yaml", "sweep: 1\nname: try\nscenario: small.yaml\naxes:\n  training.scheme: [ssgd, asgd]\n");
  REQUIRE(place.shell("straggler sweep sweep.yaml --quiet --timing-only --no-store --out done").code == 0);
  REQUIRE(place.shell("straggler report done -o before.html").code == 0);
  Workplace::Done done{};
  if (!read_only(place, "done", "straggler report done -o after.html", done)) {
    MESSAGE("skipped: no folder can be made read-only here");
    return;
  }
  CHECK_MESSAGE(done.code == 0, done.err);
  CHECK(place.read("after.html") == place.read("before.html"));
}

}  // namespace corrections_test

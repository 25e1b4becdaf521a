// `straggler validate` and `straggler calibrate` as users meet them.
#include <doctest/doctest.h>

#include <algorithm>

#include "tests/program/workplace.hpp"
#include "tests/support/scenarios.hpp"
#include "tests/support/text.hpp"

namespace claims_test {

namespace fs = std::filesystem;
using straggler::test::equal_workers;
using straggler::test::has;
using straggler::test::scenario_text;
using straggler::test::Workplace;

namespace {

const std::string scenario = scenario_text({.name = "alone",
                                            .node = "{compute: {affine: {overhead: 0s, per_sample: 1ms}}}",
                                            .workers = equal_workers(1),
                                            .servers = "",
                                            .network = "{link: {bandwidth: 1Gbps, latency: 0s}}"});

std::string claim(const std::string& title, const std::string& bound) {
  return "claim: 1\ntitle: " + title +
         "\nscenario: scenario.yaml\nmeasured: measured.csv\nbind: {batch: training.batch.per_worker}\n"
         "compare: {column: seconds, metric: simulated_seconds}\n"
         "fit: {parameters: [{path: devices.node.compute.affine.per_sample, from: 1us, to: 1s}], rows: [{batch: 10}]}\n"
         "bound: " +
         bound + "\n";
}

/// 10 updates of 10 samples of p take 0.2 s, so that p is 2 ms, and batches of 20 and 40 take 0.4 and 0.8 s.
void fill(const Workplace& place) {
  place.write("scenario.yaml", scenario);
  place.write("measured.csv", "batch,seconds\n10,0.2\n20,0.5\n40,0.8\n");
  place.write("loose.yaml", claim("loose <bound>", "{mape: 11%, max: 21%}"));
  place.write("tight.yaml", claim("tight", "{mape: 9%, max: 21%}"));
  place.write("unbounded.yaml", claim("unbounded", "{mape: 11%}"));
}

}  // namespace

TEST_CASE("validate: 0 when every bound holds, 1 when one is missed") {
  const Workplace place;
  fill(place);
  const auto good = place.shell("straggler validate loose.yaml --out v");
  CHECK_MESSAGE(good.code == 0, good.err);
  CHECK(has(good.out,
            "holds   loose <bound>: MAPE 10 % (bound 11 %), largest 20 % (bound 21 %); 2 held out, 1 fitted, 0 degrees of freedom"));
  CHECK(has(good.out, "1 of 1 claim holds\n"));
  CHECK(has(good.out, "devices.node.compute.affine.per_sample = 2 ms, uncertainty not determined"));
  CHECK(has(good.err, "claim 1 of 1: loose"));
  const auto missed = place.shell("straggler validate loose.yaml tight.yaml --quiet --out v");
  CHECK(missed.code == 1);
  CHECK(missed.err.empty());
  CHECK(has(missed.out, "MISSED  tight: MAPE 10 % (bound 9 %)"));
  CHECK(has(missed.out, "1 of 2 claims hold\n"));
  const auto partly = place.shell("straggler validate unbounded.yaml loose.yaml --out w");
  CHECK(partly.code == 0);
  CHECK(has(partly.out, "holds   unbounded: MAPE 10 % (bound 11 %), largest 20 %; 2 held out"));
  CHECK(has(partly.out, "warning: this claim is not counted: its bound has no max"));
  CHECK(has(partly.out, "\n1 of 1 claim holds; 1 claim is not counted\n"));
  std::istringstream rows(place.read("v/validation.csv"));
  std::string line;
  std::getline(rows, line);
  CHECK(
      line ==
      "claim,row,set,measured,predicted,error,interpolated,interpolation_error,unit,low,high,outside,seeds,seed_deviation,standard_error");
  int count = 0;
  for (; std::getline(rows, line); ++count) CHECK(std::count(line.begin(), line.end(), ',') == 14);
  CHECK(count == 6);
  const std::string page = place.read("v/report.html");
  CHECK(has(page, "<svg"));
  CHECK(has(page, "loose &lt;bound&gt;"));
  CHECK_FALSE(has(straggler::test::shown(page), "http://"));
  CHECK_FALSE(has(straggler::test::shown(page), "https://"));
  CHECK(place.files("v").size() == 2);
  const auto again = place.shell("straggler validate loose.yaml tight.yaml --quiet --out w");
  CHECK(place.files("v") == place.files("w"));
  std::string moved = missed.out;  // the page, whose path is the last line
  moved.replace(moved.rfind("\npage: v/report.html\n"), std::string::npos, "\npage: w/report.html\n");
  CHECK(moved == again.out);
}

TEST_CASE("validate: bad input of any claim is 2, before anything runs or is written") {
  const Workplace place;
  fill(place);
  place.write("bad.yaml", claim("bad", "{mape: 1%}\nfitt: 1"));
  place.write("worse.yaml", claim("worse", "{mape: 1%}\nwhere: {batch: 7}"));
  const auto done = place.shell("straggler validate loose.yaml bad.yaml worse.yaml --out v");
  CHECK(done.code == 2);
  CHECK(done.out.empty());
  CHECK(has(done.err, "bad.yaml:9:1: fitt: unknown key"));
  CHECK(has(done.err, "worse.yaml:9:8: where: leaves no row"));
  CHECK_FALSE(fs::exists(place.folder() / "v"));
  CHECK(place.shell("straggler validate").code == 2);
  CHECK(place.shell("straggler validate no.yaml").code == 2);
  place.write("file", "x");
  CHECK(place.shell("straggler validate loose.yaml --out file").code == 2);
}

TEST_CASE("validate: a folder that holds something else is refused, before anything runs") {
  const Workplace place;
  fill(place);
  fs::create_directory(place.folder() / "mine");
  place.write("mine/report.html", "mine");
  const auto refused = place.shell("straggler validate loose.yaml --out mine");
  CHECK(refused.code == 2);
  CHECK(refused.out.empty());
  CHECK(has(refused.err, "mine: is not empty and holds no results of straggler validate; use --out "));
  CHECK(place.read("mine/report.html") == "mine");
  CHECK(place.shell("straggler validate loose.yaml --out mine --force").code == 0);
  CHECK(has(place.read("mine/report.html"), "<svg"));
  CHECK(place.shell("straggler validate loose.yaml --out mine").code == 0);  // ours by now
  fs::create_directory(place.folder() / "empty");
  CHECK(place.shell("straggler validate loose.yaml --out empty").code == 0);
}

TEST_CASE("calibrate says of a file that is no table that it is none, in one line") {
  const Workplace place;
  for (const char* const text : {"straggler: 1\nname: a\ncluster: {workers: [{count: 2, device: v100}]}\n", "hello\n"}) {
    place.write("given", text);
    const auto refused = place.shell("straggler calibrate given");
    CHECK(refused.code == 2);
    CHECK(std::count(refused.err.begin(), refused.err.end(), '\n') == 1);
    CHECK_MESSAGE(has(refused.err, "given: cannot be calibrated: it is no table, nor the output of a benchmark"), refused.err);
  }
  place.write("given", "size,colour\n1,2\n");
  CHECK(has(place.shell("straggler calibrate given").err, "cannot be calibrated: its columns are size, colour; give "));
}

TEST_CASE("calibrate: entries on standard output, or in a file that nothing else wrote") {
  const Workplace place;
  place.write("ping.csv", "bytes,seconds\n1000,1.1e-4\n100000,2e-4\n10000000,1.01e-2\n");
  const auto shown = place.shell("straggler calibrate ping.csv");
  CHECK(shown.code == 0);
  CHECK(has(shown.out, "# Calibrated by straggler from ping.csv: a ping-pong table"));
  CHECK(has(shown.out, "\nnetwork:"));
  const auto written = place.shell("straggler calibrate ping.csv -o out.yaml");
  CHECK_MESSAGE(written.code == 0, written.err);
  CHECK(place.read("out.yaml") == shown.out);
  CHECK(has(written.out, "entries say"));
  CHECK(place.shell("straggler calibrate ping.csv -o out.yaml").code == 0);
  const auto refused = place.shell("straggler calibrate ping.csv -o ping.csv");
  CHECK(refused.code == 2);
  CHECK(has(refused.err, "ping.csv: is there, but not from straggler calibrate"));
  CHECK(place.read("ping.csv").rfind("bytes", 0) == 0);
  const auto nowhere = place.shell("straggler calibrate ping.csv -o no/such/out.yaml");
  CHECK(nowhere.code == 2);
  CHECK(has(nowhere.err, "no/such/out.yaml: there is no folder no/such; make it, or name another file with -o"));
  CHECK_FALSE(fs::exists(place.folder() / "no"));
  place.write("micros.csv", "bytes,seconds\n1000,51\n100000,150\n");
  const auto warned = place.shell("straggler calibrate micros.csv");
  CHECK(warned.code == 0);
  CHECK(has(warned.err, "micros.csv: warning: a latency of 50 s"));
}

}  // namespace claims_test

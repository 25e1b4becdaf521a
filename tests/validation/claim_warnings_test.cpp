// Claims whose outcome alone would mislead.
#include <doctest/doctest.h>

#include "tests/validation/claim_support.hpp"
#include "validation/compare/claim_results.hpp"

using namespace straggler;
using test::Files;

namespace {

ClaimResult of(const std::string& table, const std::string& rest) {
  const Files files;
  files.write("scenario.yaml", test::alone());
  files.write("measured.csv", table);
  return test::validate(files.write("claim.yaml",
                                    "claim: 1\ntitle: t\nscenario: scenario.yaml\nmeasured: measured.csv\n"
                                    "bind:\n  batch: training.batch.per_worker\n" +
                                        rest));
}

const std::string seconds = "compare: {column: seconds, metric: simulated_seconds}\n";
/// The range holds the fitted value at 1 ms.
const std::string tied =
    "fit: {parameters: [{path: devices.node.compute.affine.per_sample, from: 999us, to: 1001us}], rows: [{batch: [10, 20]}]}\n";

}  // namespace

TEST_CASE("a unit that is wrong shows as one factor everywhere") {
  const auto warned = [](const std::string& table, const std::string& unit) {
    return claim_warnings(
        of(table, "compare: {column: seconds, unit: " + unit + ", metric: simulated_seconds}\nbound: {mape: 1%, max: 2%}\n"));
  };
  const std::string table = "batch,seconds\n10,0.15\n20,0.16\n40,0.4\n";
  CHECK(warned(table, "s").empty());
  REQUIRE(warned(table, "ms").size() == 1);
  CHECK(warned(table, "ms")[0] == "predictions are about 1000 times too large everywhere: is compare.unit right?");
  CHECK(warned(table, "us")[0].find("about 1000000 times too large") != std::string::npos);
  CHECK(warned(table, "min")[0].find("about 60 times too small") != std::string::npos);
  // One row that is right says that the unit is.
  CHECK(warned("batch,seconds\n10,110\n20,190\n40,0.4\n", "s").empty());
}

TEST_CASE("a column whose name ends in a unit of time, and that has none, is doubted") {
  const auto doubt = [](const std::string& column, const std::string& more) {
    return unit_doubt(
        of("batch," + column + "\n10,100\n20,200\n", "compare: {column: " + column + more + "}\nbound: {mape: 1%}\n").claim.compare);
  };
  const std::string time = ", metric: simulated_seconds";
  CHECK(doubt("step_ms", time) ==
        "compare.column 'step_ms' reads as a time in ms, and without a unit it is taken in seconds; write unit: ms beside it");
  for (const std::string unit : {"us", "ns", "min", "h"})
    CHECK(doubt("step_" + unit, time).find("write unit: " + unit) != std::string::npos);
  CHECK(doubt("step_s", time).empty());
  CHECK(doubt("atoms", time).empty());
  CHECK(doubt("step_ms", time + ", unit: ms").empty());
  CHECK(doubt("step_ms", time + ", unit: s").empty());
  CHECK(doubt("step_ms", time + ", scale: 1000").empty());
  CHECK(doubt("step_ms", time + ", relative_to: {batch: 10}").empty());
  CHECK(doubt("step_ms", ", metric: samples_per_second").empty());
  // The fit reaches the values, so that no factor shows.
  const ClaimResult fitted =
      of("batch,step_ms\n10,100\n20,200\n40,390\n",
         "compare: {column: step_ms, metric: simulated_seconds}\n"
         "fit: {parameters: [{path: devices.node.compute.affine.per_sample, from: 1us, to: 10s}], rows: [{batch: [10, "
         "20]}]}\nbound: {mape: 1%, max: 2%}\n");
  REQUIRE(claim_warnings(fitted).size() == 1);
  CHECK(claim_warnings(fitted)[0] == unit_doubt(fitted.claim.compare));
}

TEST_CASE("a dash for the interpolation says why") {
  const std::string bound = "bound: {mape: 90%}\n";
  const std::string parameter = "fit: {parameters: [{path: devices.node.compute.affine.per_sample, from: 999us, to: 1001us}], rows: ";
  const auto reason = [&](const ClaimResult& result) {
    CHECK_FALSE(result.interpolation);
    return result.no_interpolation;
  };
  CHECK(of("batch,seconds\n10,0.1\n20,0.2\n40,0.4\n", seconds + tied + bound).no_interpolation.empty());
  CHECK(reason(of("batch,seconds\n10,0.1\n20,0.2\n", seconds + bound)) == "no row is fitted");
  const ClaimResult zero =
      of("batch,seconds,pause\n10,0.1,0\n20,0.2,0\n20,0.3,10\n",
         "  pause: {path: devices.node.compute.affine.overhead, unit: ms}\n" + seconds + parameter + "[{pause: 0}]}\n" + bound);
  CHECK(reason(zero) == "pause is not above 0 in every row, which a logarithm needs");
  CHECK(claim_table(zero).find("a line's   -, since pause is not above 0") != std::string::npos);
  CHECK(reason(of("batch,seconds,kind\n10,0.1,a\n20,0.2,b\n", "  kind: {path: training.scheme, values: {a: ssgd, b: ssgd}}\n" + seconds +
                                                                  parameter + "[{kind: a}]}\n" + bound)) == "words vary: kind");
  CHECK(reason(of("batch,seconds,pause\n10,0.1,1\n20,0.3,10\n40,0.5,10\n",
                  "  pause: {path: devices.node.compute.affine.overhead, unit: ms}\n" + seconds + parameter + "[{batch: [10, 20]}]}\n" +
                      bound)) == "the fitted rows are too few, or too alike, for the columns that vary");
}

TEST_CASE("the page names its files, its axes, and what every set of rows scores") {
  const ClaimResult result = of("batch,seconds\n10,100\n20,200\n40,390\n80,820\n",
                                "compare: {column: seconds, unit: ms, metric: simulated_seconds}\n" + tied + "bound: {mape: 5%}\n");
  const std::string page = validation_html({result});
  const auto has = [&](const std::string& part) {
    CAPTURE(part);
    return page.find(part) != std::string::npos;
  };
  CHECK(has(result.claim.file.filename().string() + ": simulated_seconds of " + result.claim.scenario.filename().string()));
  CHECK(has("measured, ms"));
  CHECK(has("predicted, ms"));
  CHECK(has("<li>fitted: MAPE "));
  CHECK(has("<li>held out: MAPE "));
  CHECK(has("signs of the errors +-<"));
  REQUIRE(result.interpolation);
  CHECK(has("<li>interpolation of the fitted rows: MAPE "));
}

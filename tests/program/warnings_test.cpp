// Warnings of what a sweep or a race found go to standard error, its tables to standard output.
#include <doctest/doctest.h>

#include "tests/program/workplace.hpp"
#include "tests/support/text.hpp"

namespace warnings_test {

using namespace straggler::test;

TEST_CASE("runs that did not finish are counted on standard error, and what +- is stands below the table") {
  const Workplace place;
  place.write("small.yaml", small_cluster +
                                R"(workload: {model: {kind: mlp, hidden: [8]}, data: {kind: coordinates, samples: 200}}
training:
  scheme: ssgd
  batch: {per_worker: 10}
  optimizer: {kind: sgd, learning_rate: 0.1, momentum: 0.9}
  stop: {epochs: 2}
  evaluate: {every: {epochs: 1}, thresholds: [0.3]}
)");
  place.write("sweep.yaml",
              "sweep: 1\nname: far\nscenario: small.yaml\nrepeats: 3\naxes: {training.optimizer.learning_rate: [0.01, 1000000000]}\n");
  const std::string warning = "warning: 3 of 6 runs did not finish (3 diverged)";
  const auto sweep = place.shell("straggler sweep sweep.yaml --out swept");
  CHECK(has(sweep.err, warning));
  CHECK_FALSE(has(sweep.out, "warning: "));
  CHECK(has(sweep.out, " diverged  "));  // in the table
  CHECK(has(sweep.out, " +- "));
  CHECK(has(sweep.out, "\n+-: half of the 95 % confidence interval of the mean (Student's t)\n"));
  const auto quiet = place.shell("straggler sweep sweep.yaml --out swept --quiet");
  CHECK(quiet.err.empty());
  CHECK_FALSE(has(quiet.out, "warning: "));
  const auto race = place.shell(
      "straggler race small.yaml --entrant \"slow: {training.optimizer.learning_rate: 0.01}\" --entrant "
      "\"wild: {training.optimizer.learning_rate: 1000000000}\" --seeds 3 --no-store --out raced");
  CHECK(has(race.err, warning));
  CHECK_FALSE(has(race.out, "warning: "));
  CHECK(has(race.out, "\n+-: half of the 95 %") == has(race.out, " +- "));
}

}  // namespace warnings_test

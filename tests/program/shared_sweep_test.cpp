// Several processes of one host on one sweep whose repeats are decided as it goes.
#include <doctest/doctest.h>

#include <algorithm>
#include <string>

#include "tests/program/workplace.hpp"

namespace shared_sweep_test {

using straggler::test::Workplace;

namespace {

const char* const sweep = R"(sweep: 1
name: shared
base:
  straggler: 1
  name: small
  devices:
    node: {compute: {affine: {per_sample: 1ms}}, jitter: {kind: lognormal, sigma: 0.6}}
  cluster:
    workers: [{count: 3, device: node}]
    servers: {count: 1}
    network: {topology: star, link: {bandwidth: 1MB/s, latency: 1ms}}
  workload:
    model: {kind: mlp, hidden: [16]}
    data: {kind: coordinates, samples: 3000, test_samples: 500}
  training:
    scheme: {kind: asgd}
    batch: {per_worker: 20}
    optimizer: {kind: sgd, learning_rate: 0.1}
    stop: {epochs: 200}
timing_only: true
axes:
  training.scheme: [ssgd, asgd]
  devices.node.jitter: [none, {kind: lognormal, sigma: 0.3}, {kind: lognormal, sigma: 0.6}]
until_ci: {relative: 0.5%, metric: simulated_seconds, most: 12}
)";

std::size_t rows(const std::string& table) { return static_cast<std::size_t>(std::count(table.begin(), table.end(), '\n')) - 1; }

}  // namespace

TEST_CASE("processes that share a sweep see the repeats that the others add") {
  const Workplace place;
  place.write("sweep.yaml", sweep);
  REQUIRE(place.shell("straggler sweep sweep.yaml --out alone --jobs 1 --quiet").code == 0);
  const std::string alone = place.read("alone/points.csv");
  // Without jitter two repeats are enough, so that the number is decided while they run.
  REQUIRE(rows(alone) > 12);
  REQUIRE(rows(alone) < 6 * 12);
  // Both begin at once, and both end with all points.
  const std::string both = "straggler sweep sweep.yaml --out both --jobs 1 --quiet";
  const Workplace::Done done =
      place.shell(both + " >a.txt & " + both + " >b.txt; here=$?; cp both/points.csv b.csv; wait $!; exit $((here + $?))");
  CHECK(done.code == 0);
  CHECK(place.read("both/points.csv") == alone);
  CHECK(place.read("b.csv") == alone);
  CHECK(place.read("both/groups.csv") == place.read("alone/groups.csv"));
}

}  // namespace shared_sweep_test

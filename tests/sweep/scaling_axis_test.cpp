// `scaling` among the axes of a sweep.
#include <doctest/doctest.h>

#include "scenarios/sweep/sweep.hpp"
#include "tests/sweep/sweep_fixture.hpp"

using namespace straggler;
using namespace straggler::test;

namespace {

/// Workers and batches of the points, in order.
std::vector<std::pair<std::int64_t, BatchSpec>> points_of(const std::string& body) {
  const Files files;
  const Sweep sweep = sweep_of(files, body);
  std::vector<std::pair<std::int64_t, BatchSpec>> all;
  for (const SweepGroup& group : groups_of(sweep)) {
    const Scenario scenario = PointReader(sweep, {}).read(group, 0);
    all.emplace_back(scenario.workers(), scenario.training.batch);
  }
  return all;
}

std::string wrong_axis(const std::string& body) {
  const Files files;
  return said(files, [&] { sweep_of(files, body); });
}

}  // namespace

TEST_CASE("weak scaling keeps a worker's batch, and strong scaling that of all, whichever the scenario states") {
  for (const bool global : {false, true}) {
    CAPTURE(global);
    const std::string given = global ? "set: {training.batch: {global: 40, drop_last: true}, \"cluster.workers[0].count\": 2}\n"
                                     : "set: {training.batch: {per_worker: 20, drop_last: true}, \"cluster.workers[0].count\": 2}\n";
    const auto weak = points_of(given + "axes: {scaling: {kind: weak, workers: [1, 2, 4]}}\n");
    const auto strong = points_of(given + "axes: {scaling: {kind: strong, workers: [1, 2, 4]}}\n");
    REQUIRE(weak.size() == 3);
    REQUIRE(strong.size() == 3);
    for (std::size_t i = 0; i < 3; ++i) {
      CHECK(weak[i].first == std::int64_t{1} << i);
      CHECK(weak[i].second == BatchSpec{20, {}, true});
      CHECK(strong[i].first == std::int64_t{1} << i);
      CHECK(strong[i].second == BatchSpec{{}, 40, true});
    }
  }
}

TEST_CASE("scaling is crossed with other axes, and refused where it has no one group, no kind, or no whole share") {
  CHECK(points_of("axes: {training.scheme: [ssgd, asgd], scaling: {kind: weak, workers: [1, 2]}}\n").size() == 4);
  const auto says = [](const std::string& body, const char* words) {
    const std::string said = wrong_axis(body);
    CHECK_MESSAGE(said.find(words) != std::string::npos, said);
  };
  says("axes: {scaling: weak}\n", "axes.scaling: is 'weak'; write {kind: weak, workers: [1, 2, 4]}");
  says("axes: {scaling: {kind: weak, workers: [1, 2]}}\nset: {cluster.workers[0].count: 4}\n", "write \"cluster.workers[0].count\"");
  says("axes: {scaling: {workers: [1, 2]}}\n", "axes.scaling.kind");
  says("axes: {scaling: {kind: odd, workers: [1, 2]}}\n", "axes.scaling.kind");
  says("axes: {scaling: {kind: weak, workers: [0]}}\n", "axes.scaling.workers[0]");
  says("axes: {scaling: {kind: weak}}\n", "axes.scaling.workers");
  says("axes: {scaling: {kind: weak, workers: [1], more: 2}}\n", "more");
  says("axes: {scaling: {kind: weak, workers: [1, 2]}}\nset: {training.batch: {global: 41}, \"cluster.workers[0].count\": 2}\n",
       "has no whole share");
  says("axes: {scaling: {kind: weak, workers: [1, 2]}}\nset: {cluster.workers: [{count: 1, device: node}, {count: 1, device: node}]}\n",
       "axes.scaling: varies the workers of one group");
  says("axes: {scaling: {kind: weak, workers: [1, 2]}, \"cluster.workers[0].count\": [1]}\n", "is varied twice");
}

// `selection: fastest_of` counted fractions of batches, although the last batch of a pass has a whole overhead, and took the slower client.
// `selection: by_samples` left aggregators all of whose clients take part averaging by samples, where contributions have equal weight.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>

#include "tests/support/point_data.hpp"
#include "tests/support/run.hpp"

namespace selected_clients_test {

using namespace straggler;
using namespace straggler::test;

namespace {

constexpr double rate = 0.1, start = 8;

std::string scenario(const std::string& workers, const std::string& scheme, int updates, const std::string& data) {
  return scenario_text({.node = "{compute: {affine: {overhead: 4ms, per_sample: 1ms}}}",
                        .workers = workers,
                        .model = fmt::format("{{kind: quadratic, condition: {}, start: {}}}", condition, start),
                        .data = data,
                        .scheme = "{" + scheme + "}",
                        .batch = "{per_worker: 2}",
                        .optimizer = fmt::format("{{kind: sgd, learning_rate: {}}}", rate),
                        .stop = fmt::format("{{updates: {}}}", updates)});
}

}  // namespace

TEST_CASE("the fastest of two clients is the one whose whole batches and rest take less time") {
  // A pass over n samples takes n ms and 4 ms for each batch of 2, of which the last may be of 1.
  const auto pass = [](int samples) { return samples * 1e-3 + (samples + 1) / 2 * 4e-3; };
  constexpr int updates = 5;
  for (const int first : {2, 3, 4, 5})
    for (const int second : {3, 5, 7})
      for (const double slowdown : {0.6, 0.7, 0.78, 0.85, 0.9, 1.3, 1.7})
        for (const int passes : {1, 2}) {
          const PointData points({{first, {1, 2, 3}}, {second, {-3, 0, 1}}});
          const std::string workers = fmt::format("[{{count: 1, device: node}}, {{count: 1, device: node, slowdown: {}}}]", slowdown);
          const std::string scheme = fmt::format("kind: fedavg, clients: 1, local_epochs: {}, selection: {{kind: fastest_of}}", passes);
          const Result result = run_timing(scenario(workers, scheme, updates, points.data(true)));
          CAPTURE(first);
          CAPTURE(second);
          CAPTURE(slowdown);
          const double round = passes * std::min(pass(first), slowdown * pass(second));
          CHECK(result.record.end.seconds() == doctest::Approx(updates * round).epsilon(1e-6));
        }
}

TEST_CASE("aggregators weigh clients alike where these are drawn by their samples, even if all take part") {
  const std::vector<Client> clients = {{4, {1, 2, 3}}, {12, {-3, 0, 1}}, {2, {5, -1, 0}}, {2, {0, 4, 2}}};
  const PointData points(clients);
  const std::string workers = "[{count: 4, device: node}]";
  const auto weights = [&](const std::string& scheme, int updates) {
    return run(scenario(workers, "kind: " + scheme + ", local_steps: 1", updates, points.data(true))).weights;
  };
  for (const std::string selection : {"uniform", "by_samples"})
    for (const std::string average : {"by_samples", "plain"}) {
      const std::string choice = ", average: " + average + ", selection: {kind: " + selection + "}";
      CAPTURE(choice);
      CHECK(weights("hierarchical, aggregators: 1, edge_rounds: 2" + choice, 2) == weights("fedavg" + choice, 4));
    }
  // Groups of two clients. A step from w leads to w - lr A (w - x), so the mean of steps goes to the mean point: of the two in a group
  // alike, and of both groups by their samples, 16 and 4.
  const std::vector<float> after = weights("hierarchical, aggregators: 2, edge_rounds: 1, selection: {kind: by_samples}", 1);
  std::vector<double> expected;
  for (std::size_t j = 0; j < point_dimensions; ++j) {
    const double mean = 0.8 * (clients[0].point[j] + clients[1].point[j]) / 2 + 0.2 * (clients[2].point[j] + clients[3].point[j]) / 2;
    expected.push_back(start - rate * curvature(j) * (start - mean));
  }
  CHECK(farthest_from(after, expected) < 1e-5);
}

}  // namespace selected_clients_test

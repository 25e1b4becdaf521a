// Schedules counted the progress of all workers where only some clients train: in the first version by fedasync, fedbuff, hierarchical and
// all rounds whose first invitations were sent at version 0, and always by fednova and fedopt. So rates fell too fast.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <cmath>

#include "tests/support/point_data.hpp"
#include "tests/support/run.hpp"

namespace participants_test {

using namespace straggler;
using namespace straggler::test;

namespace {

constexpr int batch = 2, own = 4;  // samples of each client
constexpr double first_rate = 0.1, last_share = 0.1, start = 8;
constexpr int epochs = 6;
const std::vector<double> point = {1, -2, 3};

std::string scenario(int workers, const std::string& scheme, int updates, const std::string& data) {
  return scenario_text({.node = "{compute: {affine: {overhead: 10ms}}}",
                        .workers = equal_workers(workers),
                        .model = fmt::format("{{kind: quadratic, condition: {}, start: {}}}", condition, start),
                        .data = data,
                        .scheme = "{" + scheme + "}",
                        .batch = fmt::format("{{per_worker: {}}}", batch),
                        .optimizer = fmt::format("{{kind: sgd, learning_rate: {}}}", first_rate),
                        .schedule = fmt::format("{{kind: polynomial, end: {}}}", last_share),
                        .stop = fmt::format("{{updates: {}, epochs: {}}}", updates, epochs)});
}

double rate_after(double samples, int workers) {
  return first_rate * (last_share + (1 - last_share) * (1 - samples / (own * workers) / epochs));
}

/// All clients have the same point, so those of a round make the same steps.
void step(std::vector<double>& weights, double rate) {
  for (std::size_t j = 0; j < point_dimensions; ++j) weights[j] -= rate * curvature(j) * (weights[j] - point[j]);
}

struct Story {
  std::string scheme;
  int workers, participants;
  int updates = 3, steps = 2;  // of a client in an update
  std::string fault = "";
};

/// A step counts a batch of each participant.
std::vector<double> weights_after(const Story& story) {
  std::vector<double> weights(point_dimensions, start);
  for (int each = 0; each < story.updates * story.steps; ++each)
    step(weights, rate_after(each * batch * story.participants, story.workers));
  return weights;
}

std::vector<Story> stories() {
  std::vector<Story> all;
  for (const std::string size : {"clients: 1", "clients: 2", "fraction: 0.5"}) {
    const int workers = 4, some = size == "clients: 1" ? 1 : 2;
    for (const std::string scheme : {"fedavg", "fedprox, mu: 0", "fednova", "fedopt, server: sgd, server_rate: 1"}) {
      const std::string text = "kind: " + scheme + ", local_steps: 2, " + size;
      all.push_back({text, workers, some});
      all.push_back({text + ", deadline: {time: 1s}", workers, some});
      all.push_back({text + ", on_failure: drop", workers, some, 3, 2, "{kind: leave, worker: 1, at: 25ms}"});
    }
    all.push_back({"kind: scaffold, local_steps: 2, " + size, workers, some, 1});  // as long as c is 0
  }
  // Whoever was drawn: it is not there, so others are invited while the version is 0.
  for (const int late : {0, 1, 2})
    all.push_back({"kind: fedavg, local_steps: 2, clients: 1, over_select: 1.2", 3, 1, 3, 2,
                   fmt::format("{{kind: join, worker: {}, at: 1s}}", late)});
  all.push_back({"kind: fedasync, alpha: 1, local_steps: 2, clients: 1", 3, 1});
  all.push_back({"kind: fedbuff, buffer: 1, local_steps: 2, concurrency: 1", 3, 1});
  all.push_back({"kind: fedbuff, buffer: 1, local_steps: 2, clients: 1", 3, 1});
  // Groups of 3 and 2.
  for (const std::string deadline : {"", ", deadline: {time: 1s}"}) {
    all.push_back({"kind: hierarchical, local_steps: 2, edge_rounds: 3, aggregators: 2, clients: 1" + deadline, 5, 2, 2, 6});
    all.push_back({"kind: hierarchical, local_steps: 2, edge_rounds: 3, aggregators: 2, clients: 2" + deadline, 5, 4, 2, 6});
    all.push_back({"kind: hierarchical, local_steps: 2, edge_rounds: 3, aggregators: 2" + deadline, 5, 5, 2, 6});
  }
  for (const std::string via : {"all_reduce", "server"}) all.push_back({"kind: local_sgd, steps: 2, via: " + via, 3, 3});
  return all;
}

}  // namespace

TEST_CASE("schedules count the clients that train between two versions, whatever the scheme") {
  for (const Story& story : stories()) {
    const PointData points(std::vector<Client>(static_cast<std::size_t>(story.workers), Client{own, point}));
    CAPTURE(story.scheme);
    CAPTURE(story.fault);
    std::vector<std::string> sets;
    if (!story.fault.empty()) sets.push_back("cluster.faults=[" + story.fault + "]");
    const Result result = run(scenario(story.workers, story.scheme, story.updates, points.data(true)), sets);
    REQUIRE(result.record.updates == static_cast<std::uint64_t>(story.updates));
    // Rounding of 12 steps at weights up to 8.
    CHECK(farthest_from(result.weights, weights_after(story)) < 12 * 8 * std::ldexp(1.0, -23));
  }
}

TEST_CASE("a worker assumes the progress of all workers, also of one that has left and counts nothing in versions") {
  // A round takes 20 ms. One of three workers leaves in the second, so later versions count 2 workers' 2 batches.
  const PointData points({{own, point}, {own, point}, {own, point}});
  std::vector<double> expected(point_dimensions, start);
  for (const int published : {0, 3 * 2 * batch, 3 * 2 * batch + 2 * 2 * batch})
    for (const int local : {0, batch}) step(expected, rate_after(published + 3 * local, 3));
  for (const std::string via : {"all_reduce", "server"}) {
    CAPTURE(via);
    const Result result = run(scenario(3, "kind: local_sgd, steps: 2, on_failure: drop, via: " + via, 3, points.data(true)),
                              {"cluster.faults=[{kind: leave, worker: 1, at: 25ms}]"});
    CHECK(farthest_from(result.weights, expected) < 12 * 8 * std::ldexp(1.0, -23));
  }
}

TEST_CASE("with a schedule and some of the clients FedNova, and FedOpt of SGD at rate 1, are federated averaging") {
  const std::vector<Client> clients = {{4, {1, -2, 3}}, {4, {-3, 0, 1}}, {4, {2, 2, -1}}};
  const PointData points(clients);
  const auto weights = [&](const std::string& scheme) {
    const Result result = run(scenario(3, "kind: " + scheme + ", local_steps: 2, clients: 2", 6, points.data(true)));
    return std::vector<double>(result.weights.begin(), result.weights.end());
  };
  const std::vector<double> average = weights("fedavg");
  const auto apart = [&](const std::string& scheme) {
    const std::vector<double> other = weights(scheme);
    return farthest_from(std::vector<float>(other.begin(), other.end()), average);
  };
  CHECK(apart("fednova") < 1e-5);
  CHECK(apart("fedopt, server: sgd, server_rate: 1") < 1e-5);
}

}  // namespace participants_test

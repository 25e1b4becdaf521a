// The parameter `average`: where schemes that weigh clients alike and by samples come to rest, when clients have unequal numbers of
// samples. On `quadratic` the gradients A (w - x_k) of all clients have one A. So a client's steps go the same share of the way to its x_k
// as any other's, if all make as many, and rounds stand still at Σ p_k x_k: p_k = 1/N, or n_k / Σ n.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>

#include "scenarios/schema/errors.hpp"
#include "sim/training/scheme.hpp"
#include "tests/support/point_data.hpp"
#include "tests/support/run.hpp"
#include "tests/support/sanitized.hpp"

namespace average_test {

using namespace straggler;
using namespace straggler::test;

namespace {

const std::vector<Client> clients = {{8, {1, -2, 3}}, {40, {-4, 5, 0}}, {16, {2, 2, -6}}};

std::vector<double> optimum_of(const std::vector<int>& counted, bool by_samples) {
  std::vector<double> mean(point_dimensions);
  double all = 0;
  for (const int k : counted) {
    const Client& client = clients[static_cast<std::size_t>(k)];
    const double count = by_samples ? client.samples : 1;
    all += count;
    for (std::size_t j = 0; j < point_dimensions; ++j) mean[j] += count * client.point[j];
  }
  for (double& each : mean) each /= all;
  return mean;
}

/// Runs come to rest up to rounding: sums of numbers up to 20, rounded by 2^-24 of them in some hundred rounds. The optima are 0.4 apart.
constexpr double near = 1e-3;

}  // namespace

TEST_CASE("every scheme of rounds comes to rest at the optimum that its average aims at") {
  const PointData points(clients);
  const int updates = sanitized ? 20 : 500;
  for (const std::string scheme : {"kind: fedavg", "kind: fedprox, mu: 0.1", "kind: fednova", "kind: fedopt, server: sgd, server_rate: 0.7",
                                   "kind: scaffold", "kind: feddyn, alpha: 0.5", "kind: hierarchical, edge_rounds: 1, aggregators: 2",
                                   "kind: hierarchical, edge_rounds: 1, aggregators: 2, fraction: 0.9"})
    for (const bool by_samples : {false, true}) {
      const std::string text = fmt::format("{{{}, local_steps: 2, average: {}}}", scheme, by_samples ? "by_samples" : "plain");
      CAPTURE(text);
      const Result result = run(uneven_bowl(text, points.data(true), updates, true));
      if (!sanitized) CHECK(farthest_from(result.weights, optimum_of({0, 1, 2}, by_samples)) < near);
    }
}

TEST_CASE("FedBuff whose buffer takes all clients begins as federated averaging with the same average does") {
  const PointData points(clients);
  const auto first = [&](const std::string& kind, const std::string& average) {
    return run(uneven_bowl("{" + kind + ", local_steps: 2, average: " + average + "}", points.data(true), 1)).weights;
  };
  for (const std::string average : {"plain", "by_samples"}) {
    const std::vector<float> of_rounds = first("kind: fedavg", average);
    const std::vector<double> expected(of_rounds.begin(), of_rounds.end());
    CHECK(farthest_from(first("kind: fedbuff, buffer: 3", average), expected) < 1e-5);
    CHECK(farthest_from(first("kind: fedbuff, buffer: 3", average == "plain" ? "by_samples" : "plain"), expected) > 0.1);
  }
}

TEST_CASE("SCAFFOLD and FedDyn end there after crashes, joins, departures and late arrivals too, however clients are drawn") {
  const PointData points(clients);
  const int updates = sanitized ? 20 : 600;
  struct Story {
    std::string scheme, set;
    std::vector<int> counted = {0, 1, 2};
  };
  std::vector<Story> stories = {
      {"",
       "cluster.faults=[{kind: crash, worker: 1, at: 207ms, restart_after: 30ms}, {kind: crash, worker: 0, at: 444ms, restart_after: "
       "1ms}]"},
      {", deadline: {time: 45ms}", "devices.node.jitter={kind: gamma, shape: 4}"},
      {", deadline: {time: 45ms, late: partial}", "devices.node.jitter={kind: gamma, shape: 4}"},
      {", clients: 2, over_select: 1.5", "devices.node.jitter={kind: gamma, shape: 4}"},
      {", clients: 1, selection: by_samples", "seed=7"},
      {", clients: 2, selection: by_samples", "cluster.faults=[{kind: crash, worker: 1, at: 207ms, restart_after: 130ms}]"},
      {"", "cluster.workers=[{count: 3, device: node, availability: {kind: on_off, on: 300ms, off: 50ms}}]"},
  };
  for (int at = 200; at < 250; at += 12) {  // in all parts of a round, which takes some 40 ms
    stories.push_back({"", fmt::format("cluster.faults=[{{kind: leave, worker: 1, at: {}ms}}]", at), {0, 2}});
    stories.push_back({"", fmt::format("cluster.faults=[{{kind: join, worker: 1, at: {}ms}}]", at)});
    stories.push_back(
        {"", fmt::format("cluster.faults=[{{kind: join, worker: 2, at: 150ms}}, {{kind: leave, worker: 0, at: {}ms}}]", at), {1, 2}});
    stories.push_back({"",
                       fmt::format("cluster.faults=[{{kind: crash, worker: 0, at: {}ms, restart_after: 20ms}}, {{kind: leave, worker: 1, "
                                   "at: {}ms}}, {{kind: join, worker: 2, at: {}ms}}]",
                                   at, at + 3, at + 3),
                       {0, 2}});
  }
  for (const std::string scheme : {"kind: scaffold, local_steps: 2", "kind: feddyn, local_steps: 2, alpha: 0.5"})
    for (const bool by_samples : {false, true})
      for (const Story& story : stories) {
        const std::string text = fmt::format("{{{}{}, average: {}}}", scheme, story.scheme, by_samples ? "by_samples" : "plain");
        CAPTURE(text);
        CAPTURE(story.set);
        const Result result = run(uneven_bowl(text, points.data(true), updates), {story.set});
        REQUIRE(result.record.updates == static_cast<std::uint64_t>(updates));
        if (!sanitized) CHECK(farthest_from(result.weights, optimum_of(story.counted, by_samples)) < near);
      }
}

TEST_CASE("what is said of an entry is what its parameter does, and its default is the default") {
  const PointData points(clients);
  std::size_t said = 0;
  for (const SchemeVariant& variant : all_scheme_variants()) {
    const std::string scheme = variant.text();
    CAPTURE(scheme);
    // A parameter of that name with other choices is not this one: behind diloco's quorum the fastest decide who is in a mean.
    const auto named = std::ranges::find(variant.entry->parameters, std::string("average"), &Parameter::name);
    if (named == variant.entry->parameters.end() || named->choices != Average::choice.names()) continue;
    ++said;
    const auto drawn = variant.entry->selection(variant.parameters).by;
    CHECK(variant.entry->average(variant.parameters) == (drawn == ClientSelection::By::samples && !variant.entry->clients_keep_vectors
                                                             ? Average::By::samples
                                                             : Average::choice.of(variant.parameters)));
  }
  CHECK(said > 9);
  for (const auto& scheme : std::vector<std::pair<std::string, std::string>>{
           {"fedavg", "by_samples"}, {"fednova", "by_samples"}, {"scaffold", "plain"}, {"feddyn", "plain"}, {"fedbuff", "plain"}}) {
    const std::string &kind = scheme.first, &average = scheme.second;
    CAPTURE(kind);
    const auto key = [&](const std::string& more) {
      return run(uneven_bowl("{kind: " + kind + ", clients: 3, local_steps: 1" + more + "}", points.data(true), 5)).record.weights_key;
    };
    CHECK(key("") == key(", average: " + average));
    CHECK(key("") != key(std::string(", average: ") + (average == "plain" ? "by_samples" : "plain")));
  }
}

TEST_CASE("drawn by samples without replacement, two of six clients a round, one with half of the samples counts 39 % and not 50 %") {
  // It is drawn first in half of the rounds, and else after one that has a tenth: 1/2 + 1/2 · 5/9 = 7/9 of the rounds, in each half of all.
  std::vector<Client> six(6, {8, {0, 0, 0}});
  six[0].samples = 40;
  const PointData points(six);
  const int rounds = 4000;
  const Result result =
      run_timing(uneven_bowl("{kind: fedavg, clients: 2, local_steps: 1, selection: by_samples}", points.data(true), rounds),
                 {"cluster.workers=[{count: 6, device: node}]"});
  double drawn = 0;
  for (const OrderRow& row : result.sink.order) drawn += row.worker == 0 ? 1 : 0;
  const double expected = 7.0 / 9;
  CHECK(std::abs(drawn / rounds - expected) < 5 * std::sqrt(expected * (1 - expected) / rounds));
  CHECK(std::round(100 * expected / 2) == 39);
}

}  // namespace average_test

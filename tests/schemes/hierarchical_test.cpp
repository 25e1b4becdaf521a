// Hierarchical federated averaging, and the role of its aggregators: where they are, what their messages take, whom they wait for.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <cmath>
#include <map>

#include "tests/support/run.hpp"

using namespace straggler;
using namespace straggler::test;

namespace {

constexpr double bytes_a_second = 125e6, route_seconds = 100e-6;  // 1 Gbit/s; two links of 50 us
constexpr double model_size = 1'250'000;                          // 10 ms on a link
constexpr double round_seconds = 0.2;                             // two batches of 100 samples of 1 ms

std::vector<std::string> on_gigabit(const std::string& scheme) {
  return {"cluster.network.link={bandwidth: 1Gbps, latency: 50us}", "workload.cost={bytes: 1250000B}",
          "training.scheme={kind: hierarchical, local_steps: 2, " + scheme + "}"};
}

std::map<std::string, double> bytes_on_links(const RunRecord& record) {
  std::map<std::string, double> bytes;
  for (std::size_t id = 0; id < record.links.size; ++id) bytes[record.links.row(id).name] = record.links.row(id).bytes;
  return bytes;
}

}  // namespace

TEST_CASE("one aggregator that averages k times is fedavg of k times as many updates: the same weights, bit for bit" * long_case) {
  // The server averages one aggregator: its weights as they are. The aggregator's averages are those of fedavg's server, of the same parts
  // in the same order; clients of unequal parts, so that shares differ. The rate falls with the samples of all clients, which both count.
  const std::string unequal = "workload.data.partition={kind: dirichlet, alpha: 0.5}";
  for (const std::string rate : {"constant", "{kind: step, every: 2, factor: 0.5}"}) {
    for (const std::string work :
         {"local_epochs: 1", "local_steps: 3, momentum_at_sync: average", "local_epochs: 2, momentum_at_sync: keep"}) {
      CAPTURE(rate);
      CAPTURE(work);
      const auto sets = [&](const std::string& scheme, int updates) {
        return std::vector<std::string>{unequal, fmt::format("training.scheme={{kind: {}, {}}}", scheme, work), "training.schedule=" + rate,
                                        "training.optimizer.momentum=0.9", "training.stop={updates: " + std::to_string(updates) + "}"};
      };
      const Result one = run(cluster(4), sets("hierarchical, edge_rounds: 3, aggregators: 1", 4));
      const Result flat = run(cluster(4), sets("fedavg", 12));
      CHECK(one.weights == flat.weights);
      CHECK(one.record.samples == flat.record.samples);
      CHECK(one.weights != run(cluster(4), sets("fedavg", 11)).weights);
    }
  }
}

TEST_CASE("two aggregators: the server averages their averages, by samples") {
  // With one edge round the mean of means by samples is the mean over all clients: fedavg's, up to the order of sums. A weight is of order
  // 1; a few roundings of 2^-24 in each of six updates.
  const std::string unequal = "workload.data.partition={kind: dirichlet, alpha: 0.5}";
  const auto of = [&](const std::string& scheme, int updates) {
    return run(cluster(5), {unequal, "training.scheme={kind: " + scheme + "}", "training.stop={updates: " + std::to_string(updates) + "}"})
        .weights;
  };
  const auto distance = [](const std::vector<float>& a, const std::vector<float>& b) {
    double most = 0;
    for (std::size_t i = 0; i < a.size(); ++i) most = std::max(most, static_cast<double>(std::abs(a[i] - b[i])));
    return most;
  };
  const std::vector<float> flat = of("fedavg", 6);
  CHECK(distance(of("hierarchical, edge_rounds: 1, aggregators: 2", 6), flat) < 1e-5);
  CHECK(distance(of("hierarchical, edge_rounds: 2, aggregators: 2", 3), flat) > 1e-4);  // groups drift apart in between
}

TEST_CASE("the time and bytes of a version: clients share their aggregator's link, aggregators the server's") {
  // p clients of A aggregators, κ edge rounds: κ (training + g n β + α) up to the aggregators and κ - 1 answers of the same time, then
  // A n β + α to the server; between two versions A n β + α and g n β + α back.
  for (const auto& [p, aggregators, edge_rounds] : {std::tuple{4, 2, 3}, {6, 2, 1}, {6, 3, 2}}) {
    const auto& this_p = p;  // clang 14 captures no structured binding
    CAPTURE(this_p);
    const auto& this_aggregators = aggregators;  // clang 14 captures no structured binding
    CAPTURE(this_aggregators);
    const int versions = 3, g = p / aggregators;
    std::vector<std::string> sets =
        on_gigabit("aggregators: " + std::to_string(aggregators) + ", edge_rounds: " + std::to_string(edge_rounds));
    sets.push_back("training.stop={updates: 3}");
    const Result result = run_timing(cluster(p), sets);
    const double edge = g * model_size / bytes_a_second + route_seconds, cloud = aggregators * model_size / bytes_a_second + route_seconds;
    const double version = edge_rounds * (round_seconds + edge) + (edge_rounds - 1) * edge + cloud;
    CHECK(std::abs(result.record.end.seconds() - (versions * version + (versions - 1) * (cloud + edge))) < 1e-9);
    CHECK(result.record.samples == static_cast<std::uint64_t>(versions * edge_rounds * p * 200));
    CHECK(result.record.rounds == versions);
    // Models that arrive: from and to clients in each edge round, from and to aggregators in each version, but for the last answers.
    const int models = versions * (2 * edge_rounds * p + 2 * aggregators) - p - aggregators;
    CHECK(result.record.bytes_received == static_cast<std::uint64_t>(models * model_size));
    for (const OrderRow& row : result.sink.order) CHECK(row.steps == static_cast<std::uint32_t>(2 * edge_rounds));
  }
}

TEST_CASE("each aggregator handles its messages by itself, as slowly as a server does") {
  // Free links, 10 ms a message: three clients at once take 30 ms at each of two aggregators at the same time; two aggregators 20 ms at the
  // server. Answers leave one after another, 10 ms each; the slowest client of an edge round starts 30 ms late, and comes 30 ms after the
  // first, so that messages are taken one by one from then on: 10 ms after the last.
  const Result result = run_timing(cluster(6), {"training.scheme={kind: hierarchical, local_steps: 2, edge_rounds: 1, aggregators: 2}",
                                                "cluster.servers={count: 1, per_message: 10ms}", "training.stop={updates: 1}"});
  // The aggregator's own send takes 10 ms, too.
  CHECK(std::abs(result.record.end.seconds() - (round_seconds + 0.030 + 0.010 + 0.020)) < 1e-6);
}

TEST_CASE("one aggregator a rack, on the host of its first worker: between racks move the models of aggregators alone") {
  // Eight workers and the server in two racks: hosts 0-4 and 5-8, the server last. Rack 1 has workers 5-7.
  std::vector<std::string> sets = on_gigabit("edge_rounds: 3");
  sets.insert(sets.end(), {"training.stop={updates: 2}", "cluster.network.topology={kind: two_level, racks: 2}"});
  const Result result = run_timing(cluster(8), sets);
  auto bytes = bytes_on_links(result.record);
  CHECK(bytes.at("rack/0:up") == doctest::Approx(2 * model_size));  // aggregator 0 to the server, twice
  CHECK(bytes.at("rack/0:down") == doctest::Approx(1 * model_size));
  CHECK(bytes.at("rack/1:up") == doctest::Approx(1 * model_size));  // the server's answer
  // Aggregator 1 lives on host 5: its worker moves nothing, both others a model up in each of 6 edge rounds; two models go to the server.
  CHECK(bytes.at("host/6:up") == doctest::Approx(6 * model_size));
  CHECK(bytes.at("host/5:down") == doctest::Approx((6 * 2 + 1) * model_size));
  // Without racks they have hosts of their own, as many as the square root of the workers: three groups, of 3, 3 and 2.
  sets.back() = "cluster.network.topology=star";
  bytes = bytes_on_links(run_timing(cluster(8), sets).record);
  CHECK(bytes.at("aggregator/0:down") == doctest::Approx((6 * 3 + 1) * model_size));
  CHECK(bytes.at("aggregator/2:down") == doctest::Approx((6 * 2 + 1) * model_size));
  CHECK_FALSE(bytes.contains("aggregator/3:down"));
}

TEST_CASE("cluster.aggregators: hosts of their own have the link that is given, or share the first worker's") {
  std::vector<std::string> sets = on_gigabit("edge_rounds: 1, aggregators: 2");
  sets.insert(sets.end(), {"training.stop={updates: 1}", "cluster.aggregators={link: {bandwidth: 100Mbps}}"});
  // Two models of 100 ms each arrive at an aggregator, one leaves, two share the server's link behind it: 100 ms, as it is ten times as
  // wide.
  const double slow = model_size / (bytes_a_second / 10);
  CHECK(std::abs(run_timing(cluster(4), sets).record.end.seconds() - (round_seconds + 2 * slow + route_seconds + slow + route_seconds)) <
        1e-9);
  // On the host of workers 0 and 2: one model of the other client is 10 ms; the own client's moves in no time.
  sets.back() = "cluster.aggregators={host: first_worker}";
  const double quick = model_size / bytes_a_second;
  CHECK(std::abs(run_timing(cluster(4), sets).record.end.seconds() - (round_seconds + quick + route_seconds + 2 * quick + route_seconds)) <
        1e-9);
}

TEST_CASE("a client that comes back in the middle of a version is invited to the next round, or again if the others wait for it") {
  // No bytes; clients 0 and 1 are one group; rounds of 200 ms, four a version. Client 1 is down from 250 ms, in the second round, to 320
  // ms. That round ends without it at 400 ms; or client 1 trains again, until 520 ms.
  struct Story {
    std::string on_failure;
    double end;
    std::uint64_t samples;  // of client 1 that count
  };
  for (const Story& story : {Story{"drop", 0.8, 600}, Story{"wait", 0.92, 800}}) {
    CAPTURE(story.on_failure);
    const Result result = run_timing(
        cluster(3),
        {"training.scheme={kind: hierarchical, local_steps: 2, edge_rounds: 4, aggregators: 2, on_failure: " + story.on_failure + "}",
         "cluster.faults=[{kind: crash, worker: 1, at: 250ms, restart_after: 70ms}]", "training.stop={updates: 1}"});
    CHECK(std::abs(result.record.end.seconds() - story.end) < 1e-4);
    CHECK(result.record.dropped.contributions == 0);
    std::map<Rank, std::uint64_t> samples;
    for (const OrderRow& row : result.sink.order) samples[row.worker] += row.samples;
    CHECK(samples == std::map<Rank, std::uint64_t>{{0, 800}, {1, story.samples}, {2, 800}});
  }
}

TEST_CASE("a group without members is left out; the others' versions continue") {
  const Result result = run_timing(cluster(4), {"training.scheme={kind: hierarchical, local_steps: 2, edge_rounds: 2, aggregators: 2}",
                                                "cluster.faults=[{kind: crash, worker: 2, at: 500ms}, {kind: crash, worker: 3, at: 500ms}]",
                                                "training.stop={updates: 3}"});
  CHECK(result.record.outcome == Outcome::completed);
  CHECK(std::abs(result.record.end.seconds() - 1.2) < 1e-4);  // three versions of two rounds
  std::map<std::uint64_t, std::size_t> workers;
  for (const OrderRow& row : result.sink.order) ++workers[row.update];
  CHECK(workers == std::map<std::uint64_t, std::size_t>{{1, 4}, {2, 2}, {3, 2}});
}

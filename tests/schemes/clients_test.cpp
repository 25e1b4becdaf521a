// Whom a server invites to a round, and whose contributions count: deadlines, over-selection, selection; clients that come and go.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <vector>

#include "tests/support/folder.hpp"
#include "tests/support/run.hpp"

using namespace straggler;
using namespace straggler::test;

namespace {

Result clients_run(int workers, const std::string& scheme, std::vector<std::string> sets = {}) {
  sets.push_back("training.scheme=" + scheme);
  return run(cluster(workers), sets);
}

Result clients_timing(int workers, const std::string& scheme, std::vector<std::string> sets = {}) {
  sets.push_back("training.scheme=" + scheme);
  return run_timing(cluster(workers), sets);
}

void check_the_same(const Result& a, const Result& b) {
  CHECK(a.record.weights_key == b.record.weights_key);
  CHECK(a.record.end == b.record.end);
  CHECK(a.record.bytes_sent == b.record.bytes_sent);
  CHECK(a.sink.order == b.sink.order);
}

/// Contributions to each version.
std::map<std::uint64_t, std::vector<OrderRow>> by_version(const Result& result) {
  std::map<std::uint64_t, std::vector<OrderRow>> all;
  for (const OrderRow& row : result.sink.order) all[row.update].push_back(row);
  return all;
}

/// Three workers whose batch takes 100 ms, and a slower one.
std::vector<std::string> one_slow(const std::string& times, int count = 3) {
  return {"cluster.workers=[{count: " + std::to_string(count) + ", device: node}, {count: 1, device: node, slowdown: " + times + "}]"};
}

std::vector<std::string> clients_sets(std::vector<std::string> sets, const std::vector<std::string>& more) {
  sets.insert(sets.end(), more.begin(), more.end());
  return sets;
}

double chi_square(const std::vector<double>& seen, const std::vector<double>& expected) {
  double sum = 0;
  for (std::size_t i = 0; i < seen.size(); ++i) sum += (seen[i] - expected[i]) * (seen[i] - expected[i]) / expected[i];
  return sum;
}

}  // namespace

TEST_CASE("a deadline that no client misses, and over-selection by one, change nothing") {
  for (const std::string kind : {"fedavg", "fedprox", "fednova", "scaffold", "feddyn"}) {
    CAPTURE(kind);
    const std::vector<std::string> uneven = {"devices.node.jitter={kind: exponential}", "training.stop.updates=4"};
    const Result plain = clients_run(6, "{kind: " + kind + ", clients: 3, local_steps: 2}", uneven);
    for (const std::string more : {"deadline: {time: 1h}", "deadline: {time: 1h, late: partial}", "over_select: 1"})
      check_the_same(clients_run(6, "{kind: " + kind + ", clients: 3, local_steps: 2, " + more + "}", uneven), plain);
  }
}

TEST_CASE("a late client works on for nothing, and is not invited while it does") {
  // Three clients take 100 ms, the fourth 550 ms, and the deadline is at 200 ms. It misses the round that ends at 200 ms, the others have
  // rounds of 100 ms up to 600 ms, and then it is asked again: a round that the deadline ends.
  const Result run = clients_timing(4, "{kind: fedavg, local_steps: 1, deadline: {time: 200ms}}",
                                    clients_sets(one_slow("5.5"), {"training.stop.updates=6"}));
  CHECK(run.record.end.seconds() == doctest::Approx(0.8).epsilon(1e-6));
  CHECK(run.record.dropped.contributions == 1);
  CHECK(run.record.dropped.samples == 100);
  CHECK(run.record.workers[3].split[Phase::wasted] >= Time::from_seconds(0.55));
  CHECK(run.record.workers[3].updates == 0);
  CHECK(run.sink.order.size() == 18);
}

TEST_CASE("with late: partial a client sends the steps that it has at the deadline") {
  // Four steps take 400 ms, and 800 ms on the slower client, which has two of them at 450 ms.
  const Result run = clients_timing(4, "{kind: fedavg, local_steps: 4, deadline: {time: 450ms, late: partial}}",
                                    clients_sets(one_slow("2"), {"training.stop.updates=3"}));
  CHECK(run.record.end.seconds() == doctest::Approx(1.35).epsilon(1e-6));
  CHECK(run.record.dropped.contributions == 0);
  for (const auto& [version, rows] : by_version(run)) {
    REQUIRE(rows.size() == 4);
    for (const OrderRow& row : rows) CHECK(row.steps == (row.worker == 3 ? 2u : 4u));
  }
  CHECK(run.record.workers[3].split[Phase::wasted].seconds() == doctest::Approx(0.15).epsilon(1e-6));  // 50 ms a round
}

TEST_CASE("every kind with rounds takes partial work, none at all too") {
  for (const std::string kind :
       {"fedavg", "fedprox", "fednova", "scaffold", "feddyn", "fedopt, server_rate: 0.1", "hierarchical, aggregators: 1"}) {
    CAPTURE(kind);
    const Result run = clients_run(4, "{kind: " + kind + ", local_steps: 4, deadline: {time: 450ms, late: partial}}",
                                   clients_sets(one_slow("5"), {"training.stop.updates=3"}));
    CHECK(run.record.updates == 3);
    CHECK(run.record.workers[3].updates == 0);  // its first step takes 500 ms
    CHECK(run.record.workers[0].updates == 3);
    for (const float weight : run.weights) REQUIRE(std::isfinite(weight));
  }
}

TEST_CASE("no client arrives by the deadline: the weights stay as they are") {
  for (const std::string kind : {"fedavg", "fednova", "scaffold", "feddyn", "fedopt, server_rate: 0.1"}) {
    CAPTURE(kind);
    const Result run = clients_run(4, "{kind: " + kind + ", local_steps: 1, deadline: {time: 10ms}}", {"training.stop.updates=5"});
    const Result start = clients_run(4, "{kind: fedavg}", {"training.stop.updates=1", "training.optimizer.learning_rate=1e-30"});
    CHECK(run.record.end.seconds() == doctest::Approx(0.05).epsilon(1e-6));
    CHECK(run.record.updates == 5);
    CHECK(run.record.samples == 0);
    CHECK(run.weights == start.weights);
  }
  CHECK_THROWS_WITH(clients_timing(4, "{kind: fedavg, local_steps: 100, deadline: {time: 1ms}}", {"training.stop.updates=100000"}),
                    doctest::Contains("no client answered within deadline.time, 1 ms, in 1000 consecutive rounds; write a longer time"));
}

TEST_CASE("over-selection: a round takes as long as the k-th fastest of those invited") {
  // Exponential times: E[X_{k:n}] = E[X] Σ 1/i over i = n-k+1 … n, with variance E[X]² Σ 1/i². Late ones are not invited while they are
  // busy, so that all those invited begin anew.
  constexpr int rounds = 4000;
  const Result run = clients_timing(64, "{kind: fedavg, clients: 4, over_select: 2, local_steps: 1}",
                                    {"devices.node.jitter={kind: exponential}", "workload.data={kind: coordinates, samples: 64000}",
                                     "training.stop.updates=" + std::to_string(rounds)});
  double mean = 0, variance = 0;
  for (const int i : {5, 6, 7, 8}) {
    mean += 0.1 / i;
    variance += 0.01 / (i * i);
  }
  CHECK(std::abs(run.record.end.seconds() / rounds - mean) < 4 * std::sqrt(variance / rounds));
  for (const auto& [version, rows] : by_version(run)) REQUIRE(rows.size() == 4);
  // Of those of all rounds but the last few, the other four arrive later and are dropped.
  CHECK(run.record.dropped.contributions > 4 * (rounds - 64));
  CHECK(run.record.dropped.contributions <= 4 * rounds);
}

TEST_CASE("by_samples: clients are drawn in proportion to their samples, and count equally") {
  const TemporaryFolder folder;
  folder.write("parts.csv", "worker,first,count\n0,0,100\n1,100,200\n2,300,300\n3,600,400\n");
  const std::vector<std::string> parts = {"workload.data={kind: coordinates, samples: 1000}",
                                          "workload.data.partition={kind: by_file, path: " + (folder.path() / "parts.csv").string() + "}"};
  constexpr int rounds = 2000;
  const auto counts = [&](const std::string& selection) {
    std::vector<double> seen(4);
    const Result run = clients_timing(4, "{kind: fedavg, clients: 1, local_steps: 1" + selection + "}",
                                      clients_sets(parts, {"training.stop.updates=" + std::to_string(rounds)}));
    for (const OrderRow& row : run.sink.order) ++seen[index_of(row.worker)];
    return seen;
  };
  constexpr double most = 16.27;  // of three degrees of freedom, one time in a thousand
  CHECK(chi_square(counts(", selection: by_samples"), {200, 400, 600, 800}) < most);
  CHECK(chi_square(counts(""), {500, 500, 500, 500}) < most);
  CHECK(chi_square(counts(", selection: uniform"), {500, 500, 500, 500}) < most);

  // Two of them with 300 and 100 samples, both always drawn: the mean of where each ends alone.
  folder.write("two.csv", "worker,first,count\n0,0,300\n1,300,100\n");
  const std::vector<std::string> two = {"workload.data={kind: coordinates, samples: 400}", "training.stop.updates=1",
                                        "workload.data.partition={kind: by_file, path: " + (folder.path() / "two.csv").string() + "}"};
  const auto alone = [&](int leaves) {
    return clients_run(2, "{kind: fedavg}",
                       clients_sets(two, {"cluster.faults=[{kind: leave, worker: " + std::to_string(leaves) + ", at: 1ms}]"}));
  };
  const std::vector<float> y0 = alone(1).weights, y1 = alone(0).weights;
  const std::vector<float> both = clients_run(2, "{kind: fedavg, selection: {kind: by_samples}}", two).weights;
  for (std::size_t i = 0; i < both.size(); ++i) REQUIRE(both[i] == doctest::Approx((double{y0[i]} + y1[i]) / 2).epsilon(1e-5));
}

TEST_CASE("fastest_of: of d that are drawn, the fastest") {
  // Of four, two are drawn: the fastest is among them in 3 of 6 cases, the second one without it in 2, the third one in 1.
  constexpr int rounds = 3000;
  std::vector<double> seen(4);
  const std::vector<std::string> speeds = {
      "cluster.workers=[{count: 1, device: node, slowdown: 3}, {count: 1, device: node}, {count: 1, device: node, slowdown: 4}, "
      "{count: 1, device: node, slowdown: 2}]",
      "training.stop.updates=" + std::to_string(rounds)};
  for (const OrderRow& row :
       clients_timing(4, "{kind: fedavg, clients: 1, local_steps: 1, selection: {kind: fastest_of, d: 2}}", speeds).sink.order)
    ++seen[index_of(row.worker)];
  CHECK(seen[2] == 0);
  CHECK(chi_square({seen[1], seen[3], seen[0]}, {rounds / 2.0, rounds / 3.0, rounds / 6.0}) < 13.82);  // two degrees of freedom
  const Result all = clients_timing(4, "{kind: fedavg, clients: 2, local_steps: 1, selection: {kind: fastest_of, d: 9}}", speeds);
  for (const OrderRow& row : all.sink.order) REQUIRE((row.worker == 1 || row.worker == 3));
}

TEST_CASE("schemes without rounds say why they refuse deadlines and over-selection") {
  for (const std::string kind : {"fedasync", "fedbuff"}) {
    CHECK_THROWS_WITH(
        clients_timing(4, "{kind: " + kind + ", deadline: {time: 1s}}"),
        doctest::Contains("deadline.time: this scheme has no rounds, so no client can be late; remove it, or take a scheme with rounds"));
    CHECK_THROWS_WITH(clients_timing(4, "{kind: " + kind + ", over_select: 1.3}"),
                      doctest::Contains("over_select: this scheme has no rounds"));
    CHECK(clients_timing(4, "{kind: " + kind + ", clients: 2, selection: by_samples}").record.updates == 10);
  }
}

TEST_CASE("hierarchical invites a share of each group") {
  // Two groups of four, half of each: eight workers, of whom four answer in a round.
  const std::string scheme = "{kind: hierarchical, aggregators: 2, edge_rounds: 3, local_steps: 1, ";
  for (const std::string share : {"fraction: 0.5}", "clients: 2}"}) {
    CAPTURE(share);
    const Result run = clients_timing(8, scheme + share, {"training.stop.updates=50"});
    CHECK(run.record.end.seconds() == doctest::Approx(50 * 3 * 0.1).epsilon(1e-6));
    CHECK(run.record.samples == 50u * 3 * 4 * 100);
    for (const WorkerRecord& worker : run.record.workers) CHECK(worker.updates > 0);
  }
  // Without one it is what it was, and all of a group is all of it.
  check_the_same(clients_run(8, scheme + "fraction: 1}"), clients_run(8, scheme + "local_epochs: 1}"));
}

TEST_CASE("a client that leaves in a round does not count in it, and its work is wasted") {
  const TemporaryFolder folder;
  folder.write("clients.csv", "worker,from_s,to_s\n0,0,1000\n1,0,0.05\n1,0.35,1000\n");
  const std::vector<std::string> sets = {
      "cluster.workers=[{count: 2, device: node, availability: {kind: trace, path: " + (folder.path() / "clients.csv").string() + "}}]",
      "training.stop.updates=5"};
  // Rounds of 100 ms; client 1 is away from 50 ms to 350 ms: it is back for the fifth round, which begins at 400 ms.
  const Result run = clients_timing(2, "{kind: fedavg, local_steps: 1}", sets);
  CHECK(run.record.end.seconds() == doctest::Approx(0.5).epsilon(1e-6));
  CHECK(run.record.clients.lost == 1);
  CHECK(*run.record.clients.present == doctest::Approx((0.5 + 0.05 + 0.15) / 2 / 0.5));
  CHECK(run.record.workers[1].split[Phase::wasted].seconds() == doctest::Approx(0.05).epsilon(1e-6));
  CHECK(run.record.workers[1].split[Phase::down].seconds() == doctest::Approx(0.3).epsilon(1e-6));
  CHECK(run.record.workers[1].updates == 1);
  CHECK(by_version(run).at(5).size() == 2);
  // Asynchronously it begins again as soon as it is back: worker 0 has 5 updates by 500 ms, worker 1 one.
  const Result free = clients_timing(2, "{kind: fedasync, local_steps: 1}", clients_sets(sets, {"training.stop.updates=6"}));
  CHECK(free.record.end.seconds() == doctest::Approx(0.5).epsilon(1e-6));
  CHECK(free.record.workers[1].updates == 1);
}

TEST_CASE("no client is present: the server waits for the first one") {
  const TemporaryFolder folder;
  folder.write("clients.csv", "worker,from_s,to_s\n0,2,1000\n1,1,1.25\n");
  const std::vector<std::string> sets = {
      "cluster.workers=[{count: 2, device: node, availability: {kind: trace, path: " + (folder.path() / "clients.csv").string() + "}}]"};
  for (const std::string scheme :
       {"{kind: fedavg, local_steps: 1}", "{kind: fedasync, local_steps: 1}", "{kind: fedbuff, buffer: 1, local_steps: 1}",
        "{kind: hierarchical, aggregators: 1, edge_rounds: 1, local_steps: 1}"}) {
    CAPTURE(scheme);
    const Result run = clients_timing(2, scheme, clients_sets(sets, {"training.stop.updates=4"}));
    CHECK(run.record.end.seconds() == doctest::Approx(2.2).epsilon(1e-6));  // two of client 1 from 1 s on, two of client 0 from 2 s on
    CHECK(run.record.workers[1].updates == 2);
    CHECK(run.record.clients.lost == 1);
  }
  folder.write("clients.csv", "worker,from_s,to_s\n0,0,0.25\n1,0,0.25\n");
  const Result over = clients_timing(2, "{kind: fedavg, local_steps: 1}", sets);
  CHECK(over.record.outcome == Outcome::stalled);
  CHECK(over.record.updates == 2);
}

TEST_CASE("selection draws among those that are present") {
  // Of 200 phones two thirds are there at any time: nobody is drawn who is not, so that every round has its ten, but for those who go.
  const Result run = clients_timing(
      200, "{kind: fedavg, clients: 10, local_steps: 1}",
      {"cluster.workers=[{count: 200, device: node, availability: {kind: on_off, on: 6s, off: 3s}}]", "training.stop.updates=2000"});
  std::uint64_t taken = 0;
  for (const WorkerRecord& worker : run.record.workers) taken += worker.updates;
  CHECK(taken + run.record.clients.lost == 20'000);
  // A client that is there leaves within its 100 ms with probability 1 - e^(-0.1/6).
  const double p = 1 - std::exp(-0.1 / 6);
  CHECK(std::abs(static_cast<double>(run.record.clients.lost) - 20'000 * p) < 4 * std::sqrt(20'000 * p * (1 - p)));
  CHECK(*run.record.clients.present == doctest::Approx(2.0 / 3).epsilon(0.05));
  const Result again = clients_timing(
      200, "{kind: fedavg, clients: 10, local_steps: 1}",
      {"cluster.workers=[{count: 200, device: node, availability: {kind: on_off, on: 6s, off: 3s}}]", "training.stop.updates=2000"});
  CHECK(again.sink.order == run.sink.order);
  CHECK(again.record.end == run.record.end);
}

TEST_CASE("availability is refused where it means nothing, in one line with the remedy") {
  const std::string phones = "cluster.workers=[{count: 2, device: node, availability: {kind: on_off, on: 6s, off: 3s}}]";
  CHECK_THROWS_WITH(clients_timing(2, "{kind: ssgd}", {phones}),
                    doctest::Contains("cluster.workers[0].availability: in ssgd every worker takes part all the time, and clients are not "
                                      "invited; use a federated scheme such as fedavg, or write cluster.faults"));
  CHECK_THROWS_WITH(clients_timing(2, "{kind: fedavg}", {phones, "cluster.faults=[{kind: leave, worker: 0, at: 1s}]"}),
                    doctest::Contains("workers come and go by their availability"));
}

TEST_CASE("a partial deadline before any client's first step: the round is over, and the weights stay") {
  const Result run = clients_run(4, "{kind: fedavg, local_steps: 2, deadline: {time: 30ms, late: partial}}", {"training.stop.updates=3"});
  CHECK(run.record.updates == 3);
  CHECK(run.record.samples == 0);
  CHECK(run.record.end.seconds() == doctest::Approx(0.09).epsilon(1e-6));
}

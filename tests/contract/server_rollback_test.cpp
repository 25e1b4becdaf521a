// Rollbacks of schemes that do without a worker: only their server, or the job, takes them back.
#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "scenarios/results/figures.hpp"
#include "tests/simulated/books.hpp"
#include "tests/support/point_data.hpp"
#include "tests/support/run.hpp"
#include "tests/support/sanitized.hpp"

namespace server_rollback_test {

using namespace straggler;
using namespace straggler::test;

namespace {

double figure(const Result& result, const char* key) { return *value_of(*find_figure(key), result.record).number(); }

std::string failing(const char* of, const char* every, const char* repair) {
  return std::string("cluster.faults=[{kind: random, of: ") + of + ", every: {kind: constant, mean: " + every +
         "}, repair: {kind: constant, mean: " + repair + "}}]";
}

}  // namespace

TEST_CASE("when its server fails an asynchronous run goes back, gradients in flight are lost, and all fetch anew") {
  // Each worker makes an update every 0.1 s. Saved after 6, 12 and 18. Struck at 0.75 with 21 updates; back at 0.8, work goes on at 0.83.
  const std::vector<std::string> sets = {
      "training.scheme={kind: asgd}", "training.stop={updates: 30}", failing("server", "750ms", "50ms"),
      "training.recovery={kind: rollback, checkpoint: {every: {updates: 6}}, detect: 20ms, restart: 30ms}"};
  const Result result = run_timing(cluster(3), sets);
  CHECK(std::abs(result.record.end.seconds() - (0.83 + 0.4)) < 1e-6);
  CHECK(result.record.updates == 30);
  CHECK(figure(result, "failures") == 1);
  CHECK(figure(result, "rollbacks") == 1);
  CHECK(figure(result, "lost_updates") == 3);
  CHECK(result.record.samples == 3000);
  CHECK(result.record.samples_drawn == 3000 + 600 + 200);  // two batches were in progress at the end
  CHECK(std::abs(result.record.workers[0].split[Phase::recovering].seconds() - 0.08) < 1e-6);
  CHECK(std::abs(result.record.workers[0].split[Phase::wasted].seconds() - 0.15) < 1e-6);
  CHECK(figure(result, "goodput") == doctest::Approx(1 / 1.23).epsilon(1e-5));
  check_books(result, false);
}

TEST_CASE("a failure of the job takes every scheme back, and repeated failures leave the run where it would have ended") {
  for (const char* scheme : {"{kind: ssgd}", "{kind: ssgd, via: server}", "{kind: asgd}", "{kind: ssp, slack: 2}", "{kind: k_sync, k: 2}",
                             "{kind: k_async, k: 2}", "{kind: k_batch_async, k: 2}", "{kind: softsync, n: 2}", "{kind: rennala, batch: 3}",
                             "{kind: downpour, push_every: 2, fetch_every: 2}", "{kind: backup_workers, backups: 1}",
                             "{kind: quorum, k: 2, grace: 5ms}", "{kind: fedavg}", "{kind: fedopt, server_rate: 0.5}",
                             "{kind: fedbuff, buffer: 2}", "{kind: fedasync}", "{kind: hierarchical, edge_rounds: 1, local_steps: 1}"}) {
    CAPTURE(scheme);
    const Result result = run_timing(
        cluster(4), {std::string("training.scheme=") + scheme, "training.stop={updates: 24}", failing("all", "530ms", "10ms"),
                     "workload.data={kind: coordinates, samples: 800}", "cluster.network.link={bandwidth: 1GB/s, latency: 1ms}",
                     "training.recovery={kind: rollback, checkpoint: {every: {updates: 2}, save: 5ms}, detect: 20ms, restart: 30ms}"});
    CHECK(result.record.outcome == Outcome::completed);
    CHECK(result.record.updates == 24);
    CHECK(result.record.recovery.rollbacks > 0);
    CHECK(result.record.workers[3].split[Phase::down] > Time());
    check_books(result, false);
  }
}

TEST_CASE("clients' vectors go back with the server: SCAFFOLD and FedDyn still come to rest at the optimum of all") {
  const std::vector<Client> clients = {{8, {1, -0.5, 0.7}}, {8, {-0.4, 0.5, 0}}, {8, {0.2, 0.3, -0.6}}, {8, {0.3, -1, -0.1}}};
  std::vector<double> optimum(point_dimensions);
  for (const Client& client : clients)
    for (std::size_t j = 0; j < point_dimensions; ++j) optimum[j] += client.point[j] / 4;
  const PointData points(clients);
  const int updates = sanitized ? 30 : 400;
  for (const char* scheme : {"{kind: scaffold, local_steps: 3, fraction: 0.5}", "{kind: feddyn, local_steps: 3, alpha: 0.5}"}) {
    CAPTURE(scheme);
    const Result result = run(equal_bowl(4, scheme, points.data(true), 0.2, updates),
                              {"workload.model.start=0", "workload.model.condition=2", failing("server", "370ms", "10ms"),
                               "training.recovery={kind: rollback, checkpoint: {every: {updates: 5}}, restart: 20ms}"});
    CHECK(result.record.recovery.rollbacks > (sanitized ? 0 : 10));
    if (!sanitized) CHECK(farthest_from(result.weights, optimum) < 1e-3);
  }
}

TEST_CASE("a worker that its failure does not take back comes and goes as on_failure says") {
  const Result result = run_timing(cluster(3), {"training.scheme={kind: asgd}", "training.stop={updates: 30}",
                                                "cluster.faults=[{kind: crash, worker: 1, at: 250ms, restart_after: 100ms}]",
                                                "training.recovery={kind: rollback, checkpoint: {every: {updates: 6}}}"});
  CHECK(figure(result, "failures") == 1);
  CHECK(figure(result, "rollbacks") == 0);
  CHECK(result.record.outcome == Outcome::completed);
}

TEST_CASE("a replacement loses no version: the others wait for a spare, or for the repair") {
  const auto end_with = [](const char* recovery) {
    return run_timing(cluster(2), {"cluster.faults=[{kind: crash, worker: 1, at: 250ms, restart_after: 1s}]",
                                   std::string("training.recovery=") + recovery, "training.stop={updates: 10}"});
  };
  // The update in progress is computed again by the lost worker alone: 0.05 s were lost.
  const Result repaired = end_with("{kind: peer, detect: 100ms, restart: 50ms}");
  CHECK(std::abs(repaired.record.end.seconds() - (1.25 + 0.05 + 0.8)) < 1e-6);
  CHECK(figure(repaired, "rollbacks") == 0);
  CHECK(figure(repaired, "lost_updates") == 0);
  CHECK(repaired.record.workers[1].split[Phase::down] == Time::from_seconds(1));
  CHECK(repaired.record.workers[1].split[Phase::recovering] == Time::from_seconds(0.05));
  const Result spare = end_with("{kind: peer, detect: 100ms, restart: 50ms, spares: 1}");
  CHECK(std::abs(spare.record.end.seconds() - (0.4 + 0.8)) < 1e-6);
  CHECK(spare.record.workers[1].split[Phase::down] == Time());
  CHECK(spare.record.weights_key == repaired.record.weights_key);
}

}  // namespace server_rollback_test

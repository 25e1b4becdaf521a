// What a review of the cluster at scale found: one case a finding.
#include <doctest/doctest.h>

#include "tests/support/run.hpp"

namespace straggler::test {
namespace {

std::string error_of(const std::string& yaml, const std::vector<std::string>& sets) {
  try {
    run_timing(yaml, sets);
  } catch (const std::exception& wrong) {
    return wrong.what();
  }
  return "none";
}

}  // namespace

TEST_CASE("fedavg: a replacement client that crashes and comes back is not awaited for ever") {
  // With a third of two clients one is sampled a round; whoever it is in round 0, the seeds try both.
  for (int seed = 1; seed <= 8; ++seed) {
    CAPTURE(seed);
    const Result result =
        run_timing(cluster(2), {"seed=" + std::to_string(seed), "training.scheme={kind: fedavg, fraction: 0.3}",
                                "cluster.faults=[{kind: leave, worker: 0, at: 100ms}, {kind: crash, worker: 1, at: 684ms, "
                                "restart_after: 2ms}]"});
    CHECK(result.record.outcome == Outcome::completed);
    CHECK(result.record.updates == 10);
  }
}

TEST_CASE("a token bucket that closes a tick late is no overload") {
  const Result result =
      run_timing(cluster(1), {"cluster.network.link={bandwidth: 1Gbps, latency: 0s, burst: 10MB}", "workload.cost={bytes: 4MB}",
                              "training.scheme={kind: nonblocking}", "training.batch.per_worker=1", "training.stop.updates=3",
                              "devices.node.compute={affine: {overhead: 0s, per_sample: 0.1ms}}"});
  CHECK(result.record.outcome == Outcome::completed);
}

TEST_CASE("a bad trace file is reported at its place, before anything runs") {
  const std::string said = error_of(cluster(2), {"devices.node.jitter={kind: trace, path: /nowhere/no.csv}"});
  CHECK(said.find("devices.node.jitter") != std::string::npos);
  CHECK(said.find("/nowhere/no.csv") != std::string::npos);
}

TEST_CASE("sharing none and a burst, and traffic inside a host without links, are refused at their place") {
  CHECK(error_of(cluster(2), {"cluster.network.link.burst=128KiB", "cluster.network.sharing=none"}).find("cluster.network.sharing") !=
        std::string::npos);
  CHECK(error_of(cluster(2), {"cluster.workers[0].per_host=2", "cluster.network.background=[{from: worker/0, to: worker/1, on: 1s}]"})
            .find("cluster.network.background[0].to") != std::string::npos);
}

TEST_CASE("a stepwise run ends when the last rank has the last result") {
  // p = 3: (⌊lg 3⌋ + 2) n β = 3 n β with α = γ = 0; the first rank has it earlier.
  const std::vector<std::string> sets{"cluster.network.link.bandwidth=1GB/s",
                                      "workload.cost={bytes: 64MB}",
                                      "devices.node.compute={affine: {overhead: 0s, per_sample: 1us}}",
                                      "training.batch.per_worker=100",
                                      "training.stop.updates=1",
                                      "cluster.network.collective={algorithm: recursive_doubling, fidelity: stepwise}"};
  const Result result = run_timing(cluster(3), sets);
  CHECK(result.record.end.seconds() == doctest::Approx(100e-6 + 3 * 0.064).epsilon(1e-6));
  CHECK(result.record.bytes_lost == 0);
}

TEST_CASE("a bare message size does not switch off the copy to the device, nor the limit of its memory") {
  // coordinates: 2 features of 4 bytes; 100 samples at 1 kB/s are 0.8 s.
  const std::vector<std::string> sets{"workload.cost={bytes: 1kB}", "training.stop.updates=1", "devices.node.host_to_device=1kB/s"};
  CHECK(run_timing(cluster(1), sets).record.end.seconds() == doctest::Approx(0.8 + 0.1).epsilon(1e-6));
  CHECK(error_of(cluster(2), {"workload.cost={bytes: 64MB}", "devices.node.memory=1MB"}).find("training.batch") != std::string::npos);
}

TEST_CASE("memory that does not fit a device is reported in units that show it") {
  const std::string said = error_of(cluster(2), {"devices.node.memory=1kB"});  // a model of some kilobytes
  CAPTURE(said);
  CHECK(said.find("training takes ") != std::string::npos);
  CHECK(said.find(" kB on a device") != std::string::npos);
  CHECK(said.find("node has 1 kB; not one sample fits") != std::string::npos);
}

TEST_CASE("a collective's parameter can be set in a scenario") {
  // Two ranks, height h = 1: (2h + k - 1) rounds, and k + 1 pieces of n / 2k on the link, one after another (double_binary_tree.cpp).
  for (const int pieces : {1, 4}) {
    CAPTURE(pieces);
    const std::vector<std::string> sets{
        "cluster.network.link={bandwidth: 1GB/s, latency: 0s}",
        "workload.cost={bytes: 64MB}",
        "devices.node.compute={affine: {overhead: 0s, per_sample: 1us}}",
        "training.batch.per_worker=100",
        "training.stop.updates=1",
        "cluster.network.collective={algorithm: {kind: double_binary_tree, pieces: " + std::to_string(pieces) + "}, fidelity: stepwise}"};
    const double piece = 0.064 / (2 * pieces);
    CHECK(run_timing(cluster(2), sets).record.end.seconds() == doctest::Approx(100e-6 + piece * (2 + 2 * (pieces - 1))).epsilon(1e-6));
  }
}

}  // namespace straggler::test

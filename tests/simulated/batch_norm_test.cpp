// The exchange of batch norm's running statistics: bytes of their own, right behind gradients and weights.
#include <doctest/doctest.h>

#include <algorithm>

#include "tests/support/run.hpp"

namespace batch_norm_test {

using namespace straggler;
using namespace straggler::test;

namespace {

constexpr std::uint64_t parameters = 11'173'962 * 4;
// ResNet-18 for small images: 64 channels in the stem and in 4 norms, then 5 norms each of 128, 256 and 512 (two a block, one at the
// shortcut). A mean and a variance of four bytes for each channel.
constexpr std::uint64_t statistics = (5 * 64 + 5 * 128 + 5 * 256 + 5 * 512) * 2 * 4;

Result run_costing(const std::string& scheme, bool exchange, const std::vector<std::string>& more = {}) {
  std::vector<std::string> sets = {"workload.cost={model: resnet18}", "training.scheme=" + scheme,
                                   "cluster.network.link={bandwidth: 1GB/s, latency: 1ms}"};
  if (exchange) sets.push_back("workload.batch_norm={exchange: true}");
  sets.insert(sets.end(), more.begin(), more.end());
  return run_timing(cluster(4), sets);
}

}  // namespace

TEST_CASE("without exchange no statistics travel; a message is the parameters") {
  for (const char* scheme :
       {"asgd", "{kind: ssgd, via: server}", "ssgd", "{kind: nonblocking, minibatch: 25}", "{kind: local_sgd, steps: 2}"}) {
    CAPTURE(scheme);
    const Result result = run_costing(scheme, false);
    CHECK(result.record.statistics_bytes == 0);
    CHECK(result.record.bytes_sent % parameters == 0);
  }
}

TEST_CASE("with exchange every gradient and model has its statistics behind it, and all accounts add up") {
  for (const char* scheme : {"asgd", "{kind: ssgd, via: server}", "{kind: nonblocking, minibatch: 25}", "{kind: fedavg, fraction: 1}"}) {
    CAPTURE(scheme);
    const Result result = run_costing(scheme, true);
    const std::uint64_t followers = result.record.statistics_bytes / statistics,
                        leaders = (result.record.bytes_sent - result.record.statistics_bytes) / parameters;
    CHECK(followers > 0);
    CHECK(result.record.statistics_bytes == followers * statistics);
    CHECK(result.record.bytes_sent == leaders * parameters + followers * statistics);
    CHECK(leaders >= followers);
    CHECK(leaders <= followers + 4);  // where the run stops each worker may have sent one whose statistics have not left
    CHECK(result.record.bytes_sent == result.record.bytes_received + result.record.bytes_lost);
  }
}

TEST_CASE("an all-reduce of the statistics follows that of the gradient") {
  // A ring of 4 sends 2 * 3 times the bytes, and takes 2 * 3 * 2 ms + 2 * 3 / 4 * bytes / (1 GB/s).
  const auto seconds = [](std::uint64_t bytes) { return 6 * 2e-3 + 1.5 * static_cast<double>(bytes) / 1e9; };
  for (const char* fidelity : {"fluid", "stepwise"}) {
    CAPTURE(fidelity);
    const std::vector<std::string> ring = {"cluster.network.collective={algorithm: ring, fidelity: " + std::string(fidelity) + "}"};
    const Result with = run_costing("ssgd", true, ring), without = run_costing("ssgd", false, ring);
    CHECK(without.record.bytes_sent == 10 * 6 * parameters);
    CHECK(with.record.bytes_sent == 10 * 6 * (parameters + statistics));
    CHECK(with.record.statistics_bytes == 10 * 6 * statistics);
    CHECK(without.record.end.seconds() == doctest::Approx(10 * (0.1 + seconds(parameters))).epsilon(1e-6));
    CHECK(with.record.end.seconds() == doctest::Approx(10 * (0.1 + seconds(parameters) + seconds(statistics))).epsilon(1e-6));
  }
  // Buckets that overlap: the statistics come last all the same.
  const Result buckets = run_costing("ssgd", true, {"cluster.network.collective={algorithm: ring, bucket: 10MB, overlap: true}"});
  CHECK(buckets.record.bytes_sent == 10 * 6 * (parameters + statistics));
  CHECK(buckets.record.statistics_bytes == 10 * 6 * statistics);
}

TEST_CASE("on one link the statistics arrive right behind, at one latency") {
  // One worker: its gradient, then the new weights, each over two links of 1 ms; 100 ms of computing between.
  const auto round = [](std::uint64_t bytes) { return 0.1 + 2 * (2e-3 + static_cast<double>(bytes) / 1e9); };
  const std::vector<std::string> one = {"cluster.workers[0].count=1", "training.stop.updates=5"};
  const double with = run_costing("asgd", true, one).record.end.seconds(), without = run_costing("asgd", false, one).record.end.seconds();
  // The last weights are not waited for.
  const auto total = [&](std::uint64_t bytes) { return 5 * round(bytes) - (2e-3 + static_cast<double>(bytes) / 1e9); };
  CHECK(without == doctest::Approx(total(parameters)).epsilon(1e-9));
  CHECK(with == doctest::Approx(total(parameters + statistics)).epsilon(1e-9));
}

TEST_CASE("running statistics are a separate message, with its own processor time and segment") {
  // One worker and its server, as above. Each message takes a processor for p on each side. The first leaves after p and its bytes take b;
  // the second leaves after 2 p, or behind the first; the receiver handles both when both are there.
  const auto seconds_of_updates = [](const std::string& protocol, std::uint64_t updates) {
    return run_costing(
               "asgd", true,
               {"cluster.workers[0].count=1", "training.stop.updates=" + std::to_string(updates), "cluster.network.protocol=" + protocol})
        .record.end.seconds();
  };
  const double bytes = static_cast<double>(parameters) / 1e9, more = static_cast<double>(statistics) / 1e9, latency = 2e-3;
  const auto round = [&](const std::string& protocol) { return seconds_of_updates(protocol, 4) - seconds_of_updates(protocol, 3); };
  for (const double p : {0.005, 0.06}) {  // less and more than the 45 ms of the parameters
    CAPTURE(p);
    const double message = std::max(p + bytes, 2 * p) + more + latency + 2 * p;
    CHECK(round("{per_message: " + std::to_string(p) + "s}") == doctest::Approx(0.1 + 2 * message).epsilon(1e-9));
  }
  // Messages up to 1 MB have half the bandwidth and a quarter of the latency, and still do not overtake.
  const double slow = bytes + 2 * more + std::max(latency / 4, latency - 2 * more);
  CHECK(round("{segments: [{up_to: 1MB, latency_factor: 0.25, bandwidth_factor: 0.5}, {}]}") ==
        doctest::Approx(0.1 + 2 * slow).epsilon(1e-9));
}

TEST_CASE("batch_norm.exchange without running statistics gives a warning, and changes nothing") {
  const Scenario scenario = read_scenario_text(cluster(2), "test.yaml", {"workload.batch_norm={exchange: true}"});
  RunOptions options;
  options.timing_only = true;
  const std::vector<std::string> warnings = Experiment(scenario, options).explain().warnings;
  CHECK(std::count_if(warnings.begin(), warnings.end(), [](const std::string& warning) {
          return warning.find("batch_norm.exchange has no effect") != std::string::npos;
        }) == 1);
  const Result with = run(cluster(2), {"workload.batch_norm={exchange: true}"}), without = run(cluster(2));
  CHECK(with.weights == without.weights);
  CHECK(with.record.weights_key == without.record.weights_key);
  CHECK(with.record.end == without.record.end);
}

}  // namespace batch_norm_test

// Update rates, staleness and exchange times that follow from a formula.
#include <doctest/doctest.h>

#include <cmath>

#include "tests/support/run.hpp"
#include "tests/support/sanitized.hpp"

using namespace straggler;
using namespace straggler::test;

namespace {

constexpr double batch_seconds = 0.1;                           // 100 samples of 1 ms
constexpr std::uint64_t parameters = 2 * 16 + 16 + 16 * 4 + 4;  // mlp 2-16-4
constexpr std::uint64_t model_bytes = 4 * parameters;

}  // namespace

TEST_CASE("synchronous SGD with exponential compute takes H_p / mu an update on average" * long_case) {
  // The longest of p exponential times of mean m has mean m H_p and variance m^2 sum 1/k^2.
  for (const int p : {2, 8}) {
    const int updates = 4000;
    const Result result =
        run_timing(cluster(p), {"devices.node.jitter={kind: exponential}", "training.stop.updates=" + std::to_string(updates)});
    double harmonic = 0, variance = 0;
    for (int k = 1; k <= p; ++k) {
      harmonic += 1.0 / k;
      variance += 1.0 / (k * k);
    }
    const double mean = result.record.end.seconds() / updates;
    const double standard_error = batch_seconds * std::sqrt(variance / updates);
    CHECK(std::abs(mean - batch_seconds * harmonic) < 5 * standard_error);  // 5 sigma; the network adds nanoseconds
  }
}

TEST_CASE("asynchronous SGD with p equal workers and free communication: staleness p-1, p times the update rate") {
  for (const int p : {1, 2, 5, 16}) {
    const int rounds = 20;
    const Result result = run_timing(cluster(p), {"training.scheme={kind: asgd}", "training.stop.updates=" + std::to_string(rounds * p)});
    // In one batch time every worker delivers one gradient; in between p - 1 others are applied.
    CHECK(result.record.end.seconds() == doctest::Approx(rounds * batch_seconds).epsilon(1e-6));
    std::uint64_t last = 0;
    for (const OrderRow& row : result.sink.order) {
      const std::uint64_t staleness = row.update - 1 - row.read_version;
      if (row.update > static_cast<std::uint64_t>(p)) CHECK(staleness == static_cast<std::uint64_t>(p - 1));
      CHECK(row.update == ++last);
    }
    const auto [most, count] = result.record.staleness.back();
    CHECK(most == static_cast<std::uint64_t>(p - 1));
    CHECK(count >= static_cast<std::uint64_t>((rounds - 1) * p));
  }
}

TEST_CASE("ring all-reduce takes 2(p-1) alpha + 2((p-1)/p) n beta + ((p-1)/p) n gamma, to a nanosecond, in both fidelities") {
  const double bandwidth = 125e6, latency = 50e-6, reduce_rate = 2e9;
  for (const char* fidelity : {"fluid", "stepwise"}) {
    for (const int p : {2, 3, 4, 8, 13, 32}) {
      const std::int64_t bytes = 4 * p * 25'000;  // divisible by 4p
      const int updates = 3;
      const Result result = run_timing(
          cluster(p), {"cluster.network.link={bandwidth: 1Gbps, latency: 50us}", "workload.cost={bytes: " + std::to_string(bytes) + "B}",
                       "cluster.network.collective={algorithm: ring, reduce_rate: 2GB/s, fidelity: " + std::string(fidelity) + "}",
                       "training.stop.updates=" + std::to_string(updates)});
      const double alpha = 2 * latency, n = static_cast<double>(bytes), share = static_cast<double>(p - 1) / p;
      const double expected = batch_seconds + 2 * (p - 1) * alpha + 2 * share * n / bandwidth + share * n / reduce_rate;
      CAPTURE(p);
      CAPTURE(fidelity);
      CHECK(std::abs(result.record.end.seconds() / updates - expected) < 1e-9);
      CHECK(result.record.bytes_sent ==
            static_cast<std::uint64_t>(updates) * 2 * static_cast<std::uint64_t>(p - 1) * static_cast<std::uint64_t>(bytes));
      CHECK(result.record.bytes_lost == 0);
    }
  }
}

TEST_CASE("a ring whose bytes do not divide loses none of them") {
  for (const char* fidelity : {"fluid", "stepwise"}) {
    const Result result =
        run_timing(cluster(7), {"workload.cost={bytes: 1000003B}", "cluster.network.collective.fidelity=" + std::string(fidelity)});
    CHECK(result.record.bytes_sent == 10u * 2 * 6 * 1'000'003);
    for (const WorkerRecord& worker : result.record.workers) CHECK(worker.bytes_sent > 0);
  }
}

TEST_CASE("a synchronous parameter server: p gradients share the way in, p weights the way out") {
  // Push: p n / B through the server's link; pull the same; each message pays the latency of two links once.
  const double bandwidth = 125e6, latency = 50e-6;
  for (const int p : {1, 2, 6}) {
    const Result result = run_timing(cluster(p), {"training.scheme={kind: ssgd, via: server}",
                                                  "cluster.network.link={bandwidth: 1Gbps, latency: 50us}", "training.stop.updates=5"});
    const double one_way = static_cast<double>(p) * static_cast<double>(model_bytes) / bandwidth + 2 * latency;
    // Publishing comes after the push; the last pull is not part of the run.
    const double expected = 5 * (batch_seconds + one_way) + 4 * one_way;
    CHECK(result.record.end.seconds() == doctest::Approx(expected).epsilon(1e-9));
    CHECK(result.record.bytes_sent == static_cast<std::uint64_t>(p) * model_bytes * 9);
  }
}

TEST_CASE("a server handles messages one after another, at its update rate and per-message cost") {
  // One worker, asynchronous: push, handle (20 us), update n / 1 MB/s, handle (20 us), pull.
  const double latency = 50e-6, bandwidth = 125e6, handling = 20e-6, update = static_cast<double>(model_bytes) / 1e6;
  const Result result = run_timing(cluster(1), {"training.scheme={kind: asgd}", "cluster.network.link={bandwidth: 1Gbps, latency: 50us}",
                                                "cluster.servers={count: 1, update: 1MB/s, per_message: 20us}", "training.stop.updates=5"});
  const double move = static_cast<double>(model_bytes) / bandwidth + 2 * latency;
  CHECK(result.record.end.seconds() ==
        doctest::Approx(5 * (batch_seconds + move + handling + update) + 4 * (handling + move)).epsilon(1e-9));
}

TEST_CASE("a global batch is divided over the workers, the first take the remainder") {
  const Result result = run_timing(cluster(3), {"training.batch={global: 100}", "training.stop.updates=1"});
  // 34 + 33 + 33; the slowest has 34 samples of 1 ms.
  CHECK(result.record.samples == 100);
  CHECK(result.record.end.seconds() == doctest::Approx(0.034).epsilon(1e-6));
  CHECK(result.record.workers[0].samples == 34);
  CHECK(result.record.workers[1].samples == 33);
}

TEST_CASE("epochs, batches and the last partial batch") {
  // 1,000 samples over 4 workers are 250 each: at batch 100 three batches an epoch, the last of 50.
  const Result result = run_timing(cluster(4), {"workload.data.samples=1000", "training.stop={epochs: 2}"});
  CHECK(result.record.updates == 6);
  CHECK(result.record.samples == 2000);
  CHECK(result.record.end.seconds() == doctest::Approx(2 * 0.250).epsilon(1e-6));
  REQUIRE(result.record.epochs_record.size() == 2);
  CHECK(result.record.epochs_record[0].end.seconds() == doctest::Approx(0.250).epsilon(1e-6));
  const Result dropped =
      run_timing(cluster(4), {"workload.data.samples=1000", "training.batch.drop_last=true", "training.stop={updates: 6}"});
  CHECK(dropped.record.samples == 6 * 400);
}

TEST_CASE("a run stops at its simulated time, exactly") {
  for (const char* scheme : {"{kind: ssgd}", "{kind: asgd}"}) {
    const Result result = run_timing(cluster(3), {"training.scheme=" + std::string(scheme), "training.stop={simulated_time: 1234567us}"});
    CHECK(result.record.end == Time::from_seconds(1.234567));
    CHECK(result.record.updates == (std::string(scheme) == "{kind: ssgd}" ? 12 : 36));
    for (const WorkerRecord& worker : result.record.workers) CHECK(worker.split.total() == result.record.end);
  }
}

TEST_CASE("a shared pool lets fast workers do more") {
  // One worker is three times slower: of four batches of the pool it takes one.
  const Result result =
      run_timing(cluster(1), {"cluster.workers=[{count: 1, device: node}, {count: 1, device: node, slowdown: 3}]",
                              "workload.data.partition={kind: shared}", "training.scheme={kind: asgd}", "training.stop={updates: 400}"});
  CHECK(result.record.workers[0].updates == doctest::Approx(300).epsilon(0.01));
  CHECK(result.record.workers[1].updates == doctest::Approx(100).epsilon(0.02));
}

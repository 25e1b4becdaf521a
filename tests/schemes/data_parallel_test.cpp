// DataParallel: its iteration's time against a closed form, its weights against plain SGD on the whole batch.
#include <doctest/doctest.h>

#include <cmath>

#include "tests/support/run.hpp"

using namespace straggler;
using namespace straggler::test;

namespace {

constexpr std::uint64_t mlp_parameters = 2 * 16 + 16 + 16 * 4 + 4;  // mlp 2-16-4
constexpr double mlp_bytes = 4 * mlp_parameters, input_bytes = 4 * 2, output_bytes = 4 * 4;

/// `devices` on one host, batches of 100 samples of 1 ms; a slow bus of 1 MB/s, so that every transfer shows.
Result on_one_host(int devices, const std::string& scheme, std::vector<std::string> sets = {}) {
  std::vector<std::string> all = {
      "cluster.workers=[{count: " + std::to_string(devices) + ", device: node, per_host: " + std::to_string(devices) + "}]",
      "cluster.network.intra={bandwidth: 1MB/s, latency: 30us}", "training.scheme=" + scheme};
  all.insert(all.end(), sets.begin(), sets.end());
  return run_timing(cluster(devices), all);
}

/// Bytes as a message carries them.
double whole(double bytes) { return std::round(bytes); }

}  // namespace

TEST_CASE("data parallel: dispatch, scatter, broadcast, compute, gather, reduce and step, one after the other") {
  // T = p d + (p-1)(s + n) beta + alpha + c + (p-1)(o + n) beta + alpha + n u, since p - 1 messages share device 0's way onto the bus,
  // or off it, and end together. The last update ends the run.
  const double beta = 1e-6, alpha = 30e-6, dispatch = 7e-3, compute = 0.1, update = mlp_bytes / 2e6;
  for (const int p : {1, 2, 3, 4, 8}) {
    CAPTURE(p);
    const int updates = 3;
    const Result result = on_one_host(p, "{kind: data_parallel, dispatch: 7ms}",
                                      {"devices.node.update=2MB/s", "training.stop.updates=" + std::to_string(updates)});
    const double others = p - 1, latency = p > 1 ? alpha : 0;
    const double expected = p * dispatch + others * (whole(100 * input_bytes) + mlp_bytes) * beta + latency + compute +
                            others * (whole(100 * output_bytes) + mlp_bytes) * beta + latency + update;
    CHECK(result.record.end.seconds() == doctest::Approx(updates * expected).epsilon(1e-9));
    CHECK(result.record.updates == updates);
    CHECK(result.record.samples == static_cast<std::uint64_t>(updates * p * 100));
    CHECK(result.record.bytes_sent == static_cast<std::uint64_t>(updates * others * (100 * (input_bytes + output_bytes) + 2 * mlp_bytes)));
    // Device 0 computes, steps and communicates; the host's dispatch is idle time of all devices.
    const TimeSplit& split = result.record.workers[0].split;
    CHECK(split[Phase::compute].seconds() == doctest::Approx(updates * (compute + update)).epsilon(1e-9));
    CHECK(split[Phase::idle].seconds() >= updates * p * dispatch * (1 - 1e-9));
  }
}

TEST_CASE("data parallel loads the whole batch for all devices, beside dispatching or between it") {
  // From the second iteration on: beside, T = max(p d + c, L) with L = p b l / W; between, the loader works only while the host does not
  // dispatch, so that T = p d + max(c, L). Only the steady state is compared, by the difference of two runs.
  const double dispatch = 20e-3, compute = 0.1;
  for (const int p : {1, 2, 4}) {
    for (const double per_sample : {0.1e-3, 0.35e-3, 0.9e-3}) {
      for (const bool between : {false, true}) {
        CAPTURE(p);
        CAPTURE(per_sample);
        CAPTURE(between);
        const auto seconds = [&](int updates) {
          return on_one_host(
                     p, std::string("{kind: data_parallel, dispatch: 20ms, loading: ") + (between ? "between}" : "beside}"),
                     {"cluster.network.intra={bandwidth: 1000GB/s, latency: 0s}", "training.stop.updates=" + std::to_string(updates),
                      "devices.node.loader={per_sample: " + std::to_string(std::llround(per_sample * 1e6)) +
                          "us, workers: 1, prefetch: 2}"})
              .record.end.seconds();
        };
        const double load = p * 100 * per_sample;
        const double expected = between ? p * dispatch + std::max(compute, load) : std::max(p * dispatch + compute, load);
        CHECK(seconds(40) - seconds(20) == doctest::Approx(20 * expected).epsilon(1e-5));
      }
    }
  }
}

TEST_CASE("data parallel: launches in turn take h + p d before everything else, launches ahead hide behind it") {
  // Steady state, by the difference of two runs: in turn h + p d + c, ahead max(h + p d, c).
  for (const int p : {1, 3}) {
    for (const int dispatch : {5, 20, 60}) {
      for (const bool ahead : {false, true}) {
        CAPTURE(p);
        CAPTURE(dispatch);
        const auto seconds = [&](int updates) {
          return on_one_host(
                     p,
                     "{kind: data_parallel, overhead: 30ms, dispatch: " + std::to_string(dispatch) +
                         "ms, launches: " + (ahead ? "ahead}" : "in_turn}"),
                     {"cluster.network.intra={bandwidth: 1000GB/s, latency: 0s}", "training.stop.updates=" + std::to_string(updates)})
              .record.end.seconds();
        };
        const double host = 0.030 + p * 1e-3 * dispatch, compute = 0.1;
        const double expected = ahead ? std::max(host, compute) : host + compute;
        CHECK(seconds(30) - seconds(10) == doctest::Approx(20 * expected).epsilon(1e-5));
        CHECK(seconds(1) == doctest::Approx(host + compute).epsilon(1e-5));
      }
    }
  }
}

TEST_CASE("data parallel is plain SGD on the whole batch") {
  // All draw from one pool, in rank order: the devices' pieces together are what one worker draws.
  const std::vector<std::string> shared = {"workload.data={kind: coordinates, samples: 1000, partition: shared}",
                                           "training.optimizer={kind: sgd, learning_rate: 0.1, momentum: 0.9}"};
  for (const int p : {2, 4}) {
    for (const int global : {200, 203}) {  // divided evenly or not; 203 also leaves a last batch of 1000 - 4 * 203 = 188
      CAPTURE(p);
      CAPTURE(global);
      std::vector<std::string> sets = shared;
      sets.push_back("training.batch={global: " + std::to_string(global) + "}");
      sets.push_back("training.stop={updates: 4}");
      std::vector<std::string> one = sets, many = sets;
      one.push_back("training.scheme={kind: sequential}");
      many.push_back("training.scheme={kind: data_parallel}");
      const Result plain = run(cluster(1), one), parallel = run(cluster(p), many);
      CHECK(parallel.record.samples == static_cast<std::uint64_t>(4 * global));
      REQUIRE(parallel.weights.size() == plain.weights.size());
      double largest = 0, moved = 0;
      const Result start = run(cluster(1), {"training.scheme={kind: sequential}", "training.stop={updates: 1}",
                                            "training.optimizer={kind: sgd, learning_rate: 1e-30}"});
      for (std::size_t i = 0; i < plain.weights.size(); ++i) {
        largest = std::max(largest, std::abs(static_cast<double>(parallel.weights[i] - plain.weights[i])));
        moved = std::max(moved, std::abs(static_cast<double>(plain.weights[i] - start.weights[i])));
      }
      CHECK(largest < 2e-6);  // rounding of sums in another order
      CHECK(moved > 1e-2);
    }
  }
}

TEST_CASE("data parallel: devices may not join or leave; a crash ends the run") {
  CHECK_THROWS_WITH(on_one_host(3, "data_parallel", {"cluster.faults=[{kind: leave, worker: 1, at: 150ms}]"}),
                    doctest::Contains("cluster.faults[0].kind"));
  CHECK_THROWS_WITH(on_one_host(3, "data_parallel", {"cluster.faults=[{kind: join, worker: 1, at: 150ms}]"}),
                    doctest::Contains("drives all workers from one process"));
  const Result result = on_one_host(3, "data_parallel", {"cluster.faults=[{kind: crash, worker: 2, at: 150ms}]"});
  CHECK(result.record.outcome == Outcome::aborted);
  CHECK(result.record.end == Time::from_seconds(0.15));
}

TEST_CASE("data parallel: the process computes when its last message has left, whichever is the last") {
  // Each device has a host of its own. One gets its messages at 1 kB/s, the other at 3 kB/s; the 10 kB/s of device 0 limit neither. Device
  // 0 sends inputs until the slow one has them, and weights likewise. Then it computes. The slow device begins a latency later, and its
  // outputs and gradient return at its own rate.
  const double latency = 1e-3, overhead = 7e-3, compute = 0.1;
  for (const bool slow_first : {true, false}) {
    CAPTURE(slow_first);
    const std::string slow = "{count: 1, device: node, link: {bandwidth: 1kB/s, latency: 500us}}",
                      fast = "{count: 1, device: node, link: {bandwidth: 3kB/s, latency: 500us}}";
    const Result result = run_timing(cluster(3), {"cluster.workers=[{count: 1, device: node, link: {bandwidth: 10kB/s, latency: 500us}}, " +
                                                      (slow_first ? slow + ", " + fast : fast + ", " + slow) + "]",
                                                  "training.scheme={kind: data_parallel, overhead: 7ms}", "training.stop.updates=1"});
    const double sends = (100 * input_bytes + mlp_bytes) / 1e3, returns = (100 * output_bytes + mlp_bytes) / 1e3;
    CHECK(result.record.end.seconds() == doctest::Approx(overhead + sends + latency + compute + returns + latency).epsilon(1e-9));
    std::vector<double> begins;  // of computing on device 0
    for (const Span& span : result.sink.spans)
      if (span.worker == 0 && span.phase == Phase::compute) begins.push_back(span.start.seconds());
    REQUIRE(begins.size() == 1);
    CHECK(begins.front() == doctest::Approx(overhead + sends).epsilon(1e-9));
  }
}

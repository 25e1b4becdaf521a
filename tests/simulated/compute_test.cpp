// Cores that are shared, batches that are loaded, and the serial part of an epoch: closed forms.
#include <doctest/doctest.h>

#include <cmath>

#include "tests/simulated/books.hpp"

namespace compute_test {

using namespace straggler;
using namespace straggler::test;

namespace {

constexpr double c = 0.1;

bool same_time(Time time, double seconds, std::int64_t ticks = 20) {
  return std::abs(time.ticks() - Time::from_seconds(seconds).ticks()) <= ticks;
}

/// The network of cluster() moves a model in half a nanosecond.
bool about(Time time, double seconds) { return std::abs(time.seconds() - seconds) < 1e-6; }

}  // namespace

TEST_CASE("four workers on two cores take twice as long; on three, four thirds; on four, once") {
  for (const int cores : {1, 2, 3, 4, 5}) {
    CAPTURE(cores);
    const Result result =
        run_timing(cluster(4), {"cluster.workers=[{count: 4, device: node, per_host: 4, cores_per_host: " + std::to_string(cores) + "}]",
                                "cluster.network.intra={bandwidth: 1000GB/s, latency: 0s}", "training.stop={updates: 3}"});
    CHECK(about(result.record.end, 3 * c * std::max(1.0, 4.0 / cores)));
    CHECK(about(result.record.workers[2].split[Phase::compute], 3 * c * std::max(1.0, 4.0 / cores)));
    check_books(result, true, false);
  }
}

TEST_CASE("six workers on hosts of four: the last host has two, and they do not share") {
  const Result result = run_timing(cluster(6), {"cluster.workers=[{count: 6, device: node, per_host: 4, cores_per_host: 2}]",
                                                "training.scheme={kind: asgd}", "training.stop={simulated_time: 1001ms}"});
  for (std::size_t i = 0; i < 6; ++i) CHECK(result.record.workers[i].updates == (i < 4 ? 5 : 10));
}

TEST_CASE("staggered starts on one core: processor sharing by hand") {
  // Worker 1 joins at 40 ms, worker 2 at 70 ms; each has 100 ms of work. Alone until 40 (40 done), by two until 70 (15 each), then by
  // three: worker 0 has 45 left, worker 1 85, worker 2 100. Worker 0 ends at 70 + 3 45 = 205; worker 1 has 40 left, alone with worker 2
  // until 205 + 2 40 = 285; worker 2 has 15 left, alone: 300. (The first updates; each begins its next batch when it is done.)
  const Result result = run_timing(cluster(3), {"cluster.workers=[{count: 3, device: node, per_host: 3, cores_per_host: 1}]",
                                                "training.scheme={kind: local_sgd, steps: 1, via: server}", "training.stop={updates: 1}",
                                                "cluster.faults=[{kind: join, worker: 1, at: 40ms}, {kind: join, worker: 2, at: 70ms}]"});
  CHECK(about(result.record.end, 0.300));
  CHECK(about(result.record.workers[0].split[Phase::compute], 0.205));
  CHECK(about(result.record.workers[1].split[Phase::compute], 0.245));
  CHECK(about(result.record.workers[2].split[Phase::compute], 0.230));
  CHECK(result.record.workers[1].split[Phase::down] == ticks_of(0.04));
}

TEST_CASE("a worker that waits slows the others down if it is busy waiting, and not if it yields") {
  // Two workers on one core, the second has three times the work of the first: sharing until the first is through at 0.2, then alone.
  for (const bool busy : {false, true}) {
    CAPTURE(busy);
    const Result result = run_timing(
        cluster(2), {"cluster.workers=[{count: 2, device: node, per_host: 2, cores_per_host: 1, population: '" STRAGGLER_SOURCE_DIR
                     "/tests/simulated/one_three.csv', waiting: " +
                         std::string(busy ? "busy" : "yield") + "}]",
                     "training.stop={updates: 2}"});
    const double update = busy ? 2 * 3 * c : 0.2 + (0.3 - 0.1);
    CHECK(about(result.record.end, 2 * update));
    CHECK(about(result.record.workers[0].split[Phase::compute], 2 * 0.2));
    CHECK(about(result.record.workers[0].split[Phase::idle] + result.record.workers[0].split[Phase::communication], 2 * (update - 0.2)));
    check_books(result, true, false);
  }
}

TEST_CASE("a busy waiter that is down leaves its core") {
  const std::string workers = "cluster.workers=[{count: 2, device: node, per_host: 2, cores_per_host: 1, waiting: busy}]";
  // Sharing until the crash at 50 ms (25 ms done each), alone for 75 ms more.
  const Result result = run_timing(cluster(2), {workers, "training.scheme={kind: ssgd, on_failure: drop}", "training.stop={updates: 2}",
                                                "cluster.faults=[{kind: crash, worker: 1, at: 50ms}]"});
  CHECK(about(result.record.end, 0.05 + 0.075 + c));
  const Result late =
      run_timing(cluster(2), {workers, "training.stop={updates: 2}", "cluster.faults=[{kind: join, worker: 1, at: 150ms}]"});
  // The first update alone; half of the second batch is done when the other comes: 50 ms left, twice as long; then the newcomer has 50 ms
  // left, beside a busy waiter.
  CHECK(about(late.record.end, 0.15 + 2 * c));
}

TEST_CASE("a slow spell on shared cores: both factors at once") {
  // Worker 0 is at a quarter of half a core from 20 to 60 ms; the other has half a core throughout, until it is alone.
  const Result result =
      run_timing(cluster(2), {"cluster.workers=[{count: 2, device: node, per_host: 2, cores_per_host: 1}]", "training.stop={updates: 1}",
                              "cluster.faults=[{kind: slow, worker: 0, from: 20ms, to: 60ms, times_slower: 4}]"});
  // Worker 1: 100 ms of work at a half: 200 ms. Worker 0 until then: 10 + 40/8 + 140/2 = 85; then 15 ms alone.
  CHECK(about(result.record.end, 0.215));
  CHECK(about(result.record.workers[1].split[Phase::compute], 0.2));
}

TEST_CASE("jitter stays bound to the work on shared cores") {
  // One core, two workers with drawn factors f: what they take together is the sum of what each takes alone.
  const std::vector<std::string> sets = {"devices.node.jitter={kind: gamma, shape: 2}", "training.stop={updates: 1}"};
  const auto alone = [&](const std::string& fault) {
    std::vector<std::string> with = sets;
    with.push_back("cluster.faults=[" + fault + "]");
    return run_timing(cluster(2), with).record.end.seconds();
  };
  const double first = alone("{kind: join, worker: 1, at: 100s}"), second = alone("{kind: join, worker: 0, at: 100s}");
  CHECK(first != second);
  std::vector<std::string> shared = sets;
  shared.push_back("cluster.workers=[{count: 2, device: node, per_host: 2, cores_per_host: 1}]");
  const Result result = run_timing(cluster(2), shared);
  CHECK(about(result.record.end, first + second));
  CHECK(about(result.record.workers[first < second ? 0 : 1].split[Phase::compute], 2 * std::min(first, second)));
}

TEST_CASE("loader: the first batch is waited for, and then the slower of the two governs") {
  // Loading a batch takes l = 100 s of it, with W processes; computing 0.1 s.
  for (const int loaders : {1, 2, 3}) {
    for (const double per_sample : {0.5e-3, 2e-3, 2.5e-3}) {
      for (const int prefetch : {1, 2, 4}) {
        CAPTURE(loaders);
        CAPTURE(per_sample);
        CAPTURE(prefetch);
        const Result result =
            run_timing(cluster(1), {"devices.node.loader={per_sample: " + std::to_string(std::llround(per_sample * 1e6)) +
                                        "us, workers: " + std::to_string(loaders) + ", prefetch: " + std::to_string(prefetch) + "}",
                                    "training.scheme=sequential", "training.stop={updates: 12}"});
        // Batch k is ready when its process is through with batch k - W and there is room: batch k - W P has been taken.
        std::vector<double> ready, taken;
        const double load = 100 * per_sample;
        double now = 0, waited = 0;
        for (int k = 0; k < 12; ++k) {
          const double process = k >= loaders ? ready[static_cast<std::size_t>(k - loaders)] : 0;
          const double room = k >= loaders * prefetch ? taken[static_cast<std::size_t>(k - loaders * prefetch)] : 0;
          ready.push_back(std::max(process, room) + load);
          waited += std::max(0.0, ready.back() - now);
          now = std::max(now, ready.back());
          taken.push_back(now);
          now += c;
        }
        CHECK(same_time(result.record.end, now));
        CHECK(same_time(result.record.workers[0].split[Phase::loading], waited));
        CHECK(same_time(result.record.workers[0].split[Phase::compute], 12 * c));
        if (load / loaders <= c && prefetch > 1 && load <= c)
          CHECK(same_time(result.record.end, load + 12 * c));  // only the first is waited for
        const int whole_turns = 12 / loaders;
        if (load / loaders > c && prefetch > 1) CHECK(result.record.end.seconds() >= whole_turns * load);
        check_books(result, true);
      }
    }
  }
}

TEST_CASE("loader: without processes the worker prepares batches itself; processes restart each epoch; taking a batch takes time") {
  // 1,000 samples are ten batches of 100 an epoch; preparing one takes 20 ms, computing 0.1 s.
  const std::vector<std::string> rest = {"training.scheme=sequential", "workload.data.samples=1000", "training.stop={epochs: 3}"};
  const auto loading = [&](const std::string& loader) {
    std::vector<std::string> sets = rest;
    sets.push_back("devices.node.loader=" + loader);
    const Result result = run_timing(cluster(1), sets);
    check_books(result, true);
    CHECK(same_time(result.record.end, 30 * c + result.record.workers[0].split[Phase::loading].seconds()));
    return result.record.workers[0].split[Phase::loading];
  };
  CHECK(same_time(loading("{per_sample: 200us, workers: 0}"), 30 * 0.020));
  CHECK(same_time(loading("{per_sample: 200us, workers: 2}"), 0.020));  // only the first is waited for
  CHECK(same_time(loading("{per_sample: 200us, workers: 2, hand_over: 3ms}"), 0.020 + 30 * 0.003));
  for (const int workers : {1, 2, 7})
    CHECK(same_time(loading("{per_sample: 200us, workers: " + std::to_string(workers) + ", start: 50ms, hand_over: 3ms}"),
                    3 * (workers * 0.050 + 0.020) + 30 * 0.003));
}

TEST_CASE("copying a batch's inputs to the device") {
  // Two coordinates of 4 bytes a sample: 800 B a batch at 80 kB/s take 10 ms.
  const Result result =
      run_timing(cluster(1), {"devices.node.host_to_device=80kB/s", "training.scheme=sequential", "training.stop={updates: 7}"});
  CHECK(same_time(result.record.end, 7 * (c + 0.010)));
  CHECK(same_time(result.record.workers[0].split[Phase::loading], 7 * 0.010));
  const Result both = run_timing(cluster(1), {"devices.node.host_to_device=80kB/s", "devices.node.loader={per_sample: 1200us}",
                                              "training.scheme=sequential", "training.stop={updates: 7}"});
  CHECK(same_time(both.record.end, 0.12 * 7 + 0.010 + c));  // the loader governs; copy and compute of the last follow
}

TEST_CASE("loaders whose starts take more than 1 % of a run give a warning") {
  // 100 samples of 200 us: the first batch is waited for 20 ms; with `start` two processes start 2 · 50 ms before, in each of the epochs of
  // 10 batches.
  const auto warnings = [](const std::string& loader, int epochs) {
    const Result result = run_timing(cluster(1), {"devices.node.loader=" + loader, "training.scheme=sequential",
                                                  "workload.data.samples=1000", "training.stop={epochs: " + std::to_string(epochs) + "}"});
    return result.record.warnings;
  };
  CHECK(warnings("{per_sample: 200us, workers: 2}", 3).empty());  // 0.02 of 3.02 s: 0.66 %
  REQUIRE(warnings("{per_sample: 200us, workers: 2}", 1).size() == 1);
  CHECK(warnings("{per_sample: 200us, workers: 2}", 1)[0].find("take 20 ms, 1.96 % of this run") != std::string::npos);
  REQUIRE(warnings("{per_sample: 200us, workers: 2, start: 50ms}", 2).size() == 1);
  CHECK(warnings("{per_sample: 200us, workers: 2, start: 50ms}", 2)[0].find("take 240 ms, 10.7 % of this run") != std::string::npos);
  CHECK(warnings("{per_sample: 200us, workers: 0}", 1).empty());  // it prepares each batch itself, and has no start
}

TEST_CASE("a mini-batch that is redone is not loaded again") {
  // 50 samples load in 5 ms. Worker 0 signals at 105 ms: worker 1, with 75 ms a mini-batch, is 25 ms into its second. It redoes that one
  // at once, and is through with its batch at 180 ms: worker 0 then is 25 ms into the second mini-batch of its second batch.
  const Result result =
      run_timing(cluster(2), {"cluster.workers=[{count: 1, device: node}, {count: 1, device: node, slowdown: 1.5}]",
                              "training.scheme={kind: nonblocking, minibatch: 50}",
                              "devices.node.loader={per_sample: 100us, workers: 1, prefetch: 2}", "training.stop={updates: 2}"});
  for (const WorkerRecord& worker : result.record.workers) {
    CHECK(about(worker.split[Phase::loading], 0.005));
    CHECK(about(worker.split[Phase::wasted], 0.025));
  }
  CHECK(about(result.record.end, 0.180));
  CHECK(result.record.workers[0].samples == 150);
  CHECK(result.record.workers[1].samples == 100);
  check_books(result, true);
}

TEST_CASE("serial part: a server takes and sends no message meanwhile") {
  // The server is the bottleneck: two gradients an epoch, each taken and answered in m, and the serial part is not hidden behind them.
  // Steady state, by the difference of two runs.
  for (const int m : {0, 80}) {
    CAPTURE(m);
    const auto seconds = [&](int updates) {
      return run_timing(cluster(2), {"training.scheme={kind: asgd}", "workload.data.samples=200", "workload.serial_per_epoch=30ms",
                                     "cluster.servers={count: 1, per_message: " + std::to_string(m) + "ms}",
                                     "training.stop={updates: " + std::to_string(updates) + "}"})
          .record.end.seconds();
    };
    CHECK(about(Time::from_seconds(seconds(22) - seconds(12)), 5 * (0.030 + std::max(c, 2 * 2 * 1e-3 * m))));
  }
}

TEST_CASE("serial part: all pause when the epoch counter passes, and are idle") {
  // 400 samples over two workers: two updates an epoch.
  for (const std::string scheme : {"ssgd", "{kind: ssgd, via: server}"}) {
    CAPTURE(scheme);
    const Result result = run_timing(cluster(2), {"training.scheme=" + scheme, "workload.data.samples=400",
                                                  "workload.serial_per_epoch=30ms", "training.stop={updates: 6}"});
    CHECK(about(result.record.end, 6 * c + 3 * 0.030));
    for (const WorkerRecord& worker : result.record.workers) {
      CHECK(about(worker.split[Phase::compute], 6 * c));
      CHECK(about(worker.split[Phase::idle], 3 * 0.030));
    }
    check_books(result, true);
  }
  // Asynchronous: what is in progress goes on afterwards. Worker 1 is half through its batch when the epoch ends.
  const Result result =
      run_timing(cluster(2), {"training.scheme={kind: asgd}", "workload.data.samples=400", "workload.serial_per_epoch=30ms",
                              "cluster.workers=[{count: 1, device: node}, {count: 1, device: node, slowdown: 1.5}]",
                              "training.stop={simulated_time: 331ms}"});
  // Updates: 0.1 (w0), 0.15 (w1), 0.2 (w0), 0.3 (w0, fourth: pause). Worker 1's second, due at 0.3, too.
  std::vector<double> times;
  for (const OrderRow& row : result.sink.order) times.push_back(row.time.seconds());
  REQUIRE(times.size() >= 4);
  CHECK(times[3] == doctest::Approx(0.3).epsilon(1e-6));
  CHECK(about(result.record.workers[0].split[Phase::idle], 0.030));
  check_books(result, false);
  const Result slow = run_timing(cluster(2), {"training.scheme={kind: asgd}", "workload.data.samples=400", "workload.serial_per_epoch=30ms",
                                              "cluster.workers=[{count: 1, device: node}, {count: 1, device: node, slowdown: 5}]",
                                              "training.stop={simulated_time: 600ms}"});
  // Worker 0 ends an epoch at 0.4; the batch of worker 1, due at 0.5, is there at 0.53.
  for (const OrderRow& row : slow.sink.order)
    if (row.worker == 1) CHECK(row.time.seconds() == doctest::Approx(0.53).epsilon(1e-6));
  CHECK(slow.record.workers[1].updates == 1);
  CHECK(about(slow.record.workers[1].split[Phase::idle], 0.030));
  check_books(slow, false);
}

}  // namespace compute_test

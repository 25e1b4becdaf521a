// Loaders of several workers on the cores of one host: closed forms.
#include <doctest/doctest.h>

#include <cmath>

#include "tests/simulated/books.hpp"

namespace shared_loader_test {

using namespace straggler;
using namespace straggler::test;

namespace {

constexpr double c = 0.1;  // computing a batch of 100

/// The network of cluster() moves a model in half a nanosecond.
bool about(double time, double seconds) { return std::abs(time - seconds) < 1e-6; }

std::string workers(int count, int cores, const std::string& rest = "") {
  return "cluster.workers=[{count: " + std::to_string(count) + ", device: node, per_host: " + std::to_string(count) +
         ", loader_cores: " + std::to_string(cores) + rest + "}]";
}
constexpr const char* fast_bus = "cluster.network.intra={bandwidth: 1000GB/s, latency: 0s}";

double seconds(int count, const std::vector<std::string>& sets) { return run_timing(cluster(count), sets).record.end.seconds(); }

}  // namespace

TEST_CASE("a shared loader that binds sets the rate: n batches in n l / cores; one that does not changes nothing") {
  // 100 samples of 2 ms: a process takes l = 0.2 s for a batch. By the difference of two runs, without the first batches.
  for (const int n : {2, 4, 8})
    for (const int processes : {0, 1, 2, 4})
      for (const int cores : {1, 2, 3, 40}) {
        CAPTURE(n);
        CAPTURE(processes);
        CAPTURE(cores);
        const std::string loader = "devices.node.loader={per_sample: 2ms, workers: " + std::to_string(processes) + ", prefetch: 2}";
        const auto end = [&](int updates, const std::string& group) {
          return seconds(n, {group, fast_bus, loader, "training.stop={updates: " + std::to_string(updates) + "}"});
        };
        const double step = (end(84, workers(n, cores)) - end(44, workers(n, cores))) / 40;
        const double shared = 0.2 * n / cores;
        if (processes == 0)
          CHECK(about(step, c + std::max(0.2, shared)));  // it computes when it has loaded
        else
          CHECK(about(step, std::max({c, 0.2 / processes, shared})));
      }
}

TEST_CASE("as many cores as processes: every byte of a run is that of loaders of their own") {
  const std::vector<std::string> rest = {fast_bus, "devices.node.loader={per_sample: 700us, workers: 2, hand_over: 1ms}",
                                         "devices.node.jitter={kind: gamma, shape: 4}", "training.scheme={kind: asgd}",
                                         "training.stop={updates: 60}"};
  const auto rows = [&](const std::string& group) {
    std::vector<std::string> sets = rest;
    sets.push_back(group);
    return run_timing(cluster(3), sets).sink.order;
  };
  const auto own = rows("cluster.workers=[{count: 3, device: node, per_host: 3}]"), enough = rows(workers(3, 6)), few = rows(workers(3, 1));
  REQUIRE(own.size() == enough.size());
  bool late = false;
  for (std::size_t i = 0; i < own.size(); ++i) {
    CHECK(own[i].time == enough[i].time);
    CHECK(own[i].worker == enough[i].worker);
    late = late || few[i].time != own[i].time;
  }
  CHECK(late);
}

TEST_CASE("cores that are shared only by name: the mechanism gives the times of a loader alone") {
  // Four processes on three cores, but there is room for one batch: at most one of them prepares at a time.
  for (const char* loader : {"{per_sample: 700us, workers: 1, hand_over: 3ms}", "{per_sample: 1300us, workers: 1, prefetch: 4}",
                             "{per_sample: 1300us, workers: 1, start: 30ms, hand_over: 1ms}", "{per_sample: 300us, workers: 0}"}) {
    CAPTURE(loader);
    // The second worker joins after the end: the first has the only core for itself.
    const auto end = [&](const std::string& group) {
      return seconds(2, {group, std::string("devices.node.loader=") + loader, "devices.node.host_to_device=80kB/s",
                         "training.scheme={kind: local_sgd, steps: 1, via: server}", "workload.data.samples=2100",
                         "training.stop={updates: 30}", "cluster.faults=[{kind: join, worker: 1, at: 100s}]"});
    };
    CHECK(std::abs(end(workers(2, 1)) - end("cluster.workers=[{count: 2, device: node, per_host: 2}]")) < 1e-10);
  }
}

TEST_CASE("unequal workers share by process: the slow one's loader leaves its cores to the other") {
  // Two workers of one process each on one core, free-running; worker 1 computes 1 s a batch, so it takes a batch only every second:
  // l = 0.15 s of each second, and worker 0 has the other 0.85 s: 0.85 / 0.15 batches.
  const Result result = run_timing(
      cluster(2),
      {"cluster.workers=[{count: 1, device: node, per_host: 2, loader_cores: 1}, {count: 1, device: node, same_host: true, "
       "slowdown: 10}]",
       fast_bus, "devices.node.loader={per_sample: 1500us}", "training.scheme={kind: asgd}", "training.stop={simulated_time: 300s}"});
  CHECK(std::abs(static_cast<double>(result.record.workers[1].updates) - 300) <= 2);
  CHECK(std::abs(static_cast<double>(result.record.workers[0].updates) - 300 * 0.85 / 0.15) <= 5);
  check_books(result, false, false);
}

TEST_CASE("two processes on one core: processor sharing by hand") {
  // Both begin at 0 with 100 ms of work, prefetch 1: through at 200, when both begin the next one, at 400, and so on. Compute of 100 ms
  // hides between. Worker 1 joins at 50: 50 are done, then by half: worker 0 at 150, beginning the next; worker 1 has 50 left, at 250.
  const std::vector<std::string> rest = {fast_bus, "devices.node.loader={per_sample: 1ms, prefetch: 1}",
                                         "training.scheme={kind: local_sgd, steps: 1, via: server}"};
  const auto end = [&](int updates, const std::string& more) {
    std::vector<std::string> sets = rest;
    sets.insert(sets.end(), {workers(2, 1), "training.stop={updates: " + std::to_string(updates) + "}"});
    if (!more.empty()) sets.push_back(more);
    return run_timing(cluster(2), sets);
  };
  for (const int updates : {1, 2, 5}) CHECK(about(end(updates, "").record.end.seconds(), 0.2 * updates + c));
  const Result late = end(1, "cluster.faults=[{kind: join, worker: 1, at: 50ms}]");
  CHECK(about(late.record.workers[0].split[Phase::loading].seconds(), 0.15));
  CHECK(about(late.record.workers[1].split[Phase::loading].seconds(), 0.2));
}

TEST_CASE("a crash takes a worker's processes from the cores") {
  // Two workers, l = 300 ms on one core, from 0: 600 ms; at 200 worker 1 goes, when worker 0 has 200 left.
  const Result result = run_timing(
      cluster(2), {workers(2, 1), fast_bus, "devices.node.loader={per_sample: 3ms}", "training.scheme={kind: ssgd, on_failure: drop}",
                   "training.stop={updates: 1}", "cluster.faults=[{kind: crash, worker: 1, at: 200ms}]"});
  CHECK(about(result.record.end.seconds(), 0.2 + 0.2 + c));
  CHECK(result.record.workers[0].split[Phase::loading] == ticks_of(0.4));
  check_books(result, false);
}

TEST_CASE("the last batch of a pass is prepared as small as it is") {
  // 250 samples a worker: batches of 100, 100 and 50. On one core the loader binds: 2 ms a sample for all of two workers.
  const auto end = [](int updates) {
    return seconds(2, {workers(2, 1), fast_bus, "devices.node.loader={per_sample: 2ms, workers: 2}", "workload.data.samples=500",
                       "training.stop={updates: " + std::to_string(updates) + "}"});
  };
  CHECK(about(end(36) - end(18), 6 * 2 * 250 * 2e-3));
}

TEST_CASE("one process that loads for all: its loader's processes share the cores") {
  // DataParallel: 200 samples an iteration by 4 processes of 2 ms a sample on two cores: 0.2 s an iteration.
  const auto step = [](const std::string& scheme) {
    const auto end = [&](int updates) {
      return seconds(2, {workers(2, 2), fast_bus, "devices.node.loader={per_sample: 2ms, workers: 4}", "training.scheme=" + scheme,
                         "training.stop={updates: " + std::to_string(updates) + "}"});
    };
    return (end(60) - end(20)) / 40;
  };
  CHECK(step("{kind: data_parallel}") == doctest::Approx(0.2).epsilon(1e-4));
  // Of a host's only core, dispatch takes 30 ms per iteration, in which nothing is prepared.
  CHECK(step("{kind: data_parallel, loading: between, overhead: 30ms}") == doctest::Approx(0.23).epsilon(1e-4));
}

TEST_CASE("loaders that start again in each epoch start on the shared cores") {
  // Each of two workers starts two processes of 50 ms, on one core: 2 · 2 · 50 ms until both have theirs; then 2 · 2 batches of 20 ms are
  // prepared side by side: the first is there after 80 ms. In each of two epochs.
  const Result result = run_timing(cluster(2), {workers(2, 1), fast_bus, "devices.node.loader={per_sample: 200us, workers: 2, start: 50ms}",
                                                "workload.data.samples=2000", "training.stop={epochs: 2}"});
  CHECK(about(result.record.end.seconds(), 2 * (0.2 + 0.08 + 10 * c)));
  REQUIRE(result.record.warnings.size() == 1);
  CHECK(result.record.warnings[0].find("take 560 ms") != std::string::npos);
}

}  // namespace shared_loader_test

// Units that fail again and again: laws of their times, and what they take with them.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "sim/simulated/failures.hpp"
#include "tests/simulated/books.hpp"
#include "tests/support/folder.hpp"
#include "tests/support/sanitized.hpp"

namespace failures_test {

using namespace straggler;
using namespace straggler::test;

namespace {

/// Workers with batches of 0.1 s, or of 1000 s where `slow`: then few events but failures happen.
Result failing(int workers, const std::string& scheme, const std::string& faults, std::vector<std::string> sets = {}) {
  sets.insert(sets.begin(), {"training.scheme=" + scheme, "cluster.faults=[" + faults + "]"});
  return run_timing(cluster(workers), sets);
}
const std::string slow_batches = "devices.node={compute: {affine: {per_sample: 10s}}}";

double per_failure(const RunRecord& record) { return record.end.seconds() / static_cast<double>(*record.failures); }

double down_share(const RunRecord& record) {
  double down = 0, all = 0;
  for (const WorkerRecord& worker : record.workers) {
    down += worker.split[Phase::down].seconds();
    all += worker.split.total().seconds();
  }
  return down / all;
}

}  // namespace

TEST_CASE("at constant times it is the dated crash, again and again") {
  std::string dated;
  for (int k = 0; k < 6; ++k)
    dated += (k ? ", " : "") + ("{kind: crash, worker: 0, at: " + std::to_string(250 + 350 * k)) + "ms, restart_after: 100ms}";
  for (const std::string scheme :
       {"ssgd", "{kind: ssgd, on_failure: drop}", "{kind: ssgd, via: server}", "asgd", "{kind: local_sgd, steps: 1}"}) {
    CAPTURE(scheme);
    const std::vector<std::string> sets = {"training.stop={updates: 12}", "cluster.network.link={bandwidth: 1Gbps, latency: 50us}"};
    const Result once = failing(1, scheme, dated, sets);
    const Result again = failing(1, scheme, "{kind: random, of: worker, every: 250ms, repair: 100ms}", sets);
    CHECK(again.record.end == once.record.end);
    CHECK(again.sink.order == once.sink.order);
    CHECK(again.record.bytes_sent == once.record.bytes_sent);
    CHECK(again.record.workers[0].split == once.record.workers[0].split);
    CHECK(!once.record.failures);
    CHECK(*again.record.failures == static_cast<std::uint64_t>((again.record.end.seconds() + 0.1) / 0.35));
    check_books(again, false);
  }
}

TEST_CASE("n units with exponential times of mean m, repaired in no time, are one with mean m / n") {
  // A Poisson process of one failure an hour has 1000 in 1000 h, with a standard deviation of 32.
  constexpr double hours = 1000;
  const std::vector<std::string> sets = {"training.stop={simulated_time: 1000h}", slow_batches};
  for (const std::string one : {"{kind: random, of: worker, every: {kind: exponential, mean: 20h}, repair: 0s}",
                                "{kind: random, of: all, every: {kind: exponential, mean: 1h}, repair: 0s}"}) {
    CAPTURE(one);
    const Result result = failing(20, "asgd", one, sets);
    CHECK(std::abs(static_cast<double>(*result.record.failures) - hours) < 4 * std::sqrt(hours));
    CHECK(down_share(result.record) == 0);
  }
}

TEST_CASE("preempted workers are there for (every + notice) / (every + notice + back_after) of the time") {
  // 50 workers, 200 cycles each: their mean share has a standard deviation of 0.0028, the number of cycles one of 0.6 %.
  const double every = 40, notice = 10, back = 25, minutes = 15'000;
  const Result result = failing(50, "asgd",
                                "{kind: preempt, of: worker, every: {kind: exponential, mean: 40min}, notice: 10min, back_after: {kind: "
                                "exponential, mean: 25min}}",
                                {"training.stop={simulated_time: 15000min}", slow_batches});
  CHECK(std::abs(1 - down_share(result.record) - (every + notice) / (every + notice + back)) < 0.0112);
  const double cycles = minutes / (every + notice + back) * 50;
  CHECK(std::abs(static_cast<double>(*result.record.failures) / cycles - 1) < 0.025);
}

TEST_CASE("419 failures in 54 days are one per 3.09 h") {
  const TemporaryFolder folder;
  std::string rows = "unit,from_s,to_s\n";
  const double days = 54 * 86'400.0;
  for (int k = 0; k < 419; ++k) {
    const double at = (k + 0.5) * days / 419;
    rows += "worker/" + std::to_string(k % 4) + "," + std::to_string(at) + "," + std::to_string(at + 600) + "\n";
  }
  const std::string path = folder.write("failures.csv", rows);
  const Result result = failing(4, "asgd", "{kind: trace, path: " + path + "}", {"training.stop={simulated_time: 1296h}", slow_batches});
  CHECK(*result.record.failures == 419);
  CHECK(per_failure(result.record) / 3600 == doctest::Approx(3.09).epsilon(0.002));
  CHECK(down_share(result.record) == doctest::Approx(419 * 600 / days / 4).epsilon(1e-6));
}

TEST_CASE("a host takes its workers with it, a rack its hosts, at one moment") {
  // Two racks of two hosts of two; the first stage is constant, so each unit fails at 250 ms and is back at 650 ms.
  const std::vector<std::string> sets = {"cluster.workers=[{count: 8, device: node, per_host: 2}]",
                                         "cluster.network.topology={kind: two_level, racks: 2}", "training.stop={simulated_time: 600ms}"};
  for (const auto& [of, units] : {std::pair("worker", 8), std::pair("host", 4), std::pair("rack", 2), std::pair("all", 1)}) {
    CAPTURE(of);
    const Result result =
        failing(8, "{kind: ssgd, via: server}", std::string("{kind: random, of: ") + of + ", every: 250ms, repair: 400ms}", sets);
    CHECK(*result.record.failures == static_cast<std::uint64_t>(units));
    for (const WorkerRecord& worker : result.record.workers) CHECK(worker.split[Phase::down] == Time::from_seconds(0.35));
    check_books(result, true, false);
  }
}

TEST_CASE("a worker is back when all units that hold it are repaired") {
  // The worker is down from 100 to 300 ms, and its host from 200 to 600 ms; the clock of the worker goes on, and it fails again at 400 ms.
  const TemporaryFolder folder;
  const std::string path = folder.write("failures.csv", "unit,from_s,to_s\nhost/0,0.2,0.6\nworker/0,0.4,0.5\nworker/0,0.1,0.3\n");
  const Result result = failing(2, "asgd", "{kind: trace, path: " + path + "}", {"training.stop={simulated_time: 1s}"});
  CHECK(result.record.workers[0].split[Phase::down] == Time::from_seconds(0.5));
  CHECK(result.record.workers[1].split[Phase::down] == Time());
  CHECK(*result.record.failures == 3);
}

TEST_CASE("where the whole job is repaired at once, each reads the saved state, and none sends it to another") {
  const std::vector<std::string> sets = {"training.stop={updates: 6}", "cluster.network.link={bandwidth: 1Gbps, latency: 50us}"};
  const Result calm = failing(4, "ssgd", "", sets);
  const Result result = failing(4, "ssgd", "{kind: random, of: all, every: 250ms, repair: 1s}", sets);
  CHECK(*result.record.failures >= 1);
  CHECK(result.record.bytes_sent - result.record.bytes_lost == calm.record.bytes_sent);
  CHECK(result.record.end > calm.record.end);
}

TEST_CASE("units that are not repaired: the run ends when nobody is left") {
  const Result result =
      failing(4, "asgd", "{kind: random, of: worker, every: {kind: weibull, mean: 1s, shape: 2}}", {"training.stop={updates: 100000}"});
  CHECK(result.record.outcome == Outcome::all_workers_down);
  CHECK(*result.record.failures == 4);
}

TEST_CASE("on_failure: abort ends the run at the first failure") {
  const Result result = failing(4, "{kind: ssgd, on_failure: abort}", "{kind: random, of: host, every: 330ms}");
  CHECK(result.record.outcome == Outcome::aborted);
  CHECK(result.record.end == Time::from_seconds(0.33));
}

TEST_CASE("failures come when they come: under any scheme, and whatever else is in the cluster") {
  const std::string faults = "{kind: random, of: worker, every: {kind: exponential, mean: 2s}, repair: {kind: exponential, mean: 300ms}}";
  const std::vector<std::string> sets = {"training.stop={simulated_time: 20s}"};
  const Result first = failing(4, "asgd", faults, sets);
  for (const std::string scheme : {"ssgd", "{kind: fedavg, local_steps: 2}", "{kind: local_sgd, steps: 2}"}) {
    CAPTURE(scheme);
    CHECK(failing(4, scheme, faults, sets).record.failures == first.record.failures);
  }
  // A fifth worker changes nothing for the four, nor does another process.
  const Result more = failing(5, "asgd", faults + ", {kind: fail_slow, of: worker, every: 1s, lasts: 100ms, times_slower: 3}", sets);
  for (std::size_t worker = 0; worker < 4; ++worker)
    CHECK(more.record.workers[worker].split[Phase::down] == first.record.workers[worker].split[Phase::down]);
  CHECK(failing(4, "asgd", faults, {sets[0], "seed=2"}).record.workers[0].split[Phase::down] != first.record.workers[0].split[Phase::down]);
}

TEST_CASE("slow for a while: a batch takes so many times as long, messages of a link wait") {
  // Slow from 100 to 200 ms, 300 to 400 ms and so on: a sequential batch of 100 ms of work takes 100 ms, then 100 ms at a third and 66.7
  // ms.
  const Result slow =
      failing(1, "sequential", "{kind: fail_slow, of: host, every: 100ms, lasts: 100ms, times_slower: 3}", {"training.stop={updates: 2}"});
  CHECK(slow.record.end.seconds() == doctest::Approx(0.1 + 0.1 + 0.2 / 3));
  CHECK(*slow.record.failures == 0);  // nothing has failed
  // 800 kB at 10 MB/s take 80 ms from 100 ms on, when the link is down for 50 ms.
  const std::vector<std::string> link = {"cluster.network.link={bandwidth: 10MB/s, latency: 0s}", "workload.cost={bytes: 800kB}",
                                         "training.stop={updates: 1}"};
  const Result calm = failing(1, "asgd", "", link);
  for (const std::string fault : {"{kind: fail_slow, of: link, every: 100ms, lasts: 50ms, bandwidth_factor: 0}",
                                  "{kind: random, of: link, every: 100ms, repair: 50ms}"}) {
    CAPTURE(fault);
    CHECK(failing(1, "asgd", fault, link).record.end.seconds() == doctest::Approx(calm.record.end.seconds() + 0.05));
  }
}

TEST_CASE("servers with replicas: answers go on while one is there; without any the run ends") {
  const TemporaryFolder folder;
  const std::vector<std::string> sets = {"cluster.servers={count: 2, replicas: 2}"};
  const Result calm = failing(4, "asgd", "", sets);
  const std::string one =
      folder.write("one.csv", "unit,from_s,to_s\nserver/0/replica/0,0.1,0.3\nserver/0/replica/1,0.4,0.5\nserver/1,0.2,\n");
  const Result on = failing(4, "asgd", "{kind: trace, path: " + one + "}", sets);
  CHECK(on.record.end == calm.record.end);
  CHECK(on.sink.order == calm.sink.order);
  const std::string both = folder.write("both.csv", "unit,from_s,to_s\nserver/0/replica/0,0.1,0.15\nserver/0/replica/1,0.125,0.2\n");
  const Result lost = failing(4, "asgd", "{kind: trace, path: " + both + "}", sets);
  CHECK(lost.record.outcome == Outcome::aborted);
  CHECK(lost.record.end == Time::from_seconds(0.125));
  CHECK(std::ranges::any_of(lost.record.warnings, [](const std::string& each) { return each.starts_with("server 0 failed at 125ms"); }));
}

TEST_CASE("more than a million failures and repairs end the run with an error") {
  if (sanitized) return;  // a million events
  try {
    failing(1, "asgd", "{kind: random, of: link, every: 1us, repair: 1us}", {"training.stop={updates: 10}", slow_batches});
    FAIL("it ran");
  } catch (const RunFailed& failed) {
    const std::string what = failed.what();
    CAPTURE(what);
    CHECK(what.starts_with("units failed and were repaired more than 1,000,000 times by 500"));  // two cables, an end each microsecond
  }
}

}  // namespace failures_test

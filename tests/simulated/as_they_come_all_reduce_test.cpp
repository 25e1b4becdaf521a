// All-reduces that start as the workers come, through whole runs: times, accounts, buckets, what is refused.
#include <doctest/doctest.h>

#include <cmath>

#include "sim/collectives/collective.hpp"
#include "tests/simulated/books.hpp"

namespace as_they_come_all_reduce_test {

using namespace straggler;
using namespace straggler::test;

namespace {

constexpr double bandwidth = 125e6, alpha = 100e-6;  // 1 Gbit/s; two links of 50 us

bool near_to(Time time, double seconds, double tolerance = 1e-9) { return std::abs(time.seconds() - seconds) <= tolerance; }

std::string start(const std::string& algorithm, const std::string& more = "") {
  return "cluster.network.collective={algorithm: " + algorithm + ", fidelity: stepwise, start: as_they_come" + more + "}";
}

/// Batches of 100 samples of 1 ms; the last worker is three times slower.
Result run_slow(int workers, std::uint64_t bytes, int updates, std::vector<std::string> more) {
  std::vector<std::string> sets = {
      "cluster.network.link={bandwidth: 1Gbps, latency: 50us}", "workload.cost={bytes: " + std::to_string(bytes) + "B}",
      "training.stop={updates: " + std::to_string(updates) + "}",
      "cluster.workers=[{count: " + std::to_string(workers - 1) + ", device: node}, {count: 1, device: node, slowdown: 3}]"};
  sets.insert(sets.end(), more.begin(), more.end());
  return run_timing(cluster(workers), sets);
}

}  // namespace

TEST_CASE("two workers, one slow: an update is the slow one's computation and its part") {
  // Halves of t seconds. The slow one comes after the fast one's first half has: by tests/collectives/as_they_come_test.cpp it is done
  // 2 t + 2 a after it came, the fast one a before it; so the fast one comes so much the earlier next time.
  const std::uint64_t n = 2'500'000;
  const double t = static_cast<double>(n) / 2 / bandwidth, a = alpha, c = 0.1, slow = 0.3;
  const int updates = 5;
  const Result result = run_slow(2, n, updates, {start("ring")});
  CHECK(near_to(result.record.end, updates * (slow + 2 * t + 2 * a)));
  CHECK(result.record.bytes_sent == updates * 2 * n);
  CHECK(result.record.bytes_lost == 0);
  CHECK(result.record.updates == 5);
  check_books(result, true);

  // The fast one waits for the slow one from when its own half is there until the slow one's begins to leave. What it sends last is still
  // leaving for a as it computes again; at the end that is time in which it waits for the stop.
  const TimeSplit& fast = result.record.workers[0].split;
  CHECK(near_to(fast[Phase::compute], updates * c));
  const double waits = slow - c - (t + a);
  CHECK(near_to(fast[Phase::idle], waits + (updates - 1) * (waits + a)));
  CHECK(near_to(fast[Phase::communication], updates * (t + a + 2 * t + a) + a));
  CHECK(near_to(result.record.workers[0].overlapped, (updates - 1) * a));
  // The slow one never waits without bytes of its own; the fast one's first half comes while it computes.
  const TimeSplit& late = result.record.workers[1].split;
  CHECK(near_to(late[Phase::compute], updates * slow));
  CHECK(near_to(late[Phase::idle], 0));
  CHECK(near_to(late[Phase::communication], updates * (2 * t + 2 * a)));
  CHECK(near_to(result.record.workers[1].overlapped, updates * (t + a)));
}

TEST_CASE("equal workers: a ring on equal links takes as long as one that starts together") {
  for (const int p : {2, 3, 4, 7}) {
    CAPTURE(p);
    const std::uint64_t n = 840'000;
    const std::string equal = "cluster.workers=[{count: " + std::to_string(p) + ", device: node}]";
    const Result as_they_come = run_slow(p, n, 4, {equal, start("ring")});
    const Result together = run_slow(p, n, 4, {equal, "cluster.network.collective={algorithm: ring, fidelity: stepwise}"});
    CHECK(near_to(as_they_come.record.end, together.record.end.seconds(), 1e-10));
    CHECK(as_they_come.record.bytes_sent == together.record.bytes_sent);
    CHECK(as_they_come.sink.order.size() == together.sink.order.size());
    check_books(as_they_come, true);
  }
}

TEST_CASE("every algorithm, every way of sending, with jitter, buckets and overlap: the books balance, the bytes are the same") {
  for (const CollectiveEntry& entry : Registry<CollectiveEntry>::instance().entries()) {
    for (const std::string scheme : {"{kind: ssgd}", "{kind: local_sgd, steps: 2}"}) {
      for (const std::string more : {"", ", eager_up_to: 0B", ", eager_up_to: 300B", ", bucket: 200B", ", bucket: 200B, overlap: true"}) {
        CAPTURE(entry.name);
        CAPTURE(scheme);
        CAPTURE(more);
        std::vector<std::string> sets = {"cluster.network.link={bandwidth: 1Mbps, latency: 5ms}",
                                         "cluster.network.protocol={per_message: 200us, copy_rate: 10MB/s}",
                                         "devices.node.jitter={kind: lognormal, sigma: 0.5}",
                                         "training.scheme=" + scheme,
                                         "cluster.workers=[{count: 4, device: node}, {count: 1, device: node, slowdown: 2}]",
                                         "cluster.servers={count: 2}"};
        if (entry.name == "hierarchical")
          sets.insert(sets.end(), {"cluster.workers=[{count: 4, device: node, per_host: 2}]",
                                   "cluster.network.intra={bandwidth: 10Mbps, latency: 1ms}"});
        sets.push_back(start(entry.name, more));
        const Result as_they_come = run_timing(cluster(5), sets);
        CHECK(as_they_come.record.outcome == Outcome::completed);
        CHECK(as_they_come.record.updates == 10);
        // NCCL's protocols put more bytes on the wire than they carry.
        check_books(as_they_come, true, entry.name != "hierarchical" && entry.name != "nccl");
        check_same(as_they_come, run_timing(cluster(5), sets));
        const std::string buckets = more.find("bucket") == std::string::npos ? "" : more;
        sets.back() = "cluster.network.collective={algorithm: " + entry.name + ", fidelity: stepwise" + buckets + "}";
        const Result together = run_timing(cluster(5), sets);
        // What those who are ahead have sent of an update beyond the stop is lost.
        CHECK(as_they_come.record.bytes_sent - as_they_come.record.bytes_lost <= together.record.bytes_sent);
        CHECK(as_they_come.record.bytes_sent >= together.record.bytes_sent - together.record.bytes_lost);
        CHECK(as_they_come.record.samples == together.record.samples);
      }
    }
  }
}

TEST_CASE("learning does not depend on when all-reduces start") {
  const std::vector<std::string> sets = {"cluster.network.link={bandwidth: 1Mbps, latency: 5ms}",
                                         "devices.node.jitter={kind: lognormal, sigma: 0.5}"};
  for (const std::string scheme : {"{kind: ssgd}", "{kind: local_sgd, steps: 3}"}) {
    std::vector<std::string> together = sets, as_they_come = sets;
    together.insert(together.end(), {"training.scheme=" + scheme, "cluster.network.collective={algorithm: ring, fidelity: stepwise}"});
    as_they_come.insert(as_they_come.end(), {"training.scheme=" + scheme, start("ring")});
    const Result one = run(cluster(4), together), other = run(cluster(4), as_they_come);
    CHECK(one.weights == other.weights);
    CHECK(one.record.end != other.record.end);
  }
}

TEST_CASE("slow spells and failing links are allowed; workers that leave or join are refused") {
  const Result result =
      run_slow(3, 2'500'000, 6,
               {start("ring"),
                "cluster.faults=[{kind: slow, worker: 0, from: 50ms, to: 700ms, times_slower: 4}, {kind: link, worker: 1, from: "
                "310ms, to: 900ms, bandwidth_factor: 0}]"});
  CHECK(result.record.outcome == Outcome::completed);
  CHECK(result.record.updates == 6);
  check_books(result, true);
  for (const std::string fault :
       {"{kind: crash, worker: 0, at: 1s}", "{kind: join, worker: 1, at: 1s}", "{kind: leave, worker: 2, at: 1s}"})
    CHECK_THROWS_WITH(run_slow(3, 1000, 6, {start("ring"), "cluster.faults=[" + fault + "]"}),
                      doctest::Contains("no moment between two updates"));
}

TEST_CASE("as_they_come without messages of its own, and settings that need them, are refused") {
  CHECK_THROWS_WITH(run_slow(3, 1000, 6, {"cluster.network.collective={algorithm: ring, start: as_they_come}"}),
                    doctest::Contains("add fidelity: stepwise"));
  CHECK_THROWS_WITH(run_slow(3, 1000, 6, {"cluster.network.collective={fidelity: stepwise, eager_up_to: 1MiB}"}),
                    doctest::Contains("add start: as_they_come"));
  CHECK_THROWS_WITH(run_slow(3, 1000, 6, {"cluster.network.protocol={per_message: 1ms, cores: 2}"}),
                    doctest::Contains("add cluster.network.collective.fidelity: stepwise"));
  CHECK_THROWS_WITH(run_slow(3, 1000, 6, {"cluster.network.protocol.cores=0"}), doctest::Contains("cores"));
}

TEST_CASE("shared cores that handle all messages") {
  // p messages of a push wait for one core at both ends, at the server in any case: p sends, p receives, one after another.
  const double h = 1e-3, c = 0.1;
  const int p = 6;
  const std::string equal = "cluster.workers=[{count: 6, device: node}]";
  const std::vector<std::string> free = {"cluster.network.link={bandwidth: 1000GB/s, latency: 0s}", equal,
                                         "training.scheme={kind: ssgd, via: server}", "cluster.network.protocol.per_message=1ms"};
  const auto first_update = [&](const std::string& cores) {
    std::vector<std::string> sets = free;
    if (!cores.empty()) sets.push_back("cluster.network.protocol.cores=" + cores);
    const Result result = run_slow(p, 8, 1, sets);
    check_books(result, true);
    return result.record.end;
  };
  CHECK(near_to(first_update(""), c + h + p * h));
  CHECK(near_to(first_update("1"), c + 2 * p * h));
  CHECK(near_to(first_update("7"), c + h + p * h));
  // Two: at the k-th end of two sends their messages come to the server, whose core is one of the two as soon as one has come. From 1 ms on
  // the server takes one message a millisecond, on one core; the other one does the 4 sends that are left, until 5 ms, before the last
  // messages come. The sends were all asked for at 0, and the receives wait behind them: at 3 ms all six have been sent.
  CHECK(near_to(first_update("2"), c + 3 * h + p * h));
  // A ring, message by message, together or not: two rounds of two; with one core each round takes 2 sends and 2 receives.
  for (const std::string how : {"", ", start: as_they_come"}) {
    const std::string ring = "cluster.network.collective={algorithm: ring, fidelity: stepwise" + how + "}";
    const std::vector<std::string> sets = {free[0], free[3], ring, "cluster.workers=[{count: 2, device: node}]"};
    std::vector<std::string> one = sets;
    one.push_back("cluster.network.protocol.cores=1");
    CHECK(near_to(run_slow(2, 8, 1, sets).record.end, c + 2 * 2 * h));
    CHECK(near_to(run_slow(2, 8, 1, one).record.end, c + 2 * 4 * h));
  }
}

}  // namespace as_they_come_all_reduce_test

// The serial part of epochs: a run of E epochs had E - 1 pauses, and where messages move one by one a pause began with the first rank that
// had the result. A crash while the last all-reduce reached the others left the run stalled.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "tests/support/run.hpp"

namespace serial_part_test {

using namespace straggler;
using namespace straggler::test;

namespace {

constexpr double c = 0.1, pause = 0.030;  // a batch; a serial part

std::vector<std::string> joined(std::vector<std::string> some, const std::vector<std::string>& more) {
  some.insert(some.end(), more.begin(), more.end());
  return some;
}

/// The network of cluster() moves a model in half a nanosecond.
bool about(Time time, double seconds) { return std::abs(time.seconds() - seconds) < 1e-6; }

/// Four workers at 1 ms and one behind 10 ms, without bytes that matter: ranks have a tree's result at different times.
std::vector<std::string> skewed(const std::string& start) {
  return {"cluster.workers=[{count: 4, device: node}, {count: 1, device: node, link: {bandwidth: 1000GB/s, latency: 10ms}}]",
          "cluster.network.link={bandwidth: 1000GB/s, latency: 1ms}",
          "cluster.network.collective={algorithm: binomial_tree, fidelity: stepwise, start: " + start + "}", "workload.data.samples=1000"};
}

}  // namespace

TEST_CASE("a run of E epochs has E pauses, each at the end of its epoch, whatever ends the run") {
  // 400 samples over two workers: two updates an epoch.
  struct Case {
    const char* stop;
    int updates, pauses;
  };
  for (const Case& each :
       std::vector<Case>{{"{epochs: 3}", 6, 3}, {"{updates: 6}", 6, 3}, {"{epochs: 2.5}", 5, 2}, {"{updates: 1}", 1, 0}}) {
    for (const std::string scheme : {"ssgd", "{kind: ssgd, via: server}", "{kind: dpsgd, graph: ring}"}) {
      CAPTURE(each.stop);
      CAPTURE(scheme);
      const Result result = run_timing(cluster(2), {"training.scheme=" + scheme, "workload.data.samples=400",
                                                    "workload.serial_per_epoch=30ms", "training.stop=" + std::string(each.stop)});
      CHECK(result.record.updates == static_cast<std::uint64_t>(each.updates));
      CHECK(about(result.record.end, each.updates * c + each.pauses * pause));
      for (const WorkerRecord& worker : result.record.workers) CHECK(about(worker.split[Phase::idle], each.pauses * pause));
      REQUIRE(result.record.epochs_record.size() == static_cast<std::size_t>((each.updates + 1) / 2));
      for (const EpochRecord& epoch : result.record.epochs_record) {
        const bool whole = epoch.epoch <= static_cast<std::uint64_t>(each.pauses);
        CHECK(about(epoch.end - epoch.start, whole ? 2 * c + pause : c));
      }
      CHECK(result.record.epochs_record.back().end == result.record.end);
    }
  }
  // The limit of time cuts the last pause off.
  const Result cut = run_timing(
      cluster(2), {"workload.data.samples=400", "workload.serial_per_epoch=30ms", "training.stop={epochs: 1, simulated_time: 210ms}"});
  CHECK(cut.record.end == Time::from_seconds(0.210));
  CHECK(cut.record.epochs_record.size() == 1);
}

TEST_CASE("a pause begins when the last rank has the result of an all-reduce") {
  for (const std::string start : {"together", "as_they_come"}) {
    CAPTURE(start);
    const std::vector<std::string> sets = joined(skewed(start), {"training.stop={updates: 4}"});  // two epochs
    const Result without = run_timing(cluster(2), sets);
    const Result with = run_timing(cluster(2), joined(sets, {"workload.serial_per_epoch=30ms"}));
    // The last one waits for nobody, and all others for it.
    Time first = Time::limit(), last;
    for (const Span& span : without.sink.spans) {
      if (span.phase != Phase::compute || span.start == Time()) continue;
      first = std::min(first, span.start);
      if (span.start < Time::from_seconds(2 * c)) last = std::max(last, span.start);
    }
    REQUIRE(last.seconds() - first.seconds() > 0.005);
    CHECK(about(with.record.end, without.record.end.seconds() + 2 * pause));
    for (const WorkerRecord& worker : with.record.workers) CHECK(worker.split[Phase::idle] >= Time::from_seconds(2 * pause));
  }
}

TEST_CASE("a crash while the result of the last all-reduce reaches the others does not stall the run") {
  // Batches end at 100 ms; the tree's root has the sum one or two ways later (11 or 2 ms each), and the far worker has it last.
  std::vector<std::string> sets =
      joined(skewed("together"), {"training.stop={updates: 1}", "training.scheme={kind: ssgd, on_failure: drop}"});
  const Result whole = run_timing(cluster(2), sets);
  const double end = whole.record.end.seconds();
  for (const double before_end : {0.001, 0.005, 0.009}) {
    CAPTURE(before_end);
    const std::string at = std::to_string(static_cast<int>(std::lround((end - before_end) * 1e6))) + "us";
    for (const std::string serial : {"0s", "30ms"}) {
      const Result result = run_timing(cluster(2), joined(sets, {"cluster.faults=[{kind: crash, worker: 4, at: " + at + "}]",
                                                                 "workload.data.samples=500", "workload.serial_per_epoch=" + serial}));
      CHECK(result.record.outcome == Outcome::completed);
      CHECK(result.record.updates == 1);
      // The others get the result at once.
      CHECK(about(result.record.end, end - before_end + (serial == "0s" ? 0 : pause)));
    }
  }
}

}  // namespace serial_part_test

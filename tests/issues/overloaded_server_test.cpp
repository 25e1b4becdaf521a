// Under k_batch_sync workers send on without an answer. Before a server that handled fewer messages than they sent, stale gradients piled
// up without bound: the run took ever more memory, and each update several times as long as the one before.
#include <doctest/doctest.h>

#include <algorithm>

#include "tests/support/run.hpp"

namespace straggler::test {
namespace {

using Sets = std::vector<std::string>;

/// Four workers that send 40,000 messages a second, if nothing holds them.
Sets hasty(const std::string& scheme, const std::string& per_message) {
  return {"devices.node.compute.affine.per_sample=1us", "training.scheme=" + scheme, "cluster.servers.per_message=" + per_message,
          "training.stop={simulated_time: 20s}"};
}

RunRecord timed(const Sets& sets) {
  RunOptions options;
  options.timing_only = true;
  return run(cluster(4), sets, options).record;
}

bool warned(const Sets& sets, const std::string& text) {
  RunOptions options;
  options.timing_only = true;
  const Explanation explanation = Experiment(read_scenario_text(cluster(4), "/scenario.yaml", sets), options).explain();
  return std::any_of(explanation.warnings.begin(), explanation.warnings.end(),
                     [&](const std::string& warning) { return warning.find(text) != std::string::npos; });
}

}  // namespace

TEST_CASE("a run ends when its server cannot keep up, and says why") {
  const RunRecord record = timed(hasty("{kind: k_batch_sync, k: 4}", "1ms"));
  REQUIRE(record.outcome == Outcome::overloaded);
  CHECK(std::string(name_of(record.outcome)) == "overloaded");
  CHECK(cannot_go_on(record.outcome));
  CHECK(record.updates >= 1);
  // 40,000 come a second and at most 1,000 are handled: 262,144 wait after 6.7 s.
  CHECK(record.end.seconds() > 6.5);
  CHECK(record.end.seconds() < 7);
  REQUIRE_FALSE(record.warnings.empty());
  CHECK(std::any_of(record.warnings.begin(), record.warnings.end(), [](const std::string& warning) {
    return warning.find(
               "server 0 cannot keep up: 262144 messages wait for it, since more arrive than it handles; give a shorter "
               "cluster.servers.per_message") != std::string::npos;
  }));
  // The same again, to the tick.
  const RunRecord again = timed(hasty("{kind: k_batch_sync, k: 4}", "1ms"));
  CHECK(again.end == record.end);
  CHECK(again.updates == record.updates);
}

TEST_CASE("check warns of a server that cannot keep up exactly where more is sent than it handles") {
  const auto told = [](Sets more, const std::string& per_message) {
    Sets sets = hasty("{kind: k_batch_sync, k: 4}", per_message);
    sets.insert(sets.end(), more.begin(), more.end());
    return warned(sets, "cluster.servers.per_message, fewer workers or larger batches");
  };
  CHECK(told({}, "26us"));  // 25 us is the time between two messages
  CHECK_FALSE(told({}, "24us"));
  CHECK(timed(hasty("{kind: k_batch_sync, k: 4}", "24us")).outcome == Outcome::completed);
  CHECK(told({"cluster.workers=[{count: 3, device: node}, {count: 1, device: node, slowdown: 1000}]"}, "34us"));
  CHECK_FALSE(told({"cluster.workers=[{count: 3, device: node}, {count: 1, device: node, slowdown: 1000}]"}, "33us"));
  CHECK_FALSE(told({"training.batch.per_worker=1000"}, "200us"));
  // A slow link holds the workers back: 1 MB in 1 s.
  CHECK_FALSE(told({"workload.cost={bytes: 1MB}", "cluster.network.link.bandwidth=1MB/s"}, "200ms"));
  CHECK(told({"workload.cost={bytes: 1MB}", "cluster.network.link.bandwidth=1MB/s", "cluster.servers.link={bandwidth: 1GB/s}"}, "260ms"));
  CHECK(warned(hasty("{kind: k_batch_sync, k: 4}", "1ms"),
               "the server needs 1ms for a message, so it handles 1000 a second, and workers send about 40000; k_batch_sync does not"));
}

}  // namespace straggler::test

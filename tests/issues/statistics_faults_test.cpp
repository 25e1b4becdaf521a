// Running statistics are a message behind another: whatever breaks off between the two, the accounts add up and nobody waits forever.
#include <doctest/doctest.h>

#include "tests/support/run.hpp"

using namespace straggler;
using namespace straggler::test;

namespace {

// ResNet-18 for small images, as in tests/simulated/batch_norm_test.cpp.
constexpr std::uint64_t parameters = 11'173'962 * 4, statistics = (5 * 64 + 5 * 128 + 5 * 256 + 5 * 512) * 2 * 4;

RunRecord run_with(const std::string& scheme, const std::string& servers, const std::string& fault, std::vector<std::string> more = {}) {
  more.insert(more.end(), {"workload.cost={model: resnet18}", "workload.batch_norm={exchange: true}", "training.scheme=" + scheme,
                           "cluster.servers.count=" + servers, "cluster.network.link={bandwidth: 1GB/s, latency: 10ms}",
                           "cluster.network.protocol={per_message: 60ms}", "training.stop.updates=6", "cluster.faults=[" + fault + "]"});
  return run_timing(cluster(2), more).record;
}

}  // namespace

TEST_CASE("a worker that fails at any moment loses a message, one with its statistics, or both, and the others continue") {
  // Handling 60 ms and sending 45 ms: the second message waits for the processor for 15 ms, then is on its way for 20 ms.
  for (const char* scheme : {"asgd", "{kind: ssgd, via: server}"})
    for (const char* servers : {"1", "3"}) {
      CAPTURE(scheme);
      CAPTURE(servers);
      std::size_t alone = 0, behind = 0;
      for (int at = 105; at < 1200; at += 7) {
        CAPTURE(at);
        const RunRecord record =
            run_with(scheme, servers, "{kind: crash, worker: 1, at: " + std::to_string(at) + "ms, restart_after: 20ms}");
        CHECK(record.outcome == Outcome::completed);
        CHECK(record.updates == 6);
        CHECK(record.bytes_sent == record.bytes_received + record.bytes_lost);
        CHECK(record.statistics_bytes % statistics == 0);
        CHECK((record.bytes_sent - record.statistics_bytes) % parameters == 0);
        CHECK(record.bytes_received % (parameters + statistics) == 0);  // what arrives is whole
        const std::uint64_t leaders = record.bytes_lost / parameters, followers = record.bytes_lost % parameters / statistics;
        CHECK(record.bytes_lost == leaders * parameters + followers * statistics);
        CHECK(followers <= leaders);
        alone += followers < leaders;
        behind += followers > 0;
      }
      CHECK(alone > 0);
      CHECK(behind > 0);
    }
}

TEST_CASE("a worker that leaves in good order sends its statistics, too") {
  const RunRecord whole = run_with("asgd", "1", "");
  // The first gradient of worker 1: computed at 100 ms, handled at 160, out at 205; its statistics go from 220 on.
  for (const char* at : {"150ms", "180ms", "210ms", "220.01ms"}) {
    CAPTURE(at);
    const RunRecord record = run_with("asgd", "1", std::string("{kind: leave, worker: 1, at: ") + at + "}");
    CHECK(record.bytes_sent == record.bytes_received + record.bytes_lost);
    CHECK(record.workers[1].bytes_sent == parameters + statistics);
    CHECK(record.workers[1].samples == 100);
  }
  CHECK(whole.workers[1].samples > 100);
}

TEST_CASE("statistics of fewer bytes than there are servers arrive") {
  // ResNet-8: 16 channels in 3 norms, then 3 norms each of 32 and 64; of 3,000 servers many have none of the bytes.
  constexpr std::uint64_t few = 3 * (16 + 32 + 64) * 2 * 4;
  static_assert(few < 3000);
  const RunRecord record = run_timing(cluster(2), {"workload.cost={model: resnet8}", "workload.batch_norm={exchange: true}",
                                                   "training.scheme=asgd", "cluster.servers.count=3000"})
                               .record;
  CHECK(record.updates == 10);
  CHECK(record.statistics_bytes >= 10 * few);
  CHECK(record.statistics_bytes % few == 0);
  CHECK(record.bytes_sent == record.bytes_received + record.bytes_lost);
}

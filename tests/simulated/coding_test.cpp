// Encoding and decoding compressed messages takes time: closed forms, accounts, and faults in the midst of it.
#include <doctest/doctest.h>

#include <cmath>

#include "tests/simulated/books.hpp"

namespace coding_test {

using namespace straggler;
using namespace straggler::test;

namespace {

// 2 MB of parameters, of which 1 % of the values travel; a device encodes or decodes a message in 20 ms.
constexpr double batch = 0.1, bandwidth = 125e6, latency = 2 * 50e-6, coding = 0.020, whole = 2e6, compressed = 8 * 5'000;
constexpr int updates = 10;

std::vector<std::string> with(std::vector<std::string> more) {
  std::vector<std::string> sets = {"cluster.network.link={bandwidth: 1Gbps, latency: 50us}", "workload.cost={bytes: 2000000B}",
                                   "training.compression=top_k", "devices.node.compress=100MB/s"};
  sets.insert(sets.end(), more.begin(), more.end());
  return sets;
}

bool about(double seconds, double expected) { return std::abs(seconds - expected) < 1e-7; }

}  // namespace

TEST_CASE("an all-gather of p messages: each worker encodes one and decodes p - 1") {
  for (const char* collective : {"{fidelity: fluid}", "{fidelity: stepwise}", "{fidelity: stepwise, start: as_they_come}"}) {
    for (const int p : {1, 2, 4, 7}) {
      CAPTURE(collective);
      CAPTURE(p);
      const Result result = run_timing(
          cluster(p), with({"training.scheme={kind: ssgd, via: all_reduce}", std::string("cluster.network.collective=") + collective}));
      const double coded = p == 1 ? 0 : p * coding;
      CHECK(about(result.record.end.seconds(), updates * (batch + coded + (p - 1) * (latency + compressed / bandwidth))));
      CHECK(about(result.record.workers[0].split[Phase::compute].seconds(), updates * (batch + coded)));
      check_books(result, true, false);
    }
  }
}

TEST_CASE("buckets: each is encoded when backward has it, and decoded while the next one moves") {
  // Of 2-16-4 from the end: 68 values, of which 17 travel, then 48, of which 12 do. All 116 are encoded in 20 ms. Backward has the first
  // bucket when it is through the second layer: of a batch's time a third is forward, of the rest the layer's share of FLOPs is 64 / 96.
  const int p = 3;
  const double alpha = 2e-3, first = (p - 1) * (alpha + 8 * 17 / 1e6), second = (p - 1) * (alpha + 8 * 12 / 1e6);
  const double decode_first = (p - 1) * coding * 68 / 116, decode_second = (p - 1) * coding * 48 / 116;
  const auto end_of = [&](const char* collective, const char* fidelity) {
    const Result result = run_timing(
        cluster(p), {"cluster.network.link={bandwidth: 1MB/s, latency: 1ms}", "training.compression={kind: top_k, fraction: 0.25}",
                     "devices.node.compress=23200B/s", "training.scheme={kind: ssgd, via: all_reduce}",
                     std::string("cluster.network.collective={bucket: 100B") + collective + fidelity + "}"});
    check_books(result, true, false);
    return result.record.end.seconds() / updates;
  };
  for (const char* fidelity : {"", ", fidelity: stepwise", ", fidelity: stepwise, start: as_they_come"}) {
    CAPTURE(fidelity);
    CHECK(about(end_of("", fidelity), batch + coding + first + std::max(second, decode_first) + decode_second));
    const double there = batch * (1.0 / 3 + 2.0 / 3 * 64 / 96) + coding * 68 / 116 + first;  // before the second is encoded
    const double decoded = std::max(batch + coding + second, there + decode_first);
    CHECK(about(end_of(", overlap: true", fidelity), decoded + decode_second));
  }
}

TEST_CASE("by a server: a worker encodes its message, the servers decode their shards, one message after another") {
  const double up = latency + compressed / bandwidth, down = latency + whole / bandwidth;
  for (const int servers : {1, 2}) {
    CAPTURE(servers);
    const std::string count = "cluster.servers={count: " + std::to_string(servers) + ", compress: 50MB/s}";
    const double decoded = 2 * coding / servers;  // at half the rate
    const Result alone = run_timing(cluster(1), with({"training.scheme=asgd", count}));
    CHECK(about(alone.record.end.seconds(), updates * (batch + coding + up + decoded) + (updates - 1) * down));
    CHECK(about(alone.record.workers[0].split[Phase::compute].seconds(), updates * (batch + coding)));
  }
  // Three gradients are there at the same time.
  const double three_up = latency + 3 * compressed / bandwidth, three_down = latency + 3 * whole / bandwidth;
  const Result three =
      run_timing(cluster(3), with({"training.scheme={kind: ssgd, via: server}", "cluster.servers={count: 1, compress: 50MB/s}"}));
  CHECK(about(three.record.end.seconds(), updates * (batch + coding + three_up + 3 * 2 * coding) + (updates - 1) * three_down));
}

TEST_CASE("coding is free where nothing is compressed, and where no rate is given") {
  for (const char* scheme : {"{kind: ssgd, via: all_reduce}", "{kind: ssgd, via: server}", "{kind: asgd}"}) {
    CAPTURE(scheme);
    const std::string kind = std::string("training.scheme=") + scheme;
    const Time dense = run_timing(cluster(3), with({kind, "training.compression=none"})).record.end;
    CHECK(run_timing(cluster(3), {"cluster.network.link={bandwidth: 1Gbps, latency: 50us}", "workload.cost={bytes: 2000000B}", kind})
              .record.end == dense);
    const std::string instant = "devices.node.compress=1000000000GB/s";
    const std::vector<std::string> free = {"cluster.network.link={bandwidth: 1Gbps, latency: 50us}", "workload.cost={bytes: 2000000B}",
                                           "training.compression=top_k", kind};
    CHECK(about(run_timing(cluster(3), with({kind, instant})).record.end.seconds(), run_timing(cluster(3), free).record.end.seconds()));
  }
}

TEST_CASE("only the device that is slow to encode is waited for") {
  const std::vector<std::string> sets =
      with({"devices.other={compute: {affine: {overhead: 100ms, per_sample: 0s}}}",
            "cluster.workers=[{count: 2, device: other}, {count: 1, device: node}]", "training.scheme={kind: ssgd, via: server}"});
  const Result result = run_timing(cluster(3), sets);
  CHECK(about(result.record.workers[0].split[Phase::compute].seconds(), updates * batch));
  CHECK(about(result.record.workers[2].split[Phase::compute].seconds(), updates * (batch + coding)));
}

TEST_CASE("a worker may fail while it encodes or decodes") {
  // In an update by all-reduce it computes until 100 ms, encodes until 120, and decodes from about 121 to 161.
  for (const char* scheme : {"{kind: ssgd, via: all_reduce}", "{kind: ssgd, via: server}", "{kind: asgd}"}) {
    for (const char* at : {"105ms", "119ms", "125ms", "160ms", "285ms"}) {
      CAPTURE(scheme);
      CAPTURE(at);
      const Result result =
          run_timing(cluster(3), with({std::string("training.scheme=") + scheme, "cluster.servers={count: 1, compress: 50MB/s}",
                                       std::string("cluster.faults=[{kind: crash, worker: 1, at: ") + at + ", restart_after: 500ms}]"}));
      CHECK(result.record.updates == updates);
      CHECK(result.record.workers[1].split[Phase::down].seconds() > 0.3);
      check_time(result);
      check_bytes(result, true, false);
    }
  }
}

TEST_CASE("only coding counts as computing, not the handling of a message before it") {
  const std::string protocol = "cluster.network.protocol={per_message: 4ms, copy_rate: 10MB/s}";
  const double small = 4e-3 + compressed / 10e6, large = 4e-3 + whole / 10e6;  // to handle a message, at either end
  const Result alone = run_timing(cluster(1), with({protocol, "training.scheme=asgd"}));
  const double there = latency + compressed / bandwidth, back = latency + whole / bandwidth;
  CHECK(about(alone.record.end.seconds(), updates * (batch + small + coding + there + small) + (updates - 1) * (large + back + large)));
  CHECK(about(alone.record.workers[0].split[Phase::compute].seconds(), updates * (batch + coding)));
  check_books(alone, true, false);
  // Around a ring of 3 a worker encodes for both neighbours while it computes, then handles and decodes a message, and another one.
  REQUIRE(2 * (small + coding) < batch);
  const Result gossip = run_timing(cluster(3), with({protocol, "training.scheme={kind: dpsgd, gamma: 0.4}"}));
  for (const WorkerRecord& worker : gossip.record.workers)
    CHECK(about(worker.split[Phase::compute].seconds(), updates * (batch + 2 * coding)));
  check_books(gossip, true, false);
}

}  // namespace coding_test

// Compressed gradients in whole runs: weights, bytes, times, and what becomes of what a message leaves out.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "scenarios/sweep/evaluation_file.hpp"
#include "tests/schemes/compressed_runs.hpp"
#include "tests/simulated/books.hpp"
#include "tests/support/folder.hpp"
#include "tests/support/replay.hpp"

using namespace straggler;
using namespace straggler::test;

namespace {

constexpr std::uint64_t d = 2 * 16 + 16 + 16 * 4 + 4;  // parameters of mlp 2-16-4
constexpr std::uint64_t whole_bytes = 4 * d, updates = 10;

const std::vector<std::string> by_server = {"training.scheme={kind: ssgd, via: server}"};
const std::vector<std::string> by_all_reduce = {"training.scheme={kind: ssgd, via: all_reduce}"};
const std::vector<std::string> asynchronous = {"training.scheme={kind: asgd}"};
const std::vector<std::vector<std::string>> ways = {by_server, by_all_reduce, asynchronous};

}  // namespace

TEST_CASE("top_k of all values has the weights of uncompressed gradients, bit for bit, at 8 bytes a parameter") {
  for (const std::vector<std::string>& way : {by_server, by_all_reduce}) {
    for (const bool feedback : {true, false}) {
      CAPTURE(way.front());
      const std::vector<std::string> sets = with(way, {"workload.fuse=off", "training.optimizer.momentum=0.9"});
      const Result plain = run(cluster(3), sets), compressed = run(cluster(3), with(sets, {top_k_of("1", feedback)}));
      CHECK(same_weights(plain, compressed));
      CHECK(!same_weights(compressed, run(cluster(3), with(sets, {top_k_of("0.5", feedback)}))));
      const bool server = way == by_server;
      CHECK(sent_by_workers(compressed.record) == updates * 3 * 8 * d * (server ? 1 : 2));
    }
  }
  const std::vector<std::string> sets = with(asynchronous, {"workload.fuse=off"});
  CHECK(same_weights(run(cluster(1), sets), run(cluster(1), with(sets, {top_k_of("1")}))));
}

TEST_CASE("in mixed precision, top_k of all values skips the updates that uncompressed gradients skip") {
  const std::vector<std::string> sets = {"workload.precision=mixed", "workload.loss_scale={initial: 1099511627776, growth_every: 3}",
                                         "training.stop.updates=60"};
  for (const std::vector<std::string>& way : {by_server, by_all_reduce}) {
    const Result plain = run(cluster(3), with(way, sets)), compressed = run(cluster(3), with(with(way, sets), {top_k_of("1")}));
    CHECK(plain.record.skipped_updates.value_or(0) > 0);
    CHECK(compressed.record.skipped_updates == plain.record.skipped_updates);
    CHECK(same_weights(plain, compressed));
  }
}

TEST_CASE("with batch norm, running statistics travel whole beside a compressed gradient") {
  const std::vector<std::string> sets = {"workload.model=resnet8",
                                         "workload.data={kind: synthetic_images, samples: 96, test_samples: 16}",
                                         "workload.batch_norm.exchange=true",
                                         "training.batch.per_worker=4",
                                         "training.stop={updates: 3}",
                                         "workload.fuse=off"};
  for (const std::vector<std::string>& way : {by_server, by_all_reduce}) {
    const Result plain = run(cluster(3), with(way, sets)), compressed = run(cluster(3), with(with(way, sets), {top_k_of("1")}));
    CHECK(same_weights(plain, compressed));
    CHECK(compressed.record.statistics_bytes > 0);
    if (way == by_server) CHECK(compressed.record.statistics_bytes == plain.record.statistics_bytes);
  }
}

TEST_CASE("a compressed gradient moves 8 k bytes to a server, whose answers are whole") {
  const std::uint64_t k = 12;  // round(0.1 * 116)
  for (const int p : {1, 3}) {
    const auto workers = static_cast<std::uint64_t>(p);
    const Result result = run_timing(cluster(p), with(by_server, {top_k_of("0.1")}));
    CHECK(sent_by_workers(result.record) == updates * workers * 8 * k);
    CHECK(result.record.bytes_sent == updates * workers * 8 * k + (updates - 1) * workers * whole_bytes);
    check_bytes(result, true, false);
  }
  const Result alone = run_timing(cluster(1), with(asynchronous, {top_k_of("0.1")}));
  CHECK(sent_by_workers(alone.record) == updates * 8 * k);
  const Result one_value = run_timing(cluster(1), with(asynchronous, {"training.compression=top_k"}));  // round(1.16)
  CHECK(sent_by_workers(one_value.record) == updates * 8);
  // What counts is what is priced.
  const Result priced = run_timing(cluster(1), with(asynchronous, {"training.compression=top_k", "workload.cost={bytes: 4000000B}"}));
  CHECK(sent_by_workers(priced.record) == updates * 8 * 10'000);
}

TEST_CASE("each bucket of a gradient is compressed as a vector of its own") {
  // Of 2-16-4 from the end: 4 + 64 values are a bucket of 100 bytes or more, then 16 + 32.
  const std::uint64_t last = 68, first = 48;
  const std::vector<std::string> in_buckets =
      with(by_all_reduce, {"cluster.network.collective={bucket: 100B, overlap: true}", "workload.fuse=off"});
  for (const double fraction : {0.01, 0.1, 0.25}) {
    CAPTURE(fraction);
    const auto kept = [&](std::uint64_t n) {
      return std::max<std::uint64_t>(1, static_cast<std::uint64_t>(std::round(fraction * static_cast<double>(n))));
    };
    const Result result = run(cluster(3), with(in_buckets, {top_k_of(std::to_string(fraction))}));
    CHECK(result.record.bytes_sent == updates * 3 * 2 * 8 * (kept(last) + kept(first)));
    // An all-reduce of all around a ring would have sent 2 (p - 1) / p of it each.
    CHECK(result.record.compression_ratio.value_or(0) ==
          doctest::Approx(2.0 * 2 / 3 * whole_bytes / (2.0 * 8 * static_cast<double>(kept(last) + kept(first)))));
    check_bytes(result);
    CHECK(!same_weights(result, run(cluster(3), with(by_all_reduce, {top_k_of(std::to_string(fraction)), "workload.fuse=off"}))));
  }
  CHECK(same_weights(run(cluster(3), with(in_buckets, {top_k_of("1")})), run(cluster(3), in_buckets)));
  // Every kind goes in them, if it cuts no matrices; what rounds value by value has the weights of one piece.
  for (const CompressorEntry& entry : Registry<CompressorEntry>::instance().entries()) {
    if (!entry.rule || entry.factors) continue;
    CAPTURE(entry.name);
    const std::string kind = "training.compression=" + entry.name;
    const Result pieces = run(cluster(3), with(in_buckets, {kind}));
    CHECK(pieces.record.compression_ratio.value_or(0) > 1);
    if (entry.value_by_value) CHECK(same_weights(pieces, run(cluster(3), with(by_all_reduce, {kind, "workload.fuse=off"}))));
    check_bytes(pieces, false, false);
  }
}

TEST_CASE("shards of several servers share a compressed gradient's bytes") {
  const Result result = run_timing(cluster(2), with(by_server, {top_k_of("0.1"), "cluster.servers.count=3"}));
  CHECK(sent_by_workers(result.record) == updates * 2 * 8 * 12);
}

TEST_CASE("an all-reduce of compressed gradients is an all-gather: (p - 1)(alpha + 8 k beta), in both fidelities") {
  const double bandwidth = 125e6, alpha = 2 * 50e-6, batch_seconds = 0.1;
  const std::uint64_t k = 5'000;
  for (const char* collective : {"{fidelity: fluid}", "{fidelity: stepwise}", "{fidelity: stepwise, start: as_they_come}",
                                 "{algorithm: ring, reduce_rate: 1MB/s}"}) {
    for (const int p : {1, 2, 4, 7}) {
      CAPTURE(collective);
      CAPTURE(p);
      const Result result = run_timing(
          cluster(p), with(by_all_reduce, {"cluster.network.link={bandwidth: 1Gbps, latency: 50us}", "workload.cost={bytes: 2000000B}",
                                           "training.compression=top_k", std::string("cluster.network.collective=") + collective}));
      const double steps = p - 1, expected = batch_seconds + steps * (alpha + 8 * static_cast<double>(k) / bandwidth);
      CHECK(std::abs(result.record.end.seconds() / updates - expected) < 1e-8);
      CHECK(result.record.bytes_sent == updates * static_cast<std::uint64_t>(p) * static_cast<std::uint64_t>(p - 1) * 8 * k);
      check_bytes(result);
    }
  }
}

TEST_CASE("unsuitable compression is refused with the remedy") {
  CHECK(has(refusal_of({"training.compression=topk"}), "did you mean 'top_k'"));
  CHECK(has(refusal_of({"training.compression={kind: top_k, fracton: 0.1}"}), "did you mean 'fraction'"));
  CHECK(has(refusal_of({"training.compression={kind: top_k, fraction: 0}"}), "out of range"));
  CHECK(has(refusal_of({"training.compression={kind: none, error_feedback: true}"}), "unknown key 'error_feedback'"));
  CHECK(has(refusal_of({"training.compression=top_k", "cluster.network.collective.algorithm=halving_doubling"}),
            "gathered around a ring, not reduced by halving_doubling"));
}

TEST_CASE("error feedback changes what is learned; without it nothing is kept") {
  for (const std::vector<std::string>& way : ways) {
    const Result kept = run(cluster(2), with(way, {top_k_of("0.1", true)})), lost = run(cluster(2), with(way, {top_k_of("0.1", false)}));
    CHECK(!same_weights(kept, lost));
    CHECK(kept.record.end == lost.record.end);
  }
}

TEST_CASE("residuals of messages end with a worker's life") {
  // One worker, two updates: the second gradient is the first one of a new life, or of the same one.
  const std::vector<std::string> sets = with(asynchronous, {"training.stop={updates: 2, simulated_time: 10s}"});
  const std::string crash = "cluster.faults=[{kind: crash, worker: 0, at: 150ms, restart_after: 10ms}]";
  const Result kept = run(cluster(1), with(sets, {top_k_of("0.1", true)})), lost = run(cluster(1), with(sets, {top_k_of("0.1", false)}));
  CHECK(!same_weights(kept, lost));
  const Result born_again = run(cluster(1), with(sets, {top_k_of("0.1", true), crash}));
  CHECK(born_again.record.updates == 2);
  CHECK(same_weights(born_again, run(cluster(1), with(sets, {top_k_of("0.1", false), crash}))));
}

TEST_CASE("compressed runs with crashes keep their books, replay to the event, and take the same time with and without the math") {
  for (const std::vector<std::string>& way : ways) {
    for (const char* failure : {"drop", "abort"}) {
      CAPTURE(way.front());
      const std::vector<std::string> sets =
          with(way, {top_k_of("0.1"), "devices.node.jitter={kind: gamma, shape: 2}", "training.stop={updates: 20, simulated_time: 60s}",
                     "cluster.network.link={bandwidth: 20kB/s, latency: 1ms}", std::string("training.on_failure=") + failure,
                     std::string(failure) == "abort" ? "seed=3"
                                                     : "cluster.faults=[{kind: crash, worker: 1, at: 130ms, restart_after: 250ms}, "
                                                       "{kind: crash, worker: 0, at: 777ms, restart_after: 10ms}]"});
      const Result timed = run_timing(cluster(3), sets), learned = run(cluster(3), sets);
      check_time(timed);
      check_bytes(timed);
      CHECK(timed.record.updates == 20);
      CHECK(timed.record.end == learned.record.end);
      CHECK(timed.sink.order == learned.sink.order);
      const Result replayed = replay_timing(cluster(3), sets, timed);
      CHECK(replayed.record.weights_key == timed.record.weights_key);
      CHECK(replayed.record.end == timed.record.end);
      CHECK(replayed.record.bytes_sent == timed.record.bytes_sent);
    }
  }
}

TEST_CASE("a compressed run that is killed continues from its checkpoint to the same weights") {
  for (const std::vector<std::string>& way : ways) {
    CAPTURE(way.front());
    const std::vector<std::string> sets =
        with(way, {top_k_of("0.1"), "training.optimizer.momentum=0.9", "devices.node.jitter={kind: gamma, shape: 2}"});
    check_killed_and_resumed(sets);
  }
}

TEST_CASE("a compressed run continues where a shorter one ended, by way of the store, to the same weights") {
  for (const std::vector<std::string>& way : ways) {
    CAPTURE(way.front());
    const std::vector<std::string> sets = with(way, {top_k_of("0.1"), "training.optimizer.momentum=0.9"});
    EvaluationFile store(":memory:");
    const auto stored = [&](const std::vector<std::string>& all) {
      RunOptions options;
      options.store = &store;
      options.saving = {1e9, 1.0};  // at every version, whatever it costs
      Experiment experiment(read_scenario_text(cluster(3), "test.yaml", all), options);
      Result result;
      result.record = experiment.run(&result.sink, nullptr);
      result.weights = experiment.final_weights();
      return std::pair(std::move(result), experiment.computed());
    };
    const std::vector<std::string> longer = with(sets, {"training.stop.updates=25"});
    const auto shorter = stored(sets), going_on = stored(longer);
    CHECK(same_weights(shorter.first, run(cluster(3), sets)));
    CHECK(same_weights(going_on.first, run(cluster(3), longer)));
    CHECK(going_on.second.taken > 0);
    // Without the store it would be 25 updates of one or of all workers.
    CHECK(going_on.second.gradient_samples < going_on.first.record.samples);
  }
}

TEST_CASE("a scenario with compression is written so that it reads back") {
  const Scenario scenario = read_scenario_text(cluster(2), "test.yaml", {"training.compression={kind: top_k, fraction: 5%}"});
  const std::string text = write_scenario(scenario);
  CHECK(has(text, "  compression: {kind: top_k, fraction: 0.05, error_feedback: true, direction: up}\n"));
  CHECK(read_scenario_text(text, "scenario.yaml") == scenario);
}

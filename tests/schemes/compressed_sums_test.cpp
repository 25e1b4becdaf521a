// Whole runs whose all-reduces sum compressed gradients and differences of weights, with low-rank factors among them, and runs that are
// decided by majority.
#include <doctest/doctest.h>

#include <cmath>

#include "sim/training/operations.hpp"
#include "tests/schemes/compressed_runs.hpp"
#include "tests/simulated/books.hpp"
#include "tests/support/replay.hpp"
#include "tests/support/sanitized.hpp"

namespace straggler::compressed_sums_test {

using namespace straggler::test;

namespace {

constexpr std::uint64_t d = 2 * 16 + 16 + 16 * 4 + 4;  // parameters of mlp 2-16-4
constexpr std::uint64_t updates = 10;
// At rank 1 of 16 × 2 and 4 × 16: left factors of 16 and 4 columns' floats with 20 biases, right ones of 2 and 16.
constexpr std::uint64_t left_bytes = 4 * (16 + 4 + 20), right_bytes = 4 * (2 + 16);

const Sets by_server = {"training.scheme={kind: ssgd, via: server}"};
const Sets by_all_reduce = {"training.scheme={kind: ssgd, via: all_reduce}"};
const Sets of_weights = {"training.scheme={kind: local_sgd, via: all_reduce, steps: 2}"};
const Sets averaged_momentum = {"training.scheme={kind: local_sgd, via: all_reduce, steps: 2, momentum_at_sync: average}"};

std::string rank_of(int rank, bool feedback = true) {
  return "training.compression={kind: powersgd, rank: " + std::to_string(rank) + ", error_feedback: " + (feedback ? "true}" : "false}");
}

}  // namespace

TEST_CASE("factors to a server are one message; an all-reduce of them is two") {
  for (const int p : {2, 4}) {  // chunks of whole bytes
    const auto workers = static_cast<std::uint64_t>(p);
    const Result server = run_timing(cluster(p), with(by_server, {rank_of(1)}));
    CHECK(sent_by_workers(server.record) == updates * workers * (left_bytes + right_bytes));
    check_bytes(server, true, false);
    const Result reduced = run_timing(cluster(p), with(by_all_reduce, {rank_of(1)}));
    CHECK(sent_by_workers(reduced.record) == updates * 2 * (workers - 1) * (left_bytes + right_bytes));
    check_bytes(reduced);
  }
  // At rank 2 the first tensor is whole, 16 × 2 numbers.
  const Result whole = run_timing(cluster(1), with(by_server, {rank_of(2)}));
  CHECK(sent_by_workers(whole.record) == updates * 4 * (32 + 16 + 2 * 20 + 4));
}

TEST_CASE("two rings one after the other: 2 (p - 1) (2 alpha + n beta / p), in both fidelities") {
  const double bandwidth = 125e3, alpha = 2 * 50e-6, batch_seconds = 0.1;
  for (const char* collective : {"{fidelity: fluid, algorithm: ring}", "{fidelity: stepwise, algorithm: ring}",
                                 "{fidelity: stepwise, algorithm: ring, start: as_they_come}"}) {
    CAPTURE(collective);
    const int p = 4;
    const Result result = run_timing(cluster(p), with(by_all_reduce, {"cluster.network.link={bandwidth: 1Mbps, latency: 50us}", rank_of(1),
                                                                      std::string("cluster.network.collective=") + collective}));
    // Chunks of whole bytes: 160 / 4 and 72 / 4.
    const double expected = batch_seconds + 2 * (p - 1) * (2 * alpha + static_cast<double>(left_bytes + right_bytes) / p / bandwidth);
    CHECK(std::abs(result.record.end.seconds() / updates - expected) < 1e-6);
  }
}

TEST_CASE("powersgd without room for factors has the weights of uncompressed gradients") {
  // Rank 16: every tensor is whole.
  for (const Sets& way : {by_server, by_all_reduce}) {
    const Sets sets = with(way, {"workload.fuse=off", "training.optimizer.momentum=0.9"});
    CHECK(farthest(run(cluster(3), sets).weights, run(cluster(3), with(sets, {rank_of(16)})).weights) == 0);
  }
}

TEST_CASE("powersgd learns as uncompressed gradients do, by server and by all-reduce; a replay has its bits" * long_case) {
  const Sets longer = {"training.stop={updates: 400}"};
  for (const Sets& way : {by_server, by_all_reduce}) {
    const Result plain = run(cluster(3), with(way, longer)), compressed = run(cluster(3), with(way, with(longer, {rank_of(1)})));
    const Result lost = run(cluster(3), with(way, with(longer, {rank_of(1, false)})));
    REQUIRE(plain.record.final_train_loss);
    CHECK(*compressed.record.final_train_loss < 1.1 * *plain.record.final_train_loss + 0.02);
    CHECK(!same_weights(compressed, lost));
    CHECK(same_weights(compressed, run(cluster(3), with(way, with(longer, {rank_of(1)})))));
  }
}

TEST_CASE("with one worker a server's way and none differ; alone in an all-reduce nothing is compressed") {
  CHECK(same_weights(run(cluster(1), with(by_all_reduce, {rank_of(1)})), run(cluster(1), by_all_reduce)));
  CHECK(!same_weights(run(cluster(1), with(by_server, {rank_of(1)})), run(cluster(1), by_server)));
}

TEST_CASE("a worker that comes back begins from its own factor, and the run continues") {
  for (const char* policy : {"wait", "drop"}) {
    const Result result = run(cluster(3), with(by_all_reduce, {rank_of(1), std::string("training.on_failure=") + policy,
                                                               "cluster.faults=[{kind: crash, worker: 1, at: 250ms, restart_after: 120ms}]",
                                                               "training.stop={updates: 40}"}));
    CHECK(result.record.updates == 40);
    for (const float w : result.weights) CHECK(std::isfinite(w));
  }
}

TEST_CASE("an all-reduce of weights moves the packed difference around a ring, momentum whole beside it") {
  const Sets momentum = {"training.optimizer.momentum=0.9"};
  for (const int p : {2, 4}) {
    const std::uint64_t round = updates * 2 * (static_cast<std::uint64_t>(p) - 1);  // passes of all the bytes around the ring
    const auto bytes = [&](const Sets& more) { return sent_by_workers(run_timing(cluster(p), with(of_weights, more)).record); };
    CHECK(bytes({rank_of(1)}) == round * (left_bytes + right_bytes));
    CHECK(bytes({"training.compression=fp16"}) == round * 2 * d);
    CHECK(bytes({"training.compression={kind: random_k, fraction: 0.1}"}) == round * 4 * 12);  // round(11.6)
    CHECK(bytes(with(averaged_momentum, {rank_of(1), momentum.front()})) == round * (left_bytes + right_bytes + 4 * d));
  }
}

TEST_CASE("compressed weights are all-reduced to the mean of whole ones where nothing is left out") {
  // Rank 16 sends every tensor whole; base + mean(w - base) has other roundings than mean(w).
  for (const Sets& way : {of_weights, averaged_momentum}) {
    const Sets sets = with(way, {"training.optimizer.momentum=0.9", "training.stop={updates: 6}"});
    const Result plain = run(cluster(3), sets);
    CHECK(farthest(plain.weights, run(cluster(3), with(sets, {rank_of(16)})).weights) < 2e-5);
    CHECK(farthest(plain.weights, run(cluster(3), with(sets, {"training.compression={kind: random_k, fraction: 1}"})).weights) < 2e-5);
    CHECK(farthest(plain.weights, run(cluster(3), with(sets, {"training.compression=fp16"})).weights) < 2e-3);
    CHECK(farthest(plain.weights, run(cluster(3), with(sets, {rank_of(1)})).weights) > 1e-4);
  }
}

TEST_CASE("powersgd on weights learns as whole weights do, keeps the error for later, and continues after a kill") {
  const Sets longer = {"training.stop={updates: 200}"};
  const Result plain = run(cluster(3), with(of_weights, longer));
  const Result compressed = run(cluster(3), with(of_weights, with(longer, {rank_of(1)})));
  CHECK(*compressed.record.final_train_loss < 1.1 * *plain.record.final_train_loss + 0.02);
  CHECK(!same_weights(compressed, run(cluster(3), with(of_weights, with(longer, {rank_of(1, false)})))));
  for (const Sets& way : {of_weights, averaged_momentum})
    check_killed_and_resumed(with(way, {rank_of(1), "training.optimizer.momentum=0.9", "devices.node.jitter={kind: gamma, shape: 2}"}));
}

TEST_CASE("runs of factored weights with crashes and a late worker keep their books and end with numbers") {
  for (const char* policy : {"wait", "drop"}) {
    for (const char* kind : {"fp16", "{kind: random_k, fraction: 0.1}", "{kind: powersgd, rank: 1}"}) {
      CAPTURE(policy);
      CAPTURE(kind);
      const Result result =
          run(cluster(4), with(of_weights, {std::string("training.compression=") + kind, std::string("training.on_failure=") + policy,
                                            "cluster.faults=[{kind: crash, worker: 1, at: 250ms, restart_after: 120ms}, "
                                            "{kind: join, worker: 3, at: 700ms}]",
                                            "training.stop={updates: 20, simulated_time: 60s}"}));
      CHECK(result.record.updates == 20);
      check_time(result);
      check_bytes(result);
      for (const float w : result.weights) CHECK(std::isfinite(w));
    }
  }
}

TEST_CASE("an all-reduce of fp16, bf16 and random_k moves their bytes around a ring") {
  const auto bytes = [](const std::string& kind) {
    return sent_by_workers(run_timing(cluster(2), with(by_all_reduce, {"training.compression=" + kind})).record);
  };
  CHECK(bytes("fp16") == updates * 2 * 2 * d);
  CHECK(bytes("bf16") == updates * 2 * 2 * d);
  CHECK(bytes("{kind: random_k, fraction: 0.1}") == updates * 2 * 4 * 12);  // round(11.6)
}

TEST_CASE("a majority of one worker is that worker's signs") {
  // Both end where w ← w - lr sign(g) leads: alone, an all-gather of compressed gradients has none; asgd applies each as it comes.
  const Sets signs = {"training.compression=signsgd", "training.optimizer={kind: sgd, learning_rate: 0.01, momentum: 0.9}"};
  const Result voted = run(cluster(1), with(by_server, signs)), applied = run(cluster(1), with({"training.scheme=asgd"}, signs));
  CHECK(same_weights(voted, applied));
}

TEST_CASE("a vote's answer has ceil(d / 8) bytes; with error feedback answers are weights") {
  const std::uint64_t p = 3, message = (d + 7) / 8;
  const Result voted = run_timing(cluster(3), with(by_server, {"training.compression=signsgd"}));
  CHECK(sent_by_workers(voted.record) == updates * p * message);
  CHECK(voted.record.bytes_sent == updates * p * message + (updates - 1) * p * message);
  const Result scaled = run_timing(cluster(3), with(by_server, {"training.compression={kind: signsgd, error_feedback: true}"}));
  CHECK(scaled.record.bytes_sent == updates * p * (message + 16) + (updates - 1) * p * 4 * d);
  // Where workers come and go, answers are weights too.
  const Result faults = run_timing(cluster(3), with(by_server, {"training.compression=signsgd", "training.on_failure=drop",
                                                                "cluster.faults=[{kind: leave, worker: 2, at: 100s}]"}));
  CHECK(faults.record.bytes_sent == updates * p * message + (updates - 1) * p * 4 * d);
}

TEST_CASE("workers that step by votes stay at the server's weights: every update moves each weight by the rate") {
  const double rate = 0.0078125;  // exact in binary
  const Result start = run(cluster(3), with(by_server, {"training.stop.updates=1", "training.compression=signsgd",
                                                        "training.optimizer={kind: sgd, learning_rate: 0.0078125}"}));
  const Result next = run(cluster(3), with(by_server, {"training.stop.updates=2", "training.compression=signsgd",
                                                       "training.optimizer={kind: sgd, learning_rate: 0.0078125}"}));
  for (std::size_t i = 0; i < start.weights.size(); ++i)
    CHECK(std::abs(std::abs(static_cast<double>(next.weights[i]) - start.weights[i]) - rate) < 1e-6);
  // Contributions are read at the version before, none is stale.
  for (const OrderRow& row : next.sink.order) CHECK(row.read_version + 1 == row.update);
}

TEST_CASE("slow workers and links do not come or go: answers stay votes, and weights the same") {
  const std::uint64_t p = 3, message = (d + 7) / 8;
  const Sets signs = {"training.compression=signsgd"};
  const Result calm = run(cluster(3), with(by_server, signs));
  for (const std::string fault : {"{kind: slow, worker: 1, from: 150ms, to: 450ms, times_slower: 2}",
                                  "{kind: link, worker: 1, from: 150ms, to: 450ms, bandwidth_factor: 0.5}",
                                  "{kind: link, worker: 1, from: 100s, to: 101s, bandwidth_factor: 0.5}"}) {
    CAPTURE(fault);
    const Result result = run(cluster(3), with(by_server, with(signs, {"cluster.faults=[" + fault + "]"})));
    CHECK(result.record.bytes_sent == (2 * updates - 1) * p * message);
    CHECK(same_weights(result, calm));
  }
}

}  // namespace straggler::compressed_sums_test

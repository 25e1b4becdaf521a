// Compressed weights in whole runs: differences from what both sides hold, for every scheme and compressor.
#include <doctest/doctest.h>

#include <cmath>
#include <filesystem>

#include "scenarios/experiment/update_times.hpp"
#include "tests/schemes/compressed_runs.hpp"
#include "tests/simulated/books.hpp"
#include "tests/support/folder.hpp"
#include "tests/support/replay.hpp"
#include "tests/support/sanitized.hpp"

namespace straggler::compressed_weights_test {

using namespace straggler::test;

namespace {

constexpr std::uint64_t d = 2 * 16 + 16 + 16 * 4 + 4;                // parameters of mlp 2-16-4
constexpr std::uint64_t whole = 4 * d, part = 8 * 12, updates = 10;  // round(0.1 * 116) = 12 values

Sets scheme(const std::string& text) { return {"training.scheme=" + text}; }

const Sets by_server = scheme("{kind: local_sgd, via: server, steps: 2}");
const Sets by_all_reduce = scheme("{kind: local_sgd, via: all_reduce, steps: 2}");
const Sets by_neighbours = scheme("{kind: dpsgd, gamma: 0.4}");
const Sets in_fragments = scheme("{kind: diloco, steps: 4, fragments: 2}");
const Sets federated = scheme("{kind: fedavg, local_steps: 2, clients: 2}");
const Sets elastic = scheme("{kind: easgd, period: 2}");
const Sets in_groups = scheme("{kind: hierarchical, edge_rounds: 1, local_steps: 1, aggregators: 2}");
const Sets of_gradients = scheme("{kind: asgd, staleness: delay_compensated}");
const std::vector<Sets> ways = {by_server, by_all_reduce, by_neighbours, in_fragments, federated, elastic, in_groups, of_gradients};

std::string compression(const CompressorEntry& compressor, const std::string& direction) {
  return "training.compression={kind: " + compressor.name + ", error_feedback: true, direction: " + direction + "}";
}

Sets of_variant(const SchemeVariant& variant) { return scheme(text_with_compression(variant)); }

}  // namespace

TEST_CASE("every scheme that sends anything is compressed by every compressor, or refused in one line with the remedy") {
  for (const SchemeVariant& variant : all_scheme_variants()) {
    CAPTURE(variant.text());
    const std::string yaml = cluster(workers_for(variant));
    if (!variant.entry->compressible(variant.parameters)) {
      const std::string line = refusal_of(with(of_variant(variant), {"training.compression=top_k"}), yaml);
      CHECK(has(line, "training.compression: " + variant.entry->name));
      CHECK(has(line, "take none"));
      continue;
    }
    const Sets few = {"training.stop={updates: 3, simulated_time: 100s}"};
    const Result plain = run_timing(yaml, with(scheme(variant.text()), few));
    CHECK(!plain.record.compression_ratio);
    if (sent_by_workers(plain.record) == 0) continue;  // nobody comes to answer
    for (const CompressorEntry& compressor : tried(Registry<CompressorEntry>::instance().entries())) {
      if (!compressor.rule) continue;
      CAPTURE(compressor.name);
      for (const std::string& direction : tried<std::string>({"up", "both"})) {
        Result result;
        try {
          result = run_timing(yaml, with(of_variant(variant), with(few, {compression(compressor, direction)})));
        } catch (const std::exception& error) {
          CHECK(compressor.factors);  // fragments cut the matrices
          CHECK(has(error.what(), "fragment"));
          continue;
        }
        CHECK(result.record.updates == plain.record.updates);
        CHECK(sent_by_workers(result.record) < sent_by_workers(plain.record));
        REQUIRE(result.record.compression_ratio);
        CHECK(*result.record.compression_ratio > 1);
        check_bytes(result, false, false);  // a ring of few bytes moves unequal parts
      }
    }
  }
}

TEST_CASE("CHOCO's gamma is required with compression, and refused without") {
  const std::string asked = refusal_of({"training.scheme=dpsgd", "training.compression=top_k"}, cluster(3));
  CHECK(has(asked, "training.scheme.gamma: dpsgd needs it with training.compression; write gamma: 0.4, or the like"));
  const std::string refused = refusal_of(by_neighbours, cluster(3));
  CHECK(has(refused, "training.scheme.gamma: dpsgd takes it only with training.compression; remove it, or compress messages"));
  CHECK(has(refusal_of({"training.compression={kind: top_k, direction: down}"}), "direction"));
}

TEST_CASE("compressors that lose the size of a change are refused for weights") {
  CHECK(
      has(refusal_of(with(by_server, {"training.compression=signsgd"})),
          "training.compression.error_feedback: signsgd without it does not tell how far weights have moved, and local_sgd sends weights; "
          "write true"));
  CHECK(refusal_of(with(of_gradients, {"training.compression=signsgd"})).empty());
}

TEST_CASE("top_k of all values has the weights of uncompressed messages up to rounding, in both directions" * long_case) {
  int variants = 0, same_order = 0, other = 0;
  for (const SchemeVariant& variant : all_scheme_variants()) {
    if (!variant.entry->compressible(variant.parameters)) continue;
    CAPTURE(variant.text());
    const std::string yaml = cluster(workers_for(variant));
    // A network so fast that bytes change no order.
    const Sets more = {"training.stop={updates: 6, simulated_time: 100s}", "workload.data={kind: coordinates, samples: 600}",
                       "cluster.network.link={bandwidth: 1000000000GB/s, latency: 0s}"};
    Sets plain = with(scheme(variant.text()), more), compressed = with(of_variant(variant), more);
    if (!variant.entry->with_compression.empty()) compressed.push_back("training.scheme.gamma=1");  // D-PSGD
    const Result without = run(yaml, plain);
    for (const std::string& direction : tried<std::string>({"up", "both"})) {
      CAPTURE(direction);
      const Result all = run(yaml, with(compressed, {top_k_of("1", true, direction)}));
      CHECK(all.record.updates == without.record.updates);
      if (all.sink.order != without.sink.order) continue;  // what comes at the same moment may come in another order
      ++same_order;
      CHECK(farthest(all.weights, without.weights) < 2e-5);
    }
    ++variants;
    other += farthest(run(yaml, with(compressed, {top_k_of("0.3", true)})).weights, without.weights) > 2e-5;
  }
  CHECK(same_order > (sanitized ? 0.7 : 1.4) * variants);
  CHECK(other > 0.9 * variants);  // in some nobody comes to contribute anything
}

TEST_CASE("a difference of weights moves 8 k bytes to a server, and from it where both directions are compressed") {
  for (const int p : {1, 3}) {
    const auto workers = static_cast<std::uint64_t>(p);
    for (const char* const servers : {"1", "3"}) {
      const Sets sets = with(by_server, {std::string("cluster.servers.count=") + servers});
      const Result up = run_timing(cluster(p), with(sets, {top_k_of("0.1")}));
      CHECK(sent_by_workers(up.record) == updates * workers * part);
      CHECK(up.record.bytes_sent == workers * (updates * part + (updates - 1) * whole));
      const double without = 2 * updates - 1;  // whole messages of each worker
      CHECK(*up.record.compression_ratio == doctest::Approx(without * whole / (updates * part + (updates - 1) * whole)));
      const Result both = run_timing(cluster(p), with(sets, {top_k_of("0.1", true, "both")}));
      CHECK(both.record.bytes_sent == workers * (2 * updates - 1) * part);
      CHECK(*both.record.compression_ratio == doctest::Approx(static_cast<double>(whole) / part));
    }
  }
}

TEST_CASE("a client's first answer is whole; aggregators compress like workers") {
  const Sets three = {"training.stop={updates: 3}"};
  const Result clients = run_timing(cluster(2), with(federated, with(three, {top_k_of("0.1", true, "both")})));
  CHECK(clients.record.bytes_sent == 2 * (3 * part + whole + part));
  const Result up = run_timing(cluster(4), with(in_groups, with(three, {top_k_of("0.1")})));
  CHECK(up.record.bytes_sent == 6 * (3 * part + 2 * whole));
  const Result both = run_timing(cluster(4), with(in_groups, with(three, {top_k_of("0.1", true, "both")})));
  CHECK(both.record.bytes_sent == 6 * (3 * part + whole + part));
}

TEST_CASE("an all-reduce of weights is an all-gather of differences; fragments are compressed each alone") {
  for (const int p : {2, 4}) {
    const auto workers = static_cast<std::uint64_t>(p);
    const Result all = run_timing(cluster(p), with(by_all_reduce, {top_k_of("0.1")}));
    CHECK(all.record.bytes_sent == updates * workers * (workers - 1) * part);
    CHECK(*all.record.compression_ratio == doctest::Approx(2.0 * whole / (p * part)));
    CHECK(static_cast<double>(all.record.bytes_sent) * *all.record.compression_ratio ==
          doctest::Approx(static_cast<double>(run_timing(cluster(p), by_all_reduce).record.bytes_sent)));
    const Result fragments = run_timing(cluster(p), with(in_fragments, {top_k_of("0.1")}));
    CHECK(fragments.record.bytes_sent == updates * workers * (workers - 1) * 8 * 6);  // round(0.1 * 58) = 6
  }
  const Result alone = run(cluster(1), with(by_all_reduce, {top_k_of("0.1")}));
  CHECK(same_weights(alone, run(cluster(1), by_all_reduce)));  // sends nothing, compresses nothing
  CHECK(!alone.record.compression_ratio);
}

TEST_CASE("gossip sends estimates' differences, as many as it would send weights") {
  const Result plain = run_timing(cluster(4), scheme("dpsgd")), compressed = run_timing(cluster(4), with(by_neighbours, {top_k_of("0.1")}));
  CHECK(compressed.record.bytes_sent * whole == plain.record.bytes_sent * part);
  CHECK(*compressed.record.compression_ratio == doctest::Approx(static_cast<double>(whole) / part));
}

TEST_CASE("a worker that restarts gets its first answer whole, and its earlier error is gone") {
  // One worker. Its first life makes update 1 at 0.1 s; the second gets the weights whole at 0.16 s and makes updates 2 to 4.
  const std::string crash = "cluster.faults=[{kind: crash, worker: 0, at: 150ms, restart_after: 10ms}]";
  for (const std::string kind : {"asgd", "{kind: easgd, period: 1}"}) {
    CAPTURE(kind);
    const Sets sets = {"training.scheme=" + kind, "training.stop={updates: 4, simulated_time: 10s}", crash};
    const Result both = run_timing(cluster(1), with(sets, {top_k_of("0.1", true, "both")}));
    CHECK(both.record.updates == 4);
    CHECK(both.record.bytes_sent == 4 * part + 2 * part + 2 * whole);
    // Of the second life's first update nothing depends on feedback.
    const Sets two = with(sets, {"training.stop.updates=2"});
    CHECK(same_weights(run(cluster(1), with(two, {top_k_of("0.1", true)})), run(cluster(1), with(two, {top_k_of("0.1", false)}))));
    const Sets third = with(sets, {"training.stop.updates=3"});
    CHECK(!same_weights(run(cluster(1), with(third, {top_k_of("0.1", true)})), run(cluster(1), with(third, {top_k_of("0.1", false)}))));
  }
}

TEST_CASE("a difference does not overtake the whole weights that were sent before it") {
  // A message of 16 bytes leaves while one of 464 is still on its way over a link of 1 kB/s. Neighbours take versions in order.
  for (const std::string graph : {"full", "ring"}) {
    for (const std::string failure : {"drop", "wait"}) {
      CAPTURE(graph);
      CAPTURE(failure);
      const Result result = run_timing(
          cluster(4), {"training.scheme={kind: dpsgd, gamma: 0.4, graph: " + graph + "}", "training.on_failure=" + failure,
                       "cluster.network.link={bandwidth: 1kB/s, latency: 0s}", "training.stop={updates: 30, simulated_time: 60s}",
                       "training.compression={kind: top_k, fraction: 0.02}",
                       "cluster.faults=[{kind: crash, worker: 1, at: 130ms, restart_after: 250ms}, {kind: join, worker: 3, at: 1500ms}]"});
      CHECK(result.record.outcome == Outcome::completed);
      CHECK(result.record.updates == 30);
      check_time(result);
      check_bytes(result);
    }
  }
}

TEST_CASE("runs of compressed weights with crashes keep their books, replay to the event, and take the same time with the math") {
  for (const Sets& way : ways) {
    for (const std::string direction : {"up", "both"}) {
      CAPTURE(way.front());
      const Sets sets = with(way, {top_k_of("0.1", true, direction), "devices.node.jitter={kind: gamma, shape: 2}",
                                   "training.stop={updates: 12, simulated_time: 60s}",
                                   "cluster.network.link={bandwidth: 20kB/s, latency: 1ms}", "training.on_failure=drop",
                                   "cluster.faults=[{kind: crash, worker: 1, at: 130ms, restart_after: 250ms}, "
                                   "{kind: crash, worker: 0, at: 777ms, restart_after: 10ms}, {kind: join, worker: 3, at: 500ms}]"});
      const Result timed = run_timing(cluster(4), sets), learned = run(cluster(4), sets);
      check_time(timed);
      check_bytes(timed);
      CHECK(timed.record.updates == 12);
      CHECK(timed.record.end == learned.record.end);
      CHECK(timed.sink.order == learned.sink.order);
      CHECK(std::isfinite(learned.weights.front()));
      const Result replayed = replay_timing(cluster(4), sets, timed);
      CHECK(replayed.record.weights_key == timed.record.weights_key);
      CHECK(replayed.record.end == timed.record.end);
      CHECK(replayed.record.bytes_sent == timed.record.bytes_sent);
      CHECK(replayed.record.compression_ratio == timed.record.compression_ratio);
    }
  }
}

TEST_CASE("a run of compressed weights that is killed continues from its checkpoint to the same weights") {
  for (const Sets& way : ways) {
    CAPTURE(way.front());
    const Sets sets =
        with(way, {top_k_of("0.1", true, "both"), "training.optimizer.momentum=0.9", "devices.node.jitter={kind: gamma, shape: 2}"});
    check_killed_and_resumed(sets);
  }
}

TEST_CASE("the bytes of a dropped contribution are its compressed bytes") {
  // Two of three clients count; the third one's difference is dropped.
  const Sets sets = with(scheme("{kind: fedavg, local_steps: 1, clients: 2, over_select: 1.5}"),
                         {"training.stop={updates: 3}",
                          "cluster.workers=[{count: 2, device: node}, {count: 1, device: node, slowdown: 1.5}]", top_k_of("0.1")});
  const Result result = run_timing(cluster(3), sets);
  CHECK(result.record.dropped.contributions > 0);
  CHECK(result.record.dropped.bytes == result.record.dropped.contributions * part);
}

TEST_CASE("check times an update with and without compression") {
  const std::string link = "cluster.network.link={bandwidth: 1MB/s, latency: 0s}";
  const double batch = 0.1, bandwidth = 1e6;
  const auto times =
      update_times(read_scenario_text(cluster(1), "test.yaml", {"training.scheme=asgd", link, top_k_of("0.1"), "training.stop.updates=1"}));
  REQUIRE(times);
  // A worker alone: its batch, its message, and the answer, which is whole.
  CHECK(times->compressed == doctest::Approx(batch + (part + whole) / bandwidth).epsilon(1e-6));
  CHECK(times->whole == doctest::Approx(batch + 2 * whole / bandwidth).epsilon(1e-6));
  const auto gossip = update_times(read_scenario_text(cluster(3), "test.yaml", with(by_neighbours, {link, top_k_of("0.1")})));
  REQUIRE(gossip);
  CHECK(gossip->compressed == doctest::Approx(gossip->whole));  // batches hide the messages
  CHECK(!update_times(read_scenario_text(cluster(1), "test.yaml", {"training.scheme=asgd"})));
}

}  // namespace straggler::compressed_weights_test

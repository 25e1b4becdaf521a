// Shared states change no weights, and what cannot share them is refused.
#include "tests/sharding/shared_states.hpp"
#include "tests/support/text.hpp"

namespace sharding_weights_test {

using namespace straggler;
using namespace straggler::test;

namespace {

const char* const stages[] = {"stage: 1", "stage: 2", "stage: 3", "stage: 3, keep_gathered: true, reduce: last"};

Sets with(Sets sets, const std::string& sharding) {
  sets.emplace_back("training.scheme={kind: ssgd, via: all_reduce}");
  if (!sharding.empty()) sets.push_back("training.sharding={" + sharding + "}");
  return sets;
}

std::string refused(const Sets& more, const std::string& sharding = "stage: 3", int workers = 4) {
  const std::string text = error_of<ScenarioErrors>([&] { run_timing(cluster(workers), with(more, sharding)); });
  CHECK(text.find('\n') == std::string::npos);
  return text;
}

}  // namespace

TEST_CASE("weights of every stage are those of ssgd, bit for bit") {
  const Sets settings[] = {{},
                           {"workload.fuse=off"},
                           {"training.batch.accumulate=4"},
                           {"workload.precision=bf16"},
                           {"workload.precision=mixed"},
                           {"training.compression=fp16"},
                           {"training.clip=0.01"},
                           {"training.optimizer={kind: adamw, learning_rate: 0.01}"},
                           {"training.batch={global: 9, accumulate: 3}"},  // batches of 3 and 2
                           {"cluster.workers=[{count: 3, device: node}, {count: 1, device: node, slowdown: 3}]"},
                           {"cluster.workers=[{count: 2, device: node, batch: 150}, {count: 2, device: node, batch: 50}]"}};
  for (const Sets& sets : settings) {
    CAPTURE(sets.empty() ? std::string() : sets.front());
    const Result whole = run(cluster(4), with(sets, ""));
    for (const char* stage : stages) {
      CAPTURE(stage);
      const Result shared = run(cluster(4), with(sets, stage));
      CHECK(shared.weights == whole.weights);
      CHECK(shared.record.weights_key == whole.record.weights_key);
      CHECK(shared.sink.order.size() == whole.sink.order.size());
      CHECK(shared.record.samples == whole.record.samples);
    }
  }
}

TEST_CASE("so are those of hosts with copies, of a second copy on each host, and of one worker") {
  const Result whole = run(cluster(8), with(on_hosts(), ""));
  for (const char* stage : {"stage: 1, across: host", "stage: 3, across: host", "stage: 3, secondary: host"})
    CHECK(run(cluster(8), with(on_hosts(), stage)).weights == whole.weights);
  CHECK(run(cluster(1), with({}, "stage: 3")).weights == run(cluster(1), with({}, "")).weights);
}

TEST_CASE("what cannot share states is refused in one line, at its key") {
  CHECK(has(refused({"cluster.faults=[{kind: crash, worker: 1, at: 10s, restart_after: 1s}]"}), "takes the only copy of a shard"));
  CHECK(has(refused({"cluster.faults=[{kind: leave, worker: 1, at: 10s}]"}), "cluster.faults[0].kind"));
  CHECK(has(refused({"training.compression=top_k"}), "training.compression: top_k messages are of whole gradients"));
  CHECK(has(refused({"training.clip=1", "training.clip_at=worker"}), "training.clip_at"));
  const Sets muon = {"training.optimizer={kind: muon, learning_rate: 0.1, adamw_learning_rate: 0.01}"};
  CHECK(has(refused(muon, "stage: 2"), "training.optimizer: muon steps on whole matrices, which stage 2"));
  CHECK(has(refused(muon, "stage: 3"), "stage: 1"));
  CHECK(has(refused({"cluster.network.collective={algorithm: double_binary_tree}"}),
            "cluster.network.collective.algorithm: double_binary_tree has no all-gather"));
  CHECK(has(refused({"cluster.network.collective={fidelity: stepwise, start: as_they_come}"}), "cluster.network.collective.start"));
  CHECK(has(refused({"workload.cost={bytes: 1MB}"}, "stage: 3, units: layers"), "training.sharding.units"));
  CHECK(has(refused({}, "stage: 3, units: many"), "write blocks, layers, or a size such as 100MB"));
  CHECK(has(refused({}, "stage: 4"), "training.sharding.stage"));
  CHECK(has(refused({}, "across: host"), "stage: is missing; write 1, 2 or 3"));
  CHECK(has(refused({}, "stage: 3, across: host"), "training.sharding.across"));
  CHECK(has(refused({"cluster.workers=[{count: 4, device: node, per_host: 3}]"}, "stage: 3, across: host"), "one has 3 and another 1"));
  CHECK(has(refused({}, "stage: 2, secondary: host"), "training.sharding.secondary"));
  CHECK(has(refused(on_hosts(), "stage: 3, across: host, secondary: host", 8), "training.sharding.secondary"));
}

TEST_CASE("schemes whose workers step on all states refuse it by their name") {
  for (const char* scheme : {"asgd", "local_sgd", "dpsgd", "fedavg", "easgd"}) {
    const std::string text = error_of<ScenarioErrors>([&] {
      run_timing(cluster(4), {std::string("training.scheme={kind: ") + scheme + (std::string(scheme) == "local_sgd" ? ", steps: 2}" : "}"),
                              "training.sharding={stage: 3}"});
    });
    CAPTURE(scheme);
    CHECK(has(text, "training.sharding"));
    CHECK(has(text, scheme));
  }
  CHECK(has(error_of<ScenarioErrors>([&] {
              run_timing(cluster(4), {"training.scheme={kind: ssgd, via: server}", "training.sharding={stage: 3}"});
            }),
            "via: all_reduce"));
}

TEST_CASE("stage 3 ignores buckets") {
  const Result without = run_timing(cluster(4), sharded("stage: 3", {800, 800}));
  const Result with_buckets = run_timing(cluster(4), sharded("stage: 3", {800, 800}, {}, "algorithm: ring, bucket: 100B, overlap: true"));
  CHECK(without.record.end == with_buckets.record.end);
  CHECK(without.record.bytes_sent == with_buckets.record.bytes_sent);
}

}  // namespace sharding_weights_test

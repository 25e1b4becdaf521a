#include "scenarios/schema/writer.hpp"

#include <doctest/doctest.h>

#include "tests/schema/reader_fixture.hpp"

using namespace straggler;
using namespace straggler::test;

namespace {
void check_round_trip(const Scenario& scenario) {
  const std::string text = write_scenario(scenario, vocabulary());
  CAPTURE(text);
  const Scenario again = read(text);
  CHECK(again == scenario);
  CHECK(write_scenario(again, vocabulary()) == text);
}
}  // namespace

TEST_CASE("a written scenario reads back the same, and writes the same text") {
  for (const std::vector<std::string>& sets : std::vector<std::vector<std::string>>{
           {},
           {"seed=18446744073709551615"},
           {"training.scheme={kind: ssgd, via: server}", "training.batch={global: 1000, drop_last: true}"},
           {"training.stop={updates: 10, simulated_time: 1.5min}",
            "training.evaluate={every: {simulated_time: 10s}, split: validation, sustain: 1}"},
           {"training.evaluate={every: {updates: 100}}"},
           {"cluster.network.topology={kind: two_level, racks: 2, oversubscription: 3}", "cluster.network.collective.algorithm=ring"},
           {"cluster.network.collective.algorithm={kind: tree, pieces: 9}"},
           {"workload.cost={bytes: 64MiB}", "workload.data.path='../some folder/\"#1\": x'"},
           {"workload.data.path='true'"},
           {"workload.fuse=off", "training.stop.on_target=continue", "workload.data.augment={crop: 4, flip: true}"},
           {"workload.data.path=\"caf\xc3\xa9\\t\\\\\""},
           {"devices.node.jitter={kind: trace, file: a.csv, every: call}", "devices.v100.jitter.every={time: 100ms}"},
           {"devices.node.compute.affine={overhead: 0.1us, per_sample: 333.3333333333333us}",
            "training.optimizer.learning_rate=0.30000000000000004"},
           {"cluster.servers.link={latency: 1h}", "training.schedule={kind: step, every: 10.5, warmup: {epochs: 0.1}}"},
       }) {
    CAPTURE(sets.empty() ? std::string("as it is") : sets[0]);
    check_round_trip(read(good, sets));
  }
}

TEST_CASE("every part of the cluster is written so that it reads back") {
  for (const std::vector<std::string>& sets : std::vector<std::vector<std::string>>{
           {},
           {"devices.gpu.profile=cpu_core", "devices.gpu.loader={per_sample: 1us}"},
           {"devices.gpu.compute.forward_fraction=0.1", "devices.gpu.compute.roofline={peak: 1.23456789GFLOPS, memory_bandwidth: 1bps}"},
           {"devices.fast={profile: h100, compute: {table: {32: 13ms}, launch: 1us}}"},
           {"devices.fast={profile: cpu_core, host_to_device: 1GB/s}", "cluster.workers[0].device=h100"},
           {"cluster.network.link={up: 1Gbps, down: 3Gbps, latency: 0s}", "cluster.workers[0].link={down: 1Gbps, burst: 1MiB}"},
           {"cluster.network.link={bandwidth: 1Gbps, latency: 1us, burst: 1B}", "cluster.workers[0].link={peak: 5Gbps}"},
           {"cluster.workers[1].link={bandwidth: 1Gbps}", "cluster.network.link.duplex=half"},
           {"cluster.servers={count: 1000000, host: {worker: 0}}"},
           {"cluster.servers={count: 3, host: {each: true}}"},
           {"cluster.network.intra={bandwidth: 1GB/s, latency: 0s, while_computing: 0.3, switch: {workers: 2, bandwidth: 2GB/s, latency: "
            "1us}, socket: {workers: 4, bandwidth: 3GB/s}, nvlink: {workers: 2, bandwidth: 50GB/s, latency: 1us}}"},
           {"cluster.network.collective={overlap: true, merge: time, cycle: 2ms}"},
           {"cluster.network.collective={overlap: true, merge: mg_wfbp}"},
           {"cluster.network.collective={overlap: true, interference: 0.19, per_step: 6ms}"},
           {"training.batch={global: 2048, rebalance: {every: {updates: 7}}}"},
           {"cluster.network.collective={overlap: true, merge: mg_wfbp, merge_start: 1ms, merge_rate: 1GB/s}"},
           {"cluster.network.intra={bandwidth: 1GB/s, latency: 0s, switch: {workers: 4, bandwidth: 2GB/s}, card: {workers: 2, at: "
            "switch}}"},
           {"cluster.network.jitter={kind: lognormal, sigma: 0.3, every: 100ms}", "cluster.network.protocol.connection=5Gbps",
            "cluster.workers[0].neighbours=0.25"},
           {"cluster.aggregators={host: first_worker}"},
           {"cluster.aggregators={host: own, link: {bandwidth: 1Gbps, latency: 7us}}"},
           {"cluster.network.sharing=lv08", "cluster.network.protocol={}", "cluster.network.background=[]", "cluster.faults=[]"},
           {"cluster.network.protocol.segments=[{up_to: 1B, bandwidth_factor: 0.1}, {up_to: 3B}]"},
           {"cluster.network.background[0]={from: worker/1, to: worker/0, on: 1ms, rate: 1bps, start: 1h}"},
           {"cluster.network.collective={overlap: true}"},
           {"cluster.network.collective={bucket: 3B, first_bucket: 2B}"},
           {"cluster.network.collective={fidelity: stepwise}", "cluster.network.protocol.cores=3"},
           {"cluster.network.collective={fidelity: stepwise, start: as_they_come, eager_up_to: 0B}"},
           {"cluster.faults[6].link='worker/0 \"up\"'", "cluster.faults[6].bandwidth_factor=33.3%"},
           {"training.scheme=asgd", "training.on_failure=abort", "cluster.network.collective={}"},
           {"workload.precision=mixed"},
           {"workload.precision=mixed", "workload.loss_scale={initial: 1024, growth_every: 7}"},
           {"workload.precision=fp16", "workload.loss_scale={initial: 8}"},
           {"workload.precision=bf16"},
           {"workload.cost={model: resnet50}", "workload.serial_per_epoch=0.1ns"},
           {"workload.model.weights=some/start.safetensors", "workload.batch_norm={exchange: true}"},
       }) {
    CAPTURE(sets.empty() ? std::string("as it is") : sets[0]);
    check_round_trip(read(rich, sets));
  }
}

TEST_CASE("every default is written out") {
  const std::string text = write_scenario(read(good), vocabulary());
  for (const char* line :
       {"straggler: 1\n", "name: two-slow-workers\n",
        "    compute: {affine: {overhead: 2ms, per_sample: 350us}, forward_fraction: 0.3333333333333333}\n",
        "    jitter: {kind: lognormal, sigma: 0.2, every: batch}\n",
        "    - {count: 6, device: node, slowdown: 1, per_host: 1, waiting: yield}\n",
        "    - {count: 2, device: v100, slowdown: 3, link: {bandwidth: 100Mbps, latency: 50us}, per_host: 1, waiting: yield}\n",
        "    sharing: {kind: max_min}\n", "  faults: []\n", "  batch: {per_worker: 256, drop_last: false}\n", "  precision: fp32\n",
        "  compression: {kind: none}\n",
        "  evaluate: {every: {epochs: 0.25}, thresholds: [0.8, 0.85, 0.88], sustain: 2, split: test, train_samples: 10000}\n"})
    CHECK_MESSAGE(text.find(line) != std::string::npos, std::string(line));
}

TEST_CASE("the loss scale is written out where there is one") {
  const auto text = [](const char* precision) {
    return write_scenario(read(good, {std::string("workload.precision=") + precision}), vocabulary());
  };
  CHECK(text("mixed").find("  precision: mixed\n  loss_scale: {initial: 65536, growth_every: 2000}\n") != std::string::npos);
  CHECK(text("fp16").find("  precision: fp16\n  loss_scale: {initial: 1}\n") != std::string::npos);
  CHECK(text("bf16").find("loss_scale") == std::string::npos);
}

TEST_CASE("every part of the cluster is written out, the numbers of built-in devices too") {
  const std::string text = write_scenario(read(rich), vocabulary());
  CAPTURE(text);
  for (const char* line :
       {"    compute: {affine: {overhead: 2ms, per_sample: 350us}, forward_fraction: 0.4}\n",
        "    loader: {per_sample: 100us, workers: 4, prefetch: 3, start: 0s, hand_over: 0s}\n    host_to_device: 12GB/s\n    memory: "
        "16GB\n",
        "  cpu_core:\n    profile: cpu_core\n    compute: {roofline: {peak: 40GFLOPS, efficiency: 0.5, memory_bandwidth: 20GB/s, launch: "
        "0s}, ",
        "  fast:\n    profile: h100\n    compute: {roofline: {peak: 60TFLOPS, efficiency: 0.3, memory_bandwidth: 3000GB/s, launch: 4us}, ",
        "    - {count: 4, device: node, slowdown: 1, per_host: 4, cores_per_host: 2, waiting: busy}\n",
        "link: {up: 10Mbps, down: 50Mbps, latency: 20ms, burst: 128KiB, peak: 2Gbps}, per_host: 1, waiting: yield}\n",
        "link: {bandwidth: 1Gbps, latency: 50us, burst: 0B}, per_host: 1, waiting: yield}\n",
        "    link: {bandwidth: 1Gbps, latency: 50us, burst: 128KiB, peak: 2Gbps, duplex: full}\n",
        "    intra: {bandwidth: 12GB/s, latency: 5us}\n",
        "    sharing: {kind: weighted, bias: 2}\n",
        "    protocol:\n      per_message: 5us\n      copy_rate: 2GB/s\n      segments:\n        - {up_to: 64KiB, latency_factor: 1.2, "
        "bandwidth_factor: 0.8}\n",
        "        - {latency_factor: 1, bandwidth_factor: 0.95}\n",
        "      - {from: worker/0, to: server/2, on: 2s, off: 3s, start: 1s, random: true, rate: 10MB/s}\n",
        "      - {from: server/0, to: worker/7, on: 0.1s, off: 0s, start: 0s, random: false}\n",
        "    collective: {algorithm: ring, fidelity: fluid, reduce_rate: 20GB/s, bucket: 25MiB, first_bucket: 1MiB, overlap: true}\n",
        "    - {kind: crash, worker: 3, at: 10s, restart_after: 5s}\n",
        "    - {kind: slow, worker: 1, from: 5s, to: 8s, times_slower: 4}\n",
        "    - {kind: link, server: 1, from: 5s, to: 6s, bandwidth_factor: 0}\n",
        "    - {kind: link, link: rack/0-core, from: 0s, to: 1ms, bandwidth_factor: 0.5}\n",
        "    - {kind: leave, worker: 7, at: 30s}\n",
        "  serial_per_epoch: 1.5s\n  cost: {model: {kind: vgg16, classes: 10}}\n",
        "  scheme: {kind: ssgd, via: all_reduce, on_failure: drop}\n"})
    CHECK_MESSAGE(text.find(line) != std::string::npos, std::string(line));
}

TEST_CASE("a relative path is written as an absolute one, so that the text is valid anywhere") {
  const auto written_from = [](const std::string& file) {
    std::string text = good;
    text.replace(text.find("normalize: unit"), 15, "path: ../data");
    return write_scenario(read_scenario_text(text, file, {}, options()), vocabulary());
  };
  const std::string text = written_from("/studies/first/good.yaml");
  CHECK(text.find("path: \"/studies/data\"") != std::string::npos);
  const Scenario moved = read_scenario_text(text, "/elsewhere/result/scenario.yaml", {}, options());
  CHECK(moved.workload.data.parameters.text("path") == "/studies/data");
}

TEST_CASE("a device's jitter is shown as a scenario has it") {
  const Scenario scenario = read(good, {"devices.v100.jitter=none"});
  CHECK(write_jitter(scenario.devices.at("node"), vocabulary()) == "{kind: lognormal, sigma: 0.2, every: batch}");
  CHECK(write_jitter(scenario.devices.at("v100"), vocabulary()) == "none");
}

#include "scenarios/schema/writer.hpp"

#include <doctest/doctest.h>

#include "tests/scenarios/reader_fixture.hpp"

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

TEST_CASE("what is written reads back as the same scenario, and writes the same text") {
  for (const std::vector<std::string>& sets : std::vector<std::vector<std::string>>{
           {},
           {"seed=18446744073709551615"},
           {"training.scheme={kind: ssgd, via: server}", "training.batch={global: 1000, drop_last: true}"},
           {"training.stop={updates: 10, simulated_time: 1.5min}",
            "training.evaluate={every: {simulated_time: 10s}, split: validation, sustain: 1}"},
           {"training.evaluate={every: {updates: 100}}"},
           {"cluster.network.topology={kind: two_level, racks: 2, oversubscription: 3}", "cluster.network.collective.algorithm=ring"},
           {"workload.cost={bytes: 64MiB}", "workload.data.path='../some folder/\"#1\": x'"},
           {"workload.data.path='true'"},
           {"workload.fuse=off", "training.stop.on_target=continue"},
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

TEST_CASE("every default is written out") {
  const std::string text = write_scenario(read(good), vocabulary());
  for (const char* line :
       {"straggler: 1\n", "name: two-slow-workers\n", "    compute: {affine: {overhead: 2ms, per_sample: 350us}}\n",
        "    jitter: {kind: lognormal, sigma: 0.2, every: batch}\n", "    - {count: 6, device: node, slowdown: 1}\n",
        "    - {count: 2, device: v100, slowdown: 3, link: {bandwidth: 100Mbps, latency: 50us}}\n", "    sharing: max_min\n",
        "  faults: []\n", "  batch: {per_worker: 256, drop_last: false}\n", "  precision: fp32\n", "  compression: {kind: none}\n",
        "  evaluate: {every: {epochs: 0.25}, thresholds: [0.8, 0.85, 0.88], sustain: 2, split: test, train_samples: 10000}\n"})
    CHECK_MESSAGE(text.find(line) != std::string::npos, std::string(line));
}

TEST_CASE("a relative path is written as the absolute one that it stands for, so that the text can be put anywhere") {
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

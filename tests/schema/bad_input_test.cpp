#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>

#include "scenarios/schema/writer.hpp"
#include "sim/base/random.hpp"
#include "tests/schema/bad_input_slip.hpp"
#include "tests/schema/reader_fixture.hpp"
#include "tests/support/folder.hpp"

using namespace straggler;
using namespace straggler::test;

namespace {

const std::vector<Slip> slips = {
    // The head.
    {"straggler: 1 ", "straggler: `2 ", {"straggler: ", "'2'", "version 1"}},
    {"straggler: 1 ", "straggler: `\"1\" ", {"straggler: is text in quotes; write 1, without quotes"}},
    {"straggler: 1 ", "`stragler: 1 ", {"unknown key 'stragler'; did you mean 'straggler'?"}},
    {"name: two-slow-workers", "name: `two slow workers", {"name: ", "letters, digits"}},
    {"name: two-slow-workers", "name: `../../etc", {"name: ", "letters, digits"}},
    {"seed: 1\n", "seed: `-1\n", {"seed: ", "negative"}},
    {"seed: 1\n", "seed: `1.5\n", {"seed: ", "whole number"}},
    {"seed: 1\n", "seed: `18446744073709551616\n", {"seed: ", "too large"}},
    {"seed: 1\n",
     "seed: 1\n`sed: 1\n",
     {"unknown key 'sed'; did you mean 'seed'?", "known: seed, name, cluster; all 7: straggler list keys"}},
    // Units and numbers.
    {"bandwidth: 1Gbps", "bandwidth: `10", {"cluster.network.link.bandwidth: 10 has no unit; write 10B/s", "10Gbps"}},
    {"overhead: 2ms", "overhead: `10", {"devices.node.compute.affine.overhead: 10 has no unit; write 10s, 10ms"}},
    {"latency: 50us", "latency: `10 furlongs", {"unknown unit 'furlongs'", "s, ms, us, ns, min, h"}},
    {"latency: 50us", "latency: `10MB", {"unknown unit 'MB'"}},
    {"latency: 50us", "latency: `-50us", {"negative"}},
    {"latency: 50us", "latency: `.inf", {"not finite"}},
    {"latency: 50us", "latency: `.nan", {"not finite"}},
    {"latency: 50us", "latency: `1e999s", {"beyond what a number can hold"}},
    {"latency: 50us", "latency: `1000000h", {"out of range"}},
    {"latency: 50us", "latency: `[50us]", {"is a list; write a time"}},
    {"bandwidth: 1Gbps", "bandwidth: `0Gbps", {"out of range"}},
    {"slowdown: 3", "slowdown: `nan", {"cluster.workers[1].slowdown: ", "not finite"}},
    {"slowdown: 3", "slowdown: `0", {"out of range"}},
    {"sigma: 0.2", "sigma: `1e999", {"devices.node.jitter.sigma: ", "beyond what a number can hold"}},
    {"learning_rate: 0.1", "learning_rate: `0.1s", {"training.optimizer.learning_rate: ", "write it without 's'"}},
    {"momentum: 0.9", "momentum: `1.0", {"out of range; it must be at least 0, below 1"}},
    {"target_accuracy: 95%", "target_accuracy: `95", {"training.stop.target_accuracy: 95 is out of range"}},
    // Wrong types.
    {"count: 6", "count: `six", {"cluster.workers[0].count: 'six' is not a number"}},
    {"count: 6", "count: `\"6\"", {"text in quotes"}},
    {"count: 6", "count: `6.5", {"not a whole number"}},
    {"count: 6", "count: `", {"cluster.workers[0].count: is empty"}},
    {"count: 6", "count: `{n: 6}", {"is a map; write a whole number"}},
    {"reshuffle: false", "reshuffle: `no", {"workload.data.reshuffle: 'no' is neither true nor false"}},
    {"hidden: [200, 100]", "hidden: `200", {"workload.model.hidden: ", "[200, 200]"}},
    {"hidden: [200, 100]", "hidden: `[200, 0]", {"0 is out of range"}},
    {"hidden: [200, 100]", "hidden: `[200, [100]]", {"has a list in it"}},
    {"link: {bandwidth: 1Gbps, latency: 50us}", "link: `1Gbps", {"cluster.network.link: is '1Gbps'; write a map"}},
    {"thresholds: [0.85, 0.80, 88%]", "thresholds: `0.85", {"training.evaluate.thresholds: ", "write a list"}},
    {"thresholds: [0.85, 0.80, 88%]", "thresholds: [0.85, `1.5]", {"training.evaluate.thresholds[1]: 1.5 is out of range"}},
    {"thresholds: [0.85, 0.80, 88%]", "thresholds: `[0.85, 85%]", {"twice"}},
    // Keys.
    {"{bandwidth: 1Gbps, ",
     "{`bandwith: 1Gbps, bandwidth: 1Gbps, ",
     {"unknown key 'bandwith'; did you mean 'bandwidth'?",
      "known: bandwidth, burst, down; all 7: straggler list keys cluster.network.link"}},
    {"{bandwidth: 1Gbps, ",
     "{bandwidth: 1Gbps, `bandwidth: 2Gbps, ",
     {"cluster.network.link.bandwidth: duplicate key 'bandwidth', first on line 21; keep one"}},
    {"    update: 200GB/s", "    update: 200GB/s\n    `update: 1GB/s", {"devices.v100.update: duplicate key 'update', first on line 12"}},
    {"- {count: 6, device: node}",
     "- {count: 6, device: node, `devise: x}",
     {"cluster.workers[0].devise: unknown key 'devise'; did you mean 'device'?"}},
    {"{bandwidth: 1Gbps, latency: 50us}\n", "{bandwidth: 1Gbps, latency: 50us}\n    `<<: {a: 1}\n", {"merge keys"}},
    {"seed: 1\n", "seed: `!!int 1\n", {"the tag 'tag:yaml.org,2002:int' is not supported"}},
    {"seed: 1\n", "seed: 1\n`[a, b]: 1\n", {"a key is not a word"}},
    // Kinds.
    {"kind: nonblocking",
     "kind: `nonblockin",
     {"training.scheme.kind: unknown scheme 'nonblockin'; did you mean 'nonblocking'? known: asgd, nonblocking, sequential, ssgd"}},
    {"{kind: nonblocking, minibatch: 32}", "`magic", {"training.scheme: unknown scheme 'magic'; known: asgd"}},
    {"scheme: {kind: nonblocking, minibatch: 32}",
     "`scheme: {kind: nonblocking}",
     {"training.scheme.minibatch: is missing; write a whole number"}},
    {"scheme: {kind: nonblocking, minibatch: 32}", "`scheme: {}", {"training.scheme: has no kind", "ssgd"}},
    {"kind: nonblocking, minibatch: 32",
     "kind: nonblocking, minibatch: 32, `counter: reset",
     {"unknown key 'counter'", "known: kind, minibatch"}},
    {"kind: nonblocking", "kind: `[nonblocking]", {"training.scheme.kind: is a list"}},
    {"{kind: shards, per_worker: 3}", "{kind: `shard, per_worker: 3}", {"unknown partition 'shard'; did you mean 'shards'?"}},
    {"{kind: mlp, hidden: [200, 100]}", "{kind: `cnn}", {"unknown model 'cnn'; known: mlp, resnet50"}},
    {"{kind: star}", "{kind: `torus}", {"unknown topology 'torus'; known: star, two_level"}},
    {"cost: {model: resnet50}", "cost: {model: `resnt50}", {"workload.cost.model: unknown model 'resnt50'; did you mean 'resnet50'?"}},
    {"algorithm: auto",
     "algorithm: `rings",
     {"cluster.network.collective.algorithm: unknown choice 'rings'; did you mean 'ring'? known: auto, halving_doubling, ring, tree"}},
    {"fidelity: fluid", "fidelity: `exact", {"known: fluid, stepwise"}},
    {"device: node}",
     "device: `nod}",
     {"cluster.workers[0].device: unknown device 'nod'; did you mean 'node'? known: node, v100, cpu_core, h100"}},
    {"scale_with_workers: linear", "scale_with_workers: `liner", {"did you mean 'linear'?"}},
    // Missing parts and parts that exclude each other.
    {"training:\n", "`trainin:\n", {"unknown key 'trainin'; did you mean 'training'?"}},
    {"training:\n  scheme: {kind: nonblocking, minibatch: 32}\n",
     "`training:\n",
     {"training.scheme: is missing; write scheme: {kind: ssgd}"}},
    {"  stop: {epochs: 5, target_accuracy: 95%}\n",
     "  `stop: {target_accuracy: 95%}\n",
     {"training.stop: has only a target, which may never be reached"}},
    {"stop: {epochs: 5, target_accuracy: 95%}", "stop: {epochs: 5, `on_target: stop}", {"training.stop.on_target: needs a target"}},
    {"  stop: {epochs: 5, target_accuracy: 95%}\n", "  `stop: {}\n", {"training.stop: has no bound"}},
    {"  batch: {per_worker: 256}", "  `batch: {per_worker: 256, global: 512}", {"training.batch: has both per_worker and global"}},
    {"  batch: {per_worker: 256}", "  `batch: {}", {"training.batch: has neither per_worker nor global"}},
    {"batch: {per_worker: 256}", "batch: {per_worker: `0}", {"out of range; it must be at least 1"}},
    {"every: {epochs: 0.25}", "`every: {epochs: 0.25, updates: 3}", {"training.evaluate.every: must have one key"}},
    {"cost: {model: resnet50}", "`cost: {model: resnet50, bytes: 64MiB}", {"workload.cost: must have one key"}},
    {"    compute: {affine: {overhead: 2ms, per_sample: 0.35ms}}",
     "    `compute: {affine: {overhead: 2ms}, table: {1: 1s}}",
     {"has both affine and table"}},
    {"    compute: {affine: {overhead: 2ms, per_sample: 0.35ms}}",
     "    `compute: {}",
     {"devices.node.compute: does not say how long a batch takes"}},
    {"{affine: {overhead: 2ms, per_sample: 0.35ms}}", "{`affine: {overhead: 0s}}", {"takes no time at all"}},
    {"{affine: {overhead: 2ms, per_sample: 0.35ms}}", "{affine: {overhead: 1s}, `launch: 1us}", {"goes only with a table"}},
    {"128: 45ms", "128: 45ms, `x: 1s", {"devices.v100.compute.table.x: 'x' is not a number"}},
    {"{128: 45ms, 32: 13ms, 512: 200ms}", "`{128: 45ms, 0128: 13ms}", {"the batch size 128 twice"}},
    {"every: {samples: 32}", "every: `often", {"devices.v100.jitter.every: is 'often'; write batch, call, {samples: 32}"}},
    {"  workers:\n    - {count: 6, device: node}\n    - {count: 2, device: v100, slowdown: 3, link: {bandwidth: 100Mbps}}",
     "  workers: `[]",
     {"cluster.workers: is an empty list"}},
    {"link: {bandwidth: 100Mbps}", "`link: {}", {"cluster.workers[1].link: overrides nothing"}},
    {"    link: {bandwidth: 1Gbps, latency: 50us}\n",
     "    `link: {bandwidth: 1Gbps}\n",
     {"cluster.network.link.latency: is missing; write a time such as 50us"}},
    // The cluster and the scheme.
    {"count: 6",
     "count: `1000000000000",
     {"1000000000000 workers would take at least 2 PB (2 kB each), and this machine has 16 GB; write at most 8000000"}},
    {"count: 6", "count: `4611686018427387904", {"would take at least"}},
    {"count: 6", "count: `99999999999999999999", {"too large a number"}},
    {"servers: {count: 1,",
     "servers: {count: `1000001,",
     {"cluster.servers.count: 1000001 is out of range; it must be at least 0, at most 1e6"}},
    // Precision.
    {"precision: fp32", "precision: `half", {"workload.precision: unknown choice 'half'; known: fp32, fp16, bf16, mixed"}},
    {"precision: fp32", "precision: `16", {"workload.precision: unknown choice '16'"}},
    {"precision: fp32",
     "`loss_scale: {initial: 1024}",
     {"workload.loss_scale: is for precision: mixed or fp16", "but precision is fp32; remove it"}},
    {"precision: fp32", "precision: bf16\n  `loss_scale: {initial: 1024}", {"but precision is bf16; remove it"}},
    {"precision: fp32", "precision: mixed\n  loss_scale: {`initial: 1000}", {"loss_scale.initial: is not a power of two"}},
    {"precision: fp32", "precision: mixed\n  loss_scale: {initial: `0.5}", {"loss_scale.initial: 0.5 is out of range"}},
    {"precision: fp32", "precision: mixed\n  loss_scale: {growth_every: `0}", {"loss_scale.growth_every: 0 is out of range"}},
    {"precision: fp32", "precision: mixed\n  loss_scale: {`growth: 10}", {"unknown key 'growth'", "known: initial, growth_every"}},
    {"precision: fp32", "precision: mixed\n  loss_scale: `1024", {"workload.loss_scale: is '1024'; write a map"}},
    {"precision: fp32",
     "precision: fp16\n  loss_scale: {`growth_every: 10}",
     {"the scale of precision: fp16 is fixed; use precision: mixed"}},
    {"compression: {kind: none}",
     "compression: {kind: `topk}",
     {"training.compression.kind: unknown compression 'topk'; did you mean 'top_k'"}},
    {"compression: {kind: none}", "compression: {kind: top_k, `direction: up}", {"unknown key 'direction'", "known: kind, fraction"}},
    {"compression: {kind: none}", "compression: {kind: top_k, fraction: `0}", {"training.compression.fraction: 0 is out of range"}},
    // YAML itself.
    {"seed: 1\n", "seed: 1\n`---\na: 1\n", {"more than one YAML document"}},
    {"  node:\n", "`\tnode:\n", {"tab in its indentation"}},
    {"seed: 1\n", "seed: `\x01\n", {"control character"}},
    {"seed: 1\n", "seed: 1 # caf`\xe9\n", {"not UTF-8"}},
    {"seed: 1\n", "seed: `*nobody\n", {"syntax: "}},
    {"seed: 1\n", "seed: &a [`*a]\n", {"alias stands inside the value that it stands for"}},
};

}  // namespace

TEST_CASE("each slip is refused at its exact place, with the remedy") {
  for (const Slip& slip : slips) check_slip(good, slip);
}

TEST_CASE("all errors of a file are reported at once, in the order of their places") {
  std::string text = good;
  text.replace(text.find("50us}"), 4, "50");
  text.replace(text.find("seed: 1"), 7, "seed: x");
  text.replace(text.find("slowdown"), 8, "slowdowns");
  text.replace(text.find("kind: nonblocking"), 17, "kind: what");
  const std::vector<std::string> lines = errors(text);
  REQUIRE(lines.size() == 4);
  CHECK(lines[0].starts_with("dir/good.yaml:3:7: seed: "));
  CHECK(lines[1].starts_with("dir/good.yaml:17:32: cluster.workers[1].slowdowns: "));
  CHECK(lines[2].starts_with("dir/good.yaml:21:39: cluster.network.link.latency: "));
  CHECK(lines[3].starts_with("dir/good.yaml:33:18: training.scheme.kind: "));
}

TEST_CASE("of a file of another version nothing else is said: its format is not known") {
  std::string text = good;
  text.replace(text.find("straggler: 1"), 12, "straggler: 2");
  text.replace(text.find("slowdown"), 8, "slowdowns");
  text.replace(text.find("seed: 1"), 7, "sede: 1");
  CHECK(errors(text) == std::vector<std::string>{"dir/good.yaml:1:12: straggler: is '2'; this program reads version 1 of the format only"});
  CHECK(errors(good, {"straggler=2", "seed=x"}) ==
        std::vector<std::string>{"--set straggler=2: straggler: is '2'; this program reads version 1 of the format only"});
  text.replace(text.find("straggler: 2"), 12, "straggler: [");
  text.insert(text.find("straggler: [") + 12, "1]");
  CHECK(errors(text) ==
        std::vector<std::string>{"dir/good.yaml:1:12: straggler: is a list; this program reads version 1 of the format only"});
  // The version in quotes is known: the other mistakes are said, too.
  text.replace(text.find("straggler: [1]"), 14, "straggler: '1'");
  CHECK(errors(text).size() == 3);
}

TEST_CASE("one mistake, one line: the key that a misspelt one meant is not reported as missing") {
  const Slip misspelt[] = {
      {"straggler: 1 ", "`stragler: 1 ", {"straggler"}},
      {"devices:\n", "`devics:\n", {"devices"}},
      {"cluster:\n", "`clusters:\n", {"cluster"}},
      {"    compute: {affine", "    `computes: {affine", {"compute"}},
      {"{affine: {overhead", "{`afine: {overhead", {"affine"}},
      {"{table: {128: 45ms, 32: 13ms, 512: 200ms}, launch", "{`tabel: {128: 45ms, 32: 13ms, 512: 200ms}, launch", {"table"}},
      {"{overhead: 2ms, per_sample: 0.35ms}", "{overhead: 0s, `per_sampel: 0.35ms}", {"per_sample"}},
      {"link: {bandwidth: 1Gbps, ", "link: {`bandwith: 1Gbps, ", {"bandwidth"}},
      {"link: {bandwidth: 1Gbps, latency", "link: {bandwidth: 1Gbps, `latancy", {"latency"}},
      {"    link: {bandwidth: 1Gbps", "    `lnk: {bandwidth: 1Gbps", {"link"}},
      {"device: node}", "`devise: node}", {"device"}},
      {"  model: {kind: mlp", "  `modle: {kind: mlp", {"model"}},
      {"cost: {model:", "cost: {`modle:", {"model"}},
      {"scheme: {kind:", "scheme: {`knid:", {"kind"}},
      {"nonblocking, minibatch: 32", "nonblocking, `minibach: 32", {"minibatch"}},
      {"learning_rate: 0.1", "`leaning_rate: 0.1", {"learning_rate"}},
      {"{per_worker: 256}", "{`per_wroker: 256}", {"per_worker"}},
      {"  stop: {epochs: 5, target", "  `stopp: {epochs: 5, target", {"stop"}},
      {"stop: {epochs: 5, target", "stop: {`epoch: 5, target", {"epochs"}},
  };
  for (const Slip& slip : misspelt) {
    CAPTURE(std::string(slip.instead));
    const Made made = make(good, slip);
    const std::vector<std::string> lines = errors(made.text);
    REQUIRE(lines.size() == 1);
    CHECK(lines[0].starts_with(made.place));
    CHECK(lines[0].find("did you mean '" + std::string(slip.phrases[0]) + "'?") != std::string::npos);
  }
  // A key that is near to none is one mistake, the missing one another.
  std::string text = good;
  text.replace(text.find("bandwidth: 1Gbps"), 9, "colour");
  CHECK(errors(text).size() == 2);
}

TEST_CASE("errors about the file itself have no line and column") {
  const auto only = [](const std::function<void()>& reads) -> std::string {
    try {
      reads();
    } catch (const ScenarioErrors& refused) {
      REQUIRE(refused.lines().size() == 1);
      return refused.lines()[0];
    }
    return "accepted";
  };
  CHECK(only([] { read_scenario("nosuch.yaml", {}, options()); }) ==
        "nosuch.yaml: cannot be read: No such file or directory; give the path of a scenario file");
  CHECK(only([] { read_scenario("/", {}, options()); }) == "/: is a folder; give the path of a scenario file");
  CHECK(only([] { read(""); }) == "dir/good.yaml: is empty; write a scenario that begins with 'straggler: 1'");
  CHECK(only([] { read("# nothing\n"); }) == "dir/good.yaml: there is nothing in it; write a scenario that begins with 'straggler: 1'");
  CHECK(only([] { read(good, {"=3"}); }) == "--set =3: is not PATH=VALUE; write a path such as cluster.workers[0].count=16");
  CHECK(only([] { read(good, {"name=# x"}); }) == "--set name=# x: there is no value in it; write one after '='");
}

TEST_CASE("a scheme that needs a server is refused without one") {
  const auto first = [](const std::vector<std::string>& sets) {
    const std::vector<std::string> lines = errors(good, sets);
    REQUIRE(lines.size() == 1);
    return lines[0];
  };
  CHECK(first({"cluster.servers.count=0"}) ==
        "dir/good.yaml:33:11: training.scheme: nonblocking needs a parameter server, and the cluster has none; add cluster.servers: "
        "{count: 1}");
  CHECK(first({"cluster.servers.count=0", "training.scheme={kind: ssgd, via: server}"}).find("ssgd via server needs a parameter server") !=
        std::string::npos);
  CHECK(errors(good, {"cluster.servers.count=0", "training.scheme=ssgd"}).empty());
  CHECK(first({"training.scheme=sequential"}).find("sequential runs on exactly 1 worker(s), and the cluster has 8") != std::string::npos);
  CHECK(first({"training.batch={global: 7}"}).find("a batch of 7 leaves some of 8 workers without a sample") != std::string::npos);
}

TEST_CASE("files that are no scenarios are refused") {
  namespace fs = std::filesystem;
  const TemporaryFolder scratch;
  const fs::path& folder = scratch.path();
  const auto refusal = [&](const fs::path& file) {
    try {
      read_scenario(file, {}, options());
    } catch (const ScenarioErrors& refused) {
      REQUIRE_FALSE(refused.lines().empty());
      CHECK(refused.lines()[0].starts_with(file.string() + ":"));
      return refused.lines()[0];
    }
    return std::string("accepted");
  };
  const auto holding = [&](const std::string& bytes) { return refusal(scratch.write("file.yaml", bytes)); };
  const auto says = [](const std::string& line, std::string_view phrase) { return line.find(phrase) != std::string::npos; };
  CHECK(says(refusal(folder / "missing.yaml"), "No such file"));
  CHECK(says(refusal(folder), "is a folder"));
  CHECK(says(holding(""), "is empty"));
  CHECK(says(holding("\n\n# nothing\n"), "there is nothing in it"));
  CHECK(says(holding("~\n"), "write a map"));
  CHECK(says(holding("[1, 2]\n"), "is a list; write a map"));
  CHECK(says(holding("hello\n"), "is 'hello'; write a map"));
  CHECK(says(holding(std::string("\x7f"
                                 "ELF\x02\x01\x01\0\0\0",
                                 10)),
             "control character"));
  CHECK(says(holding(std::string("\xff\xfe"
                                 "s\0t\0",
                                 6)),
             "not UTF-8"));
  CHECK(says(holding("\xc0\xaf"), "not UTF-8"));
  CHECK(says(holding(std::string(2'000'000, ' ')), "longer than 1 MiB"));
  CHECK(holding(good) == "accepted");
}

TEST_CASE("a section that is missing is one line, and what it says to write makes the scenario whole") {
  const std::vector<std::pair<std::string, std::string>> sections = {
      {"straggler", "straggler: 1\n"},
      {"devices", "devices: {node: {compute: {affine: {overhead: 2ms}}}}\n"},
      {"cluster", "cluster: {workers: [{count: 2, device: node}], network: {link: {bandwidth: 1Gbps, latency: 0s}}}\n"},
      {"workload", "workload: {model: softmax, data: coordinates}\n"},
      {"training", "training: {scheme: ssgd, batch: {global: 64}, optimizer: {learning_rate: 0.1}, stop: {epochs: 1}}\n"}};
  const auto without = [&](const std::string& left_out) {
    std::string text;
    for (const auto& [key, line] : sections)
      if (key != left_out) text += line;
    return text;
  };
  const auto refusals = [](const std::string& text) -> std::vector<std::string> {
    try {
      read_scenario_text(text, "s.yaml");
    } catch (const ScenarioErrors& refused) {
      return refused.lines();
    }
    return {};
  };
  CHECK(refusals(without("")).empty());
  for (const auto& section : sections) {
    const std::string& key = section.first;
    CAPTURE(key);
    const std::vector<std::string> lines = refusals(without(key));
    REQUIRE(lines.size() == 1);
    CAPTURE(lines[0]);
    std::size_t begin = lines[0].rfind(" " + key + ": ");
    if (begin == std::string::npos) begin = lines[0].find("'" + key + ": ");  // in quotes
    REQUIRE(begin != std::string::npos);
    std::string sample = lines[0].substr(begin + 1);
    sample = key == "straggler" ? "straggler: 1" : sample.substr(0, sample.rfind('}') + 1);
    CHECK_MESSAGE(refusals(sample + "\n" + without(key)).empty(), sample);
  }
}

TEST_CASE("alias bombs and nesting without end are refused before they hurt") {
  std::string bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x]\n";
  for (int i = 1; i < 12; ++i) {
    const std::string before = "*a" + std::to_string(i - 1);
    bomb += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [";
    for (int k = 0; k < 9; ++k) bomb += (k ? ", " : "") + before;
    bomb += "]\n";
  }
  std::vector<std::string> lines = errors(bomb);
  REQUIRE_FALSE(lines.empty());
  CHECK(lines.back().find("more than 100000 values once aliases are expanded") != std::string::npos);

  const auto deep = [&](const std::string& open, int depth) {
    std::string text = "a: ";
    for (int i = 0; i < depth; ++i) text += open;
    return errors(text).at(0);
  };
  CHECK(deep("[", 200).find("nested more than 100 deep") != std::string::npos);
  CHECK(deep("{a: ", 200).find("nested more than 100 deep") != std::string::npos);
  CHECK(deep("[", 20'000).find("nested more than 100 deep") != std::string::npos);
  std::string block;
  for (int i = 0; i < 300; ++i) block += std::string(static_cast<std::size_t>(i), ' ') + "a:\n";
  CHECK(errors(block).at(0).find("nested more than 100 deep") != std::string::npos);
  std::string chain = "a0: &a0 [x]\n";  // depth by aliases
  for (int i = 1; i < 200; ++i) chain += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [*a" + std::to_string(i - 1) + "]\n";
  lines = errors(chain);
  CHECK(lines.at(0).find("nested more than 100 deep") != std::string::npos);
}

TEST_CASE("a file that is cut off anywhere is read or refused, never more") {
  int accepted = 0;
  for (std::size_t length = 0; length <= good.size(); ++length) accepted += errors(good.substr(0, length)).empty() ? 1 : 0;
  CHECK(accepted >= 1);
  CHECK(accepted < 150);  // only within the last two lines, where nothing that is required is left
}

TEST_CASE("random damage is read or refused, never more") {
  RandomStream random(11, "tests/schema/bad_input");
  const std::string spice = "[]{}:,&*!|>'\"%@`#-?\t\n \\~<=.0159aeknsx\x01\xff\xc3";
  int accepted = 0, refused = 0;
  for (int round = 0; round < 3000; ++round) {
    std::string text = round % 3 == 0 ? good : rich;
    const std::uint64_t edits = 1 + random.below(8);
    for (std::uint64_t edit = 0; edit < edits; ++edit) {
      const std::size_t at = random.below(text.size());
      switch (random.below(4)) {
        case 0:
          text[at] = spice[random.below(spice.size())];
          break;
        case 1:
          text.insert(at, 1, spice[random.below(spice.size())]);
          break;
        case 2:
          text.erase(at, 1 + random.below(5));
          break;
        default:
          text.insert(random.below(text.size()), text.substr(at, random.below(40)));
          break;
      }
    }
    CAPTURE(text);
    try {
      const Scenario scenario = read(text);
      ++accepted;
      REQUIRE(read(write_scenario(scenario, vocabulary())) == scenario);  // what was understood can be written down
    } catch (const ScenarioErrors& error) {
      ++refused;
      REQUIRE_FALSE(error.lines().empty());
    }
  }
  CHECK(accepted > 0);
  CHECK(refused > 1500);
}

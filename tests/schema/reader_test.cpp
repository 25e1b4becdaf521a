#include "scenarios/schema/reader.hpp"

#include <doctest/doctest.h>

#include <algorithm>

#include "scenarios/schema/writer.hpp"
#include "tests/schema/reader_fixture.hpp"

using namespace straggler;
using namespace straggler::test;

TEST_CASE("a scenario is read in SI units, defaults filled in") {
  const Scenario s = read(good);
  CHECK(s.name == "two-slow-workers");
  CHECK(s.seed == 1);
  CHECK(s.file == "dir/good.yaml");
  CHECK(s.workers() == 8);

  REQUIRE(s.devices.size() == 2);
  const DeviceSpec &node = s.devices.at("node"), &v100 = s.devices.at("v100");
  CHECK(node.compute == ComputeSpec{ComputeSpec::Form::affine, 2e-3, 0.35e-3, {}, 0});
  CHECK(node.jitter == Kind{"lognormal", {{"sigma", 0.2}}});
  CHECK(node.every == JitterEvery{});
  CHECK_FALSE(node.update);
  CHECK(v100.compute == ComputeSpec{ComputeSpec::Form::table, 0, 0, {{32, 13e-3}, {128, 45e-3}, {512, 200e-3}}, 10e-6});
  CHECK(v100.every == JitterEvery{JitterEvery::Unit::samples, 32, 0});
  CHECK(v100.update == 200e9);

  REQUIRE(s.cluster.workers.size() == 2);
  CHECK(s.cluster.workers[0] == group(6, "node"));
  WorkerGroup slow = group(2, "v100");
  slow.slowdown = 3;
  slow.link = link(100e6 / 8, 50e-6);  // latency from the network's link
  CHECK(s.cluster.workers[1] == slow);
  ServerSpec servers;
  servers.count = 1;
  servers.update = 2e9;
  servers.per_message = 20e-6;
  CHECK(s.cluster.servers == servers);
  CHECK(s.cluster.network.topology == Kind{"star", {}});
  CHECK(s.cluster.network.link == link(1e9 / 8, 50e-6));
  CollectiveSpec collective;
  collective.reduce_rate = 20e9;
  CHECK(s.cluster.network.collective == collective);
  CHECK(s.cluster.faults.empty());

  CHECK(s.workload.model == Kind{"mlp", {{"hidden", std::vector<std::int64_t>{200, 100}}}});
  CHECK(s.workload.data == Kind{"fashion_mnist", {{"normalize", std::string("unit")}}});
  CHECK(s.workload.partition == Kind{"shards", {{"per_worker", 3}}});
  CHECK_FALSE(s.workload.reshuffle);
  REQUIRE(s.workload.cost.model);
  CHECK(*s.workload.cost.model == Kind{"resnet50", {}});
  CHECK_FALSE(s.workload.cost.bytes);

  CHECK(s.training.scheme == Kind{"nonblocking", {{"minibatch", 32}}});
  CHECK(s.training.batch == BatchSpec{256, {}, false});
  CHECK(s.training.optimizer == Kind{"sgd", {{"learning_rate", 0.1}, {"momentum", 0.9}, {"weight_decay", 1e-4}}});
  CHECK(s.training.schedule == ScheduleSpec{{"constant", {}}, 1, RateScaling::linear});
  CHECK(s.training.stop.epochs == 5.0);
  CHECK(s.training.stop.target_accuracy == 0.95);
  CHECK(s.training.evaluate.every_epochs == 0.25);
  CHECK(s.training.evaluate.thresholds == std::vector<double>{0.80, 0.85, 0.88});  // sorted
  CHECK(s.training.evaluate.sustain == 2);
}

TEST_CASE("keys that a short scenario leaves out have the documented defaults") {
  const Scenario s = read_scenario_text(R"(straggler: 1
devices: {node: {compute: {affine: {per_sample: 1ms}}}}
cluster:
  workers: [{device: node}]
  network: {link: {bandwidth: 1Gbps, latency: 0s}}
workload: {model: mlp, data: fashion_mnist}
training:
  scheme: ssgd
  batch: {global: 64}
  optimizer: {learning_rate: 0.1}
  stop: {rounds: 7, updates: 9}
)",
                                        "dir/my short.yaml", {}, options());
  CHECK(s.name == "my-short");  // the file's, made a name
  CHECK(s.seed == 1);
  CHECK(s.devices.at("node").jitter == Kind{"none", {}});
  CHECK(s.cluster.workers == std::vector<WorkerGroup>{group(1, "node")});
  CHECK(s.cluster.servers == ServerSpec{});
  CHECK(s.cluster.network.topology == Kind{"star", {}});
  CHECK(s.cluster.network.sharing == Kind{"max_min", {}});
  CHECK(s.cluster.network.collective == CollectiveSpec{});
  CHECK(s.workload.partition == Kind{"iid", {}});
  CHECK(s.workload.reshuffle);
  CHECK(s.training.scheme == Kind{"ssgd", {{"on_failure", std::string("abort")}, {"via", std::string("all_reduce")}}});
  CHECK(s.training.batch == BatchSpec{{}, 64, false});
  CHECK(s.training.optimizer.parameters.number("momentum") == 0);
  CHECK(s.training.schedule == ScheduleSpec{{"constant", {}}, 0, RateScaling::none});
  CHECK(s.training.stop.updates == 7);  // rounds is another word for it, and the smaller counts
  CHECK_FALSE(s.training.evaluate.every_epochs);
  CHECK(s.training.evaluate.thresholds.empty());
}

TEST_CASE("aliases, quotes, line ends and a byte order mark change nothing") {
  const Scenario s = read(good);
  std::string windows = "\xef\xbb\xbf" + good;
  for (std::size_t at = 0; (at = windows.find('\n', at)) != std::string::npos; at += 2) windows.insert(at, "\r");
  CHECK(read(windows) == s);
  std::string quoted_text = good;
  quoted_text.replace(quoted_text.find("1Gbps"), 5, "\"1Gbps\"");
  CHECK(read(quoted_text) == s);
  std::string aliased = good;
  aliased.replace(aliased.find("{kind: lognormal, sigma: 0.2}"), 29, "&noisy {kind: lognormal, sigma: 0.2}");
  aliased.replace(aliased.find("jitter: {kind: lognormal, every: {samples: 32}}"), 47, "jitter: *noisy");
  CHECK(read(aliased).devices.at("v100").jitter == s.devices.at("node").jitter);
}

TEST_CASE("--set changes any path before anything is checked") {
  const Scenario s = read(good, {"cluster.workers[0].count=16", "training.scheme={kind: asgd}", "training.scheme.staleness=inverse",
                                 "training.stop.updates=5", "cluster.network.link.latency=1ms", "seed=18446744073709551615",
                                 "training.evaluate.thresholds=[50%]", "cluster.workers[1].link.latency=2ms"});
  CHECK(s.cluster.workers[0].count == 16);
  CHECK(s.training.scheme == Kind{"asgd", {{"on_failure", std::string("wait")}, {"staleness", std::string("inverse")}}});
  CHECK(s.training.stop.updates == 5);
  CHECK(s.training.stop.epochs == 5.0);
  CHECK(s.cluster.network.link.latency == 1e-3);
  CHECK(s.cluster.workers[1].link->latency == 2e-3);
  CHECK(s.seed == 18446744073709551615u);
  CHECK(s.training.evaluate.thresholds == std::vector<double>{0.5});
  // The short form of a kind, and a parameter put into it.
  CHECK(read(good, {"training.scheme=asgd"}).training.scheme ==
        Kind{"asgd", {{"on_failure", std::string("wait")}, {"staleness", std::string("none")}}});
  CHECK(read(good, {"training.scheme=asgd", "training.scheme.staleness=inverse"}).training.scheme.parameters.text("staleness") ==
        "inverse");
  // A --set mends what is wrong in the file.
  std::string bad = good;
  bad.replace(bad.find("1Gbps"), 5, "1 furlong");
  CHECK(read(bad, {"cluster.network.link.bandwidth=1Gbps"}) == read(good));
}

TEST_CASE("--set errors name the --set as their place") {
  const auto only = [](const std::string& set) {
    const std::vector<std::string> lines = errors(good, {set});
    REQUIRE(lines.size() == 1);
    CAPTURE(lines[0]);
    CHECK(lines[0].starts_with("--set " + set + ": "));
    return lines[0];
  };
  const auto says = [](const std::string& line, std::string_view phrase) { return line.find(phrase) != std::string::npos; };
  CHECK(says(only("cluster.network.link.bandwith=1Gbps"),
             "cluster.network.link.bandwith: unknown key 'bandwith'; did you mean 'bandwidth'?"));
  CHECK(says(only("cluster.workers[0].count=0"), "cluster.workers[0].count: 0 is out of range"));
  CHECK(says(only("cluster.workers[2].count=1"), "the index 2 in a list of 2"));
  CHECK(says(only("cluster.workers.count=1"), "where the scenario has a list; write an index"));
  CHECK(says(only("cluster.network[0]=1"), "has an index where the scenario has no list"));
  CHECK(says(only("training.scheme=asgdd"), "unknown scheme 'asgdd'; did you mean 'asgd'?"));
  CHECK(says(only("training.stop={epochs: }"), "training.stop.epochs: is empty"));
  CHECK(says(only("training.stop"), "is not PATH=VALUE"));
  CHECK(says(only("training..stop=1"), "is not PATH=VALUE"));
  CHECK(says(only("training.stop="), "has no value"));
  CHECK(says(only("training.stop={epochs: 1"), "syntax: "));
  CHECK(says(only("seed.deeper=1"), "seed: is a map"));
  CHECK(says(only("training.stop={epochs: 1, epochs: 2}"), "duplicate key 'epochs'"));
}

TEST_CASE("later stages can point at a place too") {
  const Scenario s = read(good, {"cluster.workers[0].count=7"});
  DataInfo data;
  data.train = 200;
  try {
    check_against_data(s, data);
    FAIL("a batch larger than the data was accepted");
  } catch (const ScenarioErrors& refused) {
    // "  batch: {per_worker: 256}": the value stands in column 23 of its line.
    const std::size_t at = good.find("256}");
    const auto line = 1 + std::count(good.begin(), good.begin() + static_cast<std::ptrdiff_t>(at), '\n');
    CHECK(refused.lines() ==
          std::vector<std::string>{"dir/good.yaml:" + std::to_string(line) +
                                   ":23: training.batch.per_worker: a batch of 256 samples is larger than the data, which has 200 to "
                                   "train on; write at most that"});
  }
  data.train = 256;
  CHECK_NOTHROW(check_against_data(s, data));
  CHECK_THROWS_WITH_AS(throw_error(s, "cluster.workers[0].count", "too many"),
                       "--set cluster.workers[0].count=7: cluster.workers[0].count: too many", ScenarioErrors);
  CHECK_THROWS_WITH_AS(throw_error(s, "workload.data.path", "no such folder"), "dir/good.yaml:28:9: workload.data.path: no such folder",
                       ScenarioErrors);
}

TEST_CASE("every kind may be written by its name alone") {
  const Scenario s =
      read(good, {"devices.node.jitter=none", "cluster.network.topology=star", "workload.model=mlp", "workload.data=fashion_mnist",
                  "workload.data.partition=iid", "training.schedule=constant", "training.compression=none"});
  CHECK(s.devices.at("node").jitter.name == "none");
  CHECK(s.workload.partition.name == "iid");
  CHECK(s.workload.data.parameters.text("normalize") == "standard");
}

TEST_CASE("a relative path starts from the file's folder if it stands in the file, from the current one if in a --set") {
  namespace fs = std::filesystem;
  const auto path = [](const std::string& file, const std::string& in_file, const std::vector<std::string>& sets) {
    std::string text = good;
    if (!in_file.empty()) text.replace(text.find("normalize: unit"), 15, "path: " + in_file);
    return read_scenario_text(text, file, sets, options()).workload.data.parameters.text("path");
  };
  const std::string here = fs::current_path().lexically_normal().string();
  CHECK(path("/studies/first/good.yaml", "../data/./mnist/", {}) == "/studies/data/mnist");
  CHECK(path("/studies/good.yaml", "/data", {}) == "/data");
  CHECK(path("/studies/good.yaml", "/", {}) == "/");
  CHECK(path("good.yaml", "data", {}) == here + "/data");
  CHECK(path("studies/good.yaml", "data", {}) == here + "/studies/data");
  CHECK(path("/studies/good.yaml", "", {"workload.data.path=data/"}) == here + "/data");
  CHECK(path("/studies/good.yaml", "data", {"workload.data={kind: fashion_mnist, path: ./other}"}) == here + "/other");
  CHECK(path("/studies/good.yaml", "data", {"seed=2"}) == "/studies/data");
}

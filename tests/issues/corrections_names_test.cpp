// Words that a reader corrects: keys by the names that papers and other programs give them, colons without a blank, and names of
// algorithms, models and devices that are not misspelt but others.
#include <doctest/doctest.h>

#include "scenarios/schema/other_names.hpp"
#include "tests/support/run.hpp"

using namespace straggler;
using namespace straggler::test;

namespace {

/// The lines by which the scenario with this change is refused; empty: it is accepted.
std::vector<std::string> refusal(const std::string& set) {
  try {
    read_scenario_text(cluster(4), "test.yaml", {set});
  } catch (const ScenarioErrors& refused) {
    return refused.lines();
  }
  return {};
}

/// The one line says that, and what is known follows.
void check_meant(const std::string& set, const std::string& phrase) {
  CAPTURE(set);
  const std::vector<std::string> lines = refusal(set);
  REQUIRE(lines.size() == 1);
  CAPTURE(lines[0]);
  CHECK(lines[0].find("; did you mean " + phrase + "? known: ") != std::string::npos);
}

/// Refused in one line that suggests no name.
void check_no_suggestion(const std::string& set) {
  CAPTURE(set);
  const std::vector<std::string> lines = refusal(set);
  REQUIRE(lines.size() == 1);
  CAPTURE(lines[0]);
  CHECK(lines[0].find("unknown ") != std::string::npos);
  CHECK(lines[0].find("did you mean") == std::string::npos);
  CHECK(lines[0].find("; known: ") != std::string::npos);
}

}  // namespace

TEST_CASE("a scheme's key by the name of its paper is corrected to the key of that scheme") {
  check_meant("training.scheme={kind: fedavg, epochs: 2}", "'local_epochs'");
  check_meant("training.scheme={kind: fedavg, E: 2}", "'local_epochs'");
  check_meant("training.scheme={kind: fedavg, C: 0.5}", "'fraction'");
  check_meant("training.scheme={kind: local_sgd, H: 4}", "'steps'");
  check_meant("training.scheme={kind: local_sgd, tau: 4}", "'steps'");
  // A scheme that has no epochs of its own: those of the run are meant.
  check_meant("training.scheme={kind: ssgd, epochs: 2}", "training.stop.epochs");
  // A symbol of one letter means nothing where the key is not known.
  check_no_suggestion("training.scheme={kind: ssgd, H: 4}");
}

TEST_CASE("the partition belongs to the data") {
  check_meant("workload.partition=iid", "workload.data.partition");
  check_meant("training.partition={kind: iid}", "workload.data.partition");
}

TEST_CASE("a colon without a blank after it is named in the error") {
  check_meant("training.stop={updates:10}", "'updates: 10', with a blank after the colon");
  check_meant("training.stop={update:10}", "'updates: 10', with a blank after the colon");
  check_meant("training.scheme={kind:ssgd}", "'kind: ssgd', with a blank after the colon");
  check_meant("training.scheme={kind: fedavg, epochs:2}", "'local_epochs: 2', with a blank after the colon");
  check_meant("cluster.network.link={bandwidth:1Gbps, latency: 1ms}", "'bandwidth: 1Gbps', with a blank after the colon");
  const std::vector<std::string> table = refusal("devices.node.compute={table: {32:13ms, 64: 20ms}}");
  REQUIRE(table.size() == 1);
  CHECK(table[0].find("devices.node.compute.table: has '32:13ms'; write '32: 13ms', with a blank after the colon") != std::string::npos);
  const std::vector<std::string> block = refusal("cluster.servers=count:1");
  REQUIRE(block.size() == 1);
  CHECK(block[0].find("cluster.servers: is 'count:1'; write a map (keys with values), with a blank after the colon") != std::string::npos);
}

TEST_CASE("synchronous SGD is found by its other names") {
  for (const char* name : {"bsp", "BSP", "sync", "sync_sgd", "synchronous", "sgd"})
    check_meant("training.scheme=" + std::string(name), "'ssgd'");
  check_meant("training.scheme={kind: async}", "'asgd'");
  check_meant("training.scheme=federated_averaging", "'fedavg'");
  for (const char* name : {"fedadam", "FedYogi", "fedavgm", "FedAdagrad"}) check_meant("training.scheme=" + std::string(name), "'fedopt'");
  check_meant("training.scheme=slowmo", "'slow_momentum'");
  check_meant("training.scheme='hogwild!'", "'hogwild'");
  for (const char* name : {"EAMSGD", "elastic_averaging"}) check_meant("training.scheme=" + std::string(name), "'easgd'");
}

TEST_CASE("an algorithm that Straggler lacks is not corrected to another one") {
  for (const char* scheme : {"stochastic_gradient_push", "gradient-push", "push_sum"})
    check_meant("training.scheme=" + std::string(scheme), "'sgp'");
  for (const char* scheme : {"dsgd", "gossip"}) check_meant("training.scheme=" + std::string(scheme), "'dpsgd'");
  for (const char* scheme : {"dasgd", "lsgd", "psgd"}) check_no_suggestion("training.scheme=" + std::string(scheme));
  for (const char* optimizer : {"nadam", "radam", "adamax", "amsgrad", "madgrad", "larc", "lamb", "sgdr", "asgd"})
    check_no_suggestion("training.optimizer={kind: " + std::string(optimizer) + ", learning_rate: 0.1}");
  // Slips of the pen are corrected as before.
  check_meant("training.scheme=asdg", "'asgd'");
  check_meant("training.optimizer={kind: adagard, learning_rate: 0.1}", "'adagrad'");
}

TEST_CASE("a model or a device of another number, or of another line, is another one") {
  for (const char* model : {"vgg19", "resnet34", "resnet101", "resnext50", "roberta_base"})
    check_no_suggestion("workload.cost={model: " + std::string(model) + "}");
  for (const char* device : {"p100", "h200", "a30", "v100s", "l40"}) {
    CAPTURE(device);
    check_no_suggestion("cluster.workers=[{count: 4, device: " + std::string(device) + "}]");
    check_no_suggestion("devices.node={profile: " + std::string(device) + "}");
  }
  check_meant("workload.cost={model: vg16}", "'vgg16'");
  check_meant("devices.node={profile: H100}", "'h100'");
}

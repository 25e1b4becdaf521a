// What `straggler list` says of schemes, as other programs read it.
#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "tests/program/workplace.hpp"

namespace list_test {

using straggler::test::Workplace;

TEST_CASE("a group of `list`, or what a sweep file holds, in a command's place") {
  const Workplace place;
  const auto refused = [&](const std::string& word) { return place.shell("straggler " + word).err; };
  CHECK(refused("schemes") == "straggler: unknown command 'schemes'; did you mean 'list schemes'? (see straggler --help)\n");
  CHECK(refused("search").starts_with("straggler: unknown command 'search'; did you mean 'sweep'? known: sweep, "));
  const std::string check = refused("chek");
  CHECK(check.starts_with("straggler: unknown command 'chek'; did you mean 'check'? known: check, "));
  CHECK(check.ends_with(" more (see straggler --help)\n"));
}

TEST_CASE("a word of the field names the command, the group or the entry that is meant, and help of a command is its page") {
  const Workplace place;
  const auto meant = [&](const std::string& arguments, const std::string& word) {
    const auto done = place.shell("straggler " + arguments);
    CAPTURE(arguments);
    CHECK(done.code == 2);
    CHECK(std::count(done.err.begin(), done.err.end(), '\n') == 1);
    CHECK_MESSAGE(done.err.find("did you mean '" + word + "'?") != std::string::npos, done.err);
    const std::string tried = "straggler " + (arguments.starts_with("list ") ? "list " + word : word + " --help");
    CHECK_MESSAGE(place.shell(tried).code == 0, tried);  // what is named is there
  };
  for (const auto& [other, ours] : std::vector<std::pair<std::string, std::string>>{
           {"train", "run"}, {"simulate", "run"}, {"lint", "check"}, {"why", "explain"}, {"tune", "race"}, {"new", "init"}})
    meant(other, ours);
  for (const auto& [other, ours] : std::vector<std::pair<std::string, std::string>>{{"allreduce", "collectives"},
                                                                                    {"All-Reduce", "collectives"},
                                                                                    {"pytorch", "frameworks"},
                                                                                    {"gpus", "devices"},
                                                                                    {"datasets", "data"},
                                                                                    {"networks", "topologies"},
                                                                                    {"formats", "imports"},
                                                                                    {"parameters", "keys"},
                                                                                    {"model", "models"},
                                                                                    {"ring", "collectives ring"},
                                                                                    {"lars", "optimizers lars"},
                                                                                    {"asgd", "schemes asgd"}})
    meant("list " + other, ours);
  const auto refused = [&](const std::string& arguments) { return place.shell("straggler " + arguments).err; };
  for (const std::string command : {"list frameworks ", "init --framework "})
    for (const auto& [other, ours] : std::vector<std::pair<std::string, std::string>>{
             {"pytorch", "ddp"}, {"PyTorch-DDP", "ddp"}, {"zero", "fsdp"}, {"gloo", "ddp_gloo"}})
      CHECK(refused(command + other).find("unknown framework '" + other + "'; did you mean '" + ours + "'? known: ") != std::string::npos);
  CHECK(refused("init --machine a100").find("did you mean 'dgx_a100'?") != std::string::npos);
  CHECK(refused("list sandwich").find("unknown group 'sandwich'; known: ") != std::string::npos);
  for (const std::string help : {"--help check", "help check", "-h check"})
    CHECK(place.shell("straggler " + help).out == place.shell("straggler check --help").out);
  CHECK(refused("help chek").find("unknown command 'chek'; did you mean 'check'?") != std::string::npos);
  CHECK(refused("list data mnist").find("did you mean 'fashion_mnist'?") != std::string::npos);
  CHECK(refused("list data shakespeare").find("did you mean 'characters'?") != std::string::npos);
  CHECK(refused("list data ImageNet").find("unknown data 'ImageNet': photographs of that size are not read; ") != std::string::npos);
  CHECK(refused("help train").find("did you mean 'run'?") != std::string::npos);
}

TEST_CASE("list GROUP NAME: one entry of any group, as the whole group has it; a wrong name gets one line") {
  const Workplace place;
  const auto all = nlohmann::json::parse(place.shell("straggler list --json").out);
  REQUIRE(all.size() >= 14);
  for (const auto& [name, entries] : all.items()) {
    const std::string& group = name;  // clang 14 captures no structured binding
    CAPTURE(group);
    REQUIRE(!entries.empty());
    const nlohmann::json entry = entries.back();
    const std::string command = "straggler list " + group + " " + entry["name"].get<std::string>();
    const auto json = place.shell(command + " --json"), text = place.shell(command);
    REQUIRE(json.code == 0);
    CHECK(nlohmann::json::parse(json.out) == entry);
    REQUIRE(text.code == 0);
    CHECK(text.out.starts_with(group + "\n"));
    CHECK(text.out.find(entry["summary"].get<std::string>()) != std::string::npos);
    for (const auto& parameter : entry["parameters"]) CHECK(text.out.find(parameter["meaning"].get<std::string>()) != std::string::npos);
    for (const auto& other : entries)
      if (other != entry) CHECK(text.out.find(other["summary"].get<std::string>() + "\n") == std::string::npos);
  }
  const auto refused = [&](const std::string& arguments) {
    const auto done = place.shell("straggler list " + arguments);
    CHECK(done.code == 2);
    CHECK(std::count(done.err.begin(), done.err.end(), '\n') == 1);
    return done.err;
  };
  const std::string scheme = refused("schemes ssgdd"), all_schemes = "; all " + std::to_string(all["schemes"].size());
  CHECK(scheme.starts_with("straggler: unknown scheme 'ssgdd'; did you mean 'ssgd'? known: ssgd, "));
  CHECK(std::count(scheme.begin(), scheme.end(), ',') == 2);  // three names
  CHECK(scheme.ends_with(all_schemes + ": straggler list schemes (see straggler list --help)\n"));
  CHECK(refused("compression float16").find("did you mean 'fp16'?") != std::string::npos);
  CHECK(refused("schemes fsdp").find("training.sharding") != std::string::npos);
  CHECK(refused("topologies torsu").find("unknown topology 'torsu'; did you mean 'torus'? known: ") != std::string::npos);
  CHECK(refused("machines pci").find("did you mean 'pcie'?") != std::string::npos);
  CHECK(refused("scheme").find("unknown group 'scheme'; did you mean 'schemes'? known: ") != std::string::npos);
  CHECK(refused("key").find("did you mean 'keys'?") != std::string::npos);
  CHECK(refused("jitter none more").find("list") != std::string::npos);
}

TEST_CASE("a column of labels that is not there is reported at the option that named it") {
  const Workplace place;
  place.write("data.csv", "height,weight,species\n1,2,a\n3,4,b\n");
  place.write("csv.yaml",
              "straggler: 1\nname: own\ndevices: {n: {compute: {affine: {overhead: 1ms, per_sample: 1ms}}}}\n"
              "cluster: {workers: [{count: 1, device: n}], network: {link: {bandwidth: 1Gbps, latency: 50us}}}\n"
              "workload: {model: {kind: mlp, hidden: [8]}, data: {kind: csv, path: data.csv}}\n"
              "training: {scheme: ssgd, batch: {per_worker: 1}, optimizer: {kind: sgd, learning_rate: 0.1}, stop: {epochs: 1}}\n");
  const auto refused = place.shell("straggler check csv.yaml --set workload.data.label=kind");
  CHECK(refused.code == 2);
  CAPTURE(refused.err);
  CHECK(refused.err.starts_with("--set workload.data.label=kind: workload.data.label: "));
  CHECK(refused.err.find("there is no column 'kind' for the labels; the first line has height, weight, species;") != std::string::npos);
}

TEST_CASE("list schemes: how each exchanges, whether it is asynchronous, and whether it runs on real ranks") {
  const Workplace place;
  const auto listed = place.shell("straggler list schemes --json");
  REQUIRE(listed.code == 0);
  std::map<std::string, nlohmann::json> entries;
  for (const auto& entry : nlohmann::json::parse(listed.out)) entries[entry["name"]] = entry;
  // name, exchange, asynchronous, real; by docs/model.md
  const std::vector<std::tuple<std::string, std::string, bool, bool>> facts = {
      {"sequential", "none", false, true}, {"ssgd", "all_reduce", false, true},    {"data_parallel", "peers", false, false},
      {"asgd", "server", true, true},      {"nonblocking", "server", false, true}, {"local_sgd", "all_reduce", false, true},
      {"fedavg", "server", false, true},   {"dpsgd", "peers", false, true}};
  for (const auto& [name, exchange, asynchronous, real] : facts) {
    const auto& this_name = name;  // clang 14 captures no structured binding
    CAPTURE(this_name);
    REQUIRE(entries.contains(name));
    CHECK(entries[name]["exchange"] == exchange);
    CHECK(entries[name]["asynchronous"] == asynchronous);
    CHECK(entries[name]["real"] == real);
    CHECK(entries[name]["versions"] == (name == "dpsgd" ? "lockstep" : "shared"));
    CHECK(entries[name]["workers"] == (name == "sequential" ? nlohmann::json(1) : nlohmann::json()));
    REQUIRE_FALSE(entries[name]["variants"].empty());
    CHECK(entries[name]["variants"][0]["exchange"] == exchange);
  }
  for (const std::string name : {"ssgd", "local_sgd"}) {
    CAPTURE(name);
    for (const auto& variant : entries[name]["variants"]) {
      CAPTURE(variant.dump());
      CHECK(variant["exchange"] == (variant["parameters"].contains("via") ? "server" : "all_reduce"));
    }
  }
  // Which failures take a run back to a checkpoint: those of any worker, of the server alone, or none (docs/model.md#recovery).
  for (const auto& [name, whose] : {std::pair("ssgd", "together"), std::pair("asgd", "server"), std::pair("hogwild", "never")}) {
    CHECK(entries[name]["rolls_back"] == whose);
    CHECK(entries[name]["variants"][0]["rolls_back"] == whose);
  }
  CHECK(entries["fedavg"]["family"] == "federated");
  CHECK(entries["fedavg"]["needs_server"] == true);
  CHECK(entries["dpsgd"]["family"] == "gossip");
  CHECK(entries["dpsgd"]["needs_server"] == false);
  const std::string text = place.shell("straggler list schemes").out;
  CHECK(text.find("\n federated\n") != std::string::npos);
  CHECK(text.find("rule: w ← w - lr (1/p) Σ g_i(w)") != std::string::npos);
  CHECK(text.find("exchange: all_reduce or server") != std::string::npos);
  CHECK(text.find("asynchronous: yes") != std::string::npos);
}

TEST_CASE("a missing required parameter is reported with its place, its meaning, and the remedy") {
  const Workplace place;
  place.write("small.yaml", R"(straggler: 1
devices: {node: {compute: {affine: {per_sample: 1ms}}}}
cluster: {workers: [{device: node}], network: {link: {bandwidth: 1Gbps, latency: 1ms}}}
workload: {model: softmax, data: coordinates}
training:
  scheme: local_sgd
  batch: {per_worker: 10}
  optimizer: {kind: sgd, learning_rate: 0.1}
  stop: {updates: 1}
)");
  const auto refused = place.shell("straggler run small.yaml");
  CHECK(refused.code == 2);
  CHECK(refused.err.find("small.yaml:6:11: training.scheme.steps: is missing; write a whole number such as 8 (H, local steps between two "
                         "averages)") != std::string::npos);
}

TEST_CASE("list models NAME --yaml: layers that a scenario trains as the same network") {
  const Workplace place;
  const auto listed = place.shell("straggler list models lenet5 --yaml");
  REQUIRE(listed.code == 0);
  CHECK(listed.out.starts_with(
      "# lenet5 of samples of 1 x 28 x 28\nkind: layers\nlayers:\n  - {conv: 6, window: 5, pad: 2, name: conv1}\n  - relu\n"));
  place.write("lenet5.yaml", listed.out.substr(listed.out.find("  - ")));
  place.write("net.yaml", R"(straggler: 1
devices: {node: {compute: {affine: {per_sample: 1ms}}}}
cluster: {workers: [{device: node}], network: {link: {bandwidth: 1Gbps, latency: 1ms}}}
workload:
  model: {kind: layers, layers: lenet5.yaml}
  data: {kind: synthetic_images, channels: 1, height: 28, width: 28, samples: 100, test_samples: 50}
training: {scheme: sequential, batch: {per_worker: 10}, optimizer: {kind: sgd, learning_rate: 0.1}, stop: {updates: 1}}
)");
  const auto own = nlohmann::json::parse(place.shell("straggler check net.yaml --json").out);
  const auto built_in = nlohmann::json::parse(place.shell("straggler check net.yaml --json --set workload.model=lenet5").out);
  CHECK(own["parameters"] == 61'706);
  for (const char* const same : {"parameters", "engine", "layers", "message_bytes", "memory_bytes"}) CHECK(own[same] == built_in[same]);
  CHECK(place.shell("straggler list models lenet --yaml").err.find("did you mean 'lenet5'?") != std::string::npos);
  CHECK(place.shell("straggler list models --yaml").err.find("straggler list models lenet5 --yaml") != std::string::npos);
}

TEST_CASE("the lines that list models NAME --yaml prints cost what the built-in network costs, for every network that there is") {
  const Workplace place;
  const auto checked = [&](const std::string& cost) {
    place.write("net.yaml", R"(straggler: 1
devices: {node: {compute: {roofline: {peak: 1TFLOPS, memory_bandwidth: 100GB/s, issue: 1us}}}}
cluster:
  workers: [{count: 2, device: node}]
  network: {link: {bandwidth: 1Gbps, latency: 1ms}, collective: {algorithm: ring, overlap: true}}
training: {scheme: ssgd, batch: {per_worker: 2}, optimizer: {kind: sgd, learning_rate: 0.1}, stop: {updates: 1}}
workload: {cost: {model: )" + cost +
                                "}}\n");
    const auto said = place.shell("straggler check net.yaml --json");
    const bool follows = said.err.find("follows from the shape of its samples") != std::string::npos;
    REQUIRE_MESSAGE((said.code == 0 || follows), said.err);
    return follows ? nlohmann::json() : nlohmann::json::parse(said.out);
  };
  std::size_t printed = 0, found = 0;
  for (const auto& entry : nlohmann::json::parse(place.shell("straggler list models --json").out)) {
    const std::string name = entry["name"];
    CAPTURE(name);
    const auto listed = place.shell("straggler list models " + name + " --yaml");
    if (listed.code != 0) {
      CHECK(listed.err.find("is not a network whose layers are known") != std::string::npos);
      continue;
    }
    place.write("lines.yaml", listed.out.substr(listed.out.find("  - ")));
    const std::string of = "samples of ";
    const std::size_t shape = listed.out.find(of) + of.size();
    std::string input = listed.out.substr(shape, listed.out.find('\n') - shape);
    for (std::size_t at; (at = input.find(" x ")) != std::string::npos;) input.replace(at, 3, ", ");
    const auto own = checked("{kind: layers, input: [" + input + "], layers: lines.yaml}");
    ++printed;
    const auto built_in = checked(name);
    if (built_in.is_null()) continue;
    for (const char* const same : {"message_bytes", "cost_parameters", "bucket_bytes", "update_s", "groups"})
      CHECK(own[same] == built_in[same]);
    ++found;
  }
  CHECK(found >= 8);
  CHECK(printed >= found + 4);
}

}  // namespace list_test

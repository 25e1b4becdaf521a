// Keys by the names that other programs have for them, and keys in another section than their own.
#include <doctest/doctest.h>

#include "scenarios/schema/other_names.hpp"
#include "scenarios/schema/scenario_keys.hpp"
#include "tests/schema/bad_input_slip.hpp"

using namespace straggler;
using namespace straggler::test;

TEST_CASE("another program's name of a key is reported with ours, in one line") {
  const char* const right = "learning_rate: 0.1, momentum";
  for (const char* wrong : {"`lr: 0.1, momentum", "`LR: 0.1, momentum", "`learningrate: 0.1, momentum", "`learningRate: 0.1, momentum",
                            "`learning-rate: 0.1, momentum", "`step_size: 0.1, momentum"}) {
    const Slip slip{right, wrong, {"training.optimizer.", "did you mean 'learning_rate'? known: kind, learning_rate"}};
    CHECK(check_slip(good, slip) == 1);
  }
  CHECK(check_slip(good, {"weight_decay: 1e-4", "`wd: 1e-4", {"unknown key 'wd'; did you mean 'weight_decay'?"}}) == 1);
  CHECK(check_slip(good, {"{per_worker: 256}", "{`batch_size: 256}", {"unknown key 'batch_size'; did you mean 'per_worker'?"}}) == 1);
}

TEST_CASE("a key of another section is reported with its section") {
  const char* const scheme = "  scheme: {kind: nonblocking";
  const Slip slips[] = {
      {scheme,
       "  `lr: 0.1\n  scheme: {kind: nonblocking",
       {"training.lr: unknown key 'lr'; did you mean training.optimizer.learning_rate? known: clip, stop, batch; all 12: straggler list "
        "keys training"}},
      {scheme,
       "  `learning_rate: 0.1\n  scheme: {kind: nonblocking",
       {"training.learning_rate: unknown key 'learning_rate'; did you mean training.optimizer.learning_rate?"}},
      {scheme, "  `batch_size: 8\n  scheme: {kind: nonblocking", {"did you mean training.batch.per_worker?"}},
      {scheme, "  `epochs: 8\n  scheme: {kind: nonblocking", {"did you mean training.stop.epochs?"}},
      {"seed: 1\n", "seed: 1\n`lr: 0.1\n", {"did you mean training.optimizer.learning_rate?"}},
  };
  for (const Slip& slip : slips) CHECK(check_slip(good, slip) == 1);
  CHECK(check_slip(good, {"seed: 1\n",
                          "seed: 1\n`model: lenet5\n",
                          {"model: unknown key 'model'; did you mean workload.model? known: name, seed, devices; all 7: "}}) == 1);
  CHECK(check_slip(good, {"seed: 1\n", "seed: 1\n`scheme: ssgd\n", {"scheme: unknown key 'scheme'; did you mean training.scheme?"}}) == 1);
  const std::vector<std::string> group = {"count", "device", "slowdown", "per_host"};
  CHECK(unknown_key("speed", group, "cluster.workers[0]") ==
        "unknown key 'speed'; did you mean 'slowdown', which is 1 / speed (2 is half as fast)? known: count, device, slowdown, per_host");
  CHECK(unknown_key("hosts", group, "cluster.workers[0]") ==
        "unknown key 'hosts'; did you mean 'count', the number of workers, which is hosts x per_host? known: count, device, slowdown, "
        "per_host");
  CHECK(check_slip(good, {"seed: 1\n", "seed: 1\n`collective: ring\n", {"did you mean cluster.network.collective?"}}) == 1);
  CHECK(unknown_key("jitter", group, "cluster.workers[0]").find("did you mean devices.NAME.jitter?") != std::string::npos);
  // A kind that does not know it: nobody is sent to where the key stands already.
  CHECK(check_slip(good, {"scale_with_workers: linear", "`momentum: 1", {"did you mean training.optimizer.momentum?"}}) == 1);
  CHECK(unknown_key("momentum", {"kind"}, "training.optimizer") == "unknown key 'momentum'; known: kind");
}

TEST_CASE("what newcomers write: the key that means the same, never one that looks alike and means something else") {
  struct Newcomer {
    const char *key, *section;
    std::vector<std::string> known;
    const char* meant;
  };
  const std::vector<std::string> group = {"count", "device", "slowdown", "same_host", "link", "per_host", "cores_per_host", "waiting"};
  const std::vector<std::string> cluster = {"workers", "servers", "aggregators", "network", "faults"};
  const std::vector<std::string> training = {"scheme", "batch", "optimizer", "schedule", "compression", "stop", "evaluate"};
  const std::vector<std::string> top = {"straggler", "name", "seed", "devices", "cluster", "workload", "training"};
  const std::vector<Newcomer> all = {
      {"gpus_per_host", "cluster.workers[0]", group, "'per_host'"},
      {"gpus_per_node", "cluster.workers[0]", group, "'per_host'"},
      {"nproc_per_node", "cluster.workers[0]", group, "'per_host'"},
      {"num_workers", "cluster.workers[0]", group, "'count'"},
      {"num_workers", "cluster", cluster, "cluster.workers[0].count"},
      {"world_size", "cluster.workers[0]", group, "'count'"},
      {"world_size", "cluster", cluster, "cluster.workers[0].count"},
      {"n_gpus", "cluster.workers[0]", group, "'count', the number of workers, one a GPU"},
      {"nodes", "cluster", cluster, "cluster.workers[0].count, the number of workers, which is hosts x per_host"},
      {"nnodes", "cluster.workers[0]", group, "'count', the number of workers, which is hosts x per_host"},
      {"gpu", "cluster.workers[0]", group, "'device'"},
      {"speedup", "cluster.workers[0]", group, "'slowdown', which is 1 / speedup (0.5 is twice as fast)"},
      {"num_servers", "cluster.servers", {"count", "update", "link"}, "'count'"},
      {"bandwidth", "cluster.network", {"topology", "link", "sharing"}, "cluster.network.link.bandwidth"},
      {"batch_size", "training", training, "training.batch.per_worker"},
      {"global_batch_size", "training", training, "training.batch.global"},
      {"gradient_accumulation_steps", "training", training, "training.batch.accumulate"},
      {"accumulate_grad_batches", "training.batch", {"per_worker", "global", "accumulate"}, "'accumulate'"},
      {"backups", "training", training, "training.scheme.backups, of {kind: backup_workers, backups: 1}"},
      {"global_batch", "training.batch", {"per_worker", "global", "drop_last"}, "'global'"},
      {"lr", "training", training, "training.optimizer.learning_rate"},
      {"lr", "training.optimizer", {"kind", "learning_rate", "momentum"}, "'learning_rate'"},
      {"lr_scheduler", "training", training, "'schedule'"},
      {"num_epochs", "training.stop", {"epochs", "updates", "simulated_time"}, "'epochs'"},
      {"steps", "training.stop", {"epochs", "updates", "simulated_time"}, "'updates'"},
      {"max_steps", "training", training, "training.stop.updates"},
      {"algorithm", "training", training, "'scheme'"},
      {"dataset", "", top, "workload.data"},
      {"weight_decay", "training", training, "training.optimizer.weight_decay"},
  };
  for (const Newcomer& one : all) {
    CAPTURE(one.key);
    const std::string line = unknown_key(one.key, one.known, one.section);
    CAPTURE(line);
    CHECK(line.find(std::string("; did you mean ") + one.meant + "? known: ") != std::string::npos);
  }
}

TEST_CASE("an unknown cost model is refused with the kinds that describe any network") {
  const std::string line = unknown_kind(KindGroup::cost_model, "model", "gpt2", Vocabulary::from_registries().names(KindGroup::cost_model));
  CAPTURE(line);
  CHECK(line.ends_with("; describe any other by kind: layers, file, sizes, even"));
  CHECK(unknown_kind(KindGroup::model, "model", "gpt2", {"lenet5", "mlp"}).find("describe") == std::string::npos);
}

TEST_CASE("compressors are known by the names that papers and other programs have for them") {
  const std::vector<std::string> known = {"bf16", "fp16", "int8", "none", "powersgd", "qsgd", "random_k", "signsgd", "terngrad", "top_k"};
  const auto meant = [&](const char* name) { return unknown_kind(KindGroup::compression, "compression", name, known); };
  CHECK(meant("float16").find("did you mean 'fp16'?") != std::string::npos);
  CHECK(meant("bfloat16").find("did you mean 'bf16'?") != std::string::npos);
  CHECK(meant("1-bit SGD").find("did you mean 'signsgd'?") != std::string::npos);
  CHECK(meant("DGC").find("did you mean 'top_k'?") != std::string::npos);
  CHECK(meant("rand_k").find("did you mean 'random_k'?") != std::string::npos);
  // What Straggler has not: the nearest name is not meant.
  CHECK(meant("int4").find("did you mean") == std::string::npos);
  CHECK(unknown_key("ratio", {"kind", "fraction"}, "training.compression").find("did you mean 'fraction'?") != std::string::npos);
  CHECK(unknown_key("bits", {"kind", "levels"}, "training.compression").find("did you mean 'levels'?") != std::string::npos);
}

TEST_CASE("what is not modelled gets an answer with the page, not a list of names") {
  const auto says = [](const std::string& line, const char* what) {
    CAPTURE(line);
    CHECK(line.find(what) != std::string::npos);
    CHECK(line.ends_with(" (docs/limits.md)"));
    CHECK(line.find("known:") == std::string::npos);
    CHECK(line.find("did you mean") == std::string::npos);
  };
  const std::vector<std::string> schemes = {"asgd", "ssgd", "ssp"};
  const auto scheme = [&](const char* name) { return unknown_kind(KindGroup::scheme, "scheme", name, schemes); };
  for (const char* name : {"fsdp", "FSDP", "zero", "ZeRO-1", "zero_2", "zero3", "DeepSpeed"}) {
    says(scheme(name), "sharded states (ZeRO, FSDP) are ssgd with training.sharding");
    CHECK(meant_kind(KindGroup::scheme, name, schemes).empty());
  }
  CHECK(scheme("fsdp").starts_with("unknown scheme 'fsdp': sharded states"));
  says(scheme("Horovod"), "write scheme: ssgd, with its way to merge tensors in cluster.network.collective: {overlap: true, merge: time}");
  says(scheme("ddp"), "write scheme: ssgd, with cluster.network.collective: {overlap: true}");
  says(scheme("megatron"), "pipeline parallelism");
  const auto model = [](KindGroup group, const char* name) { return unknown_kind(group, "model", name, {"lenet5", "mlp"}); };
  for (const KindGroup group : {KindGroup::model, KindGroup::cost_model})
    for (const char* name : {"torch", "net.pt", "folder/net.PTH", "a.b.onnx", "ONNX"})
      says(model(group, name), "straggler.layers in Python lists a PyTorch module, which then trains; for timing, workload.cost: {model");
  for (const char* name : {"cuda", "cuda:0", "CUDA"})
    says(unknown_kind(KindGroup::device, "device", name, {"a100", "h100"}), "the math runs on CPUs");
  const auto key = [](const char* name, const char* section) { return unknown_key(name, {"scheme", "batch"}, section); };
  for (const char* name : {"zero_optimization", "fsdp", "sharding_strategy"}) says(key(name, "training"), "sharded states");
  for (const char* name : {"per_worker", "batch_size"}) says(key(name, "cluster.workers[1]"), "cluster.workers[0].batch");
  says(key("batch_sizes", "training"), "split: by_speed");
  CHECK(unknown_key("backups", {"kind", "via"}, "training.scheme").find("did you mean kind: backup_workers, which has it?") !=
        std::string::npos);
  // The same words where they mean something else.
  CHECK(unknown_key("batch_size", {"per_worker"}, "training.batch").find("did you mean 'per_worker'?") != std::string::npos);
  CHECK(unknown_kind(KindGroup::topology, "topology", "zero", {"ring"}) == "unknown topology 'zero'; known: ring");
  CHECK(unknown_key("", {"a"}, "") == "unknown key ''; known: a");
  // Names that are nearly ours.
  CHECK(scheme("sspp").find("did you mean 'ssp'?") != std::string::npos);
  CHECK(model(KindGroup::model, "net").find("known: lenet5, mlp") != std::string::npos);
}

TEST_CASE("no name that Straggler has is said to be absent") {
  const Vocabulary& known = Vocabulary::from_registries();
  for (const auto& [group, words] : known.words)
    for (const Word& word : words) {
      CAPTURE(word.name);
      CHECK(not_modelled(group, word.name).empty());
      for (const Parameter& parameter : word.parameters) CHECK(not_modelled(parameter.name, "").empty());
    }
  std::size_t rows = 0;
  for (const ScenarioKey& part : scenario_keys()) {
    if (part.keys.empty()) continue;
    for (const KeyRow& row : key_rows(scenario_keys(), part.name)) {
      CAPTURE(row.path);
      CHECK(not_modelled(row.path.substr(row.path.rfind('.') + 1), part.name).empty());
      ++rows;
    }
  }
  CHECK(rows > 30);
}

TEST_CASE("a list of batches is told where batches that differ stand") {
  for (const char* wrong : {"{per_worker: `[16, 32]}", "{per_worker: `{node: 16}}"})
    CHECK(check_slip(good, {"{per_worker: 256}", wrong, {"training.batch.per_worker: is a ", "cluster.workers[0].batch"}}) == 1);
}

TEST_CASE("a kind that is left out, empty, or a list is reported with the remedy") {
  const auto slip = [&](const char* instead, std::vector<const char*> words) {
    return check_slip(good, {"  compression: {kind: none}", instead, std::move(words)});
  };
  CHECK(slip("  compression: {`fraction: 0.01}",
             {"training.compression",
              "has no kind, and none, its default, does not know 'fraction'; write the kind that is meant: top_k"}) == 1);
  CHECK(slip("  compression: `null",
             {"is empty; write the name of a compression, or {kind: NAME} with its parameters; known: none, top_k"}) == 1);
  CHECK(check_slip(good, {"  compression: {kind: none}", "  `compression:", {"training.compression: is empty; write the name of"}}) == 1);
  CHECK(slip("  compression: `[top_k]", {"is a list; write the name of a compression"}) == 1);
}

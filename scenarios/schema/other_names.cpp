#include "scenarios/schema/other_names.hpp"

#include <algorithm>
#include <cctype>
#include <optional>

#include "sim/base/registry.hpp"
#include "sim/base/suggest.hpp"
#include "sim/training/scheme.hpp"

namespace straggler {
namespace {

/// In lower case and without separators, as `bare` returns a key. `ours`: a path that ends in the key. If several have the same name and no
/// section decides, the first is meant.
struct OtherName {
  std::string_view other, ours;
  std::string_view how = {};  // ours from theirs, where the values differ
};
constexpr std::string_view of_speed = "which is 1 / speed (2 is half as fast)";
constexpr std::string_view of_hosts = "the number of workers, which is hosts x per_host";
constexpr OtherName other_names[] = {
    {"lr", "training.optimizer.learning_rate"},
    {"learningrate", "training.optimizer.learning_rate"},
    {"stepsize", "training.optimizer.learning_rate"},
    {"momentum", "training.optimizer.momentum"},
    {"wd", "training.optimizer.weight_decay"},
    {"weightdecay", "training.optimizer.weight_decay"},
    {"clipnorm", "training.clip"},
    {"clipgradnorm", "training.clip"},
    {"maxgradnorm", "training.clip"},
    {"maxnorm", "training.clip"},
    {"gradclip", "training.clip"},
    {"gradientclip", "training.clip"},
    {"gradientclipping", "training.clip"},
    {"bs", "training.batch.per_worker"},
    {"batchsize", "training.batch.per_worker"},
    {"localbatchsize", "training.batch.per_worker"},
    {"perdevicebatchsize", "training.batch.per_worker"},
    {"perdevicetrainbatchsize", "training.batch.per_worker"},
    {"batchsizeperworker", "training.batch.per_worker"},
    {"batchsizepergpu", "training.batch.per_worker"},
    {"gradientaccumulation", "training.batch.accumulate"},
    {"gradientaccumulationsteps", "training.batch.accumulate"},
    {"accumulation", "training.batch.accumulate"},
    {"accumulate", "training.batch.accumulate"},
    {"backups", "training.scheme.backups", "of {kind: backup_workers, backups: 1}"},
    {"rebalancing", "training.batch.rebalance"},
    {"perstep", "cluster.network.collective.per_step"},
    {"pertensor", "cluster.network.collective.per_tensor"},
    {"accumulationsteps", "training.batch.accumulate"},
    {"accumulategradbatches", "training.batch.accumulate"},
    {"accumsteps", "training.batch.accumulate"},
    {"gradientcheckpointing", "workload.recompute"},
    {"activationcheckpointing", "workload.recompute"},
    {"checkpointactivations", "workload.recompute"},
    {"recomputeactivations", "workload.recompute"},
    {"recomputation", "workload.recompute"},
    {"globalbatch", "training.batch.global"},
    {"globalbatchsize", "training.batch.global"},
    {"totalbatchsize", "training.batch.global"},
    {"trainbatchsize", "training.batch.global"},
    {"epochs", "training.stop.epochs"},
    {"numepochs", "training.stop.epochs"},
    {"nepochs", "training.stop.epochs"},
    {"maxepochs", "training.stop.epochs"},
    {"numtrainepochs", "training.stop.epochs"},
    {"steps", "training.stop.updates"},
    {"numsteps", "training.stop.updates"},
    {"maxsteps", "training.stop.updates"},
    {"iterations", "training.stop.updates"},
    {"maxiterations", "training.stop.updates"},
    {"target", "training.stop.target_accuracy"},
    {"accuracy", "training.stop.target_accuracy"},
    // McMahan et al. 2017: E epochs of a share C of the clients.
    {"epochs", "training.scheme.local_epochs"},
    {"e", "training.scheme.local_epochs"},
    {"c", "training.scheme.fraction"},
    // Local steps between two averages: H of Stich 2019, tau of Wang and Joshi 2021.
    {"h", "training.scheme.steps"},
    {"tau", "training.scheme.steps"},
    {"localsteps", "training.scheme.steps"},
    {"hidden", "workload.model.hidden"},
    {"partition", "workload.data.partition"},
    {"ratio", "training.compression.fraction"},
    {"compressratio", "training.compression.fraction"},
    {"compressionratio", "training.compression.fraction"},
    {"sparsity", "training.compression.fraction"},
    {"k", "training.compression.fraction"},
    {"bits", "training.compression.levels"},  // of QSGD: 2^(bits - 1) - 1 levels
    {"s", "training.compression.levels"},
    {"r", "training.compression.rank"},
    {"staleness", "training.scheme.slack"},  // of SSP
    {"s", "training.scheme.slack"},
    {"tau", "training.scheme.period"},  // of EASGD
    {"numclients", "training.scheme.clients"},
    {"clientsperround", "training.scheme.clients"},
    {"speed", "cluster.workers[0].slowdown", of_speed},
    {"relativespeed", "cluster.workers[0].slowdown", of_speed},
    {"speedfactor", "cluster.workers[0].slowdown", of_speed},
    {"speedup", "cluster.workers[0].slowdown", "which is 1 / speedup (0.5 is twice as fast)"},
    {"hosts", "cluster.workers[0].count", of_hosts},
    {"nhosts", "cluster.workers[0].count", of_hosts},
    {"numhosts", "cluster.workers[0].count", of_hosts},
    {"nodes", "cluster.workers[0].count", of_hosts},
    {"nnodes", "cluster.workers[0].count", of_hosts},
    {"numnodes", "cluster.workers[0].count", of_hosts},
    {"machines", "cluster.workers[0].count", of_hosts},
    {"nummachines", "cluster.workers[0].count", of_hosts},
    {"numworkers", "cluster.workers[0].count"},
    {"nworkers", "cluster.workers[0].count"},
    {"worldsize", "cluster.workers[0].count"},
    {"nproc", "cluster.workers[0].count"},
    {"nprocs", "cluster.workers[0].count"},
    {"numprocs", "cluster.workers[0].count"},
    {"ranks", "cluster.workers[0].count"},
    {"nranks", "cluster.workers[0].count"},
    {"gpus", "cluster.workers[0].count", "the number of workers, one a GPU"},
    {"ngpus", "cluster.workers[0].count", "the number of workers, one a GPU"},
    {"numgpus", "cluster.workers[0].count", "the number of workers, one a GPU"},
    {"gpusperhost", "cluster.workers[0].per_host"},
    {"gpuspernode", "cluster.workers[0].per_host"},
    {"gpuspermachine", "cluster.workers[0].per_host"},
    {"workersperhost", "cluster.workers[0].per_host"},
    {"workerspernode", "cluster.workers[0].per_host"},
    {"nprocpernode", "cluster.workers[0].per_host"},
    {"pernode", "cluster.workers[0].per_host"},
    {"ppn", "cluster.workers[0].per_host"},
    {"gpu", "cluster.workers[0].device"},
    {"gputype", "cluster.workers[0].device"},
    {"accelerator", "cluster.workers[0].device"},
    // In no section, or in another.
    {"model", "workload.model"},
    {"data", "workload.data"},
    {"dataset", "workload.data"},
    {"arch", "workload.model"},
    {"architecture", "workload.model"},
    {"algorithm", "training.scheme"},
    {"strategy", "training.scheme"},
    {"scheduler", "training.schedule"},
    {"lrscheduler", "training.schedule"},
    {"networkbandwidth", "cluster.network.link.bandwidth"},
    {"bw", "cluster.network.link.bandwidth"},
    {"parameterservers", "cluster.servers"},
    {"ps", "cluster.servers"},
    {"numservers", "cluster.servers.count"},
    {"numps", "cluster.servers.count"},
    {"workers", "cluster.workers"},
    {"servers", "cluster.servers"},
    {"network", "cluster.network"},
    {"faults", "cluster.faults"},
    {"link", "cluster.network.link"},
    {"topology", "cluster.network.topology"},
    {"intra", "cluster.network.intra"},
    {"sharing", "cluster.network.sharing"},
    {"protocol", "cluster.network.protocol"},
    {"background", "cluster.network.background"},
    {"collective", "cluster.network.collective"},
    {"availability", "cluster.workers[0].availability"},
    {"population", "cluster.workers[0].population"},
    {"slowdown", "cluster.workers[0].slowdown"},
    {"jitter", "devices.NAME.jitter"},
    {"compute", "devices.NAME.compute"},
    {"loader", "devices.NAME.loader"},
    {"cost", "workload.cost"},
    {"bandwidth", "cluster.network.link.bandwidth"},
    {"latency", "cluster.network.link.latency"},
    {"scheme", "training.scheme"},
    {"batch", "training.batch"},
    {"optimizer", "training.optimizer"},
    {"stop", "training.stop"},
    {"evaluate", "training.evaluate"},
    {"compression", "training.compression"},
    {"targetaccuracy", "training.stop.target_accuracy"},
};

/// `ours` empty: Straggler has no such thing, and similar names of ours are not meant. Other names of schemes stand in their entries.
struct OtherKind {
  KindGroup group;
  std::string_view other, ours;
};
constexpr OtherKind other_kinds[] = {
    {KindGroup::scheme, "dasgd", ""},  // delayed averaging
    {KindGroup::scheme, "psgd", ""},   // parallel, one average at the end
    {KindGroup::scheme, "lsgd", ""},   // layered
    {KindGroup::scheme, "qsgd", ""},   // quantized
    {KindGroup::compression, "fp32", "none"},
    {KindGroup::compression, "float32", "none"},
    {KindGroup::compression, "half", "fp16"},
    {KindGroup::compression, "float16", "fp16"},
    {KindGroup::compression, "bfloat16", "bf16"},
    {KindGroup::compression, "randk", "random_k"},
    {KindGroup::compression, "sign", "signsgd"},
    {KindGroup::compression, "1bit", "signsgd"},
    {KindGroup::compression, "onebit", "signsgd"},
    {KindGroup::compression, "1bitsgd", "signsgd"},
    {KindGroup::compression, "efsign", "signsgd"},  // with error_feedback
    {KindGroup::compression, "efsignsgd", "signsgd"},
    {KindGroup::compression, "majorityvote", "signsgd"},
    {KindGroup::compression, "ternary", "terngrad"},
    {KindGroup::compression, "lowrank", "powersgd"},
    {KindGroup::compression, "dgc", "top_k"},  // deep gradient compression
    {KindGroup::compression, "deepgradientcompression", "top_k"},
    {KindGroup::compression, "sparse", "top_k"},
    {KindGroup::compression, "int4", ""},
    {KindGroup::compression, "fp8", ""},
    {KindGroup::optimizer, "fedadam", ""},  // scheme fedopt with server_optimizer adam
    {KindGroup::optimizer, "momentum", "sgd"},
    {KindGroup::optimizer, "nesterov", "sgd"},
    {KindGroup::optimizer, "nadam", ""},
    {KindGroup::optimizer, "nadamw", ""},
    {KindGroup::optimizer, "radam", ""},
    {KindGroup::optimizer, "adamax", ""},
    {KindGroup::optimizer, "adamp", ""},
    {KindGroup::optimizer, "adan", ""},
    {KindGroup::optimizer, "amsgrad", ""},
    {KindGroup::optimizer, "madgrad", ""},
    {KindGroup::optimizer, "larc", ""},
    {KindGroup::optimizer, "asgd", ""},  // averaged
    {KindGroup::optimizer, "psgd", ""},  // preconditioned
    {KindGroup::optimizer, "sgdr", ""},
    {KindGroup::optimizer, "sgdw", ""},
    {KindGroup::schedule, "wsd", "warmup_stable_decay"},
    {KindGroup::jitter, "loguniform", ""},
    {KindGroup::topology, "lan", ""},
    {KindGroup::topology, "dragonfly+", ""},
    {KindGroup::topology, "dragonflyplus", ""},
    {KindGroup::data, "mnist", "fashion_mnist"},  // with its path
    {KindGroup::data, "emnist", "idx"},
    {KindGroup::data, "kmnist", "idx"},
    {KindGroup::data, "text8", "text"},
    {KindGroup::data, "shakespeare", "characters"},
    {KindGroup::data, "wikitext", "characters"},
    {KindGroup::data, "openwebtext", "tokens"},
    {KindGroup::partition, "contiguous", "sorted_runs"},
    {KindGroup::partition, "niid", ""},
    {KindGroup::partition, "noniid", ""},
    {KindGroup::device, "p100", ""},
    {KindGroup::device, "p40", ""},
    {KindGroup::device, "p4", ""},
    {KindGroup::device, "l40", ""},
    {KindGroup::device, "v100s", ""},
    {KindGroup::device, "a10g", ""},
    {KindGroup::device, "b100", ""},
    {KindGroup::device, "h200", ""},
    {KindGroup::device, "gh200", ""},
    {KindGroup::device, "gb200", ""},
    {KindGroup::machine, "v100", "dgx1"},
    {KindGroup::machine, "a100", "dgx_a100"},
    {KindGroup::machine, "h100", "dgx_h100"},
    {KindGroup::cost_model, "resnext50", ""},
    {KindGroup::cost_model, "wideresnet50", ""},
    {KindGroup::cost_model, "seresnet50", ""},
    {KindGroup::cost_model, "albertbase", ""},
    {KindGroup::cost_model, "albertlarge", ""},
    {KindGroup::cost_model, "robertabase", ""},
    {KindGroup::cost_model, "robertalarge", ""},
};

/// What people look for and Straggler does not model, or has under other keys: docs/limits.md. Not a kind: a key.
struct Absent {
  std::optional<KindGroup> group;
  std::string_view section;  // of a key: the beginning of its path; empty: anywhere
  std::string_view words;    // between blanks, as `bare` returns them; .pt: names that end so
  std::string_view says;     // "what there is not; what is nearest"
};
constexpr std::string_view sharded =
    "sharded states (ZeRO, FSDP) are ssgd with training.sharding; write scheme: ssgd and sharding: {stage: 3}, or stage 1 or 2, in "
    "training";
constexpr std::string_view split_models =
    "tensor and pipeline parallelism are not modelled; the nearest is ssgd, where every worker has the whole model";
constexpr std::string_view unequal =
    "batches that differ stand with the workers; write cluster.workers[0].batch: 300, or training.batch: {global: 1000, split: by_speed}";
constexpr Absent absent[] = {
    {KindGroup::scheme, "", "fsdp fsdp2 hsdp fullyshardeddataparallel zero zero1 zero2 zero3 zerodp deepspeed", sharded},
    {{}, "", "fsdp zero zerostage zerooptimization shardingstrategy deepspeed", sharded},
    {KindGroup::scheme, "", "tensorparallel pipelineparallel pipeline gpipe pipedream megatron modelparallel", split_models},
    {{}, "", "tensorparallel tensorparallelsize pipelineparallel pipelineparallelsize pipelinestages", split_models},
    {KindGroup::scheme, "", "horovod",
     "Horovod is a library; write scheme: ssgd, with its way to merge tensors in cluster.network.collective: {overlap: true, merge: time}"},
    {KindGroup::scheme, "", "ddp distributeddataparallel",
     "DistributedDataParallel is ssgd in buckets; write scheme: ssgd, with cluster.network.collective: {overlap: true}"},
    {{}, "cluster.workers", "batchsize perworker batchperworker", unequal},
    {{}, "", "batches batchsizes unequalbatches", unequal},
    {KindGroup::model, "", "torch pytorch torchvision tensorflow keras jax flax huggingface onnx .pt .pth .onnx .safetensors .h5",
     "straggler.layers in Python lists a PyTorch module, which then trains; for timing, workload.cost: {model: {kind: file, path: FILE}} "
     "reads a config.json, a torchinfo summary, an ONNX model or a safetensors file"},
    {KindGroup::data, "", "imagenet imagenet1k ilsvrc2012 tinyimagenet coco",
     "photographs of that size are not read; for timing, leave data out and write workload.cost: {model: resnet50_imagenet}, else "
     "data: {kind: synthetic_images, height: 224, width: 224}"},
    {KindGroup::device, "", "cuda rocm mps tpu",
     "the math runs on CPUs, and a device is only the times of one; name a built-in device such as h100, or describe yours in devices"},
};

std::string bare(std::string_view key) {
  std::string out;
  for (const char c : key.substr(0, 32))
    if (c != '_' && c != '-' && c != ' ') out += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return out;
}

std::string_view last_part(std::string_view path) { return path.substr(path.rfind('.') + 1); }
std::string_view before_colon(std::string_view key) { return with_blank_after_colon(key).empty() ? key : key.substr(0, key.find(':')); }

/// The entry whose key is among `known`; null: none.
const OtherName* other_name_of(std::string_view key, const std::vector<std::string>& known) {
  const std::string name = bare(before_colon(key));
  for (const OtherName& one : other_names)
    if (one.other == name && std::find(known.begin(), known.end(), last_part(one.ours)) != known.end()) return &one;
  return nullptr;
}

/// A symbol of one letter is meant only where its key is known.
const OtherName* other_name_elsewhere(std::string_view key) {
  const std::string name = bare(before_colon(key));
  for (const OtherName& one : other_names)
    if (one.other == name && name.size() > 1) return &one;
  return nullptr;
}

std::string_view section_of(std::string_view path) { return path.substr(0, path.rfind('.')); }

/// Of that group, by another name. Empty: Straggler does not have it. None: the name is not known.
std::optional<std::string_view> other_kind(KindGroup group, std::string_view name) {
  if (group == KindGroup::model) group = KindGroup::cost_model;  // one list of models
  const std::string wanted = bare(name);
  for (const OtherKind& one : other_kinds)
    if (one.group == group && one.other == wanted) return one.ours;
  if (group == KindGroup::scheme)
    for (const SchemeEntry& scheme : Registry<SchemeEntry>::instance().entries())
      if (std::ranges::find(scheme.other_names, wanted) != scheme.other_names.end()) return scheme.name;
  return std::nullopt;
}

/// Whether two names differ in their numbers: vgg19 and vgg16. Not if only the case of letters differs.
bool differ_in_numbers_only(std::string_view a, std::string_view b) {
  const auto shape = [](std::string_view name) {
    std::string out;
    for (const char c : bare(name)) {
      const bool digit = std::isdigit(static_cast<unsigned char>(c)) != 0;
      if (!digit || out.empty() || out.back() != '#') out += digit ? '#' : c;
    }
    return out;
  };
  return bare(a) != bare(b) && shape(a) == shape(b);
}

/// `section` of a key. Empty: it is not in the table.
std::string_view said_of_absent(std::optional<KindGroup> group, std::string_view name, std::string_view section) {
  if (group == KindGroup::cost_model) group = KindGroup::model;
  const std::string word = " " + bare(name.substr(0, name.find(':'))) + " ";  // cuda:0 is cuda
  const std::string end = " " + bare(name.substr(std::min(name.rfind('.'), name.size()))) + " ";
  for (const Absent& one : absent) {
    if (one.group != group || !section.starts_with(one.section)) continue;
    const std::string words = " " + std::string(one.words) + " ";
    if (words.find(word) != std::string::npos || words.find(end) != std::string::npos) return one.says;
  }
  return {};
}

std::string with_page(std::string_view says) { return says.empty() ? std::string() : std::string(says) + " (docs/limits.md)"; }

/// `meant`: in quotes, with what it means, or empty. `known`: as known_names() returns it.
std::string unknown(std::string_view what, std::string_view name, const std::string& meant, const std::string& known) {
  return "unknown " + std::string(what) + " " + in_quotes(name) + (meant.empty() ? "; " : "; did you mean " + meant + "? ") + known;
}

/// "kind: k_async, k_sync, which have it". Empty: no scheme has such a parameter.
std::string schemes_that_have(std::string_view parameter) {
  std::vector<std::string> kinds;
  for (const SchemeEntry& scheme : Registry<SchemeEntry>::instance().entries())
    if (std::ranges::find(scheme.parameters, parameter, &Parameter::name) != scheme.parameters.end()) kinds.push_back(scheme.name);
  if (kinds.empty()) return {};
  return "kind: " + joined(kinds) + (kinds.size() == 1 ? ", which has it" : ", which have it");
}

std::string explained(std::string meant, const OtherName& name) { return name.how.empty() ? meant : meant + ", " + std::string(name.how); }

/// The cost models that describe any network, of those that are known.
std::string described_models(KindGroup group, const std::vector<std::string>& known) {
  if (group != KindGroup::cost_model) return {};
  std::vector<std::string> kinds;
  for (const char* const kind : {"layers", "file", "sizes", "even"})
    if (std::ranges::find(known, kind) != known.end()) kinds.emplace_back(kind);
  return kinds.empty() ? std::string() : "; describe any other by kind: " + joined(kinds);
}

}  // namespace

std::string_view listed_as(KindGroup group) {
  switch (group) {
    case KindGroup::scheme:
      return "schemes";
    case KindGroup::collective:
      return "collectives";
    case KindGroup::topology:
      return "topologies";
    case KindGroup::model:
    case KindGroup::cost_model:
      return "models";
    case KindGroup::partition:
      return "partitions";
    case KindGroup::optimizer:
      return "optimizers";
    case KindGroup::schedule:
      return "schedules";
    case KindGroup::sharing:
      return "sharing";
    case KindGroup::device:
      return "devices";
    case KindGroup::machine:
      return "machines";
    case KindGroup::layer:
      return "layers";
    case KindGroup::law:
      return "laws";
    default:
      return name_of(group);
  }
}

std::string known_kinds(KindGroup group, std::string_view name, const std::vector<std::string>& known) {
  const Vocabulary& listed = Vocabulary::from_registries();
  const bool all = std::ranges::all_of(known, [&](const std::string& each) { return listed.find(group, each) != nullptr; });
  return known_names(name, known, all ? "straggler list " + std::string(listed_as(group)) : std::string());  // devices have entries, too
}

std::string with_blank_after_colon(std::string_view text) {
  const std::size_t colon = text.find(':');
  if (colon == std::string_view::npos || colon == 0 || colon + 1 == text.size() || text[colon + 1] == ' ') return {};
  return std::string(text.substr(0, colon + 1)) + " " + std::string(text.substr(colon + 1));
}

std::string meant_key(std::string_view key, const std::vector<std::string>& known) {
  const OtherName* const other = other_name_of(key, known);
  return other ? std::string(last_part(other->ours)) : nearest_name(before_colon(key), known);
}

std::string not_modelled(std::string_view key, std::string_view section) { return with_page(said_of_absent({}, key, section)); }
std::string not_modelled(KindGroup group, std::string_view name) { return with_page(said_of_absent(group, name, {})); }

std::string unknown_key(std::string_view key, const std::vector<std::string>& known, std::string_view section, std::string_view kind) {
  if (const std::string says = not_modelled(key, section); !says.empty()) return "unknown key " + in_quotes(key) + ": " + says;
  const std::string_view name = before_colon(key);
  const OtherName *const here = other_name_of(key, known), *const elsewhere = other_name_elsewhere(key);
  // A kind that does not know it stands in the right section.
  const bool away = !here && elsewhere && !section.ends_with(section_of(elsewhere->ours));
  const bool certain = away && elsewhere->other != bare(last_part(elsewhere->ours));  // no key of ours, so no misspelt one
  std::string meant = certain ? std::string() : meant_key(key, known);
  if (!meant.empty() && name != key)
    meant = in_quotes(meant + ": " + std::string(key.substr(name.size() + 1))) + ", with a blank after the colon";
  else if (!meant.empty())
    meant = here ? explained("'" + meant + "'", *here) : "'" + meant + "'";
  if (meant.empty() && section == "training.scheme") meant = schemes_that_have(key);
  if (meant.empty() && away) meant = explained(std::string(elsewhere->ours), *elsewhere);
  return unknown("key", key, meant, known_names(name, known, command_that_lists(section, kind, known)));
}

std::string meant_kind(KindGroup group, std::string_view name, const std::vector<std::string>& known) {
  if (!said_of_absent(group, name, {}).empty()) return {};
  if (const auto ours = other_kind(group, name))
    return std::find(known.begin(), known.end(), *ours) != known.end() ? std::string(*ours) : std::string();
  std::vector<std::string> candidates;
  for (const std::string& each : known)
    if (!differ_in_numbers_only(name, each)) candidates.push_back(each);
  return nearest_name(name, candidates);
}

std::string unknown_kind(KindGroup group, std::string_view what, std::string_view name, const std::vector<std::string>& known) {
  if (const std::string says = not_modelled(group, name); !says.empty())
    return "unknown " + std::string(what) + " " + in_quotes(name) + ": " + says;
  if ((group == KindGroup::model || group == KindGroup::cost_model) && (name.ends_with(".yaml") || name.ends_with(".yml")))
    return "unknown " + std::string(what) + " " + in_quotes(name) +
           "; of a file with a list of layers write {kind: layers, layers: " + std::string(name) + "}";
  const std::string meant = meant_kind(group, name, known);
  return unknown(what, name, meant.empty() ? meant : "'" + meant + "'", known_kinds(group, name, known)) + described_models(group, known);
}

}  // namespace straggler

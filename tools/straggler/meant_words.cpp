#include "tools/straggler/meant_words.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "sim/base/suggest.hpp"

namespace straggler::cli {

namespace {

/// `others`: between blanks, in lower case and without separators.
struct MeantWord {
  WordKind kind;
  std::string_view ours, others;
};
constexpr MeantWord words[] = {
    {WordKind::command, "run", "train simulate sim start execute launch"},
    {WordKind::command, "check", "lint verify show describe info memory"},
    {WordKind::command, "explain", "why diagnose analyse analyze bottleneck bottlenecks whatif"},
    {WordKind::command, "advise", "advice recommend suggest optimize optimise tips remedies"},
    {WordKind::command, "compare", "diff plot"},
    {WordKind::command, "sweep", "search find crossover scan grid study"},
    {WordKind::command, "race", "tune bench benchmark tournament"},
    {WordKind::command, "serve", "ui gui web server dashboard"},
    {WordKind::command, "init", "new create template recipe example"},
    {WordKind::command, "import", "convert load parse profile trace"},
    {WordKind::command, "list", "ls kinds names"},
    {WordKind::command, "timeline", "gantt"},
    {WordKind::command, "calibrate", "fit"},
    {WordKind::command, "allreduce", "collective nccltests"},
    {WordKind::command, "words", "embeddings"},
    {WordKind::command, "store", "cache"},
    {WordKind::group, "schemes", "algorithms strategies methods sgd training asynchronous synchronous federated"},
    {WordKind::group, "collectives", "allreduce allreduces reduce mpi communication"},
    {WordKind::group, "topologies", "network networks fabric fabrics interconnect interconnects switches"},
    {WordKind::group, "sharing", "congestion contention fairness bandwidth packets links"},
    {WordKind::group, "jitter", "noise straggler stragglers variation variance delays"},
    {WordKind::group, "models", "nets architectures costs zoo"},
    {WordKind::group, "data", "datasets dataset datas"},
    {WordKind::group, "partitions", "splits noniid shards skew"},
    {WordKind::group, "schedules", "schedulers lrschedulers lrschedules learningrate warmup"},
    {WordKind::group, "compression", "compressors quantization sparsification codecs"},
    {WordKind::group, "devices", "gpu gpus accelerators accelerator cpus cpu hardware"},
    {WordKind::group, "availability", "churn traces dropout"},
    {WordKind::group, "machines", "hosts host servers nodes dgx nvlink intra"},
    {WordKind::group, "layers", "activations modules operators ops"},
    {WordKind::group, "laws", "distributions failures faults mtbf"},
    {WordKind::group, "frameworks", "pytorch torch libraries recipes"},
    {WordKind::group, "imports", "formats importers readers files"},
    {WordKind::group, "keys", "parameters options settings fields schema yaml units"},
    {WordKind::framework, "ddp", "pytorch torch pytorchddp torchddp distributeddataparallel nccl lightning accelerate torchrun"},
    {WordKind::framework, "ddp_gloo", "gloo torchgloo"},
    {WordKind::framework, "fsdp", "fsdp2 fullyshardeddataparallel zero zero3 deepspeed"},
    {WordKind::framework, "data_parallel", "dp torchdp nndataparallel"},
    {WordKind::framework, "byteps", "ps parameterserver parameterservers"},
};

std::string bare(std::string_view word) {
  std::string out;
  for (const char c : word)
    if (c != '_' && c != '-' && c != ' ' && c != '.') out += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return out;
}

}  // namespace

std::string meant_word(WordKind kind, std::string_view word) {
  const std::string wanted = " " + bare(word.substr(0, 64)) + " ";
  for (const MeantWord& one : words)
    if (one.kind == kind && (" " + std::string(one.others) + " ").find(wanted) != std::string::npos) return std::string(one.ours);
  return {};
}

std::string unknown_word(WordKind kind, std::string_view word, const std::vector<std::string>& known, std::string_view all) {
  const char* const what = kind == WordKind::command ? "command" : kind == WordKind::group ? "group" : "framework";
  const std::string meant = meant_word(kind, word);
  if (std::ranges::find(known, meant) == known.end()) return unknown_name(what, word, known, all);
  return fmt::format("unknown {} {}; did you mean '{}'? {}", what, in_quotes(word), meant, known_names(meant, known, all));
}

}  // namespace straggler::cli

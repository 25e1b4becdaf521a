#include "tools/straggler/recipes.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "scenarios/schema/other_names.hpp"
#include "sim/base/registry.hpp"
#include "sim/base/suggest.hpp"
#include "sim/cluster/host_machine.hpp"
#include "tools/straggler/command.hpp"
#include "tools/straggler/meant_words.hpp"

namespace straggler::cli {

namespace {

/// What a recipe needs of a machine besides its registered figures.
struct Inside {
  std::string machine, device, generation;  // of NCCL's limits
  int workers = 8;
  bool nvlink = false;
};

Inside inside_of(const std::string& machine) {
  static const std::vector<Inside> known{{"dgx1", "v100", "volta", 8, true},
                                         {"dgx_a100", "a100", "ampere", 8, true},
                                         {"dgx_h100", "h100", "hopper", 8, true},
                                         {"pcie_nvlink_pairs", "a100", "ampere", 4, false},
                                         {"pcie_host_memory", "v100", "volta", 4, false}};
  const auto found = std::find_if(known.begin(), known.end(), [&](const Inside& each) { return each.machine == machine; });
  return found == known.end() ? Inside{machine, "v100", "volta", 8, false} : *found;
}

/// NCCL's own choice matters where small messages are common or NVLink makes all bytes fast; over PCIe it is a ring.
std::string nccl_on(const Inside& inside) { return inside.nvlink ? fmt::format("{{kind: nccl, gpu: {}}}", inside.generation) : "ring"; }

std::string collective_of(const Framework& framework, const Inside& inside) {
  if (framework.name == "ddp_gloo") return "{algorithm: gloo, overlap: true}";
  if (framework.name == "horovod") return fmt::format("{{algorithm: {}, overlap: true, merge: time, bucket: 64MiB}}", nccl_on(inside));
  if (framework.name == "byteps") return "{algorithm: byteps, overlap: true}";
  if (framework.name == "ddp" && inside.machine == "dgx1")
    return fmt::format("{{algorithm: {}, overlap: true, per_step: 6ms}}", nccl_on(inside));
  return fmt::format("{{algorithm: {}, overlap: true}}", nccl_on(inside));
}

/// Where its figures come from.
std::string source_of(const Framework& framework, const Inside& inside) {
  if (framework.name == "ddp" && inside.machine == "dgx1") return "per_step: fitted to 1 and 2 hosts of 4 V100 (claim puhti_ddp)";
  return framework.source;
}

std::string text_of(const std::optional<RecipeError>& error) {
  if (!error) return "no table";
  return fmt::format("{}: {} in the mean, {} at most (claim {})", error->what, error->mean, error->largest, error->claim);
}

/// Of this machine, else of any.
const Evidence* evidence_of(const std::string& framework, const std::string& machine) {
  const Evidence* found = nullptr;
  for (const Evidence& each : recipe_evidence())
    if (each.framework == framework && (each.machine == machine || (each.machine.empty() && found == nullptr))) found = &each;
  return found;
}

/// Of that name; `unknown`: what to say of others, from the known names.
template <class Row, class Unknown>
const Row& row_called(const std::vector<Row>& rows, const std::string& name, const Unknown& unknown) {
  std::vector<std::string> known;
  for (const Row& row : rows) {
    if (row.name == name) return row;
    known.push_back(row.name);
  }
  throw UsageError(unknown(known));
}

}  // namespace

std::vector<std::pair<std::string, std::string>> errors_of(const Framework& framework) {
  std::vector<std::pair<std::string, std::string>> pairs;
  for (const Evidence& each : recipe_evidence()) {
    if (each.framework != framework.name) continue;
    const std::string on = each.machine.empty() ? "any machine" : each.machine;
    pairs.emplace_back(on + ", where it was found", text_of(each.found));
    pairs.emplace_back(on + ", on another table", text_of(each.tested));
  }
  if (pairs.empty()) pairs.emplace_back("errors", "no table");
  return pairs;
}

std::string recipe(const std::string& machine, const std::string& framework) {
  const HostMachine& host =
      row_called(Registry<HostMachine>::instance().entries(), machine.empty() ? "pcie" : machine,
                 [&](const std::vector<std::string>& known) { return unknown_kind(KindGroup::machine, "machine", machine, known); });
  const Framework& job = row_called(frameworks(), framework.empty() ? "ddp" : framework, [&](const std::vector<std::string>& known) {
    return unknown_word(WordKind::framework, framework, known, "straggler list frameworks");
  });
  const Inside inside = inside_of(host.name);
  const int hosts = job.one_host ? 1 : 2;

  std::string text = fmt::format("# {} on {} ({}).\n", job.summary, host.name, host.summary);
  text += "# How far off this recipe was, on rows that nothing was fitted to (docs/validation.md):\n";
  const Evidence* const evidence = evidence_of(job.name, host.name);
  text += "#   where it was found: " + text_of(evidence != nullptr ? evidence->found : std::nullopt) + "\n";
  text += "#   on another table: " + text_of(evidence != nullptr ? evidence->tested : std::nullopt) + "\n";
  if (evidence == nullptr) text += "#   So it is a guess from the parts of other recipes: measure before you trust it.\n";
  text +=
      "# A line marked \"guess\" has figures without a source: put yours in their place (straggler import of a trace has most of them).\n";
  text += "# The inside of a host has sources: straggler list machines " + host.name + ". Which choice fits: docs/choosing.md.\n";
  text += fmt::format("straggler: 1\nname: {}_{}\nseed: 1\n\n", job.name, host.name);
  const auto line = [&](const std::string& yaml, std::string_view comment) { text += fmt::format("{:<58} # {}\n", yaml, comment); };
  text += "cluster:\n";
  line(fmt::format("  workers: [{{count: {}, device: {}, per_host: {}}}]", hosts * inside.workers, inside.device, inside.workers),
       fmt::format("guess: {}; device: straggler list devices, or a measured time of a batch", hosts == 1 ? "one host" : "two hosts"));
  if (job.servers) line(fmt::format("  servers: {{count: {}}}", hosts), "one for each host");
  text += "  network:\n    topology: {kind: hosts}\n";
  line("    link: {bandwidth: 10Gbps, latency: 15us}",
       hosts == 1 ? "guess: of a host to others, of which there are none here" : "guess: of a host to others; what iperf3 and ping say");
  line(fmt::format("    intra: {{machine: {}}}", host.name), "between the GPUs of a host");
  if (!job.one_host) line("    collective: " + collective_of(job, inside), source_of(job, inside));
  text += "\nworkload:\n";
  line("  model: {kind: mlp, hidden: [16]}", "what trains, if you let it");
  text += "  data: {kind: coordinates}\n";
  line("  cost: {model: resnet50_imagenet}", "guess: whose bytes and times count; straggler list models");
  text += fmt::format("\ntraining:\n  scheme: {}\n{}", job.scheme, job.extra);
  line("  batch: {per_worker: 32}", "guess");
  text += "  optimizer: {kind: sgd, learning_rate: 0.1}\n  stop: {updates: 20}\n";
  return text;
}

}  // namespace straggler::cli

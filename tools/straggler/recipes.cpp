#include "tools/straggler/recipes.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "sim/base/registry.hpp"
#include "sim/base/suggest.hpp"
#include "sim/cluster/host_machine.hpp"
#include "tools/straggler/command.hpp"

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

template <class Row>
const Row& row_called(const char* what, const std::vector<Row>& rows, const std::string& name, const char* all) {
  std::vector<std::string> known;
  for (const Row& row : rows) {
    if (row.name == name) return row;
    known.push_back(row.name);
  }
  throw UsageError(unknown_name(what, name, known, all));
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
      row_called("machine", Registry<HostMachine>::instance().entries(), machine.empty() ? "pcie" : machine, "straggler list machines");
  const Framework& job = row_called("framework", frameworks(), framework.empty() ? "ddp" : framework, "straggler list frameworks");
  const Inside inside = inside_of(host.name);
  const int hosts = job.one_host ? 1 : 2;

  std::string text = fmt::format("# {} on {} ({}).\n", job.summary, host.name, host.summary);
  text += "# How far off this recipe was, on rows that nothing was fitted to (docs/validation.md):\n";
  const Evidence* const evidence = evidence_of(job.name, host.name);
  text += "#   where it was found: " + text_of(evidence != nullptr ? evidence->found : std::nullopt) + "\n";
  text += "#   on another table: " + text_of(evidence != nullptr ? evidence->tested : std::nullopt) + "\n";
  if (evidence == nullptr) text += "#   So it is a guess from the parts of other recipes: measure before you trust it.\n";
  text += "# Set what you know: time of a batch (straggler import of a trace), hosts, links. Which choice fits: docs/choosing.md.\n";
  text += fmt::format("straggler: 1\nname: {}_{}\nseed: 1\n\n", job.name, host.name);
  text += fmt::format(
      "cluster:\n"
      "  workers: [{{count: {}, device: {}, per_host: {}}}]    # device: straggler list devices, or a measured time of a batch\n",
      hosts * inside.workers, inside.device, inside.workers);
  if (job.servers) text += fmt::format("  servers: {{count: {}}}                                # one for each host\n", hosts);
  text += fmt::format(
      "  network:\n"
      "    topology: {{kind: hosts}}\n"
      "    link: {{bandwidth: 10Gbps, latency: 15us}}            # of a host; what iperf3 and ping say\n"
      "    intra: {{machine: {}}}\n",
      host.name);
  if (!job.one_host) text += fmt::format("    collective: {}\n", collective_of(job, inside));
  text += fmt::format(
      "\n"
      "workload:\n"
      "  model: {{kind: mlp, hidden: [16]}}                     # what trains, if you let it\n"
      "  data: {{kind: coordinates}}\n"
      "  cost: {{model: resnet50_imagenet}}                     # whose bytes and times count; straggler list models\n"
      "\n"
      "training:\n"
      "  scheme: {}\n"
      "{}"
      "  batch: {{per_worker: 32}}\n"
      "  optimizer: {{kind: sgd, learning_rate: 0.1}}\n"
      "  stop: {{updates: 20}}\n",
      job.scheme, job.extra);
  return text;
}

}  // namespace straggler::cli

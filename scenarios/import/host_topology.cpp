#include "scenarios/import/host_topology.hpp"

#include <fmt/format.h>

#include <array>
#include <cmath>

#include "sim/base/quantity.hpp"
#include "sim/base/readable.hpp"
#include "sim/base/registry.hpp"
#include "sim/base/text_lines.hpp"
#include "sim/cluster/host_machine.hpp"

namespace straggler::import_topology {
namespace {

constexpr double usual_nic = 25e9, usual_latency = 5e-6;

struct MachineGpus {
  const char* machine;
  std::array<const char*, 4> names;  // as drivers have them
};
constexpr std::array machine_gpus = {MachineGpus{"dgx1", {"V100", "P100", "V100", "V100"}},
                                     MachineGpus{"dgx_a100", {"A100", "A800", "A100", "A100"}},
                                     MachineGpus{"dgx_h100", {"H100", "H200", "H800", "H20"}}};

std::string rate(double bytes) { return format_quantity(std::stod(fmt::format("{:.6g}", bytes)), Dimension::rate); }
std::string time(double seconds) { return format_quantity(seconds, Dimension::time); }

std::string level(const char* name, const HostTopology::Level& of) {
  return of.workers == 0 ? std::string()
                         : fmt::format("  {}: {{workers: {}, bandwidth: {}}}   # {}\n", name, of.workers, rate(of.bandwidth), of.from);
}

}  // namespace
}  // namespace straggler::import_topology

namespace straggler {

std::size_t equal_groups(const std::vector<std::size_t>& group) {
  std::size_t size = 0;
  for (std::size_t begin = 0; begin < group.size();) {
    std::size_t end = begin;
    while (end < group.size() && group[end] == group[begin]) ++end;
    for (std::size_t later = end; later < group.size(); ++later)
      if (group[later] == group[begin]) return 0;  // its members are no neighbours
    if (size == 0) size = end - begin;
    if (size != end - begin) return 0;
    begin = end;
  }
  return size;
}

double nvlink_rate(std::size_t links) { return links == 18 ? 20.6e9 : links == 4 ? 18e9 : 20e9; }

std::string machine_of(std::size_t gpus, std::size_t links, bool switched) {
  if (gpus != 8) return {};
  if (switched && links == 18) return "dgx_h100";
  if (switched && links == 12) return "dgx_a100";
  return !switched && links == 6 ? "dgx1" : "";
}

std::string topology_yaml(const HostTopology& host, const std::string& file) {
  using namespace import_topology;
  std::string yaml =
      fmt::format("# Part of a scenario: cluster.network of hosts with {} GPUs, from {}\nintra:\n", host.gpus, on_one_line(file));
  if (!host.machine.empty())
    yaml += fmt::format("  machine: {}   # {}\n", host.machine, host.bandwidth_from);
  else
    yaml +=
        fmt::format("  bandwidth: {}   # {}\n  latency: {}   # assumed\n", rate(host.bandwidth), host.bandwidth_from, time(host.latency));
  yaml += level("switch", host.pcie_switch) + level("socket", host.socket);
  if (host.nvlink.workers > 0)
    yaml += fmt::format("  nvlink: {{workers: {}, bandwidth: {}, latency: 2us}}   # {}\n", host.nvlink.workers, rate(host.nvlink.bandwidth),
                        host.nvlink.from);
  const std::size_t cards = std::max<std::size_t>(1, host.nics_of_card);
  if (host.card_workers > 0)
    yaml += fmt::format("  card: {{workers: {}{}}}   # {} of them share {} NIC{}\n", host.card_workers,
                        host.card_at.empty() ? "" : ", at: " + host.card_at, host.card_workers, cards, cards == 1 ? "" : "s");
  const double each = host.nic_rate.value_or(usual_nic);
  return yaml + fmt::format("link: {{bandwidth: {}, latency: {}}}   # {}{} NIC{} of {}/s a card\n", rate(each * static_cast<double>(cards)),
                            time(usual_latency), host.nic_rate ? "assumed latency; " : "assumed: ", cards, cards == 1 ? "" : "s",
                            readable_bytes(each));
}

HostNetwork host_network(const HostTopology& host, const std::string& file) {
  return {topology_yaml(host, file), host.gpus, host.machine, on_one_line(file)};
}

std::string network_lines(const HostNetwork& hosts) {
  std::string all;
  TextLines lines(hosts.yaml);
  for (std::string_view line; lines.next(line);)
    if (!line.starts_with('#')) all += fmt::format("    {}\n", line);
  return all;
}

std::string other_gpus(const std::string& machine, const std::string& device) {
  for (const import_topology::MachineGpus& each : import_topology::machine_gpus) {
    if (machine != each.machine || device.empty()) continue;
    for (const char* name : each.names)
      if (device.find(name) != std::string::npos) return {};
    return fmt::format("{} or {}", each.names[0], each.names[1]);
  }
  return {};
}

namespace {

/// topology.yaml and import.json.
Imported imported_topology(HostTopology host, const GivenFile& file) {
  Imported imported;
  imported.name = import_name(file, {"topo", "topology", "system"});
  const std::string name = file.path().filename().string();
  imported.said = {{"host", fmt::format("{} ({})", host.what, host.format)}};
  for (auto& line : host.said) imported.said.push_back(std::move(line));
  if (!host.machine.empty())
    imported.said.emplace_back("machine", fmt::format("{}: {}", host.machine, Registry<HostMachine>::instance().at(host.machine).source));
  if (!host.nic_rate && host.nics > 0) host.missing.emplace_back("how fast its NICs are: 200 Gbit/s each are assumed");
  host.missing.emplace_back("a job: topology.yaml is cluster.network of a scenario; import a trace or a log with this file, or write one");
  for (const std::string& sentence : host.missing) imported.said.emplace_back("missing", sentence);
  Json json{{"format", host.format},  {"yields", "topology"}, {"files", {name}},
            {"describes", host.what}, {"gpus", host.gpus},    {"nics", host.nics}};
  json["machine"] = text_or_null(host.machine);
  const auto level = [](const HostTopology::Level& of) {
    return of.workers == 0 ? Json() : Json{{"workers", of.workers}, {"bytes_per_s", of.bandwidth}};
  };
  json["switch"] = level(host.pcie_switch);
  json["socket"] = level(host.socket);
  json["nvlink"] = level(host.nvlink);
  json["bytes_per_s"] = host.bandwidth;
  json["card"] =
      host.card_workers == 0
          ? Json()
          : Json{{"workers", host.card_workers}, {"nics", host.nics_of_card}, {"at", host.card_at.empty() ? "beside" : host.card_at}};
  json.update(host.facts);
  json["missing"] = host.missing;
  json["assumed"] = {"latencies, and the bandwidths of links that the file names without saying how fast they are: those of NCCL's source"};
  imported.files = {{"import.json", json_document(json)}, {"topology.yaml", topology_yaml(host, name)}};
  return imported;
}

const GivenFile& only(const std::vector<GivenFile>& files) {
  if (files.size() > 1) throw DataError(files.front().shown().string() + " and others: are topologies of a host each; name one of them");
  return files.front();
}

}  // namespace

ImportFormat topology_format(std::string name, std::string summary, std::string example, bool (*recognizes)(const FileStart&),
                             HostTopology (*read)(const GivenFile&)) {
  ImportFormat format;
  format.name = std::move(name);
  format.summary = std::move(summary);
  format.example = std::move(example);
  format.yields = "a host";
  format.recognizes = recognizes;
  format.read = [read](const std::vector<GivenFile>& files, const Parameters&) {
    const GivenFile& file = only(files);
    return imported_topology(read(file), file);
  };
  format.joins = [read](const std::vector<GivenFile>& files, Companions& companions) {
    const GivenFile& file = only(files);
    companions.topology = host_network(read(file), file.path().filename().string());
  };
  return format;
}

}  // namespace straggler

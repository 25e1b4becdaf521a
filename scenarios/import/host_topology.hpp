// The inside of a host as a file describes it, and the part of a scenario that it becomes.
#pragma once
#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "scenarios/import/import_format.hpp"
#include "scenarios/results/json.hpp"

namespace straggler {

struct HostTopology {
  std::string format, what;
  std::size_t gpus = 0, nics = 0;
  std::string machine = {};              // a built-in one that this is; empty: none
  double bandwidth = 0, latency = 2e-6;  // of a GPU's links to the others, bytes a second and seconds
  std::string bandwidth_from = {};       // what it came from
  struct Level {
    std::size_t workers = 0;  // neighbours; 0: there is no such level
    double bandwidth = 0;
    std::string from = {};
  };
  Level pcie_switch = {}, socket = {}, nvlink = {};
  std::size_t card_workers = 0, nics_of_card = 0;  // card_workers 0: one card, or not known
  std::string card_at = {};                        // empty: beside
  std::optional<double> nic_rate = {};             // bytes a second
  std::vector<std::pair<std::string, std::string>> said = {};
  std::vector<std::string> missing = {};
  Json facts = Json::object();
};

/// topology.yaml: `cluster.network` for one host of these GPUs.
std::string topology_yaml(const HostTopology& host, const std::string& file);
/// For a job that runs on such hosts.
HostNetwork host_network(const HostTopology& host, const std::string& file);
/// The same as lines of a scenario, below `cluster.network`.
std::string network_lines(const HostNetwork& hosts);
/// The GPUs of a built-in machine, "V100 or P100", if `device` is none of them; empty: it is, or that is not known.
std::string other_gpus(const std::string& machine, const std::string& device);
/// The row of a format whose file describes one host: topology.yaml and import.json alone, or the hosts of a job.
ImportFormat topology_format(std::string name, std::string summary, std::string example, bool (*recognizes)(const FileStart&),
                             HostTopology (*read)(const GivenFile&));

/// "4 groups of 2 neighbours each": the size of the groups, if `group` numbers neighbours in equal groups; 0: it does not.
std::size_t equal_groups(const std::vector<std::size_t>& group);

/// Bytes a second of an NVLink, by the links of a GPU: those of NCCL's source (src/graph/topo.h).
double nvlink_rate(std::size_t links);
/// The built-in machine of eight GPUs with so many NVLinks each; empty: none.
std::string machine_of(std::size_t gpus, std::size_t links, bool switched);

}  // namespace straggler

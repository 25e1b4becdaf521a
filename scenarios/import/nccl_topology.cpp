// Format `nccl_topology`: the XML with which NCCL describes a host (NCCL_TOPO_FILE, NCCL_TOPO_DUMP_FILE).
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <stdexcept>
#include <string_view>

#include "scenarios/import/host_topology.hpp"
#include "scenarios/import/import_format.hpp"
#include "scenarios/import/xml_tree.hpp"
#include "sim/base/csv.hpp"
#include "sim/base/readable.hpp"
#include "sim/base/registry.hpp"
#include "sim/base/shown_text.hpp"
#include "sim/base/text_lines.hpp"

namespace straggler::import_nccl_topology {
namespace {

constexpr std::uintmax_t largest = 64 << 20;
constexpr std::size_t most_devices = 512, none = static_cast<std::size_t>(-1);

/// Of a lane, bytes a second: NCCL's kvDictPciGen (src/graph/topo.cc). 0: not known.
double lane_rate(std::string_view speed) {
  const std::optional<double> transfers = as_number(speed.substr(0, speed.find(' ')));
  if (!transfers || speed.find("GT/s") == std::string_view::npos) return 0;
  for (const auto& [each, rate] : {std::pair(2.5, 0.1875e9), std::pair(5.0, 0.375e9), std::pair(8.0, 0.75e9), std::pair(16.0, 1.5e9),
                                   std::pair(32.0, 3e9), std::pair(64.0, 6e9)})
    if (*transfers == each) return rate;
  return 0;
}

/// Between two processors, and its name: src/graph/topo.h.
std::pair<double, const char*> socket_rate(std::string_view vendor, std::string_view arch) {
  if (vendor == "AuthenticAMD") return {16e9, "AMD_BW"};
  if (arch == "arm64") return {6e9, "ARM_BW"};
  if (arch == "ppc64") return {32e9, "P9_BW"};
  return {10e9, "SKL_QPI_BW"};
}

struct Device {
  std::size_t element = 0, cpu = none;
  std::vector<std::size_t> bridges;  // from the innermost on
};

class Xml {
 public:
  explicit Xml(const GivenFile& file) : shown_(file.shown().string()) {
    if (file.size() > largest) refuse("has more than 64 MiB; get the original file");
    text_ = file.text(largest);
    try {
      all_ = xml_elements(text_);
    } catch (const std::invalid_argument& error) {
      refuse(fmt::format("is a topology of NCCL that is no XML, {}; get an undamaged file", shown_text(error.what())));
    }
    sort_devices();
    if (gpus_.empty()) refuse("is a topology of NCCL without a GPU (class 0x0302…); get the whole file");
  }

  HostTopology host() {
    HostTopology made;
    made.format = "nccl_topology";
    made.gpus = gpus_.size();
    made.nics = nics_.size();
    made.what = fmt::format("{} GPU{} and {} NIC{} on {} processor{}", gpus_.size(), gpus_.size() == 1 ? "" : "s", nics_.size(),
                            nics_.size() == 1 ? "" : "s", cpus_, cpus_ == 1 ? "" : "s");
    pcie(made);
    nvlinks(made);
    cards(made);
    made.facts["processors"] = cpus_;
    return made;
  }

 private:
  [[noreturn]] void refuse(const std::string& what) const { throw DataError(shown_ + ": " + what); }

  bool is(std::size_t element, std::string_view name) const { return all_[element].name == name; }
  std::optional<double> number(std::size_t element, std::string_view key) const {
    const std::optional<double> value = as_number(all_[element].attribute(key));
    return value && *value >= 0 && *value <= 1e9 ? value : std::nullopt;
  }

  void sort_devices() {
    std::vector<bool> holds_gpu(all_.size(), false), holds_nic(all_.size(), false), bridge(all_.size(), false);
    for (std::size_t i = 1; i < all_.size(); ++i) {
      const std::size_t parent = all_[i].parent;
      if (is(i, "gpu")) holds_gpu[parent] = true;
      if (is(i, "nic")) holds_nic[parent] = true;
      if (is(i, "pci") && is(parent, "pci")) bridge[parent] = true;
    }
    std::set<std::size_t> counted;
    for (std::size_t i = 0; i < all_.size(); ++i) {
      if (is(i, "cpu")) ++cpus_;
      const bool loose = is(i, "nic") && !is(all_[i].parent, "pci");  // of a processor, without a place on PCIe
      if (!is(i, "pci") && !loose) continue;
      const std::string_view kind = all_[i].attribute("class");
      const bool gpu = !loose && !bridge[i] && (holds_gpu[i] || kind.starts_with("0x0302") || kind.starts_with("0x0300"));
      const bool nic = loose || (!gpu && !bridge[i] && (holds_nic[i] || kind.starts_with("0x02")));
      if (!gpu && !nic) continue;
      Device made{i, none, {}};
      for (std::size_t at = all_[i].parent;; at = all_[at].parent) {
        if (is(at, "pci")) made.bridges.push_back(at);
        if (is(at, "cpu") && made.cpu == none) made.cpu = at;
        if (at == all_[at].parent) break;
      }
      (gpu ? gpus_ : nics_).push_back(std::move(made));
      if (gpus_.size() + nics_.size() > most_devices) refuse("has more than 512 devices; get the original file");
    }
    for (std::size_t i = 0; i < all_.size(); ++i)
      if (is(i, "net"))
        if (const std::optional<double> speed = number(i, "speed"); speed && *speed > 0) nic_rate_ = *speed * 1e6 / 8;
  }

  /// The innermost bridge of a GPU below which there is another GPU, or a NIC.
  std::size_t switch_of(const Device& gpu) const {
    for (const std::size_t bridge : gpu.bridges) {
      const auto below = [bridge](const Device& other) { return std::ranges::find(other.bridges, bridge) != other.bridges.end(); };
      if (std::ranges::count_if(gpus_, below) > 1 || std::ranges::any_of(nics_, below)) return bridge;
    }
    return none;
  }

  double rate_of(std::size_t element) const {
    return lane_rate(all_[element].attribute("link_speed")) * number(element, "link_width").value_or(0);
  }

  void pcie(HostTopology& made) {
    const double each = rate_of(gpus_.front().element);
    const std::string speed = on_one_line(all_[gpus_.front().element].attribute("link_speed"));
    made.latency = 5e-6;
    made.bandwidth = each > 0 ? each : 12e9;
    made.bandwidth_from =
        each > 0 ? fmt::format("PCIe of {} x{:.0f}, as NCCL reckons", speed, number(gpus_.front().element, "link_width").value_or(0))
                 : std::string("assumed: PCIe 3.0 x16");
    std::vector<std::size_t> cpus;
    bool switches = true;
    for (const Device& gpu : gpus_) {
      switches_.push_back(switch_of(gpu));
      switches = switches && switches_.back() != none;
      cpus.push_back(gpu.cpu);
    }
    const std::size_t together = switches ? equal_groups(switches_) : 0, of_cpu = equal_groups(cpus);
    const auto [socket, name] = gpus_.front().cpu == none
                                    ? std::pair(10e9, "SKL_QPI_BW")
                                    : socket_rate(all_[gpus_.front().cpu].attribute("vendor"), all_[gpus_.front().cpu].attribute("arch"));
    if (together > 0) {
      const double uplink = rate_of(switches_.front());
      made.pcie_switch = {together, uplink > 0 ? uplink : made.bandwidth, uplink > 0 ? "the switch's own link" : "assumed: as a GPU's"};
    } else if (of_cpu > 0 && of_cpu < gpus_.size()) {
      made.pcie_switch = {of_cpu, socket, fmt::format("between processors: {} of NCCL's source", name)};
    }
    if (together > 0 && of_cpu % together == 0 && of_cpu > 0 && of_cpu < gpus_.size())
      made.socket = {of_cpu, socket, fmt::format("between processors: {} of NCCL's source", name)};
    std::map<std::size_t, std::size_t> counts;
    for (const std::size_t cpu : cpus) ++counts[cpu];
    Json hosts = Json::array();
    for (const auto& [cpu, count] : counts)
      hosts.push_back({{"numa", cpu == none ? Json() : Json(on_one_line(all_[cpu].attribute("numaid")))},
                       {"gpus", count},
                       {"nics", std::ranges::count_if(nics_, [cpu = cpu](const Device& nic) { return nic.cpu == cpu; })}});
    made.facts["by_processor"] = std::move(hosts);
    made.said.emplace_back("links", fmt::format("{}; {}", made.bandwidth_from,
                                                together > 0 ? fmt::format("{} GPU{} on a switch", together, together == 1 ? "" : "s")
                                                             : "no switches that hold equally many GPUs"));
  }

  void nvlinks(HostTopology& made) {
    std::map<std::size_t, double> links;  // by gpu element's pci
    bool switched = false;
    for (std::size_t i = 1; i < all_.size(); ++i)
      if (is(i, "nvlink") && is(all_[i].parent, "gpu")) {
        links[all_[all_[i].parent].parent] += number(i, "count").value_or(1);
        switched = switched || all_[i].attribute("tclass").starts_with("0x0680");
      }
    double least = 1e9, sum = 0;
    for (const Device& gpu : gpus_) {
      const auto found = links.find(gpu.element);
      least = std::min(least, found == links.end() ? 0 : found->second);
      sum += found == links.end() ? 0 : found->second;
    }
    made.facts["nvlinks"] = static_cast<std::int64_t>(sum);
    if (!(least >= 1 && least <= 100)) {
      made.missing.emplace_back(
          sum > 0 ? "NVLinks between all GPUs: some have none"
                  : "NVLinks: the file has none, since NCCL finds them by itself; import the output of nvidia-smi topo -m instead");
      return;
    }
    const auto each = static_cast<std::size_t>(least);
    made.machine = machine_of(gpus_.size(), each, switched);
    made.bandwidth = least * nvlink_rate(each);
    made.latency = 2e-6;
    made.bandwidth_from =
        fmt::format("{} NVLinks a GPU of {}/s{}", each, readable_bytes(nvlink_rate(each)), switched ? " into a switch" : "");
    made.pcie_switch = made.socket = {};
    made.said.emplace_back("NVLink", made.bandwidth_from);
  }

  void cards(HostTopology& made) {
    made.nic_rate = nic_rate_;
    if (nics_.empty()) return;
    std::vector<std::size_t> nics, group;
    for (std::size_t g = 0; g < gpus_.size(); ++g) {
      const std::size_t bridge = switches_[g];
      std::size_t below = 0;
      for (const Device& nic : nics_) below += bridge != none && std::ranges::find(nic.bridges, bridge) != nic.bridges.end();
      nics.push_back(below);
    }
    const std::size_t together = std::ranges::find(switches_, none) == switches_.end() ? equal_groups(switches_) : 0;
    const bool alike = std::ranges::all_of(nics, [&](std::size_t each) { return each == nics.front(); });
    if (together > 0 && alike && nics.front() > 0) {
      const std::size_t here = nics.front();
      if (here % together != 0 && together % here != 0) {
        made.missing.push_back(fmt::format("cards: {} GPUs share {} NICs", together, here));
        return;
      }
      made.card_workers = std::max<std::size_t>(1, together / here);
      made.nics_of_card = std::max<std::size_t>(1, here / together);
      made.card_at = made.pcie_switch.workers > 0 ? "switch" : "";
    } else {
      std::map<std::size_t, std::size_t> of_cpu;
      for (const Device& nic : nics_) ++of_cpu[nic.cpu];
      std::vector<std::size_t> cpus;
      for (const Device& gpu : gpus_) cpus.push_back(gpu.cpu);
      const std::size_t of_processor = equal_groups(cpus);
      const bool each_has = std::ranges::all_of(cpus, [&](std::size_t cpu) { return of_cpu[cpu] == of_cpu[cpus.front()]; });
      if (of_processor == 0 || !each_has || of_cpu[cpus.front()] == 0 || (of_processor == gpus_.size() && nics_.size() == 1)) {
        if (nics_.size() > 1) made.missing.emplace_back("cards: GPUs do not share NICs in equal groups");
        return;
      }
      const std::size_t here = of_cpu[cpus.front()];
      if (here % of_processor != 0 && of_processor % here != 0) return;
      made.card_workers = std::max<std::size_t>(1, of_processor / here);
      made.nics_of_card = std::max<std::size_t>(1, here / of_processor);
      made.card_at = made.pcie_switch.workers > 0 ? "bus" : "";
    }
    made.said.emplace_back(
        "cards", fmt::format("{} NIC{} and {} GPU{} each{}", made.nics_of_card, made.nics_of_card == 1 ? "" : "s", made.card_workers,
                             made.card_workers == 1 ? "" : "s", made.card_at == "switch" ? ", on a switch" : ""));
  }

  std::string shown_, text_;
  std::vector<XmlElement> all_;
  std::vector<Device> gpus_, nics_;
  std::vector<std::size_t> switches_;  // [gpus]
  std::size_t cpus_ = 0;
  std::optional<double> nic_rate_;
};

HostTopology host_of(const GivenFile& file) { return Xml(file).host(); }

bool recognizes(const FileStart& start) {
  const std::string_view text = trimmed(start.bytes);
  return text.starts_with('<') && text.find("<system") != std::string_view::npos &&
         (text.find("<cpu") != std::string_view::npos || text.find("<pci") != std::string_view::npos);
}

const Register<ImportFormat> nccl_topology(topology_format("nccl_topology", "a topology of NCCL (XML)",
                                                           "NCCL_TOPO_DUMP_FILE=topo.xml all_reduce_perf -g 8", recognizes, host_of));

}  // namespace
}  // namespace straggler::import_nccl_topology

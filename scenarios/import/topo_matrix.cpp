// Format `topo_m`: what `nvidia-smi topo -m` prints, a matrix of GPUs and NICs.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <numeric>
#include <set>
#include <string_view>

#include "scenarios/import/host_topology.hpp"
#include "scenarios/import/import_format.hpp"
#include "scenarios/import/number_rows.hpp"
#include "sim/base/ascii.hpp"
#include "sim/base/csv.hpp"
#include "sim/base/readable.hpp"
#include "sim/base/registry.hpp"
#include "sim/base/shown_text.hpp"
#include "sim/base/text_lines.hpp"

namespace straggler::import_topo_matrix {
namespace {

constexpr std::uintmax_t largest = 4 << 20;
constexpr std::size_t most_devices = 1024;
/// Ways of PCIe, from the shortest on.
constexpr std::array ways = {"PIX", "PXB", "PHB", "NODE", "SYS"};
constexpr std::size_t over_bridge = 1, in_node = 3;  // in `ways`: up to which two devices are below one switch, one processor
constexpr std::size_t most_links = 18;               // of any GPU: more in a row of a matrix are a switch's
constexpr double pcie_rate = 12e9, pcie_switch_rate = 10e9, socket_rate = 8.33e9;

/// Without the escapes that underline the head in a terminal.
std::string plain(std::string_view line) {
  std::string out;
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (line[i] == '\x1b') {
      while (i < line.size() && line[i] != 'm') ++i;
      continue;
    }
    out += line[i];
  }
  return out;
}

bool is_gpu(std::string_view word) { return word.starts_with("GPU") && word.size() > 3 && is_digit(word[3]); }
/// The devices that the head names; empty: it is no head.
std::vector<std::string> head_of(std::string_view line) {
  std::vector<std::string> names;
  for (std::string& word : words_of(plain(line))) {
    if (word == "CPU" || word == "NUMA" || word == "GPU") break;
    names.push_back(std::move(word));
    if (names.size() > most_devices) return names;
  }
  return !names.empty() && is_gpu(names.front()) ? names : std::vector<std::string>();
}

bool recognizes(const FileStart& start) {
  if (start.bytes.find('\0') != std::string_view::npos) return false;
  TextLines lines(start.bytes);
  std::vector<std::string> head;
  for (std::string_view line; lines.next(line);) {
    if (line.size() > (1 << 16)) return false;
    if (head.empty()) {
      head = head_of(line);
      continue;
    }
    const std::vector<std::string> words = words_of(plain(line));
    if (words.empty()) continue;
    if (words.size() > 1 && words[0] == head[0] && words[1] == "X") return true;
    head = head_of(line);
  }
  return false;
}

/// "NV12" is 12 links.
std::size_t links_of(std::string_view cell) {
  if (!cell.starts_with("NV")) return 0;
  const auto number = as_integer(cell.substr(2));
  return number && *number >= 1 && *number <= 100 ? static_cast<std::size_t>(*number) : 0;
}

class Matrix {
 public:
  explicit Matrix(const GivenFile& file) : shown_(file.shown().string()) {
    if (file.size() > largest) refuse("has more than 4 MiB; give the output of nvidia-smi topo -m alone");
    const std::string text = file.text(largest);
    TextLines lines(text);
    bool numa = false, cpu = false;
    for (std::string_view line; lines.next(line);) {
      const std::vector<std::string> words = words_of(plain(line));
      if (cells_.empty() && !(words.size() > 1 && !names_.empty() && words[0] == names_[0] && words[1] == "X")) {
        if (words.empty()) continue;
        names_ = head_of(line);
        if (names_.size() > most_devices) refuse("names more than 1024 devices in its first line; get the original output");
        numa = line.find("NUMA Affinity") != std::string_view::npos;
        cpu = line.find("CPU Affinity") != std::string_view::npos;
        continue;
      }
      if (words.empty() || std::ranges::find(names_, words[0]) == names_.end() || cells_.contains(words[0])) continue;
      if (words.size() < names_.size() + 1)
        refuse(fmt::format("line {}: has {} cells for {} devices; give the whole output", lines.number(), words.size() - 1, names_.size()));
      std::vector<std::string> row(words.begin() + 1, words.begin() + 1 + static_cast<std::ptrdiff_t>(names_.size()));
      for (const std::string& cell : row)
        if (cell != "X" && links_of(cell) == 0 && way_of(cell) == ways.size())
          refuse(fmt::format("line {}: '{}' is no link; known are X, NV1 … and {}", lines.number(), shown_text(shortened(cell, 20)),
                             fmt::join(ways, ", ")));
      const std::size_t at = names_.size() + 1 + (cpu ? 1 : 0);
      if (numa && at < words.size()) numa_[words[0]] = words[at];
      cells_.emplace(words[0], std::move(row));
    }
    if (cells_.empty()) refuse("has no row of a GPU; give the whole output of nvidia-smi topo -m");
    if (std::set<std::string>(names_.begin(), names_.end()).size() != names_.size())
      refuse("names a device twice; get the original output");
    for (std::size_t i = 0; i < names_.size(); ++i) (is_gpu(names_[i]) ? gpus_ : nics_).push_back(i);
    for (const std::size_t gpu : gpus_)
      if (!cells_.contains(names_[gpu])) refuse(fmt::format("has no row of {}; give the whole output", names_[gpu]));
  }

  HostTopology host() {
    HostTopology made;
    made.format = "topo_m";
    made.gpus = gpus_.size();
    made.nics = nics_.size();
    made.what =
        fmt::format("{} GPU{} and {} NIC{}", gpus_.size(), gpus_.size() == 1 ? "" : "s", nics_.size(), nics_.size() == 1 ? "" : "s");
    links(made);
    cards(made);
    Json numa = Json::object();
    for (const auto& [name, node] : numa_)
      if (is_gpu(name)) numa[name] = on_one_line(node);
    made.facts["numa"] = std::move(numa);
    return made;
  }

 private:
  [[noreturn]] void refuse(const std::string& what) const { throw DataError(shown_ + ": " + what); }
  static std::size_t way_of(std::string_view cell) { return static_cast<std::size_t>(std::ranges::find(ways, cell) - ways.begin()); }
  const std::string& cell(std::size_t from, std::size_t to) const { return cells_.at(names_[from])[to]; }

  /// GPUs that `joined` joins, directly or over others, have one number.
  template <class Joined>
  std::vector<std::size_t> groups(const Joined& joined) const {
    std::vector<std::size_t> group(gpus_.size());
    std::iota(group.begin(), group.end(), std::size_t{0});
    for (std::size_t a = 0; a < gpus_.size(); ++a)
      for (std::size_t b = 0; b < a; ++b)
        if (group[a] != group[b] && joined(cell(gpus_[a], gpus_[b]))) {
          const std::size_t old = group[a], now = group[b];
          std::ranges::replace(group, old, now);
        }
    return group;
  }

  void links(HostTopology& made) {
    std::map<std::string, std::size_t> pairs;
    Json each = Json::object();
    std::vector<std::size_t> links(gpus_.size(), 0);
    bool all = gpus_.size() > 1, alike = true;
    std::size_t first = 0;
    for (std::size_t a = 0; a < gpus_.size(); ++a)
      for (std::size_t b = 0; b < gpus_.size(); ++b) {
        if (a == b) continue;
        const std::string& way = cell(gpus_[a], gpus_[b]);
        if (a < b) ++pairs[way];
        const std::size_t joined = links_of(way);
        if (first == 0) first = joined;
        all = all && joined > 0;
        alike = alike && joined == first;
        links[a] += joined;
      }
    // Links of a pair are drawn for a switch, too; then each GPU has as many in all.
    const bool switched = all && alike && first * (gpus_.size() - 1) > most_links;
    if (switched) std::ranges::fill(links, first);
    for (std::size_t a = 0; a < gpus_.size(); ++a) each[names_[gpus_[a]]] = links[a];
    const std::size_t least = links.empty() ? 0 : *std::ranges::min_element(links);
    made.facts["pairs"] = pairs;
    made.facts["nvlinks_a_gpu"] = std::move(each);
    made.facts["nvlink"] = least == 0 ? "none between all" : switched ? "switch" : all ? "all pairs" : "mesh";
    std::vector<std::string> kinds;
    for (const auto& [kind, count] : pairs) kinds.push_back(fmt::format("{} {}", count, on_one_line(kind)));
    if (!kinds.empty()) made.said.emplace_back("pairs", listed(kinds));
    const std::vector<std::size_t> joined = groups([](const std::string& way) { return links_of(way) > 0; });
    const std::size_t together = equal_groups(joined);
    if (least > 0 && together == gpus_.size()) {
      made.machine = machine_of(gpus_.size(), least, switched);
      made.bandwidth = static_cast<double>(least) * nvlink_rate(least);
      made.bandwidth_from = fmt::format("{} NVLinks a GPU of {}/s{}", least, readable_bytes(nvlink_rate(least)),
                                        switched ? " into a switch"
                                        : all    ? ""
                                                 : ", which rings over the mesh use all");
      made.said.emplace_back("NVLink", made.bandwidth_from);
      return;
    }
    made.bandwidth = pcie_rate;
    made.latency = 5e-6;
    made.bandwidth_from = "assumed: PCIe 3.0 x16";
    made.missing.emplace_back("the generation of PCIe: 3.0 x16 is assumed");
    if (least > 0 && together > 1)
      made.nvlink = {together, static_cast<double>(least) * nvlink_rate(least), fmt::format("{} NVLinks a GPU in its group", least)};
    const auto below = [](std::size_t most) {
      return [most](const std::string& way) { return links_of(way) == 0 && way_of(way) <= most; };
    };
    const std::size_t of_switch = equal_groups(groups(below(over_bridge))), of_socket = equal_groups(groups(below(in_node)));
    if (of_switch > 1 && of_switch < gpus_.size()) made.pcie_switch = {of_switch, pcie_switch_rate, "PIX and PXB; bandwidth assumed"};
    if (of_socket > 1 && of_socket < gpus_.size() && of_socket > of_switch) {
      HostTopology::Level& level = made.pcie_switch.workers > 0 ? made.socket : made.pcie_switch;
      level = {of_socket, socket_rate, "SYS between processors; bandwidth assumed"};
    }
  }

  /// Each GPU's nearest NICs.
  void cards(HostTopology& made) {
    Json nearest = Json::object();
    std::vector<std::set<std::size_t>> near(gpus_.size());
    std::set<std::size_t> used;
    std::size_t way = ways.size();
    for (std::size_t g = 0; g < gpus_.size(); ++g) {
      std::size_t best = ways.size();
      for (const std::size_t nic : nics_) best = std::min(best, way_of(cell(gpus_[g], nic)));
      Json names = Json::array();
      for (const std::size_t nic : nics_)
        if (best < ways.size() && way_of(cell(gpus_[g], nic)) == best) {
          near[g].insert(nic);
          used.insert(nic);
          names.push_back(on_one_line(names_[nic]));
        }
      way = std::min(way, best);
      nearest[names_[gpus_[g]]] = std::move(names);
    }
    made.facts["nearest_nics"] = std::move(nearest);
    if (nics_.empty()) return;
    Json far = Json::array();
    for (const std::size_t nic : nics_)
      if (!used.contains(nic)) far.push_back(on_one_line(names_[nic]));
    if (!far.empty()) made.said.emplace_back("left out", fmt::format("{} NIC{} far from all GPUs", far.size(), far.size() == 1 ? "" : "s"));
    made.facts["nics_far_from_all"] = std::move(far);
    std::vector<std::size_t> group(gpus_.size());
    for (std::size_t g = 0; g < gpus_.size(); ++g) {
      group[g] = g;
      for (std::size_t before = g; before-- > 0;)
        if (near[before] == near[g]) group[g] = group[before];
    }
    const std::size_t together = equal_groups(group);
    if (together == 0 || gpus_.empty()) {
      made.missing.emplace_back("cards: GPUs do not share NICs in equal groups of neighbours");
      return;
    }
    made.nics_of_card = std::max<std::size_t>(1, near[0].size());
    if (together < gpus_.size()) {
      made.card_workers = together;
      made.said.emplace_back("cards",
                             fmt::format("{} GPU{} share{} {} NIC{} ({})", together, together == 1 ? "" : "s", together == 1 ? "s" : "",
                                         made.nics_of_card, made.nics_of_card == 1 ? "" : "s", ways[std::min(way, ways.size() - 1)]));
      if (made.pcie_switch.workers > 0) made.card_at = way <= over_bridge && made.pcie_switch.workers % together == 0 ? "switch" : "bus";
    }
  }

  std::string shown_;
  std::vector<std::string> names_;
  std::map<std::string, std::vector<std::string>> cells_;  // rows by name
  std::map<std::string, std::string> numa_;
  std::vector<std::size_t> gpus_, nics_;  // in names_
};

HostTopology host_of(const GivenFile& file) { return Matrix(file).host(); }

const Register<ImportFormat> topo_m(topology_format("topo_m", "the matrix of links of nvidia-smi topo -m", "nvidia-smi topo -m > topo.txt",
                                                    recognizes, host_of));

}  // namespace
}  // namespace straggler::import_topo_matrix

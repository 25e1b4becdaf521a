#include <algorithm>
#include <cctype>
#include <limits>

#include "scenarios/schema/other_names.hpp"
#include "scenarios/schema/read_parts.hpp"
#include "sim/base/machine.hpp"
#include "sim/base/quantity.hpp"
#include "sim/base/suggest.hpp"

namespace straggler {

namespace {

constexpr double most_servers = 1e6;

/// What all groups of workers are read with.
struct GroupContext {
  std::map<std::string, DeviceSpec>& devices;
  bool devices_given;
  const NetworkSpec& network;
  std::uint64_t memory;
};

void read_device_name(Section& group, const GroupContext& with, WorkerGroup& spec) {
  const YamlNode* node = group.require("device", "write the name of an entry of devices, or of a built-in device");
  spec.device = group.word("device");
  if (node == nullptr || node->type != YamlNode::Type::scalar || with.devices.contains(spec.device)) return;
  ReadContext& context = group.context();
  if (const std::optional<DeviceSpec> built_in = built_in_device(context, spec.device)) {
    with.devices[spec.device] = *built_in;
    return;
  }
  if (!with.devices_given) {
    const std::vector<std::string> built_in = context.vocabulary.names(KindGroup::device);
    const std::string meant = nearest_name(spec.device, built_in);
    // Unless just its case is wrong, it is the devices that are missing.
    std::string lower = spec.device;
    for (char& c : lower) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    if (lower != meant) return;
    context.problems.add(node->place, group.path_of("device"), unknown_kind(KindGroup::device, "device", spec.device, built_in));
    with.devices[spec.device] = *built_in_device(context, meant);
    return;
  }
  std::vector<std::string> names;
  for (const auto& [name, device] : with.devices) names.push_back(name);
  for (const std::string& name : context.vocabulary.names(KindGroup::device))
    if (!with.devices.contains(name)) names.push_back(name);
  context.problems.add(node->place, group.path_of("device"), unknown_kind(KindGroup::device, "device", spec.device, names));
}

void read_rows(Section& group, const GroupContext& with, WorkerGroup& spec) {
  Parameter parameter;
  parameter.name = "population";
  parameter.type = ValueType::path;
  const std::optional<Value> file = group.value(parameter);
  if (!file) return;
  spec.population = std::get<std::string>(*file);
  PopulationBase base;
  if (const auto device = with.devices.find(spec.device); device != with.devices.end()) base.compute = device->second.compute;
  base.link = spec.link.value_or(with.network.link);
  base.half_duplex = with.network.half_duplex;
  base.memory = with.memory;
  spec.rows = read_population(group.context(), *group.find("population"), group.path_of("population"), spec.population, base);
}

/// With `same_host` the link, the number of workers and the cores of a host are those of the group before, whatever is left out here.
/// `before`: null for the first group.
void share_host(Section& group, WorkerGroup& spec, const WorkerGroup* before) {
  spec.same_host = group.flag("same_host", false);
  if (!spec.same_host) return;
  if (before == nullptr) {
    group.problem("same_host", "there is no group before this one whose last host it could fill; remove it, or move the group down");
    spec.same_host = false;
    return;
  }
  const auto differs = [&](const char* key, bool equal) {
    if (group.has(key) && !equal)
      group.problem(key, "differs from that of the group before, whose last host this group fills (same_host); remove it");
  };
  differs("link", spec.link == before->link);
  differs("per_host", spec.per_host == before->per_host);
  differs("cores_per_host", spec.cores_per_host == before->cores_per_host);
  differs("waiting", spec.busy_waiting == before->busy_waiting);
  spec.link = before->link;
  spec.per_host = before->per_host;
  spec.cores_per_host = before->cores_per_host;
  spec.busy_waiting = before->busy_waiting;
}

WorkerGroup read_group(Section group, const GroupContext& with, const WorkerGroup* before) {
  WorkerGroup spec;
  const std::optional<std::int64_t> count = group.count("count", Range::between(1, 0x1p62));
  read_device_name(group, with, spec);
  spec.slowdown = group.measure("slowdown", ValueType::number, any_slowdown()).value_or(1);
  spec.link = read_link_override(group, with.network);
  spec.per_host = group.count("per_host", Range::between(1, 1e6)).value_or(1);
  spec.cores_per_host = group.count("cores_per_host", Range::between(1, 1e6));
  spec.busy_waiting = group.choice("waiting", {"busy", "yield"}, "yield") == "busy";
  share_host(group, spec, before);
  read_rows(group, with, spec);
  group.finish();
  spec.count = count.value_or(std::max<std::int64_t>(1, static_cast<std::int64_t>(spec.rows.size())));
  return spec;
}

ServerSpec read_servers(Section servers, const NetworkSpec& network) {
  ServerSpec spec;
  spec.count = servers.count("count", Range::between(0, most_servers)).value_or(servers.given() ? 1 : 0);
  spec.update = servers.measure("update", ValueType::rate, any_rate());
  spec.per_message = servers.measure("per_message", ValueType::time, any_time()).value_or(0);
  spec.link = read_link_override(servers, network);
  Section host = servers.section("host");
  if (host.given()) {
    host.require("worker", "write the rank of a worker such as 0");
    spec.host_of_worker = host.count("worker", Range::at_least(0));
  }
  host.finish();
  servers.finish();
  if (servers.has("host") && servers.has("link"))
    servers.problem("link", "is of no use, since host puts the servers behind a worker's own link; remove one of the two");
  return spec;
}

AggregatorSpec read_aggregators(Section aggregators, const NetworkSpec& network) {
  AggregatorSpec spec;
  spec.host = aggregators.choice("host", {"auto", "own", "first_worker"}, spec.host);
  spec.link = read_link_override(aggregators, network);
  aggregators.finish();
  if (spec.host == "first_worker" && aggregators.has("link"))
    aggregators.problem("link", "is of no use, since host puts the aggregators behind workers' own links; remove one of the two");
  return spec;
}

std::string digits(double whole) { return whole < 1e18 ? std::to_string(static_cast<std::int64_t>(whole)) : format_number(whole); }

void check_memory(ReadContext& context, const YamlNode& list, const std::string& path, const std::vector<WorkerGroup>& groups,
                  const ReadOptions& options) {
  const double memory = static_cast<double>(memory_of(options)), each = static_cast<double>(options.bytes_per_worker);
  const double most = std::min(memory / each, static_cast<double>(std::numeric_limits<std::uint32_t>::max() - 1));
  double workers = 0;
  for (std::size_t i = 0; i < groups.size(); ++i) {
    workers += static_cast<double>(groups[i].count);
    if (workers <= most) continue;
    const YamlNode* count = list.items[i].find("count");
    context.problems.add(count == nullptr ? list.items[i].place : count->place, path + "[" + std::to_string(i) + "].count",
                         digits(workers) + " workers would take at least " + amount(workers * each) + " (" + amount(each) +
                             " each), and this machine has " + amount(memory) + "; write at most " + digits(most));
    return;
  }
}

std::vector<WorkerGroup> read_workers(ReadContext& context, const YamlNode& list, const std::string& path, const GroupContext& with,
                                      const ReadOptions& options) {
  std::vector<WorkerGroup> groups;
  if (list.type != YamlNode::Type::sequence || list.items.empty()) {
    context.problems.add(list.place, path,
                         "is " + (list.type == YamlNode::Type::sequence ? "an empty list" : what_stands(list)) +
                             "; write a list of groups such as [{count: 4, device: node}]");
    return groups;
  }
  for (std::size_t i = 0; i < list.items.size(); ++i) {
    const WorkerGroup* const before = groups.empty() ? nullptr : &groups.back();
    Section section(context, &list.items[i], path + "[" + std::to_string(i) + "]", list.items[i].place);
    groups.push_back(read_group(std::move(section), with, before));
  }
  check_memory(context, list, path, groups, options);
  return groups;
}

/// What is wrong with the name of an end point; empty: nothing.
std::string wrong_end(const std::string& name, std::int64_t workers, std::int64_t servers) {
  const std::string known = "worker/0 to worker/" + std::to_string(workers - 1) +
                            (servers == 0 ? std::string() : ", server/0 to server/" + std::to_string(servers - 1));
  for (const auto& [prefix, count] : {std::pair(std::string("worker/"), workers), std::pair(std::string("server/"), servers)}) {
    if (!name.starts_with(prefix)) continue;
    const std::string number = name.substr(prefix.size());
    const bool plain = !number.empty() && number.size() < 18 && number.find_first_not_of("0123456789") == std::string::npos &&
                       (number[0] != '0' || number.size() == 1);
    if (plain && std::stoll(number) < count) return {};
  }
  return in_quotes(name) + " is no end point of the cluster; there are " + known;
}

}  // namespace

std::uint64_t memory_of(const ReadOptions& options) { return options.memory != 0 ? options.memory : usable_memory(); }

std::string amount(double bytes) {
  static constexpr const char* units[] = {"B", "kB", "MB", "GB", "TB", "PB", "EB"};
  std::size_t unit = 0;
  for (; bytes >= 1000 && unit + 1 < std::size(units); ++unit) bytes /= 1000;
  return format_number(static_cast<double>(static_cast<std::int64_t>(bytes * 10)) / 10) + " " + units[unit];
}

void check_cluster(ReadContext& context, const ClusterSpec& cluster) {
  std::int64_t workers = 0;
  for (const WorkerGroup& group : cluster.workers) workers += group.count;
  if (const auto host = cluster.servers.host_of_worker; host && *host >= workers)
    context.problems.add("cluster.servers.host.worker",
                         std::to_string(*host) + " is no worker of the cluster; write a rank from 0 to " + std::to_string(workers - 1));
  const std::vector<std::int64_t> taken = cluster.seats_taken();
  for (std::size_t g = 0; g < cluster.workers.size(); ++g)
    if (cluster.workers[g].same_host && taken[g] == 0)
      context.problems.add("cluster.workers[" + std::to_string(g) + "].same_host",
                           "the last host of the group before is full (per_host: " + std::to_string(cluster.workers[g].per_host) +
                               "); write a larger per_host or a smaller count there, or remove same_host");
  for (std::size_t i = 0; i < cluster.network.background.size(); ++i) {
    const BackgroundSpec& flow = cluster.network.background[i];
    const std::string path = "cluster.network.background[" + std::to_string(i) + "]";
    for (const auto& [key, name] : {std::pair(".from", &flow.from), std::pair(".to", &flow.to)})
      if (const std::string what = wrong_end(*name, workers, cluster.servers.count); !what.empty()) context.problems.add(path + key, what);
    if (flow.from == flow.to) context.problems.add(path + ".to", "is " + in_quotes(flow.to) + " as from is; write another end point");
  }
}

ClusterSpec read_cluster(Section cluster, std::map<std::string, DeviceSpec>& devices, bool devices_given, const ReadOptions& options) {
  ClusterSpec spec;
  ReadContext& context = cluster.context();
  if (const YamlNode* network = cluster.require("network", "write network: {link: {bandwidth: 1Gbps, latency: 50us}}"))
    spec.network = read_network(Section(context, network, cluster.path_of("network"), cluster.place_of("network")));
  const GroupContext with{devices, devices_given, spec.network, memory_of(options)};
  if (const YamlNode* workers = cluster.require("workers", "write a list such as [{count: 4, device: node}]"))
    spec.workers = read_workers(context, *workers, cluster.path_of("workers"), with, options);
  spec.servers = read_servers(cluster.section("servers"), spec.network);
  spec.aggregators = read_aggregators(cluster.section("aggregators"), spec.network);
  spec.faults = read_faults(context, cluster.find("faults"), cluster.path_of("faults"));
  cluster.finish();
  return spec;
}

}  // namespace straggler

#include <unistd.h>

#include <algorithm>
#include <limits>

#include "scenarios/schema/read_parts.hpp"
#include "sim/base/quantity.hpp"
#include "sim/base/suggest.hpp"

namespace straggler {

namespace {

ComputeSpec read_affine(Section affine) {
  ComputeSpec compute;
  compute.overhead = affine.measure("overhead", ValueType::time, any_time()).value_or(0);
  compute.per_sample = affine.measure("per_sample", ValueType::time, any_time()).value_or(0);
  affine.finish();
  const bool both_read = affine.has("overhead") || affine.has("per_sample");
  if (compute.overhead < 1e-12 && compute.per_sample < 1e-12 && (affine.node()->items.empty() || both_read) &&
      !affine.misspelt({"overhead", "per_sample"}))
    affine.context().problems.add(affine.place(), affine.path(),
                                  "takes no time at all; write overhead: 2ms, per_sample: 0.35ms or the like");
  return compute;
}

ComputeSpec read_table(ReadContext& context, const YamlNode& node, const std::string& path) {
  ComputeSpec compute;
  compute.form = ComputeSpec::Form::table;
  if (node.type != YamlNode::Type::map || node.items.empty()) {
    context.problems.add(node.place, path,
                         "is " + std::string(node.items.empty() && node.type == YamlNode::Type::map ? "empty" : what_stands(node)) +
                             "; write a map from batch sizes to times such as {32: 13ms, 128: 45ms}");
    return compute;
  }
  Parameter size, seconds;
  size.type = ValueType::count;
  size.range = Range::between(1, 1e9);
  seconds.type = ValueType::time;
  seconds.range = some_time();
  for (std::size_t i = 0; i < node.items.size(); ++i) {
    YamlNode key;
    key.type = YamlNode::Type::scalar;
    key.text = node.keys[i].name;
    key.place = node.keys[i].place;
    const std::string where = path + "." + key.text.substr(0, 20);
    const std::optional<Value> samples = read_value(context, key, where, size), time = read_value(context, node.items[i], where, seconds);
    if (samples && time) compute.table.emplace_back(std::get<std::int64_t>(*samples), std::get<double>(*time));
  }
  std::sort(compute.table.begin(), compute.table.end());
  const auto twice =
      std::adjacent_find(compute.table.begin(), compute.table.end(), [](const auto& a, const auto& b) { return a.first == b.first; });
  if (twice != compute.table.end())
    context.problems.add(node.place, path, "has the batch size " + std::to_string(twice->first) + " twice; keep one");
  return compute;
}

ComputeSpec read_compute(Section compute) {
  ComputeSpec spec;
  compute.not_yet("roofline");
  compute.not_yet("forward_fraction");
  const YamlNode* affine = compute.find("affine");
  const YamlNode* table = compute.find("table");
  const std::optional<double> launch = compute.measure("launch", ValueType::time, any_time());
  compute.finish();
  const auto problem = [&](const char* what) { compute.context().problems.add(compute.place(), compute.path(), what); };
  if (affine != nullptr && table != nullptr)
    problem("has both affine and table; keep one");
  else if (affine != nullptr)
    spec = read_affine(Section(compute.context(), affine, compute.path_of("affine"), compute.place_of("affine")));
  else if (table != nullptr)
    spec = read_table(compute.context(), *table, compute.path_of("table"));
  else if (!compute.misspelt({"affine", "table"}))
    problem("does not say how long a batch takes; write affine: {overhead: 2ms, per_sample: 0.35ms} or table: {32: 13ms, 128: 45ms}");
  if (launch && table == nullptr && !compute.misspelt({"table"}))
    compute.problem("launch", "stands beside a table only; with affine, write it as overhead");
  spec.launch = launch.value_or(0);
  return spec;
}

JitterEvery read_every(ReadContext& context, const YamlNode* node, const std::string& path) {
  JitterEvery every;
  if (node == nullptr) return every;
  if (node->type == YamlNode::Type::scalar && node->text == "call") {
    every.unit = JitterEvery::Unit::call;
    return every;
  }
  if (node->type == YamlNode::Type::scalar && node->text == "batch") return every;
  if (node->type != YamlNode::Type::map || node->items.size() != 1) {
    context.problems.add(node->place, path, "is " + what_stands(*node) + "; write batch, call, {samples: 32} or {time: 100ms}");
    return every;
  }
  Section section(context, node, path, node->place);
  if (const auto samples = section.count("samples", Range::between(1, 1e12))) every.samples = *samples;
  if (const auto time = section.measure("time", ValueType::time, Range::between(1e-9, longest_time))) {
    every.unit = JitterEvery::Unit::time;
    every.seconds = *time;
  }
  section.finish();
  return every;
}

DeviceSpec read_device(Section device) {
  DeviceSpec spec;
  device.not_yet("loader");
  device.not_yet("host_to_device");
  device.not_yet("memory");
  if (const YamlNode* compute = device.require(
          "compute", "write compute: {affine: {overhead: 2ms, per_sample: 0.35ms}} or compute: {table: {32: 13ms, 128: 45ms}}"))
    spec.compute = read_compute(Section(device.context(), compute, device.path_of("compute"), device.place_of("compute")));
  ReadContext& context = device.context();
  spec.jitter = read_kind(context, device.find("jitter"), device.path_of("jitter"), device.place_of("jitter"), KindGroup::jitter, "none",
                          [&](Section& jitter) { spec.every = read_every(context, jitter.find("every"), jitter.path_of("every")); });
  spec.update = device.measure("update", ValueType::rate, any_rate());
  device.finish();
  return spec;
}

/// `base`: what a link that gives only one of the two takes from the network's; null: both must be given.
LinkSpec read_link(Section link, const LinkSpec* base) {
  LinkSpec spec;
  if (base == nullptr) {
    spec.bandwidth = link.required_measure("bandwidth", ValueType::rate, any_rate(), "write a rate such as 1Gbps");
    spec.latency = link.required_measure("latency", ValueType::time, any_time(), "write a time such as 50us");
  } else {
    spec.bandwidth = link.measure("bandwidth", ValueType::rate, any_rate()).value_or(base->bandwidth);
    spec.latency = link.measure("latency", ValueType::time, any_time()).value_or(base->latency);
    if (link.node()->items.empty())
      link.context().problems.add(link.place(), link.path(), "overrides nothing; write bandwidth, latency or both");
  }
  link.finish();
  return spec;
}

std::optional<LinkSpec> read_override(Section& owner, const LinkSpec& base) {
  const YamlNode* node = owner.find("link");
  if (node == nullptr) return std::nullopt;
  return read_link(Section(owner.context(), node, owner.path_of("link"), owner.place_of("link")), &base);
}

NetworkSpec read_network(Section network) {
  NetworkSpec spec;
  ReadContext& context = network.context();
  spec.topology =
      read_kind(context, network.find("topology"), network.path_of("topology"), network.place_of("topology"), KindGroup::topology, "star");
  if (const YamlNode* link = network.require("link", "write link: {bandwidth: 1Gbps, latency: 50us}"))
    spec.link = read_link(Section(context, link, network.path_of("link"), network.place_of("link")), nullptr);
  network.not_yet("sharing", "max_min");
  network.not_yet("intra");
  network.not_yet("protocol");
  Section collective = network.section("collective");
  std::vector<std::string> algorithms = context.vocabulary.names(KindGroup::collective);
  algorithms.insert(algorithms.begin(), "auto");
  spec.collective.algorithm = collective.choice("algorithm", algorithms, "auto");
  spec.collective.fidelity = collective.choice("fidelity", {"fluid", "stepwise"}, "fluid");
  spec.collective.reduce_rate = collective.measure("reduce_rate", ValueType::rate, any_rate());
  collective.not_yet("overlap", "false");
  collective.not_yet("bucket");
  collective.not_yet("first_bucket");
  collective.finish();
  network.finish();
  return spec;
}

WorkerGroup read_group(Section group, const std::map<std::string, DeviceSpec>* devices, const LinkSpec& base) {
  WorkerGroup spec;
  spec.count = group.count("count", Range::between(1, 0x1p62)).value_or(1);
  group.require("device", "write the name of an entry of devices");
  spec.device = group.word("device");
  if (const YamlNode* node = group.find("device");
      node != nullptr && node->type == YamlNode::Type::scalar && devices != nullptr && !devices->contains(spec.device)) {
    std::vector<std::string> names;
    for (const auto& [name, device] : *devices) names.push_back(name);
    group.context().problems.add(node->place, group.path_of("device"), unknown_name("device", spec.device, names));
  }
  spec.slowdown = group.measure("slowdown", ValueType::number, Range::between(1e-6, 1e6)).value_or(1);
  spec.link = read_override(group, base);
  group.not_yet("per_host", "1");
  group.not_yet("cores_per_host", "1");
  group.finish();
  return spec;
}

ServerSpec read_servers(Section servers, const LinkSpec& base) {
  ServerSpec spec;
  spec.count = servers.count("count", Range::between(0, 1)).value_or(servers.given() ? 1 : 0);
  spec.update = servers.measure("update", ValueType::rate, any_rate());
  spec.per_message = servers.measure("per_message", ValueType::time, any_time()).value_or(0);
  spec.link = read_override(servers, base);
  servers.not_yet("host");
  servers.finish();
  return spec;
}

std::string amount(double bytes) {
  static constexpr const char* units[] = {"B", "kB", "MB", "GB", "TB", "PB", "EB"};
  std::size_t unit = 0;
  for (; bytes >= 1000 && unit + 1 < std::size(units); ++unit) bytes /= 1000;
  return format_number(static_cast<double>(static_cast<std::int64_t>(bytes * 10)) / 10) + " " + units[unit];
}

std::string digits(double whole) { return whole < 1e18 ? std::to_string(static_cast<std::int64_t>(whole)) : format_number(whole); }

void check_memory(ReadContext& context, const YamlNode& list, const std::string& path, const std::vector<WorkerGroup>& groups,
                  const ReadOptions& options) {
  double memory = static_cast<double>(options.memory);
  if (memory == 0) memory = static_cast<double>(sysconf(_SC_PHYS_PAGES)) * static_cast<double>(sysconf(_SC_PAGESIZE));
  const double each = static_cast<double>(options.bytes_per_worker);
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

}  // namespace

bool is_name(std::string_view text) {
  if (text.empty() || text.size() > 100) return false;
  return text.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_") == std::string_view::npos;
}

std::map<std::string, DeviceSpec> read_devices(Section devices) {
  std::map<std::string, DeviceSpec> all;
  for (const YamlNode::Key& key : devices.node()->keys) {
    if (!is_name(key.name))
      devices.context().problems.add(key.place, devices.path_of(key.name.substr(0, 60)),
                                     "is not a name; write letters, digits, - and _, at most 100");
    all[key.name] = read_device(Section(devices.context(), devices.node()->find(key.name), devices.path_of(key.name), key.place));
  }
  return all;
}

ClusterSpec read_cluster(Section cluster, const std::map<std::string, DeviceSpec>* devices, const ReadOptions& options) {
  ClusterSpec spec;
  ReadContext& context = cluster.context();
  if (const YamlNode* network = cluster.require("network", "write network: {link: {bandwidth: 1Gbps, latency: 50us}}"))
    spec.network = read_network(Section(context, network, cluster.path_of("network"), cluster.place_of("network")));
  const std::string path = cluster.path_of("workers");
  if (const YamlNode* workers = cluster.require("workers", "write a list such as [{count: 4, device: node}]")) {
    if (workers->type != YamlNode::Type::sequence || workers->items.empty()) {
      context.problems.add(workers->place, path,
                           "is " + (workers->type == YamlNode::Type::sequence ? "an empty list" : what_stands(*workers)) +
                               "; write a list of groups such as [{count: 4, device: node}]");
    } else {
      for (std::size_t i = 0; i < workers->items.size(); ++i) {
        const YamlNode& item = workers->items[i];
        spec.workers.push_back(
            read_group(Section(context, &item, path + "[" + std::to_string(i) + "]", item.place), devices, spec.network.link));
      }
      check_memory(context, *workers, path, spec.workers, options);
    }
  }
  spec.servers = read_servers(cluster.section("servers"), spec.network.link);
  cluster.not_yet("faults", "[]");
  cluster.finish();
  return spec;
}

}  // namespace straggler

#include <algorithm>
#include <limits>

#include "scenarios/schema/costs_part.hpp"
#include "scenarios/schema/other_names.hpp"
#include "scenarios/schema/read_parts.hpp"
#include "sim/base/machine.hpp"
#include "sim/base/quantity.hpp"
#include "sim/base/readable.hpp"
#include "sim/base/shown_text.hpp"
#include "sim/base/suggest.hpp"

namespace straggler {

namespace {

constexpr double most_servers = 1e6;
/// Where the file has no section `devices`.
std::string without_devices(const std::string& name) {
  return "; there is no section devices, which would describe it: add devices: {" + (is_name(name) ? name : "node") +
         ": {compute: {affine: {overhead: 2ms, per_sample: 0.35ms}}}}";
}

Field<WorkerGroup> device_name_field() {
  Field<WorkerGroup> made = field(&WorkerGroup::device, {.name = "device",
                                                         .type = ValueType::text,
                                                         .meaning = "an entry of `devices`, or a built-in device",
                                                         .required = true,
                                                         .remedy = "write the name of an entry of devices, or of a built-in device",
                                                         .form = "name"});
  made.read = [read = made.read](Section& group, WorkerGroup& spec) {
    read(group, spec);
    const YamlNode* node = group.find("device");
    ReadContext& context = group.context();
    std::map<std::string, DeviceSpec>& devices = *context.devices;
    if (node == nullptr || node->type != YamlNode::Type::scalar || devices.contains(spec.device)) return;
    if (const std::optional<DeviceSpec> built_in = built_in_device(context, spec.device)) {
      devices[spec.device] = *built_in;
      return;
    }
    const std::vector<std::string> all_built_in = context.vocabulary.names(KindGroup::device);
    const bool absent = !all_built_in.empty() && !not_modelled(KindGroup::device, spec.device).empty();
    if (!context.devices_given) {
      if (all_built_in.empty()) return;
      const std::string unknown = unknown_kind(KindGroup::device, "built-in device", spec.device, all_built_in);
      context.problems.add(node->place, group.path_of("device"), absent ? unknown : unknown + without_devices(spec.device));
      devices[spec.device] = *built_in_device(context, all_built_in.front());
      return;
    }
    std::vector<std::string> names;
    for (const auto& [name, device] : devices) names.push_back(name);
    for (const std::string& name : all_built_in)
      if (!devices.contains(name)) names.push_back(name);
    context.problems.add(node->place, group.path_of("device"), unknown_kind(KindGroup::device, "device", spec.device, names));
  };
  return made;
}

/// The `link` of a group or of the servers, on top of the network's.
template <class Spec>
Field<Spec> link_field(std::optional<LinkSpec> Spec::*member, std::string meaning, std::string otherwise = "the network's") {
  Field<Spec> made;
  made.key = {.name = "link",
              .meaning = std::move(meaning),
              .otherwise = std::move(otherwise),
              .form = "map of any keys of `network.link` but `duplex`",
              .own_table = true,
              .shape = ScenarioKey::Shape::map,
              .keys = link_override_keys()};
  made.read = [member](Section& owner, Spec& spec) { spec.*member = read_link_override(owner, *owner.context().network); };
  made.write = [member](Texts& out, const Spec& spec, const WriteContext& context) {
    if (spec.*member) out.emplace_back("link", link_override_text(*(spec.*member), context));
  };
  made.same = [member](const Spec& a, const Spec& b) { return a.*member == b.*member; };
  return made;
}

Part<WorkerGroup> group_part() {
  return Part<WorkerGroup>({
      field(&WorkerGroup::count, {.name = "count",
                                  .type = ValueType::count,
                                  .range = Range::between(1, 0x1p62),
                                  .meaning = "workers in the group; refused beyond what memory holds (1 kB each)",
                                  .otherwise = "`1`, or the rows of `population`"}),
      device_name_field(),
      field(&WorkerGroup::slowdown, {.name = "slowdown",
                                     .type = ValueType::number,
                                     .range = any_slowdown(),
                                     .meaning = "factor by which they are slower than the device"}),
      written_if<WorkerGroup>(
          [](const WorkerGroup& spec) { return spec.same_host; },
          field(&WorkerGroup::same_host,
                {.name = "same_host", .meaning = "`true`: this group first fills the last host of the previous group, below"})),
      // With same_host, the host's settings are those of the group before.
      written_if<WorkerGroup>([](const WorkerGroup& spec) { return !spec.same_host; },
                              link_field(&WorkerGroup::link, "link of these workers' hosts")),
      field(&WorkerGroup::per_host, {.name = "per_host",
                                     .type = ValueType::count,
                                     .range = Range::between(1, 1e6),
                                     .meaning = "workers that share a host, its link and its cores; the last host may have fewer"}),
      field(&WorkerGroup::cores_per_host, {.name = "cores_per_host",
                                           .type = ValueType::count,
                                           .range = Range::between(1, 1e6),
                                           .meaning = "when more workers compute than there are cores, they share them equally",
                                           .otherwise = "one a worker"}),
      written_if<WorkerGroup>([](const WorkerGroup& spec) { return spec.loader_cores.has_value(); },
                              field(&WorkerGroup::loader_cores,
                                    {.name = "loader_cores",
                                     .type = ValueType::count,
                                     .range = Range::between(1, 1e6),
                                     .meaning = "cores of a host on which its workers' loaders prepare batches: when more processes of "
                                                "`loader` prepare one, they share them equally",
                                     .otherwise = "one a process"})),
      written_if<WorkerGroup>(
          [](const WorkerGroup& spec) { return spec.memory_bandwidth.has_value(); },
          field(&WorkerGroup::memory_bandwidth,
                {.name = "memory_bandwidth",
                 .type = ValueType::rate,
                 .range = any_rate(),
                 .meaning = "bandwidth of a host's memory: its workers share it while they compute, by the bytes that a "
                            "batch moves ([model.md](model.md#compute))",
                 .otherwise = "unlimited"})),
      two_words(&WorkerGroup::busy_waiting, {.name = "waiting", .meaning = "`busy`: a worker that waits for messages occupies a core"},
                "busy", "yield"),
      written_if<WorkerGroup>(
          [](const WorkerGroup& spec) { return spec.neighbours > 0; },
          field(&WorkerGroup::neighbours,
                {.name = "neighbours",
                 .type = ValueType::number,
                 .range = Range::between(0, 100),
                 .meaning = "slowdown by neighbours: share of its time by which each other active worker of the host delays a worker"})),
      written_if<WorkerGroup>(
          [](const WorkerGroup& spec) { return spec.availability.name != "always"; },
          kind(&WorkerGroup::availability, {.name = "availability",
                                            .meaning = "when these clients are present, in federated schemes ([model.md](model.md#clients-"
                                                       "that-come-and-go)); `straggler list availability`",
                                            .fallback = "always",
                                            .kind = KindGroup::availability})),
      field(&WorkerGroup::batch, {.name = "batch",
                                  .type = ValueType::count,
                                  .range = Range::between(1, 1e9),
                                  .meaning = "samples of these workers' batches ([unequal batches](#unequal-batches))",
                                  .otherwise = "those of `training.batch`",
                                  .decides = true}),
      field(&WorkerGroup::price_per_hour, price_key("price of an hour of each of these workers", "the device's")),
      field(&WorkerGroup::billed_while_down, {.name = "billed_while_down",
                                              .meaning = "whether these workers cost while they are down or absent",
                                              .otherwise = "the cluster's"}),
      field(&WorkerGroup::population, {.name = "population",
                                       .type = ValueType::path,
                                       .meaning = "one device a row, below",
                                       .otherwise = "all alike",
                                       .form = "path of a CSV file"}),
  });
}

void read_rows(Section& group, WorkerGroup& spec) {
  if (spec.population.empty()) return;
  const ReadContext& context = group.context();
  PopulationBase base;
  if (const auto device = context.devices->find(spec.device); device != context.devices->end()) base.compute = device->second.compute;
  base.link = spec.link.value_or(context.network->link);
  base.half_duplex = context.network->half_duplex;
  base.memory = context.memory;
  spec.rows = read_population(group.context(), *group.find("population"), group.path_of("population"), spec.population, base);
}

/// With `same_host` the link, the number of workers and the cores of a host are those of the group before if left out here.
/// `before`: null for the first group.
void share_host(Section& group, WorkerGroup& spec, const WorkerGroup* before) {
  if (!spec.same_host) return;
  if (before == nullptr) {
    group.problem("same_host", "there is no previous group whose last host it could fill; remove it, or move the group down");
    spec.same_host = false;
    return;
  }
  const auto differs = [&](const char* key, bool equal) {
    if (group.has(key) && !equal)
      group.problem(key, "differs from that of the previous group, whose last host this group fills (same_host); remove it");
  };
  differs("link", spec.link == before->link);
  differs("per_host", spec.per_host == before->per_host);
  differs("cores_per_host", spec.cores_per_host == before->cores_per_host);
  differs("loader_cores", spec.loader_cores == before->loader_cores);
  differs("memory_bandwidth", spec.memory_bandwidth == before->memory_bandwidth);
  differs("waiting", spec.busy_waiting == before->busy_waiting);
  differs("neighbours", spec.neighbours == before->neighbours);
  spec.link = before->link;
  spec.per_host = before->per_host;
  spec.cores_per_host = before->cores_per_host;
  spec.loader_cores = before->loader_cores;
  spec.memory_bandwidth = before->memory_bandwidth;
  spec.busy_waiting = before->busy_waiting;
  spec.neighbours = before->neighbours;
}

void complete_group(Section& group, WorkerGroup& spec, const std::vector<WorkerGroup>& before) {
  share_host(group, spec, before.empty() ? nullptr : &before.back());
  read_rows(group, spec);
  if (!group.has("count")) spec.count = std::max<std::int64_t>(1, static_cast<std::int64_t>(spec.rows.size()));
}

void check_host(Section& host, ServerSpec& spec) {
  if (host.given() && !spec.on_worker_hosts && !host.has("worker") && !host.misspelt({"worker", "each"}))
    host.problem("worker", "is missing; write the rank of a worker such as 0, or each: true");
  if (spec.on_worker_hosts && spec.host_of_worker)
    host.problem("each", "puts servers on all hosts, and worker on one; remove one of the two");
}

Part<ServerSpec> servers_part() {
  const Part<ServerSpec> host(
      {field(&ServerSpec::host_of_worker, {.name = "worker",
                                           .type = ValueType::count,
                                           .range = Range::at_least(0),
                                           .meaning = "the servers live on that worker's host, behind its link (so no `servers.link`); "
                                                      "without `host`, on hosts of their own",
                                           .otherwise = "`each`"}),
       written_if<ServerSpec>([](const ServerSpec& spec) { return spec.on_worker_hosts; },
                              field(&ServerSpec::on_worker_hosts,
                                    {.name = "each", .meaning = "one server on each host of workers in turn, behind its link"}))});
  return Part<ServerSpec>({
      field(
          &ServerSpec::count,
          {.name = "count",
           .type = ValueType::count,
           .range = Range::between(0, most_servers),
           .meaning = "parameter servers, each with an equal part of the model; to a scheme they are one server "
                      "([model.md](model.md#servers)). A scheme without a server ignores them, unless its all-reduce is `parameter_server`",
           .otherwise = "`0`, or `1` if `servers` is there"}),
      field(&ServerSpec::update,
            {.name = "update",
             .type = ValueType::rate,
             .range = any_rate(),
             .meaning = "a server applies a gradient in (its part of the model's bytes) / `update`; averaging weights is free",
             .otherwise = "free"}),
      field(
          &ServerSpec::compress,
          {.name = "compress",
           .type = ValueType::rate,
           .range = any_rate(),
           .meaning = "a server decodes or encodes a message of `training.compression` in (its part of the parameters' bytes) / `compress`",
           .otherwise = "free"}),
      field(&ServerSpec::per_message, {.name = "per_message",
                                       .type = ValueType::time,
                                       .range = any_time(),
                                       .meaning = "time for each message that is received or sent, one at a time, whatever `count` is"}),
      written_if<ServerSpec>(
          [](const ServerSpec& spec) { return spec.replicas > 1; },
          field(&ServerSpec::replicas, {.name = "replicas",
                                        .type = ValueType::count,
                                        .range = Range::between(1, 16),
                                        .meaning = "of each server, kept equal at no cost: it answers while one of them is there",
                                        .otherwise = "`1`"})),
      field(&ServerSpec::price_per_hour, price_key("price of an hour of each server that the scheme uses", "not counted")),
      power_field(&ServerSpec::power, "power of each server that the scheme uses, by what it does"),
      link_field(&ServerSpec::link, "link of the servers, as of a group"),
      map<ServerSpec>({.name = "host"}, host, check_host),
  });
}

void check_servers(Section& servers, ServerSpec& spec) {
  if (servers.given() && !servers.has("count")) spec.count = 1;
  if (servers.has("host") && servers.has("link"))
    servers.problem("link", "has no effect, since host puts the servers behind a worker's own link; remove one of the two");
}

using AggregatorHost = AggregatorSpec::Host;
constexpr ChoiceTable<AggregatorHost> aggregator_hosts("host", {{AggregatorHost::automatic, "auto"},
                                                                {AggregatorHost::own, "own"},
                                                                {AggregatorHost::first_worker, "first_worker"}});

Field<ClusterSpec> aggregators_field() {
  const Part<AggregatorSpec> keys({
      field(&AggregatorSpec::host, aggregator_hosts,
            {.meaning = "for schemes with [aggregators](model.md#aggregators): on hosts of their own, or each on that of the first worker "
                        "of its group; `auto`: the latter if there is one per rack"}),
      link_field(&AggregatorSpec::link, "link of their own hosts, as of a group", "the servers'"),
  });
  const auto check = [](Section& aggregators, AggregatorSpec& spec) {
    if (spec.host == AggregatorHost::first_worker && aggregators.has("link"))
      aggregators.problem("link", "has no effect, since host puts the aggregators behind workers' own links; remove one of the two");
  };
  return written_if<ClusterSpec>([](const ClusterSpec& spec) { return spec.aggregators != AggregatorSpec{}; },
                                 map(&ClusterSpec::aggregators, {.name = "aggregators"}, keys, check));
}

/// A label of a few characters.
Field<ClusterSpec> currency_field() {
  Field<ClusterSpec> made = field(
      &ClusterSpec::currency,
      {.name = "currency", .type = ValueType::text, .meaning = "of all prices: a label, such as EUR", .otherwise = "none", .form = "word"});
  made.read = [read = made.read](Section& cluster, ClusterSpec& spec) {
    read(cluster, spec);
    constexpr std::size_t most = 12;
    const bool fits = spec.currency.size() <= most && spec.currency.find_first_of(" \t\r\n,;\"'<>&") == std::string::npos &&
                      shown_text(spec.currency) == spec.currency;
    if (!fits) cluster.problem("currency", "is no label of a currency; write a word of at most 12 bytes, such as EUR");
  };
  return made;
}

std::string digits(double whole) { return whole < 1e18 ? std::to_string(static_cast<std::int64_t>(whole)) : format_number(whole); }

void check_memory(ReadContext& context, const YamlNode& list, const std::string& path, const std::vector<WorkerGroup>& groups) {
  const double memory = static_cast<double>(context.memory), each = static_cast<double>(context.bytes_per_worker);
  const double most = std::min(memory / each, static_cast<double>(std::numeric_limits<std::uint32_t>::max() - 1));
  double workers = 0;
  for (std::size_t i = 0; i < groups.size(); ++i) {
    workers += static_cast<double>(groups[i].count);
    if (workers <= most) continue;
    const YamlNode* count = list.items[i].find("count");
    context.problems.add(count == nullptr ? list.items[i].place : count->place, path + "[" + std::to_string(i) + "].count",
                         digits(workers) + " workers would take at least " + readable_bytes(workers * each) + " (" + readable_bytes(each) +
                             " each), and this machine has " + readable_bytes(memory) + "; write at most " + digits(most));
    return;
  }
}

Field<ClusterSpec> workers_field() {
  Field<ClusterSpec> made = list(&ClusterSpec::workers,
                                 {.name = "workers",
                                  .meaning = "ranks are given in this order, from 0",
                                  .required = true,
                                  .remedy = "write a list of groups such as [{count: 4, device: node}]",
                                  .otherwise = "required"},
                                 group_part(), {.check = complete_group});
  made.read = [read = made.read, remedy = made.key.remedy](Section& cluster, ClusterSpec& spec) {
    const YamlNode* node = cluster.require("workers", "write a list such as [{count: 4, device: node}]");
    if (node == nullptr) return;
    if (node->type == YamlNode::Type::sequence && node->items.empty()) {
      cluster.context().problems.add(node->place, cluster.path_of("workers"), "is an empty list; " + remedy);
      return;
    }
    read(cluster, spec);
    if (node->type == YamlNode::Type::sequence) check_memory(cluster.context(), *node, cluster.path_of("workers"), spec.workers);
  };
  return made;
}

/// Groups and servers stand on it: it is read before all others, and written after them.
const Field<ClusterSpec>& network_field() {
  static const Field<ClusterSpec> made = map(&ClusterSpec::network,
                                             {.name = "network",
                                              .meaning = "below",
                                              .required = true,
                                              .remedy = "write network: {link: {bandwidth: 1Gbps, latency: 50us}}",
                                              .own_table = true,
                                              .block = true},
                                             network_part());
  return made;
}

/// The error in the name of an end point; empty: none.
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
                           "the last host of the previous group is full (per_host: " + std::to_string(cluster.workers[g].per_host) +
                               "); write a larger per_host or a smaller count there, or remove same_host");
  for (std::size_t i = 0; i < cluster.network.background.size(); ++i) {
    const BackgroundSpec& flow = cluster.network.background[i];
    const std::string path = "cluster.network.background[" + std::to_string(i) + "]";
    for (const auto& [key, name] : {std::pair(".from", &flow.from), std::pair(".to", &flow.to)})
      if (const std::string what = wrong_end(*name, workers, cluster.servers.count); !what.empty()) context.problems.add(path + key, what);
    if (flow.from == flow.to) context.problems.add(path + ".to", "is " + in_quotes(flow.to) + " as from is; write another end point");
  }
}

void check_currency(ReadContext& context, const Scenario& scenario) {
  const ClusterSpec& cluster = scenario.cluster;
  if (cluster.currency.empty() || cluster.servers.price_per_hour || cluster.workers.empty()) return;
  for (const WorkerGroup& group : cluster.workers) {
    const auto device = scenario.devices.find(group.device);
    if (group.price_per_hour || device == scenario.devices.end() || device->second.price_per_hour) return;
  }
  context.problems.add("cluster.currency", "is a label of prices, and there is none; add devices." + cluster.workers.front().device +
                                               ".price_per_hour: 2.49 or the like, or remove currency");
}

const Part<ClusterSpec>& cluster_part() {
  static const Part<ClusterSpec> part = [] {
    Field<ClusterSpec> network = network_field();
    network.read = [](Section&, ClusterSpec&) {};
    return Part<ClusterSpec>({workers_field(), map(&ClusterSpec::servers, {.name = "servers"}, servers_part(), check_servers),
                              aggregators_field(), network, faults_field(), currency_field(),
                              written_if<ClusterSpec>([](const ClusterSpec& spec) { return spec.billed_while_down; },
                                                      field(&ClusterSpec::billed_while_down,
                                                            {.name = "billed_while_down",
                                                             .meaning = "`true`: workers cost while they are down or absent, too"}))});
  }();
  return part;
}

ClusterSpec read_cluster(Section cluster) {
  ClusterSpec spec;
  network_field().read(cluster, spec);
  cluster.context().network = &spec.network;
  cluster_part().read(cluster, spec);
  cluster.context().network = nullptr;
  cluster.finish();
  return spec;
}

}  // namespace straggler

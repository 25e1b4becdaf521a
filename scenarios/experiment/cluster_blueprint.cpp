// The cluster's part of a blueprint: hosts of ranks, connections, faults.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <set>
#include <span>

#include "scenarios/experiment/at_place.hpp"
#include "scenarios/experiment/blueprint.hpp"
#include "scenarios/experiment/cluster_facts.hpp"
#include "scenarios/experiment/unit_doubts.hpp"
#include "sim/base/even_split.hpp"
#include "sim/base/quantity.hpp"
#include "sim/base/readable.hpp"
#include "sim/base/registry.hpp"
#include "sim/base/suggest.hpp"

namespace straggler {

namespace {

Nic nic_of(const LinkSpec& link) { return {link.up, link.down, Time::from_seconds(link.latency)}; }

/// "; did you mean 'rack/1:up'?", or nothing.
std::string nearest_link(const std::string& name, const Fabric& fabric) {
  std::vector<std::string> names;
  constexpr std::size_t most = 100'000;  // in a larger network the search may cost more than it saves
  for (LinkId link = 0; link < std::min(fabric.links(), most); ++link) names.push_back(fabric.link(link).name);
  const std::string nearest = nearest_name(name, names);
  return nearest.empty() ? std::string() : "; did you mean '" + nearest + "'?";
}

}  // namespace

std::optional<Placement::Intra> Blueprint::intra(const Scenario& scenario) const {
  const auto& given = scenario.cluster.network.intra;
  if (!given) return std::nullopt;
  const auto level = [&](const std::optional<LevelSpec>& spec) {
    if (!spec) return Placement::Level();
    return Placement::Level{static_cast<std::size_t>(spec->workers), what_if.links.bandwidth(spec->bandwidth),
                            what_if.links.latency(Time::from_seconds(spec->latency))};
  };
  Placement::Cards cards;
  if (given->card) {
    static constexpr std::array places = {CardPlace::beside, CardPlace::pcie_switch, CardPlace::bus};
    cards = {static_cast<std::size_t>(given->card->workers), places[static_cast<std::size_t>(given->card->at)]};
  }
  return Placement::Intra{what_if.links.bandwidth(given->up),
                          what_if.links.latency(Time::from_seconds(given->latency)),
                          level(given->pcie_switch),
                          level(given->socket),
                          level(given->nvlink),
                          cards};
}

namespace {

/// Of a worker's ways inside its host, while it computes.
double intra_share(const Scenario& scenario) {
  const auto& given = scenario.cluster.network.intra;
  return given ? given->while_computing : 1;
}

}  // namespace

double Blueprint::connection(const Scenario& scenario) const {
  const auto& given = scenario.cluster.network.protocol.connection;
  return given ? what_if.links.bandwidth(*given) : std::numeric_limits<double>::infinity();
}

/// Ranks that share a host come one after another, in their group's order; everybody else has a host of its own.
Placement Blueprint::placement(const Scenario& scenario) const {
  const ClusterSpec& spec = scenario.cluster;
  Placement out;
  out.workers = static_cast<std::size_t>(plan.workers);
  out.servers = static_cast<std::size_t>(spec.servers.count);
  out.aggregators = index_of(plan.aggregation.count());
  out.half_duplex = spec.network.half_duplex;
  out.intra = intra(scenario);
  const bool shared = shares_hosts(spec) || aggregators_share;
  out.nics.reserve(out.workers + out.servers + out.aggregators);
  const std::vector<std::int64_t> taken = spec.seats_taken();
  for (std::size_t g = 0; g < spec.workers.size(); ++g) {
    const WorkerGroup& group = spec.workers[g];
    for (std::int64_t i = 0; i < group.count; ++i) {
      const Nic nic = nic_of(link_of(spec, group, i));
      if ((taken[g] + i) % group.per_host == 0)
        out.nics.push_back(nic);
      else if (nic != out.nics.back())
        throw_error(scenario, "cluster.workers[" + std::to_string(g) + (group.rows.empty() ? "].same_host" : "].population"),
                    "worker " + std::to_string(first_of_group[g] + i) + " shares a host with worker " +
                        std::to_string(first_of_group[g] + i - 1) +
                        ", and their populations give them different links; give workers of one host the same link");
      if (shared) out.host_of.push_back(static_cast<std::uint32_t>(out.nics.size() - 1));
    }
  }
  const std::size_t worker_hosts = out.nics.size();
  for (std::size_t s = 0; s < out.servers; ++s) {
    if (spec.servers.on_worker_hosts) {
      out.host_of.push_back(static_cast<std::uint32_t>(s % worker_hosts));
      continue;
    }
    if (spec.servers.host_of_worker) {
      out.host_of.push_back(out.host_of[static_cast<std::size_t>(*spec.servers.host_of_worker)]);
      continue;
    }
    out.nics.push_back(nic_of(server_link(spec)));
    if (shared) out.host_of.push_back(static_cast<std::uint32_t>(out.nics.size() - 1));
  }
  for (std::size_t k = 0; k < out.aggregators; ++k) {
    if (aggregators_share) {
      out.host_of.push_back(out.host_of[index_of(plan.aggregation.first_worker[k])]);
      continue;
    }
    out.nics.push_back(nic_of(aggregator_link(spec)));
    if (shared) out.host_of.push_back(static_cast<std::uint32_t>(out.nics.size() - 1));
  }
  return out;
}

/// Throws ScenarioErrors unless all workers are on one host.
void Blueprint::require_one_host(const Scenario& scenario) const {
  const std::uint32_t hosts = fabric->host(plan.workers - 1) - fabric->host(0) + 1;
  if (hosts == 1) return;
  throw_error(scenario, "training.scheme",
              scheme_entry->name + " shares weights in the memory of one host, and the workers are on " + std::to_string(hosts) +
                  " hosts; write per_host: " + std::to_string(plan.workers) +
                  " in cluster.workers[0], and same_host: true in the groups after it, or use another scheme");
}

std::shared_ptr<const Fabric> Blueprint::make_fabric(const Scenario& scenario) const {
  const NetworkSpec& network = scenario.cluster.network;
  return at_place(scenario, "cluster.network.topology", [&] {
    const double core = std::min(network.link.up, network.link.down);
    const TopologyEntry& given = Registry<TopologyEntry>::instance().at(network.topology.name);
    return std::make_shared<const Fabric>(what_if.links.any() ? with_changed_links(given, what_if.links) : given,
                                          network.topology.parameters, placement(scenario), core, Time::from_seconds(network.link.latency));
  });
}

/// One per rack if the scheme has as many aggregators as there are racks. Otherwise groups of equal size, the first of which have one
/// worker more. Racks are those of the cluster without aggregators.
void Blueprint::resolve_aggregators(const Scenario& scenario) {
  if (!scheme_entry->aggregators) return;
  std::vector<Rank> groups = fabric->racks();
  plan.racks = static_cast<Rank>(groups.size());
  const Rank count = scheme_entry->aggregators(scenario.training.scheme.parameters, plan);
  const bool by_rack = plan.racks > 1 && count == plan.racks;
  if (!by_rack) {
    groups.clear();
    for (Rank k = 0; k < count; ++k) groups.push_back(EvenSplit<Rank>::of(plan.workers, count).begin(k));
  }
  groups.push_back(plan.workers);
  plan.aggregation = {plan.workers + static_cast<Rank>(scenario.cluster.servers.count), std::move(groups)};
  using Host = AggregatorSpec::Host;
  const Host host = scenario.cluster.aggregators.host;
  aggregators_share = host == Host::first_worker || (host == Host::automatic && by_rack);
  fabric = make_fabric(scenario);
}

void Blueprint::resolve_cluster(const Scenario& scenario) {
  const ClusterSpec& spec = scenario.cluster;
  const bool with_server = scheme_entry->needs_server(scenario.training.scheme.parameters);
  servers = with_server ? static_cast<std::size_t>(spec.servers.count) : 0;
  for (std::size_t g = 0; g < spec.workers.size(); ++g) {
    const WorkerGroup& group = spec.workers[g];
    first_of_group.push_back(static_cast<std::uint32_t>(group_of.size()));
    group_of.insert(group_of.end(), static_cast<std::size_t>(group.count), static_cast<std::uint32_t>(g));
  }
  resolve_jitters(scenario);
  fabric = make_fabric(scenario);
  if (spec.network.topology.name == "file") add_doubt(notes, "cluster.network.topology", cable_doubt(*fabric));
  resolve_aggregators(scenario);
  resolve_availability(scenario);
  resolve_client_seconds(scenario);
  if (scheme_entry->steps_by_speed(scenario.training.scheme.parameters))
    for (Rank worker = 0; worker < plan.workers; ++worker) plan.step_seconds.push_back(batch_seconds(scenario, worker));
  if (plan.cell_chunks > 0) require_one_host(scenario);
  const Kind& kind = spec.network.sharing;
  sharing =
      at_place(scenario, "cluster.network.sharing", [&] { return Registry<SharingEntry>::instance().at(kind.name).make(kind.parameters); });
  if (what_if.no_contention) sharing = without_contention(std::move(sharing));
}

void Blueprint::resolve_jitters(const Scenario& scenario) {
  std::set<std::string> seen;
  const auto resolve = [&](const Kind& jitter, const std::string& place) {
    if (!seen.insert(place).second) return;
    const JitterEntry& entry = Registry<JitterEntry>::instance().at(jitter.name);
    at_place(scenario, place, [&] {
      const std::unique_ptr<Jitter> made = entry.make_of(jitter.parameters, {0, scenario.seed});  // keeps its file for mean_of
      add_doubt(notes, place, factor_doubt(jitter, entry.mean_of(jitter.parameters)));
      return 0;
    });
  };
  const std::vector<WorkerGroup>& groups = scenario.cluster.workers;
  for (std::size_t g = 0; g < groups.size(); ++g) {
    resolve(scenario.devices.at(groups[g].device).jitter, "devices." + groups[g].device + ".jitter");
    add_doubt(notes, fmt::format("cluster.workers[{}].population", g), slowdown_doubt(groups[g]));
  }
  resolve(scenario.cluster.network.jitter, "cluster.network.jitter");
}

void Blueprint::resolve_availability(const Scenario& scenario) {
  const std::vector<WorkerGroup>& groups = scenario.cluster.workers;
  for (std::size_t g = 0; g < groups.size(); ++g) {
    const Kind& kind = groups[g].availability;
    const std::string place = "cluster.workers[" + std::to_string(g) + "].availability";
    availability.push_back(
        at_place(scenario, place, [&] { return Registry<AvailabilityEntry>::instance().at(kind.name).make(kind.parameters); }));
    add_doubt(notes, place, availability.back() ? availability.back()->doubt() : "");
    if (availability.back() && !scheme_entry->invites)
      throw_error(scenario, place,
                  "in " + scheme_entry->name +
                      " every worker takes part all the time, and clients are not invited; use a federated scheme such as fedavg, or write "
                      "cluster.faults: [{kind: crash, worker: 0, at: 60s, restart_after: 30s}]");
  }
  const auto is_there = [](const std::unique_ptr<Availability>& pattern) { return pattern != nullptr; };
  if (!std::ranges::any_of(availability, is_there)) return availability.clear();
  plan.clients_come_and_go = true;
  for (std::size_t i = 0; i < scenario.cluster.faults.size(); ++i) {
    if (changes_members(scenario.cluster.faults[i]))
      throw_error(scenario, "cluster.faults[" + std::to_string(i) + "].kind",
                  "workers come and go by their availability, which cannot be combined with " +
                      (repeats(scenario.cluster.faults[i]) ? "workers that fail" : std::string("crash, join and leave")) +
                      "; remove one of the two");
  }
}

namespace {
/// A client's steps, or its passes, each of which ends with the batch that is left; without slowdown and jitter.
double seconds_of_client(const ComputeTime& time, const TrainingPlan& plan, Rank worker, const Parameters& parameters) {
  const auto of_batch = [&time](std::int64_t samples) { return seconds_of(time, samples); };
  const std::int64_t batch = plan.batch_of(worker);
  if (parameters.has("local_steps")) return static_cast<double>(parameters.count("local_steps")) * of_batch(batch);
  const auto pass = static_cast<std::int64_t>(plan.drawn_of(worker, plan.part_samples(worker)));
  const double whole = static_cast<double>(pass / batch) * of_batch(batch);
  return static_cast<double>(parameters.count("local_epochs")) * (pass % batch > 0 ? whole + of_batch(pass % batch) : whole);
}
}  // namespace

/// Of a client alone: its passes or steps, and the weights there and back.
void Blueprint::resolve_client_seconds(const Scenario& scenario) {
  if (plan.selection.by != ClientSelection::By::speed) return;
  const ClusterSpec& spec = scenario.cluster;
  for (std::size_t g = 0; g < spec.workers.size(); ++g) {
    const WorkerGroup& group = spec.workers[g];
    for (std::int64_t i = 0; i < group.count; ++i) {
      const Rank worker = first_of_group[g] + static_cast<Rank>(i);
      const DeviceRow* row = row_of(group, i);
      const double computing =
          seconds_of_client(time_of(g, i), plan, worker, scenario.training.scheme.parameters) * group.slowdown * (row ? row->slowdown : 1);
      const LinkSpec& link = link_of(spec, group, i);
      const double moving = 1 / what_if.links.bandwidth(link.up) + 1 / what_if.links.bandwidth(link.down);
      const double latency = what_if.links.latency(Time::from_seconds(link.latency)).seconds();
      plan.client_seconds.push_back(static_cast<float>(computing + static_cast<double>(model_bytes) * moving + 2 * latency));
    }
  }
}

std::vector<Fault> Blueprint::resolve_faults(const Scenario& scenario) const {
  static constexpr std::array kinds = {Fault::Kind::crash, Fault::Kind::slow, Fault::Kind::link, Fault::Kind::join, Fault::Kind::leave};
  std::vector<Fault> out;
  for (std::size_t i = 0; i < scenario.cluster.faults.size(); ++i) {
    const FaultSpec& spec = scenario.cluster.faults[i];
    if (repeats(spec)) continue;
    if (scheme_entry->one_process && (spec.kind == FaultSpec::Kind::join || spec.kind == FaultSpec::Kind::leave))
      throw_error(
          scenario, "cluster.faults[" + std::to_string(i) + "].kind",
          scheme_entry->name + " drives all workers from one process, so workers cannot join or leave; use another scheme, or crash");
    Fault fault;
    fault.kind = kinds[static_cast<std::size_t>(spec.kind)];
    fault.worker = static_cast<Rank>(spec.worker);
    const bool spell = fault.kind == Fault::Kind::slow || fault.kind == Fault::Kind::link;
    fault.at = Time::from_seconds(spell ? spec.from : spec.at);
    if (spell) fault.until = Time::from_seconds(spec.to);
    if (spec.restart_after) fault.until = fault.at + Time::from_seconds(*spec.restart_after);
    fault.factor = fault.kind == Fault::Kind::slow ? spec.times_slower : spec.bandwidth_factor;
    if (fault.kind == Fault::Kind::link) {
      if (scenario.cluster.network.jitter.name != "none")
        throw_error(scenario, "cluster.faults[" + std::to_string(i) + "].kind",
                    "link changes a bandwidth that network.jitter changes, too; remove one of the two");
      if (!spec.link.empty()) {
        for (LinkId link = 0; link < fabric->links() && fault.links.empty(); ++link)
          if (fabric->link(link).name == spec.link) fault.links.push_back(link);
        if (fault.links.empty())
          throw_error(scenario, "cluster.faults[" + std::to_string(i) + "].link",
                      "there is no link '" + spec.link + "'" + nearest_link(spec.link, *fabric) +
                          "; links are called as in links.csv, such as '" + fabric->link(0).name + "'");
        if (intra_share(scenario) != 1 && fabric->is_inside(fault.links[0]))
          throw_error(scenario, "cluster.faults[" + std::to_string(i) + "].link",
                      "'" + spec.link +
                          "' lies inside a host, and its bandwidth changes with computing (network.intra.while_computing); "
                          "name another link, or set while_computing to 1");
      } else {
        fault.links = fabric->nic_links(static_cast<Rank>(spec.server >= 0 ? plan.workers + spec.server : spec.worker));
      }
    }
    out.push_back(std::move(fault));
  }
  return out;
}

std::vector<TokenBucket> Blueprint::token_buckets(const Scenario& scenario) const {
  const ClusterSpec& spec = scenario.cluster;
  std::vector<TokenBucket> out;
  if (what_if.no_contention || std::isinf(what_if.links.bandwidth_factor)) return out;  // nothing could drain them
  std::vector<bool> seen(fabric->cards());
  const auto add = [&](Rank rank, const LinkSpec& link) {
    if (!link.burst || seen[fabric->card(rank)]) return;
    if (!sharing->contention())
      throw_error(scenario, "cluster.network.sharing",
                  "none gives every message the whole bandwidth at any time, so a burst has no effect; remove burst, or use max_min");
    seen[fabric->card(rank)] = true;
    for (const LinkId id : fabric->nic_links(rank)) {
      const double rate = fabric->bytes_per_second(id);
      if (const double peak = what_if.links.bandwidth(link.peak.value_or(rate)); link.peak && peak <= rate)
        throw_error(scenario, "cluster.network.link.peak",
                    fmt::format("{} is not above the bandwidth that the topology gives {}, {}; write a peak above that",
                                format_quantity(peak, Dimension::rate), plan.name_of(rank), format_quantity(rate, Dimension::rate)));
      out.push_back({id, *link.burst, link.peak ? what_if.links.bandwidth(*link.peak) : default_peak(*link.burst, rate)});
    }
  };
  for (std::size_t g = 0; g < spec.workers.size(); ++g)
    for (std::int64_t i = 0; i < spec.workers[g].count; ++i)
      add(first_of_group[g] + static_cast<Rank>(i), link_of(spec, spec.workers[g], i));
  for (Rank s = 0; s < spec.servers.count; ++s) add(plan.workers + s, server_link(spec));
  for (Rank k = 0; k < plan.aggregation.count(); ++k) add(plan.aggregation.first_rank + k, aggregator_link(spec));
  return out;
}

std::vector<BackgroundTraffic> Blueprint::resolve_background(const Scenario& scenario) const {
  const auto rank_of = [&](const std::string& name) {  // worker/N or server/N, checked by the reader
    const auto number = static_cast<Rank>(std::stoul(name.substr(name.find('/') + 1)));
    return name.starts_with("server") ? plan.workers + number : number;
  };
  std::vector<BackgroundTraffic> out;
  if (std::isinf(what_if.links.bandwidth_factor)) return out;  // background flows do not get in the way
  Route route;
  for (const BackgroundSpec& traffic : scenario.cluster.network.background) {
    fabric->route(rank_of(traffic.from), rank_of(traffic.to), route);
    if (route.links.empty())
      throw_error(scenario, "cluster.network.background[" + std::to_string(out.size()) + "].to",
                  traffic.to + " lives on the host of " + traffic.from +
                      ", and inside a host no link is shared without network.intra; name ranks of two hosts, or give intra");
    out.push_back({rank_of(traffic.from), rank_of(traffic.to), Time::from_seconds(traffic.start), Time::from_seconds(traffic.on),
                   Time::from_seconds(traffic.off), traffic.random, traffic.rate.value_or(0)});
  }
  return out;
}

namespace {

/// Encoding and decoding, where they take time anywhere. A gradient that goes into an all-reduce is encoded on the device, after backward.
void price_coding(const Scenario& scenario, std::uint64_t parameter_bytes, std::span<const std::uint32_t> group_of, bool averages,
                  const std::vector<Bucket>& buckets, SimulatedCluster& out) {
  const ClusterSpec& spec = scenario.cluster;
  const auto seconds_per_byte = [&](const std::optional<double>& rate, const std::string& path) {
    constexpr double most_seconds = 86'400;
    const double bytes = static_cast<double>(parameter_bytes) * static_cast<double>(std::max<std::size_t>(group_of.size(), 1));
    if (rate && bytes / *rate > most_seconds)
      throw_error(scenario, path,
                  fmt::format("{} takes more than a day to decode a message of each worker, {} of parameters; is the unit right?",
                              format_quantity(*rate, Dimension::rate), readable_bytes(bytes)));
    return inverse(rate);
  };
  std::vector<double> of_group;
  for (const WorkerGroup& group : spec.workers)
    of_group.push_back(seconds_per_byte(scenario.devices.at(group.device).compress, "devices." + group.device + ".compress"));
  out.coding.server_seconds_per_byte = seconds_per_byte(spec.servers.compress, "cluster.servers.compress");
  if (out.coding.server_seconds_per_byte == 0 && std::ranges::all_of(of_group, [](double each) { return each == 0; })) return;
  for (const std::uint32_t group : group_of) out.coding.seconds_per_byte.push_back(of_group[group]);
  if (!averages) return;
  for (const double per_byte : of_group)
    out.compute.encoding.push_back(Time::from_seconds(per_byte * static_cast<double>(parameter_bytes)));
  double encoded = 0;
  for (const Bucket& bucket : buckets) out.compute.encoded.push_back(encoded += bucket.compressed_share);
}

}  // namespace

SimulatedCluster Blueprint::cluster(const Scenario& scenario) const {
  const ClusterSpec& spec = scenario.cluster;
  SimulatedCluster out;
  out.fabric = fabric.get();
  out.sharing = sharing.get();
  out.protocol.segments = segments_of(scenario);
  out.token_buckets = token_buckets(scenario);
  out.compute = compute_plan(scenario);
  const double shard = plan.sharding.padding / plan.sharding.ways;  // of the parameters: what a worker steps on
  for (const WorkerGroup& group : spec.workers)
    out.update_seconds_per_byte.push_back(shard * inverse(scenario.devices.at(group.device).update));
  out.bytes.model = model_bytes;
  out.bytes.state = model_bytes * 4 / number_bytes();
  if (compression) price_coding(scenario, out.bytes.state, group_of, plan.workers > 1, buckets, out);
  out.bytes.statistics = statistics_bytes;
  out.protocol.per_message = Time::from_seconds(spec.network.protocol.per_message);
  out.protocol.seconds_per_byte = inverse(spec.network.protocol.copy_rate);
  out.protocol.cores = static_cast<std::size_t>(spec.network.protocol.cores.value_or(0));
  out.protocol.connection_bytes_per_second = connection(scenario);
  if (const Kind& jitter = spec.network.jitter; jitter.name != "none" && !std::isinf(what_if.links.bandwidth_factor)) {
    const JitterEntry& entry = Registry<JitterEntry>::instance().at(jitter.name);
    out.link_jitter.make = [&entry, &jitter, seed = scenario.seed](Rank card) { return entry.make_of(jitter.parameters, {card, seed}); };
    out.link_jitter.every = Time::from_seconds(spec.network.jitter_every);
  }
  if (const auto memory = intra(scenario)) {
    out.memory.seconds_per_byte = 1 / memory->bytes_per_second;
    out.memory.latency = memory->latency;
  }
  out.share_while_computing = intra_share(scenario);
  out.servers.count = servers;
  out.aggregators.count = plan.aggregation.count();
  out.aggregators.first = plan.aggregation.first_rank;
  out.servers.update_seconds_per_byte = inverse(spec.servers.update);
  out.servers.per_message = Time::from_seconds(spec.servers.per_message);
  if (what_if.free_servers) {
    out.servers.free = true;
    out.servers.update_seconds_per_byte = out.coding.server_seconds_per_byte = 0;
  }
  out.peers = scheme_entry->exchange(scenario.training.scheme.parameters) == Exchange::peers;
  out.collective.used = scheme_entry->all_reduces(scenario.training.scheme.parameters);
  out.collective.all_reduce = all_reduce;
  out.collective.gathers = gathers();
  out.collective.parameters = scenario.cluster.network.collective.parameters;
  out.collective.automatic = scenario.cluster.network.collective.algorithm == "auto";
  out.collective.shares_states = plan.sharding.on();
  out.collective.shape = shape;
  out.collective.uniform = uniform;
  out.collective.stepwise = spec.network.collective.fidelity == CollectiveSpec::Fidelity::stepwise;
  out.collective.as_they_come = spec.network.collective.start == CollectiveSpec::Start::as_they_come;
  if (spec.network.collective.eager_up_to) out.collective.eager_most = static_cast<std::uint64_t>(*spec.network.collective.eager_up_to);
  out.collective.reduce_seconds_per_byte = inverse(spec.network.collective.reduce_rate);
  out.collective.launch = Time::from_seconds(spec.network.collective.launch);
  out.collective.buckets = buckets;
  out.serial_per_epoch = Time::from_seconds(scenario.workload.serial_per_epoch);
  out.faults.list = faults_;
  out.faults.processes = fault_processes_;
  out.faults.units = fault_units;
  out.recovery = recovery_;
  for (const std::unique_ptr<Availability>& pattern : availability) out.presence.patterns.push_back(pattern.get());
  if (!availability.empty()) {
    out.presence.group_of = group_of;
    out.presence.first_of_group = first_of_group;
  }
  out.faults.on_failure = failure_choice.of(scenario.training.scheme.parameters);
  out.background = background_;
  out.tariffs = tariffs;
  out.seed = scenario.seed;
  return out;
}

}  // namespace straggler

// The cluster's part of a blueprint: who lives where, how they are connected, how they reduce.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "scenarios/experiment/at_place.hpp"
#include "scenarios/experiment/blueprint.hpp"
#include "sim/base/quantity.hpp"
#include "sim/base/registry.hpp"
#include "sim/base/suggest.hpp"
#include "sim/collectives/fluid.hpp"

namespace straggler {

namespace {

Nic nic_of(const LinkSpec& link) { return {link.up, link.down, Time::from_seconds(link.latency)}; }

/// Row of the group's population that worker `i` of the group is; null: all are alike.
const DeviceRow* row_of(const WorkerGroup& group, std::int64_t i) {
  return group.rows.empty() ? nullptr : &group.rows[static_cast<std::size_t>(i) % group.rows.size()];
}

const LinkSpec& link_of(const ClusterSpec& cluster, const WorkerGroup& group, std::int64_t i) {
  const DeviceRow* row = row_of(group, i);
  if (row && row->link) return *row->link;
  return group.link ? *group.link : cluster.network.link;
}

bool shares_hosts(const ClusterSpec& cluster) {
  return cluster.servers.host_of_worker ||
         std::any_of(cluster.workers.begin(), cluster.workers.end(), [](const WorkerGroup& group) { return group.per_host > 1; });
}

std::vector<ProtocolSegment> segments_of(const Scenario& scenario) {
  std::vector<ProtocolSegment> segments;
  for (const SegmentSpec& segment : scenario.cluster.network.protocol.segments)
    segments.push_back({segment.up_to, segment.latency_factor, segment.bandwidth_factor});
  return segments;
}

/// "; did you mean 'rack/1:up'?", or nothing.
std::string nearest_link(const std::string& name, const Fabric& fabric) {
  std::vector<std::string> names;
  constexpr std::size_t most = 100'000;  // in a larger network the question may cost more than the answer is worth
  for (LinkId link = 0; link < std::min(fabric.links(), most); ++link) names.push_back(fabric.link(link).name);
  const std::string nearest = nearest_name(name, names);
  return nearest.empty() ? std::string() : "; did you mean '" + nearest + "'?";
}

double inverse(const std::optional<double>& rate) { return rate ? 1 / *rate : 0; }

}  // namespace

std::unique_ptr<ComputeTime> Blueprint::compute_time(const Scenario& scenario, const ComputeSpec& spec, const std::string& place) const {
  if (spec.form == ComputeSpec::Form::affine) return affine_time(spec.overhead, spec.per_sample);
  if (spec.form == ComputeSpec::Form::table) return table_time(spec.table, spec.launch);
  if (cost.layers.empty())
    throw_error(scenario, place,
                "a roofline counts the FLOPs of a model's layers, and workload.cost.bytes has none; write workload.cost: {model: NAME}, or "
                "an affine time or a table here");
  const TrainingCost training = training_cost(cost);
  Roofline roofline;
  roofline.launch = spec.launch;
  roofline.flops_per_sample = training.flops_per_sample;
  roofline.peak = spec.peak;
  roofline.efficiency = spec.efficiency;
  roofline.fixed_bytes = training.fixed_bytes;
  roofline.bytes_per_sample = training.bytes_per_sample;
  roofline.memory_bandwidth = spec.memory_bandwidth;
  return at_place(scenario, place, [&] { return roofline_time(roofline); });
}

/// Ranks that share a host come one after the other, in their group's order; everybody else has a host of its own.
Placement Blueprint::placement(const Scenario& scenario) const {
  const ClusterSpec& spec = scenario.cluster;
  Placement out;
  out.workers = static_cast<std::size_t>(plan.workers);
  out.servers = static_cast<std::size_t>(spec.servers.count);
  out.half_duplex = spec.network.half_duplex;
  if (spec.network.intra) out.intra = {spec.network.intra->up, Time::from_seconds(spec.network.intra->latency)};
  const bool shared = shares_hosts(spec);
  out.nics.reserve(out.workers + out.servers);
  for (const WorkerGroup& group : spec.workers) {
    for (std::int64_t i = 0; i < group.count; ++i) {
      const Nic nic = nic_of(link_of(spec, group, i));
      if (i % group.per_host == 0)
        out.nics.push_back(nic);
      else if (nic != out.nics.back())
        throw_error(scenario, "cluster.workers[" + std::to_string(&group - spec.workers.data()) + "].population",
                    "workers " + std::to_string(i - i % group.per_host) + " and " + std::to_string(i) +
                        " of the group share a host, and their rows have different links; give workers of one host the same link");
      if (shared) out.host_of.push_back(static_cast<std::uint32_t>(out.nics.size() - 1));
    }
  }
  for (std::size_t s = 0; s < out.servers; ++s) {
    if (spec.servers.host_of_worker) {
      out.host_of.push_back(out.host_of[static_cast<std::size_t>(*spec.servers.host_of_worker)]);
      continue;
    }
    out.nics.push_back(nic_of(spec.servers.link ? *spec.servers.link : spec.network.link));
    if (shared) out.host_of.push_back(static_cast<std::uint32_t>(out.nics.size() - 1));
  }
  return out;
}

void Blueprint::resolve_cluster(const Scenario& scenario) {
  const ClusterSpec& spec = scenario.cluster;
  const bool with_server = scheme_entry->needs_server(scenario.training.scheme.parameters);
  servers = with_server ? static_cast<std::size_t>(spec.servers.count) : 0;
  row_times.resize(spec.workers.size());
  for (std::size_t g = 0; g < spec.workers.size(); ++g) {
    const WorkerGroup& group = spec.workers[g];
    const ComputeSpec& compute = scenario.devices.at(group.device).compute;
    group_times.push_back(compute_time(scenario, compute, "devices." + group.device + ".compute"));
    for (const DeviceRow& row : group.rows) {
      const bool own = row.overhead || row.per_sample;
      row_times[g].push_back(own ? affine_time(row.overhead.value_or(0), row.per_sample.value_or(0)) : nullptr);
    }
    first_of_group.push_back(static_cast<std::uint32_t>(group_of.size()));
    group_of.insert(group_of.end(), static_cast<std::size_t>(group.count), static_cast<std::uint32_t>(g));
  }
  for (const WorkerGroup& group : spec.workers) {
    const Kind& jitter = scenario.devices.at(group.device).jitter;
    at_place(scenario, "devices." + group.device + ".jitter",
             [&] { return Registry<JitterEntry>::instance().at(jitter.name).make_of(jitter.parameters, 0); });
  }
  fabric = at_place(scenario, "cluster.network.topology", [&] {
    const Kind& kind = spec.network.topology;
    const double core = std::min(spec.network.link.up, spec.network.link.down);
    return std::make_shared<const Fabric>(Registry<TopologyEntry>::instance().at(kind.name), kind.parameters, placement(scenario), core,
                                          Time::from_seconds(spec.network.link.latency));
  });
  const Kind& kind = spec.network.sharing;
  sharing =
      at_place(scenario, "cluster.network.sharing", [&] { return Registry<SharingEntry>::instance().at(kind.name).make(kind.parameters); });
}

/// What only messages of their own can show, and what they cannot.
void Blueprint::check_stepwise(const Scenario& scenario) const {
  const CollectiveSpec& spec = scenario.cluster.network.collective;
  if (scenario.cluster.network.protocol.cores && spec.fidelity != "stepwise")
    throw_error(scenario, "cluster.network.protocol.cores",
                "are shared message by message, and the all-reduce is one flow; add cluster.network.collective.fidelity: stepwise");
  if (spec.start != "as_they_come") return;
  const std::vector<FaultSpec>& faults = scenario.cluster.faults;
  for (std::size_t i = 0; i < faults.size(); ++i)
    if (faults[i].kind != FaultSpec::Kind::slow && faults[i].kind != FaultSpec::Kind::link)
      throw_error(
          scenario, "cluster.faults[" + std::to_string(i) + "].kind",
          "with collective.start: as_they_come the workers are never all between two updates, at which one could go or come; take start: "
          "together, or the faults slow and link");
}

/// The algorithm: the one that is asked for, or the cheapest for the bytes at hand on the links at hand.
void Blueprint::resolve_collective(const Scenario& scenario) {
  const CollectiveSpec& spec = scenario.cluster.network.collective;
  if (servers > 0 || plan.workers == 1 || scheme_entry->one_process) return;
  check_stepwise(scenario);
  shape.workers = static_cast<std::size_t>(plan.workers);
  shape.servers = static_cast<std::size_t>(scenario.cluster.servers.count);
  if (shares_hosts(scenario.cluster))
    for (std::uint32_t worker = 0; worker < shape.workers; ++worker) shape.host_of.push_back(fabric->host(worker));
  // Between two hosts, if there are two; and inside one, if the first holds two workers.
  Route route;
  const auto measure = [&](std::uint32_t to, double& alpha, double& beta) {
    fabric->route(0, to, route);
    alpha = route.latency.seconds();
    for (const LinkId link : route.links) beta = std::max(beta, 1 / fabric->bytes_per_second(link));
  };
  std::uint32_t other = 1;
  while (other + 1 < shape.workers && fabric->host(other) == fabric->host(0)) ++other;
  measure(other, uniform.alpha, uniform.beta);
  if (fabric->host(1) == fabric->host(0)) measure(1, uniform.intra_alpha, uniform.intra_beta);
  uniform.gamma = inverse(spec.reduce_rate);

  std::uint64_t bytes = model_bytes;
  if (spec.bucket) {
    if (cost.layers.empty())
      throw_error(scenario, "cluster.network.collective.bucket",
                  "buckets are filled with a model's tensors, and workload.cost.bytes has none; write workload.cost: {model: NAME}");
    std::vector<GradientTensor> tensors;
    std::vector<double> flops;
    for (const CostLayer& layer : cost.layers) {
      for (const TensorInfo& tensor : layer.tensors) {
        std::uint64_t size = number_bytes();
        for (const std::size_t side : tensor.shape) size *= side;
        tensors.push_back({size, flops.size()});
      }
      flops.push_back(layer.forward_flops);
    }
    buckets = make_buckets(tensors, flops, spec.first_bucket.value_or(*spec.bucket), *spec.bucket);
    bytes = 0;
    for (const Bucket& bucket : buckets) bytes = std::max(bytes, bucket.bytes);
  }
  if (spec.algorithm != "auto") {
    all_reduce = &Registry<CollectiveEntry>::instance().at(spec.algorithm);
    if (const std::string lacks = all_reduce->unfit(shape); !lacks.empty())
      throw_error(scenario, "cluster.network.collective.algorithm", spec.algorithm + " " + lacks);
    return;
  }
  EventQueue queue;
  Network network(queue);
  Transport transport(*fabric, network, *sharing, segments_of(scenario));
  CollectiveCosts costs;
  costs.reduce_seconds_per_byte = uniform.gamma;
  costs.per_message = Time::from_seconds(scenario.cluster.network.protocol.per_message);
  costs.per_byte = inverse(scenario.cluster.network.protocol.copy_rate);
  all_reduce = &cheapest_collective(bytes, shape, uniform, costs, transport);
}

ComputePlan Blueprint::compute_plan(const Scenario& scenario) const {
  const ClusterSpec& spec = scenario.cluster;
  ComputePlan out;
  out.compute_of.reserve(group_of.size());
  out.class_of = group_of;
  out.load_apart = scheme_entry->one_process;
  out.speeds_change = scenario.workload.serial_per_epoch > 0 || std::any_of(spec.faults.begin(), spec.faults.end(), [](const FaultSpec& f) {
                        return f.kind == FaultSpec::Kind::slow;
                      });
  for (std::size_t g = 0; g < spec.workers.size(); ++g) {
    const WorkerGroup& group = spec.workers[g];
    const DeviceSpec& device = scenario.devices.at(group.device);
    ComputeClass own;
    if (!buckets.empty() && spec.network.collective.overlap) {
      own.milestones.clear();
      const double forward = device.compute.forward_fraction;
      for (const Bucket& bucket : buckets) own.milestones.push_back(forward + (1 - forward) * bucket.ready);
      own.milestones.back() = 1;
    }
    if (device.loader) {
      own.load_seconds_per_sample = device.loader->per_sample;
      own.loaders = static_cast<std::uint32_t>(device.loader->workers);
      own.prefetch = static_cast<std::uint32_t>(device.loader->prefetch);
      own.loader_start = Time::from_seconds(device.loader->start);
      own.hand_over = Time::from_seconds(device.loader->hand_over);
    }
    if (device.host_to_device) own.copy_seconds_per_sample = cost.input_bytes / *device.host_to_device;
    out.classes.push_back(std::move(own));

    Quantum quantum;
    quantum.unit = device.every.unit == JitterEvery::Unit::time   ? Quantum::Unit::time
                   : device.every.unit == JitterEvery::Unit::call ? Quantum::Unit::call
                                                                  : Quantum::Unit::samples;
    quantum.span = Time::from_seconds(device.every.seconds);
    const auto rows = static_cast<std::int64_t>(std::max<std::size_t>(group.rows.size(), 1));
    const std::size_t first_worker = out.compute_of.size();
    for (std::int64_t i = 0; i < group.count; ++i) {
      const auto worker = static_cast<std::int64_t>(out.compute_of.size());
      // Without jitter, a worker's time depends on nothing of its own: whoever has its row of the population is like it.
      if (i >= rows && device.jitter.name == "none") {
        out.compute_of.push_back(out.compute_of[first_worker + static_cast<std::size_t>(i % rows)]);
        continue;
      }
      const DeviceRow* row = row_of(group, i);
      const ComputeTime* time = group_times[g].get();
      if (row && row_times[g][static_cast<std::size_t>(i) % group.rows.size()])
        time = row_times[g][static_cast<std::size_t>(i) % group.rows.size()].get();
      const std::int64_t batch = plan.batch + (worker < plan.larger_batches ? 1 : 0);
      quantum.samples = device.every.samples > 0 ? device.every.samples : batch;
      std::unique_ptr<Jitter> jitter;
      if (device.jitter.name != "none")
        jitter = Registry<JitterEntry>::instance().at(device.jitter.name).make_of(device.jitter.parameters, worker);
      out.compute.emplace_back(*time, group.slowdown * (row ? row->slowdown : 1), std::move(jitter), quantum, scenario.seed, worker);
      out.compute_of.push_back(static_cast<std::uint32_t>(out.compute.size() - 1));
    }
    const double cores = static_cast<double>(group.cores_per_host.value_or(group.per_host));
    for (std::int64_t first = 0; first < group.count && cores < static_cast<double>(group.per_host); first += group.per_host) {
      SharedHost host;
      host.cores = cores;
      host.busy_waiting = group.busy_waiting;
      for (std::int64_t i = first; i < std::min(group.count, first + group.per_host); ++i)
        host.workers.push_back(static_cast<Rank>(first_of_group[g] + i));
      if (static_cast<double>(host.workers.size()) > cores) out.hosts.push_back(std::move(host));
    }
  }
  return out;
}

std::vector<Fault> Blueprint::faults(const Scenario& scenario) const {
  static constexpr std::array kinds = {Fault::Kind::crash, Fault::Kind::slow, Fault::Kind::link, Fault::Kind::join, Fault::Kind::leave};
  std::vector<Fault> out;
  for (std::size_t i = 0; i < scenario.cluster.faults.size(); ++i) {
    const FaultSpec& spec = scenario.cluster.faults[i];
    if (scheme_entry->one_process && (spec.kind == FaultSpec::Kind::join || spec.kind == FaultSpec::Kind::leave))
      throw_error(
          scenario, "cluster.faults[" + std::to_string(i) + "].kind",
          scheme_entry->name + " drives all workers from one process, which none of them joins or leaves; take another scheme, or crash");
    Fault fault;
    fault.kind = kinds[static_cast<std::size_t>(spec.kind)];
    fault.worker = static_cast<Rank>(spec.worker);
    const bool spell = fault.kind == Fault::Kind::slow || fault.kind == Fault::Kind::link;
    fault.at = Time::from_seconds(spell ? spec.from : spec.at);
    if (spell) fault.until = Time::from_seconds(spec.to);
    if (spec.restart_after) fault.until = fault.at + Time::from_seconds(*spec.restart_after);
    fault.factor = fault.kind == Fault::Kind::slow ? spec.times_slower : spec.bandwidth_factor;
    if (fault.kind == Fault::Kind::link) {
      if (!spec.link.empty()) {
        for (LinkId link = 0; link < fabric->links() && fault.links.empty(); ++link)
          if (fabric->link(link).name == spec.link) fault.links.push_back(link);
        if (fault.links.empty())
          throw_error(scenario, "cluster.faults[" + std::to_string(i) + "].link",
                      "there is no link '" + spec.link + "'" + nearest_link(spec.link, *fabric) +
                          "; links are called as in links.csv, such as '" + fabric->link(0).name + "'");
      } else {
        fault.links = fabric->nic_links(static_cast<std::uint32_t>(spec.server >= 0 ? plan.workers + spec.server : spec.worker));
      }
    }
    out.push_back(std::move(fault));
  }
  return out;
}

std::vector<TokenBucket> Blueprint::token_buckets(const Scenario& scenario) const {
  const ClusterSpec& spec = scenario.cluster;
  std::vector<TokenBucket> out;
  std::vector<bool> seen(fabric->hosts());
  const auto add = [&](std::uint32_t rank, const LinkSpec& link) {
    if (!link.burst || seen[fabric->host(rank)]) return;
    if (!sharing->contention())
      throw_error(scenario, "cluster.network.sharing",
                  "none gives every message the whole bandwidth at any time, so that a burst means nothing; remove burst, or take max_min");
    seen[fabric->host(rank)] = true;
    for (const LinkId id : fabric->nic_links(rank)) {
      const double rate = fabric->bytes_per_second(id);
      out.push_back({id, *link.burst, link.peak.value_or(default_peak(*link.burst, rate))});
    }
  };
  for (std::size_t g = 0; g < spec.workers.size(); ++g)
    for (std::int64_t i = 0; i < spec.workers[g].count; ++i)
      add(first_of_group[g] + static_cast<std::uint32_t>(i), link_of(spec, spec.workers[g], i));
  for (std::uint32_t s = 0; s < static_cast<std::uint32_t>(spec.servers.count); ++s)
    add(static_cast<std::uint32_t>(plan.workers) + s, spec.servers.link ? *spec.servers.link : spec.network.link);
  return out;
}

std::vector<BackgroundTraffic> Blueprint::background(const Scenario& scenario) const {
  const auto rank_of = [&](const std::string& name) {  // worker/N or server/N, checked by the reader
    const auto number = static_cast<std::uint32_t>(std::stoul(name.substr(name.find('/') + 1)));
    return name.starts_with("server") ? static_cast<std::uint32_t>(plan.workers) + number : number;
  };
  std::vector<BackgroundTraffic> out;
  Route route;
  for (const BackgroundSpec& traffic : scenario.cluster.network.background) {
    fabric->route(rank_of(traffic.from), rank_of(traffic.to), route);
    if (route.links.empty())
      throw_error(scenario, "cluster.network.background[" + std::to_string(out.size()) + "].to",
                  traffic.to + " lives on the host of " + traffic.from +
                      ", and inside a host nothing is shared without network.intra; name ranks of two hosts, or give intra");
    out.push_back({rank_of(traffic.from), rank_of(traffic.to), Time::from_seconds(traffic.start), Time::from_seconds(traffic.on),
                   Time::from_seconds(traffic.off), traffic.random, traffic.rate.value_or(0)});
  }
  return out;
}

SimulatedCluster Blueprint::cluster(const Scenario& scenario) const {
  const ClusterSpec& spec = scenario.cluster;
  SimulatedCluster out;
  out.fabric = fabric.get();
  out.sharing = sharing.get();
  out.segments = segments_of(scenario);
  out.token_buckets = token_buckets(scenario);
  out.compute = compute_plan(scenario);
  for (const WorkerGroup& group : spec.workers) out.update_seconds_per_byte.push_back(inverse(scenario.devices.at(group.device).update));
  out.model_bytes = model_bytes;
  out.state_bytes = model_bytes * 4 / number_bytes();
  out.statistics_bytes = statistics_bytes;
  out.per_message = Time::from_seconds(spec.network.protocol.per_message);
  out.handling_seconds_per_byte = inverse(spec.network.protocol.copy_rate);
  out.message_cores = static_cast<std::size_t>(spec.network.protocol.cores.value_or(0));
  out.servers = servers;
  out.server_update_seconds_per_byte = inverse(spec.servers.update);
  out.server_per_message = Time::from_seconds(spec.servers.per_message);
  out.all_reduce = all_reduce;
  out.all_reduce_parameters = scenario.cluster.network.collective.parameters;
  out.shape = shape;
  out.uniform = uniform;
  out.stepwise = spec.network.collective.fidelity == "stepwise";
  out.as_they_come = spec.network.collective.start == "as_they_come";
  if (spec.network.collective.eager_up_to) out.eager_most = static_cast<std::uint64_t>(*spec.network.collective.eager_up_to);
  out.reduce_seconds_per_byte = inverse(spec.network.collective.reduce_rate);
  out.buckets = buckets;
  out.overlap = spec.network.collective.overlap;
  out.serial_per_epoch = Time::from_seconds(scenario.workload.serial_per_epoch);
  out.faults = faults(scenario);
  const std::string failure = scenario.training.scheme.parameters.text("on_failure");
  out.on_failure = failure == "wait" ? OnFailure::wait : failure == "drop" ? OnFailure::drop : OnFailure::abort;
  out.background = background(scenario);
  out.seed = scenario.seed;
  return out;
}

std::size_t Blueprint::state_vectors() const {
  // Two dry steps tell.
  Lineage lineage(Math::none, Key{1, 1});
  std::vector<Handle> state;
  const Handle initial = lineage.initial();
  for (int i = 0; i < 2; ++i) plan.optimizer->step(lineage, initial, initial, 0, 1, state);
  return state.size();
}

double Blueprint::fixed_bytes() const {
  const double number = static_cast<double>(number_bytes());
  const double parameters = cost.layers.empty() ? static_cast<double>(model_bytes) / number : static_cast<double>(cost.parameters());
  // Master weights and state stay in fp32; the weights in use are a copy where they are not.
  const double copy = numerics.precision == Precision::fp32 ? 0 : number;
  return parameters * (4 + copy + number + 4 * static_cast<double>(state_vectors()));
}

double Blueprint::sample_bytes() const { return static_cast<double>(number_bytes()) / 4 * (cost.activation_bytes() + cost.input_bytes); }

double Blueprint::device_bytes(const Scenario& scenario) const {
  const std::int64_t whole = plan.batch + (plan.larger_batches > 0 ? 1 : 0);
  const std::int64_t batch = scheme_entry->minibatch(scenario.training.scheme.parameters).value_or(whole);
  return fixed_bytes() + static_cast<double>(batch) * sample_bytes();
}

double Blueprint::largest_batch(double memory) const {
  const double left = memory - fixed_bytes();
  if (left < 0) return 0;
  // Rounding may have pushed the quotient over a whole number.
  const double batch = std::floor(left / sample_bytes());
  return fixed_bytes() + batch * sample_bytes() > memory ? batch - 1 : batch;
}

namespace {

/// "4.2 MB", rounded by `round`, so that what does not fit never looks as if it did.
std::string in_tenths(double bytes, double (*round)(double)) {
  constexpr std::array<const char*, 5> units = {" B", " kB", " MB", " GB", " TB"};
  std::size_t unit = 0;
  double scale = 1;
  for (; bytes >= 1000 * scale && unit + 1 < units.size(); ++unit) scale *= 1000;
  return format_number(unit == 0 ? round(bytes) : round(bytes / scale * 10) / 10) + units[unit];
}

}  // namespace

void Blueprint::check_memory(const Scenario& scenario) const {
  const double needed = device_bytes(scenario);
  const bool in_pieces = scheme_entry->minibatch(scenario.training.scheme.parameters).has_value();
  const bool global = scenario.training.batch.global.has_value();
  for (const auto& [name, device] : scenario.devices) {
    const bool used = std::any_of(scenario.cluster.workers.begin(), scenario.cluster.workers.end(),
                                  [&, key = &name](const WorkerGroup& group) { return group.device == *key; });
    if (!used || !device.memory || needed <= *device.memory) continue;
    const double samples = largest_batch(*device.memory);
    std::string remedy = "; not one sample fits: take a device with more memory, or a smaller model";
    if (samples >= 1) {
      remedy =
          "; a worker's " + std::string(in_pieces ? "minibatch" : "batch") + " may have " + format_number(samples) + " samples at most";
      if (global && !in_pieces) remedy += ", all workers' together " + format_number(samples * static_cast<double>(plan.workers));
    }
    const std::string counted = counts_activations()
                                    ? "weights, gradient, optimizer state and the activations of a batch"
                                    : "weights, gradient, optimizer state and the inputs of a batch; workload.cost.bytes tells "
                                      "of no activations, which come on top";
    throw_error(scenario,
                in_pieces ? "training.scheme"
                : global  ? "training.batch.global"
                          : "training.batch.per_worker",
                "training takes " + in_tenths(needed, std::ceil) + " on a device (" + counted + "), and " + name + " has " +
                    in_tenths(*device.memory, std::floor) + remedy);
  }
}

}  // namespace straggler

#include "scenarios/reasons/interventions.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>

#include "models/compression/compressor.hpp"
#include "scenarios/experiment/alone.hpp"
#include "scenarios/experiment/blueprint.hpp"
#include "scenarios/experiment/cluster_facts.hpp"
#include "scenarios/experiment/measured_collective.hpp"
#include "scenarios/experiment/uncompressed.hpp"
#include "sim/base/registry.hpp"

namespace straggler {

namespace {

constexpr double small_change = 0.1;

/// As PyTorch's DistributedDataParallel has them, in bytes.
constexpr double usual_bucket = 25 << 20, usual_first_bucket = 1 << 20;

Seat seat_of(const Scenario& scenario, std::int64_t worker) {
  std::size_t g = 0;
  while (worker >= scenario.cluster.workers[g].count) worker -= scenario.cluster.workers[g++].count;
  return {g, worker};
}

bool is_measured(const Scenario& scenario) { return scenario.cluster.network.collective.algorithm == measured_algorithm; }

/// Gradients are all-reduced after backward, and could leave during it, layer by layer.
bool could_overlap(const Scenario& scenario, const Blueprint& blueprint) {
  return blueprint.all_reduce && !scenario.cluster.network.collective.overlap && !is_measured(scenario) &&
         blueprint.scheme_entry->sends_gradients(scenario.training.scheme.parameters) && !blueprint.cost.layers.empty();
}

/// Any device of the workers.
template <class Test>
bool any_device(const Scenario& scenario, const Test& test) {
  return std::ranges::any_of(scenario.cluster.workers, [&](const WorkerGroup& group) { return test(scenario.devices.at(group.device)); });
}

// One function a cause: takes it out of a setting. They compose, in any order.

void remove_jitter(Counterfactual& setting, const Blueprint& /*blueprint*/) {
  for (auto& [name, device] : setting.scenario.devices) device.jitter = Kind{"none", {}};
}

/// Everything about a device that takes time is the median worker's; jitter and memory stay each device's own.
void even_workers(Counterfactual& setting, const Blueprint& blueprint) {
  Scenario& scenario = setting.scenario;
  const Seat median = median_worker(scenario, blueprint);
  const WorkerGroup group = scenario.cluster.workers[median.group];
  const DeviceRow* const row = row_of(group, median.number);
  DeviceSpec like = scenario.devices.at(group.device);
  if (row && (row->overhead || row->per_sample)) {
    like.compute = ComputeSpec();
    like.compute.overhead = row->overhead.value_or(0);
    like.compute.per_sample = row->per_sample.value_or(0);
    like.compute.forward_fraction = scenario.devices.at(group.device).compute.forward_fraction;
  }
  for (const WorkerGroup& each : scenario.cluster.workers) {
    DeviceSpec& device = scenario.devices.at(each.device);
    device.compute = like.compute;
    device.memory_traffic = like.memory_traffic;
    device.update = like.update;
    device.compress = like.compress;
    device.loader = like.loader;
    device.host_to_device = like.host_to_device;
  }
  for (WorkerGroup& each : scenario.cluster.workers) {
    each.slowdown = group.slowdown * (row ? row->slowdown : 1);
    for (DeviceRow& own : each.rows) {
      own.slowdown = 1;
      own.overhead.reset();
      own.per_sample.reset();
    }
  }
}

/// Of all that moves bytes: links, the inside of hosts, and processors that copy messages.
void scale_bandwidth(Counterfactual& setting, double factor) {
  setting.what_if.links.bandwidth_factor *= factor;
  std::optional<double>& copies = setting.scenario.cluster.network.protocol.copy_rate;
  if (copies && factor == std::numeric_limits<double>::infinity())
    copies.reset();
  else if (copies)
    *copies *= factor;
}

void remove_bandwidth(Counterfactual& setting, const Blueprint& /*blueprint*/) {
  scale_bandwidth(setting, std::numeric_limits<double>::infinity());
}

/// The time of a message of any size: the links' latency, and the processors at both ends.
void remove_latency(Counterfactual& setting, const Blueprint& /*blueprint*/) {
  setting.what_if.links.no_latency = true;
  setting.scenario.cluster.network.protocol.per_message = 0;
}

/// `auto` would choose another all-reduce where nothing is shared: it stays the one that the run has.
void remove_contention(Counterfactual& setting, const Blueprint& blueprint) {
  setting.what_if.no_contention = true;
  std::string& algorithm = setting.scenario.cluster.network.collective.algorithm;
  if (algorithm == "auto" && blueprint.all_reduce && !blueprint.gathers()) algorithm = blueprint.all_reduce->name;
}

/// Of measured all-reduces, which move no flows, the times.
void remove_collectives(Counterfactual& setting, const Blueprint& /*blueprint*/) {
  CollectiveSpec& spec = setting.scenario.cluster.network.collective;
  if (spec.algorithm != measured_algorithm) return;
  spec.algorithm = "auto";
  spec.parameters = {};
  setting.what_if.links.bandwidth_factor = std::numeric_limits<double>::infinity();
  setting.what_if.links.no_latency = true;
}

void free_server(Counterfactual& setting, const Blueprint& /*blueprint*/) { setting.what_if.free_servers = true; }

/// The start of loaders, a cause of its own, stays: a loader of 0 seconds would be none, and 1e-18 rounds to no time.
void remove_loaders(Counterfactual& setting, const Blueprint& /*blueprint*/) {
  constexpr double no_time = 1e-18;
  for (auto& [name, device] : setting.scenario.devices) {
    if (device.loader) {
      device.loader->per_sample = device.loader->start > 0 ? no_time : 0;
      device.loader->hand_over = 0;
    }
    device.host_to_device.reset();
  }
}

/// The host's time to start operations of a device.
void remove_launches(Counterfactual& setting, const Blueprint& /*blueprint*/) {
  for (auto& [name, device] : setting.scenario.devices) {
    ComputeSpec& compute = device.compute;
    compute.launch = compute.issue = 0;
    for (std::optional<HalfRates>* const half : {&compute.fp16, &compute.bf16})
      if (*half) (*half)->launch = (*half)->issue = 0;
  }
}

/// What a batch takes besides its samples.
void remove_overhead(Counterfactual& setting, const Blueprint& /*blueprint*/) {
  for (auto& [name, device] : setting.scenario.devices)
    if (device.compute.per_sample > 0) device.compute.overhead = 0;
  for (WorkerGroup& group : setting.scenario.cluster.workers)
    for (DeviceRow& row : group.rows)
      if (row.overhead && row.per_sample && *row.per_sample > 0) row.overhead = 0;
}

void let_overlap(Counterfactual& setting, const Blueprint& blueprint) {
  if (!could_overlap(setting.scenario, blueprint)) return;
  CollectiveSpec& spec = setting.scenario.cluster.network.collective;
  spec.overlap = true;
  if (spec.bucket) return;
  spec.bucket = usual_bucket;
  spec.first_bucket = usual_first_bucket;
}

void remove_price(Counterfactual& setting, const Blueprint& /*blueprint*/) {
  setting.scenario.cluster.network.collective.per_step = setting.scenario.cluster.network.collective.per_tensor = 0;
}

/// Of loader processes, in every epoch.
void remove_start_up(Counterfactual& setting, const Blueprint& /*blueprint*/) {
  for (auto& [name, device] : setting.scenario.devices)
    if (device.loader) device.loader->start = 0;
}

/// What holds everybody up between epochs: the serial part at their end, and the start of loaders.
void remove_serial(Counterfactual& setting, const Blueprint& blueprint) {
  setting.scenario.workload.serial_per_epoch = 0;
  remove_start_up(setting, blueprint);
}
void take_newest(Counterfactual& setting, const Blueprint& /*blueprint*/) { setting.what_if.newest_weights = true; }
/// The interval between checkpoints stays what it is where no failure is left that it could be optimal for.
void keep_interval(Counterfactual& setting, const Blueprint& blueprint) {
  std::optional<RecoverySpec>& recovery = setting.scenario.training.recovery;
  if (!recovery || !recovery->checkpoint || recovery->checkpoint->every != CheckpointSpec::Every::optimal) return;
  recovery->checkpoint->every = CheckpointSpec::Every::time;
  recovery->checkpoint->seconds = blueprint.recovery().every.seconds();
}

bool is_failure(const FaultSpec& fault) {
  return fault.kind == FaultSpec::Kind::crash || (repeats(fault) && fault.kind != FaultSpec::Kind::fail_slow);
}

/// Where failures are a cause of their own, the others.
void remove_faults(Counterfactual& setting, const Blueprint& /*blueprint*/) {
  std::vector<FaultSpec>& faults = setting.scenario.cluster.faults;
  if (setting.scenario.recovers())
    std::erase_if(faults, [](const FaultSpec& fault) { return !is_failure(fault); });
  else
    faults.clear();
}

void remove_failures(Counterfactual& setting, const Blueprint& blueprint) {
  keep_interval(setting, blueprint);
  std::erase_if(setting.scenario.cluster.faults, is_failure);
}

void free_checkpoints(Counterfactual& setting, const Blueprint& blueprint) {
  keep_interval(setting, blueprint);
  std::optional<RecoverySpec>& recovery = setting.scenario.training.recovery;
  if (!recovery || !recovery->checkpoint) return;
  recovery->checkpoint->save = recovery->checkpoint->snapshot = 0;
  recovery->checkpoint->save_is_rate = false;
}

void free_memory(Counterfactual& setting, const Blueprint& /*blueprint*/) {
  for (WorkerGroup& group : setting.scenario.cluster.workers) group.memory_bandwidth.reset();
}

void remove_compression(Counterfactual& setting, const Blueprint& /*blueprint*/) {
  setting.scenario = uncompressed(std::move(setting.scenario));
}

struct Row {
  Cause cause;
  const char *name, *label, *words;
  void (*remove)(Counterfactual&, const Blueprint&);
};
constexpr Row rows[] = {
    {Cause::jitter, "jitter", "jitter", "without jitter", remove_jitter},
    {Cause::slow_workers, "slow_workers", "slow workers", "with all workers as fast as the median one", even_workers},
    {Cause::bandwidth, "bandwidth", "bandwidth", "with unlimited bandwidth", remove_bandwidth},
    {Cause::latency, "latency", "latency", "without latency", remove_latency},
    {Cause::contention, "contention", "contention", "if no two messages shared a link", remove_contention},
    {Cause::server, "server", "the server", "with a server that takes no time", free_server},
    {Cause::serial, "serial", "the serial part of epochs", "without pauses between epochs", remove_serial},
    {Cause::staleness, "staleness", "staleness", "with every gradient computed at the newest weights", take_newest},
    {Cause::faults, "faults", "faults", "without faults", remove_faults},
    {Cause::compression, "compression", "compression", "without compression", remove_compression},
    {Cause::collectives, "collectives", "measured all-reduces", "with all-reduces that take no time", remove_collectives},
    {Cause::loaders, "loaders", "the data loader", "with batches that are there at once", remove_loaders},
    {Cause::launches, "launches", "the host", "with a host that launches in no time", remove_launches},
    {Cause::batch, "batch", "the fixed time of a batch", "with batches so large that their fixed time does not count", remove_overhead},
    {Cause::overlap, "overlap", "missing overlap", "with buckets that leave during backward", let_overlap},
    {Cause::distributed, "distributed", "the price of being distributed", "without per_step and per_tensor", remove_price},
    {Cause::start_up, "start_up", "the start of loaders", "with loaders that start in no time", remove_start_up},
    {Cause::failures, "failures", "failures", "without failures", remove_failures},
    {Cause::checkpoints, "checkpoints", "checkpoints", "with checkpoints that take no time", free_checkpoints},
    {Cause::memory, "memory", "the memory of hosts", "with unlimited memory bandwidth", free_memory},
};

bool limits_memory(const Scenario& scenario) {
  return std::ranges::any_of(scenario.cluster.workers, [](const WorkerGroup& group) { return group.memory_bandwidth.has_value(); });
}

/// Scenarios that lack what these are of do not ask for them.
bool is_asked(Cause cause, const Scenario& scenario) {
  if (cause == Cause::failures || cause == Cause::checkpoints) return scenario.recovers();
  return cause != Cause::memory || limits_memory(scenario);
}

bool compresses(const Scenario& scenario) {
  return Registry<CompressorEntry>::instance().at(scenario.training.compression.name).rule != nullptr;
}

bool has_bursts(const ClusterSpec& cluster) {
  const auto bursts = [](const std::optional<LinkSpec>& link) { return link && link->burst; };
  return cluster.network.link.burst || bursts(cluster.servers.link) || bursts(cluster.aggregators.link) ||
         std::ranges::any_of(cluster.workers, [&](const WorkerGroup& group) {
           return bursts(group.link) || std::ranges::any_of(group.rows, [&](const DeviceRow& row) { return bursts(row.link); });
         });
}

bool has_jitter(const Scenario& scenario) {
  return any_device(scenario, [](const DeviceSpec& device) { return device.jitter.name != "none"; });
}

bool starts_loaders(const Scenario& scenario) {
  return any_device(scenario, [](const DeviceSpec& device) { return device.loader && device.loader->start > 0; });
}

bool launches(const DeviceSpec& device) {
  const ComputeSpec& compute = device.compute;
  const auto of_half = [](const std::optional<HalfRates>& half) { return half && half->launch + half->issue > 0; };
  return compute.launch + compute.issue > 0 || of_half(compute.fp16) || of_half(compute.bf16);
}

/// A fixed time and one that grows with the batch; without the latter the device waits for something else, such as its host.
bool has_overhead(const Scenario& scenario) {
  return any_device(scenario,
                    [](const DeviceSpec& device) {
                      return device.compute.form == ComputeSpec::Form::affine && device.compute.overhead > 0 &&
                             device.compute.per_sample > 0;
                    }) ||
         std::ranges::any_of(scenario.cluster.workers, [](const WorkerGroup& group) {
           return std::ranges::any_of(group.rows, [](const DeviceRow& row) { return row.overhead.value_or(0) > 0; });
         });
}

std::string why_absent(Cause cause, const Scenario& scenario, const Blueprint& blueprint) {
  const SchemeEntry& scheme = *blueprint.scheme_entry;
  const Parameters& parameters = scenario.training.scheme.parameters;
  switch (cause) {
    case Cause::jitter:
      return has_jitter(scenario) ? "" : "there is no jitter";
    case Cause::slow_workers: {
      Counterfactual even{scenario, {}};
      even_workers(even, blueprint);
      return even.scenario == scenario ? "all workers are alike" : "";
    }
    case Cause::contention:
      return blueprint.sharing->contention() ? "" : "no two messages share a link (sharing: none)";
    case Cause::collectives:
      return is_measured(scenario) && blueprint.all_reduce ? "" : "no times of all-reduces were measured";
    case Cause::loaders:
      return any_device(scenario,
                        [](const DeviceSpec& device) { return device.host_to_device || (device.loader && device.loader->per_sample > 0); })
                 ? ""
                 : "batches are there at once";
    case Cause::launches:
      return any_device(scenario, launches) ? "" : "no device has times of launches";
    case Cause::batch:
      return has_overhead(scenario) ? "" : "batches have no fixed time";
    case Cause::overlap:
      return could_overlap(scenario, blueprint) ? "" : blueprint.all_reduce ? "nothing more can overlap" : "nothing is all-reduced";
    case Cause::distributed:
      return blueprint.all_reduce && scenario.cluster.network.collective.per_step + scenario.cluster.network.collective.per_tensor > 0
                 ? ""
                 : "being distributed has no price";
    case Cause::start_up:
      return starts_loaders(scenario) ? "" : "loaders start in no time";
    case Cause::server:
      return blueprint.servers > 0 || blueprint.plan.aggregation.count() > 0 ? "" : scheme.name + " has no server";
    case Cause::serial:
      return scenario.workload.serial_per_epoch > 0 || starts_loaders(scenario) ? "" : "epochs have no serial part";
    case Cause::staleness:
      return scheme.asynchronous(parameters) ? "" : "no gradient of " + scheme.name + " is stale";
    case Cause::faults:
      if (scenario.recovers() && std::ranges::all_of(scenario.cluster.faults, is_failure)) return "there are no faults but failures";
      return scenario.cluster.faults.empty() ? "there are no faults" : "";
    case Cause::failures:
      return std::ranges::any_of(scenario.cluster.faults, is_failure) ? "" : "nothing fails";
    case Cause::checkpoints:
      return scenario.training.recovery && scenario.training.recovery->checkpoint ? "" : "nothing is saved";
    case Cause::compression:
      return compresses(scenario) ? "" : "nothing is compressed";
    case Cause::memory:
      return limits_memory(scenario) ? "" : "the memory of hosts has no limit";
    default:
      return {};
  }
}

std::string why_refused(Cause cause, const Scenario& scenario, const Blueprint& blueprint, bool timing_only) {
  if (cause == Cause::contention && !is_measured(scenario) && has_bursts(scenario.cluster))
    return "contention cannot be removed from links with a burst; remove burst first";
  if (cause == Cause::contention && blueprint.sharing->by_message())
    return "contention cannot be removed from " + scenario.cluster.network.sharing.name +
           ", whose windows would go with it; use sharing: max_min";
  const bool moves_bytes = cause == Cause::bandwidth || cause == Cause::latency || cause == Cause::contention;
  if (moves_bytes && blueprint.all_reduce && is_measured(scenario)) return measured_words();
  if (cause != Cause::staleness) return {};
  const SchemeEntry& scheme = *blueprint.scheme_entry;
  const Parameters& parameters = scenario.training.scheme.parameters;
  if (!scheme.sends_gradients(parameters))
    return "contributions of workers of " + scheme.name + " are not gradients, so they cannot be recomputed at newer weights";
  if (!scheme.asynchronous(parameters)) return {};
  if (timing_only) return "needs the math, which --timing-only leaves out";
  if (blueprint.compression) return "messages are compressed, so gradients cannot be recomputed at newer weights";
  return {};
}

/// Without all causes that can be removed.
Intervention without_all(const Scenario& scenario, const Blueprint& blueprint, bool timing_only) {
  Intervention all{Cause::all, {scenario, {}}, {}, {}};
  for (const Row& row : rows) {
    // Without compression gradients can be taken again; without limits bursts do not matter.
    const bool possible =
        row.cause != Cause::staleness || (!timing_only && blueprint.scheme_entry->sends_gradients(scenario.training.scheme.parameters));
    if (possible && why_absent(row.cause, scenario, blueprint).empty()) row.remove(all.setting, blueprint);
  }
  return all;
}

/// One more worker like the median one, on a host of its own where the last host has no room for it.
void add_worker(Scenario& scenario, const Blueprint& blueprint) {
  std::vector<WorkerGroup>& groups = scenario.cluster.workers;
  const Seat median = median_worker(scenario, blueprint);
  WorkerGroup& like = groups[median.group];
  if (blueprint.plan.cell_chunks > 0) {  // all on one host, which grows
    for (WorkerGroup& group : groups) ++group.per_host;
    ++groups.back().count;
    return;
  }
  if (median.group + 1 == groups.size() && like.rows.empty()) {
    ++like.count;
    return;
  }
  WorkerGroup added = like;
  added.count = 1;
  added.same_host = false;
  if (!added.rows.empty()) added.rows = {*row_of(like, median.number)};
  groups.push_back(std::move(added));
}

/// Hosts of workers.
std::int64_t hosts_of(const ClusterSpec& cluster) {
  std::int64_t hosts = 0, free = 0;
  for (const WorkerGroup& group : cluster.workers) {
    const std::int64_t room = group.same_host ? free : 0, rest = std::max<std::int64_t>(0, group.count - room);
    const std::int64_t more = (rest + group.per_host - 1) / group.per_host;
    hosts += more;
    free = rest > 0 ? more * group.per_host - rest : room - group.count;
  }
  return hosts;
}

/// Where the worker is that `more` has in addition.
std::string place_of_more(const ClusterSpec& before, const ClusterSpec& more) {
  const std::int64_t hosts = hosts_of(more);
  const bool shared = std::ranges::any_of(before.workers, [](const WorkerGroup& group) { return group.per_host > 1; });
  return shared && hosts > hosts_of(before) ? fmt::format("alone on a host of its own, {} in all", hosts) : std::string();
}

}  // namespace

Counterfactual without(const std::vector<Cause>& causes, const Scenario& scenario, const Blueprint& blueprint) {
  Counterfactual out{scenario, {}};
  for (const Row& row : rows)
    if (std::ranges::find(causes, row.cause) != causes.end()) row.remove(out, blueprint);
  return out;
}

std::string measured_words() {
  return "times of all-reduces are measured, and may contain waiting for other ranks: links do not change them";
}

Seat median_worker(const Scenario& scenario, const Blueprint& blueprint) {
  const std::vector<double> seconds = seconds_alone(scenario, blueprint);
  std::vector<std::size_t> order(seconds.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  const auto middle = order.begin() + static_cast<std::ptrdiff_t>((order.size() - 1) / 2);
  std::ranges::nth_element(order, middle, {}, [&](std::size_t worker) { return std::pair(seconds[worker], worker); });
  return seat_of(scenario, static_cast<std::int64_t>(*middle));
}

std::vector<double> batch_seconds(const Scenario& scenario, const Blueprint& blueprint) {
  std::vector<double> seconds;
  seconds.reserve(static_cast<std::size_t>(scenario.workers()));
  for (Rank worker = 0; worker < blueprint.plan.workers; ++worker) seconds.push_back(blueprint.batch_seconds(scenario, worker));
  return seconds;
}

std::vector<Intervention> interventions(const Scenario& scenario, const Blueprint& blueprint, bool timing_only) {
  std::vector<Intervention> out{{Cause::nothing, {scenario, {}}, {}, {}}};
  for (const Row& row : rows) {
    if (!is_asked(row.cause, scenario)) continue;
    Intervention one{row.cause, {scenario, {}}, {}, why_refused(row.cause, scenario, blueprint, timing_only)};
    if (one.refused.empty()) one.absent = why_absent(row.cause, scenario, blueprint);
    if (one.refused.empty() && one.absent.empty()) row.remove(one.setting, blueprint);
    out.push_back(std::move(one));
  }
  out.push_back(without_all(scenario, blueprint, timing_only));
  return out;
}

const char* name_of(Cause cause) {
  for (const Row& row : rows)
    if (row.cause == cause) return row.name;
  return cause == Cause::all ? "all" : "nothing";
}

std::string label_of(Cause cause) {
  for (const Row& row : rows)
    if (row.cause == cause) return row.label;
  return name_of(cause);
}

std::string words_of(Cause cause) {
  for (const Row& row : rows)
    if (row.cause == cause) return row.words;
  return cause == Cause::all ? "without any of these causes" : "as it is";
}

std::vector<Change> small_changes(const Scenario& scenario, const Blueprint& blueprint) {
  std::vector<Change> out{{fmt::format("bandwidth +{:.0f} %", 100 * small_change), small_change, {scenario, {}}, {}},
                          {fmt::format("compute time -{:.0f} %", 100 * small_change), -small_change, {scenario, {}}, {}},
                          {"one worker more", 1 / static_cast<double>(scenario.workers()), {scenario, {}}, {}}};
  scale_bandwidth(out[0].setting, 1 + small_change);
  for (WorkerGroup& group : out[1].setting.scenario.cluster.workers) group.slowdown *= 1 - small_change;
  add_worker(out[2].setting.scenario, blueprint);
  out[2].place = place_of_more(scenario.cluster, out[2].setting.scenario.cluster);
  return out;
}

}  // namespace straggler

// The blueprint's part that computes: how long a batch takes on whose device, and who shares a host's cores.
#include <algorithm>

#include "scenarios/experiment/at_place.hpp"
#include "scenarios/experiment/blueprint.hpp"
#include "scenarios/experiment/cluster_facts.hpp"
#include "sim/base/registry.hpp"

namespace straggler {

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

namespace {

/// `buckets`: those that leave while backward still computes; empty: none does.
ComputeClass class_of(const DeviceSpec& device, const std::vector<Bucket>& buckets, double input_bytes) {
  ComputeClass own;
  if (!buckets.empty()) {
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
  if (device.host_to_device) own.copy_seconds_per_sample = input_bytes / *device.host_to_device;
  return own;
}

Quantum quantum_of(const JitterEvery& every) {
  switch (every.unit) {
    case JitterEvery::Unit::batch:
      return {Quantum::Unit::batch, 1, {}};
    case JitterEvery::Unit::samples:
      return {Quantum::Unit::samples, every.samples, {}};
    case JitterEvery::Unit::time:
      return {Quantum::Unit::time, 1, Time::from_seconds(every.seconds)};
    case JitterEvery::Unit::call:
      return {Quantum::Unit::call, 1, {}};
  }
  return {};
}

void add_workers(const Blueprint& blueprint, const Scenario& scenario, std::size_t g, ComputePlan& out) {
  const WorkerGroup& group = scenario.cluster.workers[g];
  const DeviceSpec& device = scenario.devices.at(group.device);
  const bool luck = device.jitter.name != "none";
  const auto rows = static_cast<std::int64_t>(std::max<std::size_t>(group.rows.size(), 1));
  const std::size_t first_worker = out.compute_of.size();
  for (std::int64_t i = 0; i < group.count; ++i) {
    const auto worker = static_cast<std::int64_t>(out.compute_of.size());
    // Without jitter, a worker's time depends on nothing of its own: whoever has its row of the population is like it.
    if (i >= rows && !luck) {
      out.compute_of.push_back(out.compute_of[first_worker + static_cast<std::size_t>(i % rows)]);
      continue;
    }
    const DeviceRow* row = row_of(group, i);
    const ComputeTime* time = row ? blueprint.row_times[g][static_cast<std::size_t>(i % rows)].get() : nullptr;
    if (!time) time = blueprint.group_times[g].get();
    std::unique_ptr<Jitter> jitter;
    if (luck) jitter = Registry<JitterEntry>::instance().at(device.jitter.name).make_of(device.jitter.parameters, worker);
    out.compute.emplace_back(*time, group.slowdown * (row ? row->slowdown : 1), std::move(jitter), quantum_of(device.every), scenario.seed,
                             worker);
    out.compute_of.push_back(static_cast<std::uint32_t>(out.compute.size() - 1));
  }
}

/// Those of the group's hosts that have fewer cores than workers.
void add_shared_hosts(const WorkerGroup& group, std::int64_t first_worker, std::vector<SharedHost>& out) {
  const double cores = static_cast<double>(group.cores_per_host.value_or(group.per_host));
  for (std::int64_t first = 0; first < group.count && cores < static_cast<double>(group.per_host); first += group.per_host) {
    SharedHost host;
    host.cores = cores;
    host.busy_waiting = group.busy_waiting;
    for (std::int64_t i = first; i < std::min(group.count, first + group.per_host); ++i)
      host.workers.push_back(static_cast<Rank>(first_worker + i));
    if (static_cast<double>(host.workers.size()) > cores) out.push_back(std::move(host));
  }
}

}  // namespace

ComputePlan Blueprint::compute_plan(const Scenario& scenario) const {
  const ClusterSpec& spec = scenario.cluster;
  const auto slows = [](const FaultSpec& fault) { return fault.kind == FaultSpec::Kind::slow; };
  ComputePlan out;
  out.compute_of.reserve(group_of.size());
  out.class_of = group_of;
  out.load_apart = scheme_entry->one_process;
  out.speeds_change = scenario.workload.serial_per_epoch > 0 || std::any_of(spec.faults.begin(), spec.faults.end(), slows);
  const std::vector<Bucket> early = spec.network.collective.overlap ? buckets : std::vector<Bucket>();
  for (std::size_t g = 0; g < spec.workers.size(); ++g) {
    const WorkerGroup& group = spec.workers[g];
    out.classes.push_back(class_of(scenario.devices.at(group.device), early, cost.input_bytes));
    add_workers(*this, scenario, g, out);
    add_shared_hosts(group, first_of_group[g], out.hosts);
  }
  return out;
}

}  // namespace straggler

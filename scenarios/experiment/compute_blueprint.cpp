// The compute part of a blueprint: the time of a batch on each device, and shared cores of hosts.
#include <algorithm>
#include <memory>
#include <utility>

#include "scenarios/experiment/at_place.hpp"
#include "scenarios/experiment/blueprint.hpp"
#include "scenarios/experiment/cluster_facts.hpp"
#include "sim/base/even_split.hpp"
#include "sim/base/registry.hpp"

namespace straggler {

namespace {

MemoryTraffic counted_traffic(const TrainingCost& training, bool half) {
  const double width = half ? 0.5 : 1;  // of a number, in 4 bytes
  return {width * training.fixed_bytes, width * training.bytes_per_sample};
}

}  // namespace

std::unique_ptr<ComputeTime> WorkloadBlueprint::compute_time(const Scenario& scenario, const ComputeSpec& spec,
                                                             const std::string& place) const {
  if (spec.form == ComputeSpec::Form::affine) return affine_time(spec.overhead, spec.per_sample);
  if (spec.form == ComputeSpec::Form::table) return table_time(spec.table, spec.launch);
  if (cost.layers.empty())
    throw_error(scenario, place,
                "a roofline counts the FLOPs of a model's layers, and workload.cost.bytes has none; write workload.cost: {model: NAME}, or "
                "an affine time or a table here");
  const TrainingCost training = training_cost(cost);
  const HalfRates* half = spec.half_rates(scenario.workload.precision);
  Roofline roofline;
  roofline.launch = half != nullptr ? half->launch : spec.launch;
  roofline.issue = (half != nullptr ? half->issue : spec.issue) * static_cast<double>(cost.operations());
  roofline.flops_per_sample = training.flops_per_sample;
  roofline.peak = half != nullptr ? half->peak : spec.peak;
  roofline.efficiency = half != nullptr ? half->efficiency : spec.efficiency;
  const MemoryTraffic traffic = counted_traffic(training, half != nullptr);
  roofline.fixed_bytes = traffic.overhead;
  roofline.bytes_per_sample = traffic.per_sample;
  roofline.memory_bandwidth = spec.memory_bandwidth;
  roofline.dense_flops_per_sample = training.dense_flops_per_sample;
  roofline.dense_efficiency = half != nullptr ? half->dense_efficiency : spec.dense_efficiency;
  roofline.memory_efficiency = spec.memory_efficiency;
  return at_place(scenario, place, [&] { return roofline_time(roofline); });
}

namespace {

/// Times a factor.
class LongerTime final : public ComputeTime {
 public:
  LongerTime(std::unique_ptr<ComputeTime> time, double factor) : time_(std::move(time)), factor_(factor) {}
  Split at(std::int64_t samples) const override {
    const Split split = time_->at(samples);
    return {factor_ * split.overhead, factor_ * split.per_sample};
  }

 private:
  std::unique_ptr<ComputeTime> time_;
  double factor_;
};

}  // namespace

/// A device's times are those of a forward and a backward pass; recomputing is a part of a forward pass more.
std::unique_ptr<ComputeTime> WorkloadBlueprint::with_recomputing(std::unique_ptr<ComputeTime> time, const DeviceSpec& device) const {
  if (recomputed == 0) return time;
  return std::make_unique<LongerTime>(std::move(time), 1 + recomputed * device.compute.forward_fraction);
}

MemoryTraffic WorkloadBlueprint::traffic_of(const Scenario& scenario, std::size_t g) const {
  const WorkerGroup& group = scenario.cluster.workers[g];
  const DeviceSpec& device = scenario.devices.at(group.device);
  if (device.memory_traffic) return *device.memory_traffic;
  if (cost.layers.empty())
    throw_error(scenario, "cluster.workers[" + std::to_string(g) + "].memory_bandwidth",
                "the bytes that a batch moves are counted from the model's layers, and workload.cost.bytes has none; write devices." +
                    group.device + ".memory_traffic: {overhead: 300MB, per_sample: 2MB} or the like");
  const MemoryTraffic traffic = counted_traffic(training_cost(cost), numerics.precision != Precision::fp32);
  const double passes = 1 + recomputed * device.compute.forward_fraction;
  return {traffic.overhead * passes, traffic.per_sample * passes};
}

double WorkloadBlueprint::forward_fraction(const DeviceSpec& device) const {
  return device.compute.forward_fraction / (1 + recomputed * device.compute.forward_fraction);
}

void WorkloadBlueprint::resolve_times(const Scenario& scenario) {
  const std::vector<WorkerGroup>& groups = scenario.cluster.workers;
  row_times.resize(groups.size());
  for (std::size_t g = 0; g < groups.size(); ++g) {
    const DeviceSpec& device = scenario.devices.at(groups[g].device);
    group_traffic.push_back(groups[g].memory_bandwidth ? traffic_of(scenario, g) : MemoryTraffic());
    group_times.push_back(with_recomputing(compute_time(scenario, device.compute, "devices." + groups[g].device + ".compute"), device));
    for (const DeviceRow& row : groups[g].rows) {
      const bool own = row.overhead || row.per_sample;
      row_times[g].push_back(own ? with_recomputing(affine_time(row.overhead.value_or(0), row.per_sample.value_or(0)), device) : nullptr);
    }
  }
}

const ComputeTime& WorkloadBlueprint::time_of(std::size_t g, std::int64_t i) const {
  if (row_times[g].empty()) return *group_times[g];
  const std::unique_ptr<ComputeTime>& own = row_times[g][static_cast<std::size_t>(i) % row_times[g].size()];
  return own ? *own : *group_times[g];
}

/// Workers of one group and one row of its population need the same time.
Batches WorkloadBlueprint::batches_by_speed_of(const Scenario& scenario) const {
  const std::vector<WorkerGroup>& groups = scenario.cluster.workers;
  const BatchSpec& batch = scenario.training.batch;
  std::vector<AlikeWorkers> kinds;
  std::vector<std::size_t> first_kind;  // [groups]
  for (std::size_t g = 0; g < groups.size(); ++g) {
    const WorkerGroup& group = groups[g];
    first_kind.push_back(kinds.size());
    const std::int64_t rows = alike_after(group);
    for (std::int64_t row = 0; row < std::min(rows, group.count); ++row) {
      const ComputeTime& time = time_of(g, row);
      const double slowdown = slowdown_of(group, row);
      const DeviceSpec& device = scenario.devices.at(group.device);
      kinds.push_back({(group.count - row + rows - 1) / rows, [&, slowdown](std::int64_t samples) {
                         return with_loading(slowdown * seconds_of(time, samples, batch.accumulate), group, device,
                                             static_cast<double>(samples), cost.input_bytes);
                       }});
    }
  }
  std::vector<BatchSplit> split = batches_by_speed(kinds, *batch.global);
  std::vector<std::uint32_t> all;
  for (std::size_t g = 0; g < groups.size(); ++g) {
    const std::int64_t rows = alike_after(groups[g]);
    for (std::int64_t i = 0; i < groups[g].count; ++i)
      all.push_back(static_cast<std::uint32_t>(split[first_kind[g] + static_cast<std::size_t>(i % rows)].size(i / rows)));
  }
  return Batches::stated(std::move(all));
}

void WorkloadBlueprint::resolve_batches(const Scenario& scenario) {
  const BatchSpec& batch = scenario.training.batch;
  if (batch.split == BatchSpec::Split::by_speed) {
    batches = at_place(scenario, "training.batch.split", [&] { return batches_by_speed_of(scenario); });
    return;
  }
  batches = Batches(batch.per_worker.value_or(1));
  if (batch.global) {
    const auto even = EvenSplit<std::int64_t>::of(*batch.global, scenario.workers());
    batches = Batches(even.least, even.larger);
  }
  const auto own = [](const WorkerGroup& group) {
    return group.batch || std::ranges::any_of(group.rows, [](const DeviceRow& row) { return row.batch > 0; });
  };
  const bool stated = batch.split != BatchSpec::Split::unstated || batch.rebalance_every;
  if (!stated && std::ranges::none_of(scenario.cluster.workers, own)) return;
  std::vector<std::uint32_t> all;
  for (const WorkerGroup& group : scenario.cluster.workers)
    for (std::int64_t i = 0; i < group.count; ++i) {
      const DeviceRow* const row = row_of(group, i);
      const std::int64_t usual = group.batch.value_or(batches.of(static_cast<Rank>(all.size())));
      all.push_back(static_cast<std::uint32_t>(row && row->batch > 0 ? row->batch : usual));
    }
  batches = Batches::stated(std::move(all));
}

namespace {

/// `forward`: its part of a batch's time. `buckets`: those that leave while backward still computes, in the order of forward; empty: none.
/// `last`: the share of a batch's time in which its gradients become ready: that of its last micro-batch.
ComputeClass class_of(const DeviceSpec& device, double forward, const std::vector<WorkBucket>& buckets, double last, double input_bytes) {
  ComputeClass own;
  own.forward = forward;
  if (!buckets.empty()) {
    own.milestones.clear();
    for (auto bucket = buckets.rbegin(); bucket != buckets.rend(); ++bucket) {
      const double ready = forward + (1 - forward) * bucket->backward_until;
      own.milestones.push_back(last < 1 ? 1 - last + last * ready : ready);
    }
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

/// `i`: of the group.
WorkerCompute compute_of(const Blueprint& blueprint, const Scenario& scenario, std::size_t g, std::int64_t i, Rank worker) {
  const WorkerGroup& group = scenario.cluster.workers[g];
  const DeviceSpec& device = scenario.devices.at(group.device);
  std::unique_ptr<Jitter> jitter;
  if (device.jitter.name != "none")
    jitter = Registry<JitterEntry>::instance().at(device.jitter.name).make_of(device.jitter.parameters, {worker, scenario.seed});
  return WorkerCompute(blueprint.time_of(g, i), slowdown_of(group, i), std::move(jitter), quantum_of(device.every), scenario.seed, worker,
                       blueprint.plan.accumulate);
}

void add_workers(const Scenario& scenario, std::size_t g, ComputePlan& out) {
  const WorkerGroup& group = scenario.cluster.workers[g];
  const bool luck = scenario.devices.at(group.device).jitter.name != "none";
  const std::int64_t rows = alike_after(group);
  const std::size_t first_worker = out.compute_of.size();
  for (std::int64_t i = 0; i < group.count; ++i) {
    // Without jitter, a worker's time depends only on its row of the population: workers with the same row are equal.
    const bool alike = i >= rows && !luck;
    out.compute_of.push_back(static_cast<Rank>(first_worker + static_cast<std::size_t>(alike ? i % rows : i)));
  }
}

/// Calls visit(group, its workers) for each host of the groups that `counts`. What a host has in common, all of its groups say.
template <class Counts, class Visit>
void each_host(const ClusterSpec& spec, Counts counts, Visit visit) {
  const std::vector<std::int64_t> taken = spec.seats_taken();
  const WorkerGroup* last = nullptr;
  std::vector<Rank> workers;
  const auto close = [&] {
    if (!workers.empty()) visit(*last, std::exchange(workers, {}));
  };
  Rank worker = 0;
  for (std::size_t g = 0; g < spec.workers.size(); ++g) {
    const WorkerGroup& group = spec.workers[g];
    if (!counts(group)) {
      worker += static_cast<Rank>(group.count);
      continue;
    }
    for (std::int64_t i = 0; i < group.count; ++i, ++worker) {
      if ((taken[g] + i) % group.per_host == 0) close();
      last = &group;
      workers.push_back(worker);
    }
  }
  close();
}

/// Hosts that have fewer cores than workers, whose memory has a limit, or whose workers slow each other.
std::vector<SharedHost> shared_hosts(const ClusterSpec& spec) {
  std::vector<SharedHost> out;
  const auto cores = [](const WorkerGroup& group) { return group.cores_per_host.value_or(group.per_host); };
  const auto shares = [&](const WorkerGroup& group) {
    return cores(group) < group.per_host || group.memory_bandwidth || group.neighbours > 0;
  };
  each_host(spec, shares, [&](const WorkerGroup& group, std::vector<Rank> workers) {
    const auto all = static_cast<std::int64_t>(workers.size());
    if (all > cores(group) || group.memory_bandwidth || (group.neighbours > 0 && all > 1))
      out.push_back({static_cast<double>(cores(group)), group.neighbours, group.busy_waiting,
                     group.memory_bandwidth.value_or(0) / static_cast<double>(Time::ticks_per_second), std::move(workers)});
  });
  return out;
}

/// Hosts whose loaders have more processes than cores. Where one process loads for all, that of worker 0.
std::vector<LoaderHost> loader_hosts(const ClusterSpec& spec, const ComputePlan& plan) {
  std::vector<LoaderHost> out;
  const auto has_cores = [](const WorkerGroup& group) { return group.loader_cores.has_value(); };
  each_host(spec, has_cores, [&](const WorkerGroup& group, std::vector<Rank> workers) {
    std::erase_if(workers, [&](Rank worker) {
      return plan.classes[plan.class_of[index_of(worker)]].load_seconds_per_sample == 0 || (plan.load_apart && worker > 0);
    });
    std::int64_t processes = 0;
    for (const Rank worker : workers) processes += plan.classes[plan.class_of[index_of(worker)]].processes();
    if (processes > *group.loader_cores) out.push_back({static_cast<double>(*group.loader_cores), std::move(workers)});
  });
  return out;
}

}  // namespace

double Blueprint::share_of_last_micro_batch(std::size_t g) const {
  if (plan.accumulate == 1) return 1;
  const ComputeTime& time = time_of(g, 0);
  const std::int64_t batch = plan.batches.usual(first_of_group[g]);
  return seconds_of(time, last_micro_batch(batch, plan.accumulate), 1) / seconds_of(time, batch, plan.accumulate);
}

std::vector<double> Blueprint::ends_of_micro_batches(std::size_t g) const {
  const ComputeTime& time = time_of(g, 0);
  const std::int64_t batch = plan.batches.usual(first_of_group[g]), count = std::min(batch, plan.accumulate);
  const auto pieces = EvenSplit<std::int64_t>::of(batch, count);
  std::vector<double> ends;
  double done = 0;
  for (std::int64_t micro = 0; micro < count; ++micro) ends.push_back(done += seconds_of(time, pieces.size(micro), 1));
  for (std::size_t micro = 0; micro < ends.size(); ++micro)
    ends[micro] = done > 0 ? ends[micro] / done : static_cast<double>(micro + 1) / static_cast<double>(ends.size());
  return ends;
}

double Blueprint::batch_seconds(const Scenario& scenario, Rank worker, std::int64_t samples) const {
  const std::size_t g = group_of[index_of(worker)];
  const std::int64_t i = worker - first_of_group[g];
  return slowdown_of(scenario.cluster.workers[g], i) * seconds_of(time_of(g, i), samples, plan.accumulate);
}

ComputePlan Blueprint::compute_plan(const Scenario& scenario) const {
  const ClusterSpec& spec = scenario.cluster;
  ComputePlan out;
  std::vector<Rank> first;  // [groups]
  out.compute_of.reserve(group_of.size());
  out.class_of = group_of;
  out.load_apart = scheme_entry->one_process;
  if (const CollectiveSpec& collective = spec.network.collective; plan.workers > 1)
    out.price = Time::from_seconds(collective.per_step + collective.per_tensor * static_cast<double>(cost.tensors().size()));
  if (spec.network.collective.overlap && buckets.size() > 1 && plan.workers > 1) out.interference = spec.network.collective.interference;
  out.speeds_change = scenario.workload.serial_per_epoch > 0 || std::ranges::any_of(spec.faults, slows_workers);
  const std::vector<WorkBucket> early = spec.network.collective.overlap && !plan.sharding.on() ? plan.buckets : std::vector<WorkBucket>();
  for (std::size_t g = 0; g < spec.workers.size(); ++g) {
    const WorkerGroup& group = spec.workers[g];
    const DeviceSpec& device = scenario.devices.at(group.device);
    out.classes.push_back(class_of(device, forward_fraction(device), early, share_of_last_micro_batch(g), cost.input_bytes));
    if (plan.accumulate > 1) out.classes.back().micro_batches = ends_of_micro_batches(g);
    out.classes.back().traffic = group_traffic[g].overhead;
    out.classes.back().traffic_per_sample = group_traffic[g].per_sample;
    first.push_back(static_cast<Rank>(out.compute_of.size()));
    add_workers(scenario, g, out);
  }
  out.compute = SparseArray<WorkerCompute>(out.compute_of.size());
  out.make = [this, &scenario, first](Rank worker) {
    const std::size_t g = group_of[index_of(worker)];
    return compute_of(*this, scenario, g, worker - first[g], worker);
  };
  out.hosts = shared_hosts(spec);
  out.loader_hosts = loader_hosts(spec, out);
  return out;
}

}  // namespace straggler

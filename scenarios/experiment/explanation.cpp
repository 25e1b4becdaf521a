#include "scenarios/experiment/explanation.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <set>

#include "models/zoo/architecture.hpp"
#include "scenarios/experiment/advice.hpp"
#include "scenarios/experiment/blueprint.hpp"
#include "scenarios/experiment/device_memory.hpp"
#include "scenarios/experiment/memory.hpp"
#include "sim/base/registry.hpp"
#include "sim/training/shards.hpp"

namespace straggler {

namespace {

std::string described_aggregators(const Blueprint& blueprint) {
  const Rank workers = blueprint.plan.workers, count = blueprint.plan.aggregation.count();
  const Rank least = workers / count, most = (workers + count - 1) / count;
  const std::string groups = blueprint.plan.racks == count && count > 1 ? "one a rack"
                             : most > least ? "groups of " + std::to_string(least) + " and " + std::to_string(most) + " workers"
                                            : "groups of " + std::to_string(least);
  return std::to_string(count) + ": " + groups + "; " +
         (blueprint.aggregators_share ? "each on the host of the first of its workers" : "on hosts of their own");
}

/// For rooflines, built-in and others, without figures for 16 bits: they compute in 16 bits as fast as in FP32.
void add_precision_warnings(const Scenario& scenario, std::vector<std::string>& warnings) {
  const NumberFormat precision = scenario.workload.precision;
  if (precision == NumberFormat::fp32) return;
  std::set<std::string> seen;
  for (const WorkerGroup& group : scenario.cluster.workers) {
    const ComputeSpec& compute = scenario.devices.at(group.device).compute;
    if (compute.form != ComputeSpec::Form::roofline || compute.half_rates(precision) != nullptr || !seen.insert(group.device).second)
      continue;
    const std::string format = precision == NumberFormat::bf16 ? "bf16" : "fp16";
    warnings.push_back(
        fmt::format("device {0} has no {1} figures, so its batches take as long as in fp32; give them as devices.{0}.compute.roofline.{1}: "
                    "{{peak: ..., "
                    "efficiency: ...}}, or measured times as a table",
                    group.device, format));
  }
}

/// The images of the costs; where these are small and not the data's, how others are had.
std::string cost_input(const Kind& model, const Blueprint& blueprint) {
  constexpr std::size_t usual_side = 224;  // of ImageNet, which is mostly meant
  const ModelEntry& entry = Registry<ModelEntry>::instance().at(model.name);
  if (!entry.cost_network) return {};
  const Shape image = entry.cost_network(complete(entry.cost_parameters, model.parameters)).input;
  if (image.height == 1 || image.width == 1) return {};
  const std::string text = shape_text(image);
  const std::vector<std::size_t> of_data = blueprint.data.shape;
  const bool given = model.parameters.has("input") || of_data == std::vector<std::size_t>{image.channels, image.height, image.width};
  if (given || image.height >= usual_side) return text;
  for (const ModelEntry& other : Registry<ModelEntry>::instance().entries())
    if (other.has_own_cost() && other.name.starts_with(model.name + "_")) return text + ", not those of " + other.name;
  return text + "; of others by {kind: layers, input: [3, 224, 224], layers: FILE}, or by {kind: file, path: FILE} (docs/networks.md)";
}

/// They are there for background traffic and for all-reduces by servers.
std::string hosts_of_idle(const ServerSpec& servers) {
  if (servers.host_of_worker || servers.on_worker_hosts) return "";
  return servers.count == 1 ? "; its host and its link stay in the network, idle; set cluster.servers.count to 0 to be without them"
                            : "; their hosts and links stay in the network, idle; set cluster.servers.count to 0 to be without them";
}

}  // namespace

namespace {

Explanation::Sharded described_sharding(const TrainingPlan& plan) {
  Explanation::Sharded out;
  if (!plan.sharding.on()) return out;
  const ShardTraffic traffic = shard_traffic(plan);
  out.stage = plan.sharding.stage;
  out.workers = plan.sharding.ways;
  if (out.stage == 3) out.units = plan.buckets.size();
  for (const WorkBucket& unit : plan.buckets)
    out.largest_bytes = std::max(out.largest_bytes, static_cast<double>(unit.numbers * plan.sharding.gathered_bytes));
  out.gathered = traffic.gathered;
  out.reduced = traffic.reduced;
  out.between_hosts = traffic.between_hosts;
  return out;
}

}  // namespace

Explanation explain(const Scenario& scenario, const Blueprint& blueprint, const PartitionFacts& partition) {
  Explanation out;
  const TrainingMemory memory = training_memory(scenario, blueprint);
  for (std::size_t g = 0; g < scenario.cluster.workers.size(); ++g) {
    const WorkerGroup& group = scenario.cluster.workers[g];
    const DeviceSpec& device = scenario.devices.at(group.device);
    const LinkSpec& link = group.link ? *group.link : scenario.cluster.network.link;
    const std::int64_t batch = blueprint.plan.batches.usual(blueprint.first_of_group[g]);
    Explanation::Group row;
    row.count = group.count;
    row.device = group.device;
    row.batch = batch;
    row.batch_seconds = group.slowdown * seconds_of(*blueprint.group_times[g], batch, blueprint.plan.accumulate);
    const MemoryTraffic& traffic = blueprint.group_traffic[g];
    row.traffic = traffic.overhead * static_cast<double>(std::min(batch, blueprint.plan.accumulate)) +
                  traffic.per_sample * static_cast<double>(batch);
    row.jitter = device.jitter.name;
    row.jitter_mean = Registry<JitterEntry>::instance().at(device.jitter.name).mean_of(device.jitter.parameters);
    row.bytes_per_second = link.up;
    row.latency = link.latency;
    row.memory = device.memory;
    row.held_samples = largest_in_group(scenario, blueprint, g);
    row.held = memory.with(row.held_samples);
    row.counts_activations = counts_activations(blueprint);
    if (device.memory) row.largest_batch = memory.largest_batch(*device.memory);
    row.rows = group.rows.size();
    out.groups.push_back(std::move(row));
  }
  out.scheme = scenario.training.scheme.name;
  out.scheme_summary = blueprint.scheme_entry->summary;
  out.topology = scenario.cluster.network.topology.name;
  const Fabric& fabric = *blueprint.fabric;
  out.facts = fabric.facts();
  out.hosts = fabric.hosts();
  out.links = fabric.links();
  if (fabric.ranks() > 1) {
    Route route;
    const Rank to = blueprint.servers > 0 ? blueprint.plan.workers : std::max(blueprint.plan.workers - 1, 1);
    fabric.route(0, to, route);
    for (const LinkId id : route.links) {
      const LinkDescription link = fabric.link(id);
      out.route_example += (out.route_example.empty() ? link.from : std::string()) + " -> " + link.to;
    }
  }
  if (blueprint.plan.aggregation.count() > 0) out.aggregators = described_aggregators(blueprint);
  out.data_origin = blueprint.data.origin;
  out.learns = blueprint.has_data();
  out.partition = partition;
  out.classes = blueprint.data.classes;
  if (blueprint.data.symbols > 0) out.context = blueprint.data.features;
  out.collective = blueprint.described_collective(scenario);
  out.reduced_bytes = blueprint.reduced_bytes;
  out.parameters = blueprint.model ? blueprint.model->parameters() : 0;
  if (blueprint.model) out.engine = blueprint.model->engine();
  out.message_bytes = blueprint.model_bytes;
  if (blueprint.compression) {
    out.compression = blueprint.compressor->name;
    out.compressed_bytes = blueprint.message_bytes_compressed();
    out.compresses_answers = blueprint.compression->exchange.answers;
    if (blueprint.gathers()) out.collective = "all-gather of compressed messages around a ring";
  }
  out.train_samples = blueprint.data.train;
  out.test_samples = blueprint.data.test;
  out.batch_per_worker = blueprint.plan.batches.typical();
  out.batch_of_all = blueprint.plan.batches.total(blueprint.plan.workers);
  out.stated_batches = blueprint.plan.batches.are_stated();
  out.accumulate = blueprint.plan.accumulate;
  if (blueprint.plan.epoch_samples > 0)
    out.updates_per_epoch = blueprint.scheme_entry->updates_per_epoch(scenario.training.scheme.parameters, blueprint.plan);
  if (scenario.workload.exchange_statistics && blueprint.statistics_bytes == 0)
    out.warnings.push_back("batch_norm.exchange has no effect: the model whose messages are sent has no running statistics");
  out.warnings.insert(out.warnings.end(), blueprint.notes.begin(), blueprint.notes.end());
  out.training_warnings = blueprint.training_notes;
  add_precision_warnings(scenario, out.warnings);
  if (blueprint.model) out.layers = blueprint.model->cost();
  if (scenario.workload.cost.model) {
    out.cost_model = scenario.workload.cost.model->name;
    out.cost_parameters = blueprint.cost.parameters();
    out.cost_input = cost_input(*scenario.workload.cost.model, blueprint);
    out.layers.clear();
    for (const CostLayer& layer : blueprint.cost.layers)
      out.layers.push_back({layer.name, layer.parameters(), layer.forward_flops, layer.activation_bytes});
  }
  for (const Bucket& bucket : blueprint.buckets) out.bucket_bytes.push_back(bucket.bytes);
  out.sharded = described_sharding(blueprint.plan);
  out.failures = failure_forms(scenario, blueprint);
  out.timing_bytes = timing_bytes(blueprint);
  if (blueprint.model) out.memory_bytes = math_bytes(blueprint);
  const CollectiveShape no_servers{2, 0, {}};
  const bool reduces_by_servers = blueprint.all_reduce && !blueprint.all_reduce->unfit(no_servers).empty();
  if (scenario.cluster.network.topology.name == "file" &&
      (scenario.cluster.servers.link || std::any_of(scenario.cluster.workers.begin(), scenario.cluster.workers.end(),
                                                    [](const WorkerGroup& group) { return group.link.has_value(); })))
    out.warnings.push_back("topology file gives the bandwidth and latency of every cable: the links of workers and servers are not used");
  if (const ServerSpec& servers = scenario.cluster.servers; servers.count > 0 && blueprint.servers == 0 && !reduces_by_servers)
    out.warnings.push_back("cluster.servers is not used: " + out.scheme + " exchanges without a server" + hosts_of_idle(servers));
  for (std::size_t i = 0; i < scenario.cluster.faults.size(); ++i)
    if (const FaultSpec& fault = scenario.cluster.faults[i];
        fault.every.name == "constant" && fault.of == UnitKind::worker && scenario.workers() > 1)
      out.warnings.push_back(fmt::format(
          "cluster.faults[{}].every is the same time for every worker, so all are hit at the same moment; write {{kind: exponential, mean: "
          "{}}} for failures at random moments",
          i, format_quantity(fault.every.parameters.number("mean"), Dimension::time)));
  if (scenario.cluster.aggregators != AggregatorSpec{} && blueprint.plan.aggregation.count() == 0)
    out.warnings.push_back("cluster.aggregators is not used: " + out.scheme + " has no aggregators");
  const CollectiveSpec& collective = scenario.cluster.network.collective;
  if (blueprint.all_reduce && collective.parameters.has("slices") && collective.parameters.count("slices") > 1 &&
      collective.start != CollectiveSpec::Start::as_they_come)
    out.warnings.push_back(
        fmt::format("cluster.network.collective.algorithm.slices is {}, and each slice pays a latency that nothing hides where ranks start "
                    "together; write fidelity: stepwise and start: as_they_come beside algorithm, where other slices hide it, or slices: 1",
                    collective.parameters.count("slices")));
  const Parameters& compression = scenario.training.compression.parameters;
  if (compression.has("direction") && compression.text("direction") == "both" && blueprint.servers == 0)
    out.warnings.push_back("training.compression.direction: both has no effect: " + out.scheme + " has no server that answers");
  if (blueprint.plan.weighs_batches && blueprint.has_data() && !blueprint.streams.shared && scenario.workload.partition.name != "iid")
    out.warnings.push_back(fmt::format(
        "workload.data.partition: {} gives parts that do not follow the batches b_i, and each gradient counts its batch: training "
        "minimizes Σ b_i f_i / Σ b_i, f_i the mean loss over worker i's part; iid makes parts in proportion to the batches",
        scenario.workload.partition.name));
  const auto largest_batch = static_cast<std::uint64_t>(blueprint.plan.batch_of(blueprint.plan.batches.largest()));
  const std::vector<std::uint64_t>& parts = blueprint.streams.sizes;
  const auto too_small = [&] {
    if (!blueprint.plan.batches.are_stated()) return *std::min_element(parts.begin(), parts.end()) < largest_batch;
    for (Rank worker = 0; worker < blueprint.plan.workers; ++worker)
      if (parts[index_of(worker)] < static_cast<std::uint64_t>(blueprint.plan.batch_of(worker))) return true;
    return false;
  };
  if (!parts.empty() && too_small())
    out.warnings.push_back("some workers have fewer samples than one batch of " + std::to_string(largest_batch) +
                           ": each of their batches is their whole part of the data");
  const EvaluateSpec& evaluate = scenario.training.evaluate;
  const bool repeated = evaluate.every_epochs || evaluate.every_updates || evaluate.every_simulated_time;
  if (!repeated && evaluate.sustain > 1 && (scenario.training.stop.target_accuracy || !evaluate.thresholds.empty()))
    out.warnings.push_back("evaluate.every is not set, so there is one evaluation, at the end: no target or threshold can hold for " +
                           std::to_string(evaluate.sustain));
  for (std::string& sentence : advice(scenario, blueprint)) out.warnings.push_back(std::move(sentence));
  return out;
}

}  // namespace straggler

// The blueprint's part that reduces: which all-reduce, over which links, in which buckets.
#include <algorithm>

#include "scenarios/experiment/at_place.hpp"
#include "scenarios/experiment/blueprint.hpp"
#include "scenarios/experiment/cluster_facts.hpp"
#include "scenarios/experiment/explanation.hpp"
#include "scenarios/experiment/measured_collective.hpp"
#include "scenarios/schema/reader.hpp"
#include "sim/base/registry.hpp"
#include "sim/collectives/fluid.hpp"

namespace straggler {

namespace {

/// Between two hosts, if there are two; and inside one, if the first holds two workers: the slowest way between neighbours, and back from
/// the last to the first, as a ring takes them.
UniformLinks measured_links(Transport& transport, std::size_t workers) {
  const Fabric& fabric = transport.fabric();
  UniformLinks out;
  Route route;
  Carriage carriage;
  const auto measure = [&](Rank from, Rank to, double& alpha, double& beta) {
    fabric.route(from, to, route);
    alpha = std::max(alpha, route.latency.seconds());
    for (const LinkId link : route.links) beta = std::max(beta, 1 / fabric.bytes_per_second(link));
    transport.plan(from, to, 1e6, carriage);  // a message may have a limit of its own: a window, a connection
    beta = std::max(beta, 1 / carriage.most_bytes_per_second);
  };
  Rank other = 1;
  while (index_of(other + 1) < workers && fabric.host(other) == fabric.host(0)) ++other;
  measure(0, other, out.alpha, out.beta);
  for (Rank inside = 1; index_of(inside) < workers && fabric.host(inside) == fabric.host(0); ++inside)
    for (const Rank from : {inside - 1, Rank{0}}) measure(from, inside, out.intra_alpha, out.intra_beta);
  return out;
}

/// A model's tensors, and what backward computes for each of its layers, in FLOPs of forward.
struct Gradients {
  std::vector<GradientTensor> tensors;
  std::vector<double> flops;
};

Gradients gradients_of(const Scenario& scenario, const WorkloadBlueprint& workload) {
  const CostTable& cost = workload.cost;
  if (cost.layers.empty())
    throw_error(scenario, "cluster.network.collective.bucket",
                "buckets are filled with a model's tensors, which workload.cost.bytes does not have; write workload.cost: {model: NAME}");
  Gradients out;
  for (std::size_t layer = 0; layer < cost.layers.size(); ++layer)
    for (const TensorInfo& tensor : cost.layers[layer].tensors) {
      std::uint64_t size = workload.number_bytes();
      for (const std::size_t side : tensor.shape) size *= side;
      out.tensors.push_back({size, layer});
    }
  out.flops = workload.backward_flops(scenario.devices.at(scenario.cluster.workers[0].device));
  return out;
}

}  // namespace

namespace {
/// They leave in the order of backward, and forward passes them the other way.
std::vector<WorkBucket> in_order_of_forward(const std::vector<Bucket>& buckets, std::uint64_t number_bytes) {
  std::vector<WorkBucket> out;
  for (std::size_t i = buckets.size(); i-- > 0;)
    out.push_back({buckets[i].bytes, buckets[i].bytes / number_bytes, i == 0 ? 1 : 1 - buckets[i - 1].ready, buckets[i].ready});
  return out;
}
}  // namespace

/// Of a compressed gradient each bucket is a vector of its own. Buckets hold tensors from the last one on.
void Blueprint::compress_buckets() {
  const std::uint64_t parameters = priced_parameters();
  const std::vector<TensorInfo> tensors = cost.tensors();
  std::uint64_t end = parameters;
  std::vector<std::uint64_t> bounds = {end};
  for (Bucket& bucket : buckets) {
    const std::uint64_t count = bucket.bytes / number_bytes();
    const std::vector<TensorInfo> within = tensors_within(tensors, end - count, end);
    bucket.compressed_share = static_cast<double>(count) / static_cast<double>(parameters);
    bucket.bytes = compressor->bytes(compression->scalars, {count, within});
    compression->buckets.bytes += bucket.bytes;
    bounds.push_back(end -= count);
  }
  if (compressor->value_by_value) return;
  std::ranges::reverse(bounds);
  compression->buckets.bounds = std::move(bounds);
  compression->buckets.end = parameters;
}

namespace {

/// The idle network on which a single all-reduce is timed.
struct IdleNetwork {
  IdleNetwork(const Blueprint& blueprint, const Scenario& scenario)
      : network(queue), transport(*blueprint.fabric, network, *blueprint.sharing, segments_of(scenario), blueprint.connection(scenario)) {
    const NetworkSpec& spec = scenario.cluster.network;
    costs.reduce_seconds_per_byte = inverse(spec.collective.reduce_rate);
    costs.per_message = Time::from_seconds(spec.protocol.per_message);
    costs.per_byte = inverse(spec.protocol.copy_rate);
    costs.launch = Time::from_seconds(spec.collective.launch);
  }
  EventQueue queue;
  Network network;
  Transport transport;
  CollectiveCosts costs;
};

}  // namespace

/// The tensors of each bucket. The time of backward is the first worker's.
std::vector<Bucket> Blueprint::merged_gradients(const Scenario& scenario) const {
  using Merge = CollectiveSpec::Merge;
  const CollectiveSpec& spec = scenario.cluster.network.collective;
  const Gradients gradients = gradients_of(scenario, *this);
  if (spec.merge == Merge::size)
    return make_buckets(gradients.tensors, gradients.flops, spec.first_bucket.value_or(*spec.bucket), *spec.bucket);
  const WorkerGroup& group = scenario.cluster.workers[0];
  const DeviceRow* const row = row_of(group, 0);
  const double backward = (1 - forward_fraction(scenario.devices.at(group.device))) * group.slowdown * (row ? row->slowdown : 1) *
                          seconds_of(time_of(0, 0), last_micro_batch(plan.batches.usual(0), plan.accumulate));
  if (spec.merge == Merge::time) return merge_by_time(gradients.tensors, gradients.flops, backward, spec.cycle, *spec.bucket);
  IdleNetwork idle(*this, scenario);
  const CollectiveEntry& entry = all_reduce ? *all_reduce : cheapest_collective(model_bytes, shape, uniform, idle.costs, idle.transport);
  const Parameters parameters = collective_parameters(scenario, entry);
  const auto seconds = [&](std::uint64_t bytes) {
    return collective_seconds(entry, parameters, bytes, shape, uniform, idle.costs, idle.transport);
  };
  const double start = seconds(number_bytes());
  const double per_byte = std::max(0.0, seconds(model_bytes) - start) / static_cast<double>(model_bytes);
  return merge_gradients(gradients.tensors, gradients.flops,
                         {backward, spec.merge_start.value_or(start), spec.merge_rate ? 1 / *spec.merge_rate : per_byte});
}

/// Settings that need messages of their own, and settings that exclude them.
void Blueprint::check_stepwise(const Scenario& scenario) const {
  const CollectiveSpec& spec = scenario.cluster.network.collective;
  if (scenario.cluster.network.protocol.cores && spec.fidelity != CollectiveSpec::Fidelity::stepwise)
    throw_error(scenario, "cluster.network.protocol.cores",
                "are shared message by message, but the all-reduce is one flow; add cluster.network.collective.fidelity: stepwise");
  if (sharing->by_message() && spec.fidelity != CollectiveSpec::Fidelity::stepwise)
    throw_error(scenario, "cluster.network.sharing",
                scenario.cluster.network.sharing.name +
                    " applies to single messages, but the all-reduce is one flow; add cluster.network.collective.fidelity: stepwise");
  if (spec.start != CollectiveSpec::Start::as_they_come) return;
  const std::vector<FaultSpec>& faults = scenario.cluster.faults;
  for (std::size_t i = 0; i < faults.size(); ++i)
    if (changes_members(faults[i]))
      throw_error(scenario, "cluster.faults[" + std::to_string(i) + "].kind",
                  "with collective.start: as_they_come there is no moment between two updates at which a worker could leave or join; use "
                  "start: together, or the faults slow and link");
}

/// The algorithm: the one given, or the cheapest for these bytes on these links.
void Blueprint::resolve_collective(const Scenario& scenario) {
  const CollectiveSpec& spec = scenario.cluster.network.collective;
  if (plan.workers == 1 || !scheme_entry->all_reduces(scenario.training.scheme.parameters)) return;
  check_stepwise(scenario);
  shape.workers = static_cast<std::size_t>(plan.workers);
  // A server that the scheme talks to does not serve the all-reduce.
  if (servers == 0) shape.servers = static_cast<std::size_t>(scenario.cluster.servers.count);
  if (shares_hosts(scenario.cluster))
    for (Rank worker = 0; worker < plan.workers; ++worker) shape.host_of.push_back(fabric->host(worker));
  IdleNetwork idle(*this, scenario);
  uniform = measured_links(idle.transport, shape.workers);
  if (!shape.host_of.empty() && fabric->cards() > fabric->hosts())
    shape.workers_per_card = static_cast<std::size_t>(scenario.cluster.network.intra->card->workers);
  uniform.gamma = idle.costs.reduce_seconds_per_byte;

  if (compression && compression->gathered && spec.algorithm != "auto" && spec.algorithm != "ring")
    throw_error(scenario, "cluster.network.collective.algorithm",
                "messages compressed by " + compressor->name + " are gathered around a ring, not reduced by " + spec.algorithm +
                    "; use auto or ring, or training.compression: none");
  const bool measured = spec.algorithm == measured_algorithm;
  constexpr const char* measured_path = "cluster.network.collective.path";
  if (measured)
    all_reduce = at_place(scenario, measured_path, [&] { return &measured_collective(spec.parameters.text("path")); });
  else if (spec.algorithm != "auto") {
    all_reduce = &Registry<CollectiveEntry>::instance().at(spec.algorithm);
    if (const std::string lacks = all_reduce->unfit(shape); !lacks.empty())
      throw_error(scenario, "cluster.network.collective.algorithm", spec.algorithm + " " + lacks);
    if (const std::string wrong = all_reduce->contradiction(collective_parameters(scenario, *all_reduce)); !wrong.empty())
      throw_error(scenario, "cluster.network.collective.algorithm", spec.algorithm + " " + wrong);
  }
  // Of two all-reduces one after another, the larger one.
  reduced_bytes = compression ? std::max(compression->bytes - compression->right_bytes, compression->right_bytes) : model_bytes;
  // Factors are of whole matrices: they go in one piece.
  const bool in_units = scenario.training.sharding && scenario.training.sharding->stage == 3;  // buckets leave by units
  const bool merges = (spec.bucket || spec.merge == CollectiveSpec::Merge::mg_wfbp) && !in_units;
  if (merges && !(compression && compression->factors)) {
    buckets = merged_gradients(scenario);
    plan.buckets = in_order_of_forward(buckets, number_bytes());
    if (compression) compress_buckets();
    reduced_bytes = 0;
    for (const Bucket& bucket : buckets) reduced_bytes = std::max(reduced_bytes, bucket.bytes);
  }
  if (measured) {
    std::vector<std::uint64_t> sizes;
    for (const Bucket& bucket : buckets) sizes.push_back(bucket.bytes);
    if (buckets.empty()) sizes.push_back(reduced_bytes);
    at_place(scenario, measured_path, [&] { require_measured(spec.parameters.text("path"), sizes); });
  }
  if (all_reduce) return;
  all_reduce = &cheapest_collective(reduced_bytes, shape, uniform, idle.costs, idle.transport);
}

/// Those of the scenario if it names the entry, else the defaults.
Parameters Blueprint::collective_parameters(const Scenario& scenario, const CollectiveEntry& entry) const {
  const CollectiveSpec& spec = scenario.cluster.network.collective;
  return complete(entry.parameters, spec.algorithm == entry.name ? spec.parameters : Parameters());
}

std::vector<CollectiveTime> Blueprint::collective_times(const Scenario& scenario) const {
  std::vector<CollectiveTime> times;
  if (!all_reduce || gathers() || plan.sharding.on() || all_reduce->name == measured_algorithm) return times;
  IdleNetwork idle(*this, scenario);
  for (const CollectiveEntry& entry : Registry<CollectiveEntry>::instance().entries()) {
    if (!entry.unfit(shape).empty()) continue;
    const Parameters parameters = collective_parameters(scenario, entry);
    const auto bytes = static_cast<double>(reduced_bytes);
    times.push_back({entry.name, collective_seconds(entry, parameters, reduced_bytes, shape, uniform, idle.costs, idle.transport),
                     entry.choice ? entry.choice(bytes, shape, uniform, parameters) : std::string()});
  }
  std::ranges::stable_sort(times, {}, &CollectiveTime::seconds);
  return times;
}

std::string Blueprint::described_collective(const Scenario& scenario) const {
  if (!all_reduce) return "none";
  if (plan.sharding.on())
    return std::string("all-gathers and reduce-scatters: ") +
           (scenario.cluster.network.collective.algorithm == "auto" ? "for each size the fastest" : all_reduce->name);
  if (all_reduce->name == measured_algorithm)
    return "measured: times of a file, which may contain waiting for other ranks; links and algorithms do not change them";
  if (!all_reduce->choice) return all_reduce->name;
  const Parameters parameters = collective_parameters(scenario, *all_reduce);
  std::vector<std::pair<std::string, std::size_t>> choices;  // and for how many buckets
  const auto add = [&](std::uint64_t bytes) {
    const std::string choice = all_reduce->choice(static_cast<double>(bytes), shape, uniform, parameters);
    const auto known = std::ranges::find(choices, choice, &std::pair<std::string, std::size_t>::first);
    if (known == choices.end())
      choices.emplace_back(choice, 1);
    else
      ++known->second;
  };
  if (buckets.empty()) add(reduced_bytes);
  for (const Bucket& bucket : buckets) add(bucket.bytes);
  std::string text = all_reduce->name + ": ";
  for (std::size_t c = 0; c < choices.size(); ++c) {
    text += (c == 0 ? "" : "; ") + choices[c].first;
    if (choices.size() > 1) text += " (" + std::to_string(choices[c].second) + (choices[c].second == 1 ? " bucket)" : " buckets)");
  }
  return text;
}

}  // namespace straggler

// The blueprint's part that reduces: which all-reduce, over which links, in which buckets.
#include <algorithm>

#include "scenarios/experiment/blueprint.hpp"
#include "scenarios/experiment/cluster_facts.hpp"
#include "scenarios/schema/reader.hpp"
#include "sim/base/registry.hpp"
#include "sim/collectives/fluid.hpp"

namespace straggler {

namespace {

/// Between two hosts, if there are two; and inside one, if the first holds two workers.
UniformLinks measured_links(const Fabric& fabric, std::size_t workers) {
  UniformLinks out;
  Route route;
  const auto measure = [&](Rank to, double& alpha, double& beta) {
    fabric.route(0, to, route);
    alpha = route.latency.seconds();
    for (const LinkId link : route.links) beta = std::max(beta, 1 / fabric.bytes_per_second(link));
  };
  Rank other = 1;
  while (index_of(other + 1) < workers && fabric.host(other) == fabric.host(0)) ++other;
  measure(other, out.alpha, out.beta);
  if (fabric.host(1) == fabric.host(0)) measure(1, out.intra_alpha, out.intra_beta);
  return out;
}

std::vector<Bucket> filled_buckets(const Scenario& scenario, const CostTable& cost, std::uint64_t number_bytes) {
  const CollectiveSpec& spec = scenario.cluster.network.collective;
  if (cost.layers.empty())
    throw_error(scenario, "cluster.network.collective.bucket",
                "buckets are filled with a model's tensors, and workload.cost.bytes has none; write workload.cost: {model: NAME}");
  std::vector<GradientTensor> tensors;
  std::vector<double> flops;
  for (const CostLayer& layer : cost.layers) {
    for (const TensorInfo& tensor : layer.tensors) {
      std::uint64_t size = number_bytes;
      for (const std::size_t side : tensor.shape) size *= side;
      tensors.push_back({size, flops.size()});
    }
    flops.push_back(layer.forward_flops);
  }
  return make_buckets(tensors, flops, spec.first_bucket.value_or(*spec.bucket), *spec.bucket);
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
    compression->bucket_bytes += bucket.bytes;
    bounds.push_back(end -= count);
  }
  if (compressor->value_by_value) return;
  std::ranges::reverse(bounds);
  compression->bounds = std::move(bounds);
  compression->bounds_end = parameters;
}

/// What only messages of their own can show, and what they cannot.
void Blueprint::check_stepwise(const Scenario& scenario) const {
  const CollectiveSpec& spec = scenario.cluster.network.collective;
  if (scenario.cluster.network.protocol.cores && spec.fidelity != CollectiveSpec::Fidelity::stepwise)
    throw_error(scenario, "cluster.network.protocol.cores",
                "are shared message by message, and the all-reduce is one flow; add cluster.network.collective.fidelity: stepwise");
  if (spec.start != CollectiveSpec::Start::as_they_come) return;
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
  if (plan.workers == 1 || !scheme_entry->all_reduces(scenario.training.scheme.parameters)) return;
  check_stepwise(scenario);
  shape.workers = static_cast<std::size_t>(plan.workers);
  // A server that the scheme talks to is none that reduces.
  if (servers == 0) shape.servers = static_cast<std::size_t>(scenario.cluster.servers.count);
  if (shares_hosts(scenario.cluster))
    for (Rank worker = 0; worker < plan.workers; ++worker) shape.host_of.push_back(fabric->host(worker));
  uniform = measured_links(*fabric, shape.workers);
  uniform.gamma = inverse(spec.reduce_rate);

  if (compression && compression->gathered && spec.algorithm != "auto" && spec.algorithm != "ring")
    throw_error(scenario, "cluster.network.collective.algorithm",
                "messages compressed by " + compressor->name + " are gathered around a ring, not reduced by " + spec.algorithm +
                    "; take auto or ring, or training.compression: none");
  // Of two all-reduces one after the other, the larger one.
  std::uint64_t bytes = compression ? std::max(compression->bytes - compression->second_bytes, compression->second_bytes) : model_bytes;
  // Factors are of whole matrices: they go in one piece.
  if (spec.bucket && !(compression && compression->factors)) {
    buckets = filled_buckets(scenario, cost, number_bytes());
    if (compression) compress_buckets();
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

}  // namespace straggler

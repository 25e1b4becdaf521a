#include "sim/training/shards.hpp"

#include <cmath>
#include <memory>
#include <utility>
#include <vector>

namespace straggler {

namespace {
/// `count` ranks from `first` on, `step` apart; null: all workers.
RankGroup ranks_from(Rank first, Rank step, Rank count, Rank workers) {
  if (count == workers) return nullptr;
  auto ranks = std::make_shared<std::vector<Rank>>();
  for (Rank i = 0; i < count; ++i) ranks->push_back(first + i * step);
  return ranks;
}

std::uint64_t padded_bytes(const TrainingPlan& plan, std::size_t bucket, Rank ways, std::uint64_t bytes_of_number) {
  const double numbers = plan.buckets.empty() ? 0 : static_cast<double>(plan.buckets[bucket].numbers) * plan.sharding.padding;
  return static_cast<std::uint64_t>(std::ceil(numbers / ways)) * static_cast<std::uint64_t>(ways) * bytes_of_number;
}

/// Of a number that is sent in so many bytes: what compression takes off, over what it leaves.
double spared_of_number(const TrainingPlan& plan, std::uint64_t bytes_of_number) {
  if (!plan.compression || plan.buckets.empty() || plan.buckets.front().numbers == 0) return 0;
  const WorkBucket& whole = plan.buckets.front();
  return static_cast<double>(whole.bytes) / static_cast<double>(whole.numbers) / static_cast<double>(bytes_of_number) - 1;
}

}  // namespace

ShardTraffic shard_traffic(const TrainingPlan& plan) {
  const Sharding& sharding = plan.sharding;
  const auto sent = [&](std::size_t bucket, Rank ways, std::uint64_t bytes_of_number) {
    return static_cast<double>(padded_bytes(plan, bucket, ways, bytes_of_number)) * (ways - 1) / ways;
  };
  const auto micro_batches = static_cast<double>(plan.accumulate);
  const double reductions = sharding.stage > 1 && sharding.reduces_each ? micro_batches : 1;
  const double gathers = sharding.stage == 3 && !sharding.keeps_gathered ? micro_batches : 1;
  const bool again = sharding.stage == 3 && !sharding.keeps_gathered;
  const Rank hosts = plan.workers / sharding.on_host;
  ShardTraffic traffic;
  for (std::size_t bucket = 0; bucket < plan.buckets.size(); ++bucket) {
    traffic.gathered += gathers * sent(bucket, sharding.ways, sharding.gathered_bytes);
    if (again && bucket + 1 < plan.buckets.size())
      traffic.gathered += gathers * sent(bucket, sharding.secondary_in_host ? sharding.on_host : sharding.ways, sharding.gathered_bytes);
    traffic.reduced += reductions * sent(bucket, sharding.ways, sharding.reduced_bytes);
    if (sharding.in_host)
      traffic.between_hosts += reductions * 2 * (hosts - 1) / hosts *
                               static_cast<double>(padded_bytes(plan, bucket, sharding.ways, sharding.reduced_bytes)) / sharding.ways;
  }
  return traffic;
}

Shards::Shards(Node& node) : node_(node) {
  const Rank on_host = sharding().on_host, seat = node.self() % on_host, workers = node.workers();
  if (sharding().in_host || sharding().secondary_in_host) host_ = ranks_from(node.self() - seat, 1, on_host, workers);
  if (!sharding().in_host) return;
  group_ = host_;
  if (on_host < workers) between_hosts_ = ranks_from(seat, on_host, workers / on_host, workers);
}

Pending<ShardOperation> Shards::gather(std::size_t bucket, bool backward) {
  const bool on_host = backward && sharding().secondary_in_host;
  const ShardOperation::What what{
      ShardOperation::Moves::gather,
      padded_bytes(node_.plan(), bucket, on_host ? sharding().on_host : sharding().ways, sharding().gathered_bytes), bucket, buckets(),
      spared_of_number(node_.plan(), sharding().gathered_bytes)};
  return Pending<ShardOperation>(node_.slot(), node_, what, on_host ? host_ : group_, ShardOperation::Then());
}

Pending<ShardOperation> Shards::reduce(std::size_t bucket) {
  const std::uint64_t bytes = padded_bytes(node_.plan(), bucket, sharding().ways, sharding().reduced_bytes);
  const ShardOperation::What what{ShardOperation::Moves::reduce_scatter, bytes, bucket, buckets(),
                                  spared_of_number(node_.plan(), sharding().reduced_bytes)};
  return Pending<ShardOperation>(node_.slot(), node_, what, group_,
                                 ShardOperation::Then{between_hosts_, bytes / static_cast<std::uint64_t>(sharding().ways)});
}

Pending<ShardOperation> Shards::reduce_numbers(std::uint64_t bytes) {
  const ShardOperation::What what{ShardOperation::Moves::all_reduce, bytes, 0, 1};
  return Pending<ShardOperation>(node_.slot(), node_, what, group_, ShardOperation::Then());
}

void Shards::bring(const Gradient& mine) {
  Gradient sent = node_.encoded(mine, RankGroup());
  brought_ = sent->value();
  node_.gradient_means().bring(node_.self(), std::move(sent));
}

Gradient Shards::mean() {
  Gradient mean = node_.gradient_means().take(node_.self(), node_.algebra());
  if (node_.compresses()) node_.codec().averaged(mean, brought_, nullptr);
  return mean;
}

}  // namespace straggler

#include "sim/backend/all_reduce.hpp"

#include <algorithm>

#include "sim/backend/all_reduce_skewed.hpp"
#include "sim/backend/all_reduce_together.hpp"

namespace straggler {

std::unique_ptr<SimulatedBackend::AllReduce> SimulatedBackend::AllReduce::make(SimulatedBackend& backend) {
  if (backend.cluster_.as_they_come) return std::make_unique<AllReduceSkewed>(backend);
  return std::make_unique<AllReduceTogether>(backend);
}

SimulatedBackend::AllReduce::AllReduce(SimulatedBackend& backend) : backend_(backend) {
  costs_.reduce_seconds_per_byte = backend.cluster_.reduce_seconds_per_byte;
  costs_.per_message = backend.cluster_.per_message;
  costs_.per_byte = backend.cluster_.handling_seconds_per_byte;
  costs_.cores = backend.message_cores_.get();
}

/// Buckets are of gradients: weights go in one piece. Running statistics are a piece of their own, the last.
std::size_t SimulatedBackend::AllReduce::pieces_of(const Payload& payload) const {
  const std::size_t main = std::holds_alternative<Gradient>(payload) ? std::max<std::size_t>(1, backend_.cluster_.buckets.size()) : 1;
  return main + (backend_.statistics_of(payload) > 0 ? 1 : 0);
}

std::uint64_t SimulatedBackend::AllReduce::bytes_of_piece(const Payload& payload, std::size_t piece) const {
  const std::uint64_t statistics = backend_.statistics_of(payload);
  if (statistics > 0 && piece + 1 == pieces_of(payload)) return statistics;
  const bool buckets = std::holds_alternative<Gradient>(payload) && !backend_.cluster_.buckets.empty();
  return buckets ? backend_.cluster_.buckets[piece].bytes : backend_.main_bytes_of(payload);
}

std::vector<std::uint32_t> SimulatedBackend::AllReduce::ranks_of(const std::vector<Rank>& members) const {
  std::vector<std::uint32_t> ranks(members.begin(), members.end());
  for (std::size_t server = 0; server < backend_.cluster_.shape.servers; ++server)
    ranks.push_back(static_cast<std::uint32_t>(workers() + server));
  return ranks;
}

std::unique_ptr<CollectiveSchedule> SimulatedBackend::AllReduce::make_schedule(std::uint64_t bytes,
                                                                               const std::vector<Rank>& members) const {
  const SimulatedCluster& cluster = backend_.cluster_;
  CollectiveShape shape = cluster.shape;
  shape.workers = members.size();
  if (!shape.host_of.empty()) {
    shape.host_of.clear();
    for (const Rank member : members) shape.host_of.push_back(cluster.shape.host_of[static_cast<std::size_t>(member)]);
  }
  // Without a failed worker the hosts may not have equally many any more.
  const CollectiveEntry& entry =
      cluster.all_reduce->unfit(shape).empty() ? *cluster.all_reduce : Registry<CollectiveEntry>::instance().at("ring");
  return entry.make(bytes, shape, cluster.uniform,
                    complete(entry.parameters, &entry == cluster.all_reduce ? cluster.all_reduce_parameters : Parameters()));
}

namespace {
template <class T>
void drop_contributions(T& payload) {
  payload.edit().more.edit().made.clear();
}
}  // namespace

template <class T>
std::pair<Payload, Payload> SimulatedBackend::AllReduce::mean_of(const std::vector<const Payload*>& payloads) const {
  std::vector<T> parts;
  parts.reserve(payloads.size());
  Node& node = backend_.nodes_.front();
  const bool sent = payloads.size() > 1;  // one alone sends nothing
  for (const Payload* payload : payloads) parts.push_back(sent ? node.as_sent(std::get<T>(*payload)) : std::get<T>(*payload));
  T mean = node.mean(parts, node.all_reduce_rule());
  if (sent) mean = node.as_sent(std::move(mean));
  if constexpr (std::is_same_v<T, Gradient>) {
    if (mean->more.there())
      mean.edit().more.edit().batches.clear();  // one sum of all, not a large batch any more: the sum's order is in the key
  }
  T others = mean;
  if (!backend_.membership_) drop_contributions(others);
  return {std::move(mean), std::move(others)};
}

std::pair<Payload, Payload> SimulatedBackend::AllReduce::mean_of(const std::vector<const Payload*>& parts) const {
  return std::holds_alternative<Gradient>(*parts.front()) ? mean_of<Gradient>(parts) : mean_of<Weights>(parts);
}

void SimulatedBackend::AllReduce::describe_waiting(const std::vector<bool>& waiting, std::vector<std::string>& who) const {
  const auto joined = std::count(waiting.begin(), waiting.end(), true);
  for (std::size_t rank = 0; rank < waiting.size(); ++rank)
    if (waiting[rank])
      who.push_back("worker " + std::to_string(rank) + " waits in an all-reduce for " +
                    std::to_string(static_cast<std::ptrdiff_t>(waiting.size()) - joined) + " other workers");
}

}  // namespace straggler

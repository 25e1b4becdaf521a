#include "sim/simulated/reduction.hpp"

#include <algorithm>
#include <stdexcept>
#include <type_traits>

#include "sim/collectives/all_gather.hpp"

namespace straggler {

Reduction::Reduction(const SimulatedRun& run, PostOffice& post_office)
    : run_(run), wire_bytes_(post_office.wire_bytes()), coding_(post_office.coding()) {
  const SimulatedCluster& cluster = run.world.cluster;
  costs_.reduce_seconds_per_byte = cluster.collective.reduce_seconds_per_byte;
  costs_.per_message = cluster.protocol.per_message;
  costs_.per_byte = cluster.protocol.seconds_per_byte;
  costs_.launch = cluster.collective.launch;
  costs_.cores = post_office.processors().shared_cores();
}

/// Only gradients go in buckets; weights go in one piece. Running statistics are a separate piece, the last.
std::size_t Reduction::pieces_of(const Operation& operation, const Payload& payload) const {
  const CompressedForm* const form = compressed_form(payload);
  const bool twice = form && form->second > 0;  // right factors follow from the mean of the left ones
  const std::size_t main = in_buckets(operation, payload) ? run_.world.cluster.collective.buckets.size() : twice ? 2 : 1;
  return main + (wire_bytes_.statistics_of(payload) > 0 ? 1 : 0);
}

bool Reduction::is_statistics(const Operation& operation, const Payload& payload, std::size_t piece) const {
  return wire_bytes_.statistics_of(payload) > 0 && piece + 1 == pieces_of(operation, payload);
}

std::uint64_t Reduction::bytes_of_piece(const Operation& operation, const Payload& payload, std::size_t piece) const {
  if (is_statistics(operation, payload, piece)) return wire_bytes_.statistics_of(payload);
  if (in_buckets(operation, payload)) return run_.world.cluster.collective.buckets[piece].bytes;
  const CompressedForm* const form = compressed_form(payload);
  const std::uint64_t second = form ? form->second : 0;
  return piece == 0 ? wire_bytes_.main_of(payload) - second : second;
}

double Reduction::spared_per_byte(const Operation& operation, const Payload& payload, std::size_t piece, std::size_t members) const {
  if (is_statistics(operation, payload, piece)) return 0;
  auto bytes = static_cast<double>(wire_bytes_.main_of(payload));
  double whole = bytes + wire_bytes_.spared_of(payload);
  bool compressed = compressed_form(payload);
  if (in_buckets(operation, payload)) {
    bytes = static_cast<double>(run_.world.cluster.collective.buckets[piece].bytes);
    whole = run_.world.cluster.collective.buckets[piece].compressed_share * static_cast<double>(run_.world.cluster.bytes.model);
    compressed = whole > 0;
  }
  if (!compressed || bytes == 0) return 0;
  // A rank sends (p - 1) / p of 2 n bytes to reduce them, or p - 1 times n to gather them.
  return (run_.world.cluster.collective.gathers ? 2 / static_cast<double>(members) : 1.0) * whole / bytes - 1;
}

std::vector<std::uint32_t> Reduction::ranks_of(const std::vector<Rank>& members) const {
  std::vector<std::uint32_t> ranks(members.begin(), members.end());
  for (std::size_t server = 0; server < run_.world.cluster.collective.shape.servers; ++server)
    ranks.push_back(static_cast<std::uint32_t>(index_of(run_.world.workers) + server));
  return ranks;
}

std::unique_ptr<CollectiveSchedule> Reduction::make_schedule(std::uint64_t bytes, const std::vector<Rank>& members) const {
  const SimulatedCluster& cluster = run_.world.cluster;
  if (cluster.collective.gathers) return all_gather_ring(std::vector<std::uint64_t>(members.size(), bytes));
  CollectiveShape shape = cluster.collective.shape;
  shape.workers = members.size();
  if (!shape.host_of.empty()) {
    shape.host_of.clear();
    for (const Rank member : members) shape.host_of.push_back(cluster.collective.shape.host_of[static_cast<std::size_t>(member)]);
  }
  // After a failure hosts may have unequal numbers of workers.
  const CollectiveEntry& entry = cluster.collective.all_reduce->unfit(shape).empty() ? *cluster.collective.all_reduce
                                                                                     : Registry<CollectiveEntry>::instance().at("ring");
  return entry.make(bytes, shape, cluster.collective.uniform,
                    complete(entry.parameters, &entry == cluster.collective.all_reduce ? cluster.collective.parameters : Parameters()));
}

namespace {
template <class T>
void drop_contributions(T& payload) {
  payload.edit().more.edit().made.clear();
}
}  // namespace

template <class T>
std::pair<Payload, Payload> Reduction::mean_of(const std::vector<const Payload*>& payloads) const {
  std::vector<T> parts;
  parts.reserve(payloads.size());
  Algebra& algebra = run_.workers.algebra();
  const bool sent = payloads.size() > 1;  // one alone sends nothing
  for (const Payload* payload : payloads) parts.push_back(sent ? algebra.as_sent(std::get<T>(*payload)) : std::get<T>(*payload));
  T mean = algebra.mean(parts, algebra.all_reduce_rule(parts.front()));
  if (sent && !compressed_form(*payloads.front())) mean = algebra.as_sent(std::move(mean));
  if constexpr (std::is_same_v<T, Gradient>) mean.edit().summed_apart();
  T others = mean;
  if (!run_.workers.change()) drop_contributions(others);
  return {std::move(mean), std::move(others)};
}

namespace {
void require_alike(const std::vector<const Payload*>& parts) {
  for (const Payload* part : parts)
    if (part->index() != parts.front()->index())
      throw UnsupportedOperation(
          "some workers bring weights to a collective, and others a gradient; collectives follow one another in one order on all their "
          "workers");
}
}  // namespace

std::pair<Payload, Payload> Reduction::mean_of(const std::vector<const Payload*>& parts) const {
  require_alike(parts);
  return std::holds_alternative<Gradient>(*parts.front()) ? mean_of<Gradient>(parts) : mean_of<Weights>(parts);
}

Reduction::Parts Reduction::gathered(const std::vector<const Payload*>& payloads) const {
  require_alike(payloads);
  const bool sent = payloads.size() > 1;  // one alone sends nothing
  auto all = std::make_shared<std::vector<Payload>>();
  const auto take = [&](const auto& part) {
    if constexpr (std::is_same_v<std::decay_t<decltype(part)>, MembershipNotice>)
      throw std::logic_error("an all-gather of notices");
    else
      all->emplace_back(sent ? run_.workers.algebra().as_sent(part) : part);
  };
  for (const Payload* payload : payloads) std::visit(take, *payload);
  return all;
}

double Reduction::coded_share(const Operation& operation, const Payload& payload, std::size_t piece) const {
  if (is_statistics(operation, payload, piece)) return 0;
  if (in_buckets(operation, payload)) return run_.world.cluster.collective.buckets[piece].compressed_share;
  const CompressedForm* const form = compressed_form(payload);
  return form && form->second > 0 && piece == 0 ? 0 : Coding::share_of(payload);
}

Time Reduction::decoding(const Operation& operation, double share, std::size_t members) const {
  if (share == 0 || members < 2) return Time();
  const Time once = coding_.span(operation.node().self(), share);
  const bool gathered = run_.world.cluster.collective.gathers || gathers(operation);
  return gathered ? Time::from_ticks(once.ticks() * static_cast<std::int64_t>(members - 1)) : once;
}

void Reduction::decode(const Operation& operation, Time decoding) {
  if (decoding > Time()) coding_.run(operation.node().self(), decoding);
}

void Reduction::hand_over(Operation& operation, Time decoding) {
  if (decoding == Time() && !coding_.busy(operation.node().self())) return operation.complete();
  if (operation.kind() == Operation::Kind::averaged_gradient)
    static_cast<AveragedGradientOperation&>(operation).coding = CodingStage::decoding;
  else
    static_cast<CollectiveOperation&>(operation).coding = CodingStage::decoding;
  run_.world.queue().at(coding_.run(operation.node().self(), decoding), operation);
}

void Reduction::describe_waiting(const std::vector<bool>& waiting, const RankGroup& among, std::vector<std::string>& who) const {
  constexpr std::size_t most = 3;
  const auto rank_of = [&](std::size_t i) { return among ? (*among)[i] : static_cast<Rank>(i); };
  const auto name_of = [](Rank rank) { return "worker " + std::to_string(rank); };
  std::string others;
  std::size_t missing = 0;
  for (std::size_t i = 0; i < waiting.size(); ++i) {
    if (waiting[i] || !run_.workers.awaits(rank_of(i)) || ++missing > most) continue;
    others += (others.empty() ? "" : "; ") + name_of(rank_of(i)) + run_.workers.whereabouts(rank_of(i));
  }
  if (missing > most) others += "; and " + std::to_string(missing - most) + " more";
  for (std::size_t i = 0; i < waiting.size(); ++i)
    if (waiting[i]) who.push_back(name_of(rank_of(i)) + " waits in an all-reduce for " + others);
}

}  // namespace straggler

#include "sim/simulated/collective_queue.hpp"

#include <stdexcept>
#include <type_traits>

namespace straggler {

CollectiveQueue::CollectiveQueue(const SimulatedRun& run, PostOffice& post_office)
    : run_(run),
      pieces_(run.world.cluster, post_office.wire_bytes()),
      plans_(run.world, post_office.processors().shared_cores()),
      coding_(post_office.coding()) {}

namespace {
template <class T>
void drop_contributions(T& payload) {
  payload.edit().more.edit().made.clear();
}
}  // namespace

template <class T>
CollectiveQueue::Result CollectiveQueue::mean_of(const std::vector<const Operation*>& operations) const {
  std::vector<T> parts;
  parts.reserve(operations.size());
  for (const Operation* operation : operations) parts.push_back(std::get<T>(part_of(*operation).payload));
  T mean = all_reduced(run_.workers.algebra(), std::move(parts));
  T others = mean;
  if (!run_.workers.change()) drop_contributions(others);
  return {std::move(mean), std::move(others), nullptr};
}

CollectiveQueue::Result CollectiveQueue::gathered(const std::vector<const Operation*>& operations) const {
  const bool sent = operations.size() > 1;  // one alone sends nothing
  auto all = std::make_shared<std::vector<Payload>>();
  const auto take = [&](const auto& part) {
    if constexpr (std::is_same_v<std::decay_t<decltype(part)>, MembershipNotice>)
      throw std::logic_error("an all-gather of notices");
    else
      all->emplace_back(sent ? run_.workers.algebra().as_sent(part) : part);
  };
  for (const Operation* operation : operations) std::visit(take, part_of(*operation).payload);
  return {Payload(), Payload(), std::move(all)};
}

CollectiveQueue::Result CollectiveQueue::scattered(const Result& mean, std::size_t members) const {
  auto parts = std::make_shared<std::vector<Payload>>();
  const auto count = static_cast<std::uint32_t>(members);
  for (std::uint32_t member = 0; member < count; ++member) {
    const Payload& whole = member == 0 ? mean.first : mean.others;
    parts->emplace_back(run_.workers.algebra().part(std::get<Gradient>(whole), {member, count}));
  }
  return {Payload(), Payload(), std::move(parts)};
}

CollectiveQueue::Result CollectiveQueue::result_of(const std::vector<const Operation*>& operations) const {
  const Payload& first = part_of(*operations.front()).payload;
  for (const Operation* operation : operations)
    if (part_of(*operation).payload.index() != first.index())
      throw UnsupportedOperation(
          "some workers bring weights to a collective, and others a gradient; collectives follow one another in one order on all their "
          "workers");
  if (operations.front()->kind() == Operation::Kind::shard) return {};
  const CollectiveKind kind = kind_of(*operations.front());
  if (kind == CollectiveKind::all_gather) return gathered(operations);
  Result mean = std::holds_alternative<Gradient>(first) ? mean_of<Gradient>(operations) : mean_of<Weights>(operations);
  return kind == CollectiveKind::reduce_scatter ? scattered(mean, operations.size()) : mean;
}

namespace {
CollectiveKind kind_of(ShardOperation::Moves moves) {
  switch (moves) {
    case ShardOperation::Moves::gather:
      return CollectiveKind::all_gather;
    case ShardOperation::Moves::reduce_scatter:
      return CollectiveKind::reduce_scatter;
    case ShardOperation::Moves::all_reduce:
      break;
  }
  return CollectiveKind::all_reduce;
}
}  // namespace

CollectiveKind CollectiveQueue::kind_of(const Operation& operation) {
  switch (operation.kind()) {
    case Operation::Kind::all_gather:
      return CollectiveKind::all_gather;
    case Operation::Kind::reduce_scatter:
      return CollectiveKind::reduce_scatter;
    case Operation::Kind::shard:
      return straggler::kind_of(static_cast<const ShardOperation&>(operation).what().moves);
    default:
      return CollectiveKind::all_reduce;
  }
}

Time CollectiveQueue::decoding(const Operation& operation, double coded_share, std::size_t members) const {
  if (coded_share == 0 || members < 2) return Time();
  const Time once = coding_.span(operation.node().self(), coded_share);
  const bool of_all = run_.world.cluster.collective.gathers || kind_of(operation) == CollectiveKind::all_gather;
  return of_all ? Time::from_ticks(once.ticks() * static_cast<std::int64_t>(members - 1)) : once;
}

void CollectiveQueue::decode(const Operation& operation, double coded_share, std::size_t members) {
  const Time span = decoding(operation, coded_share, members);
  if (span > Time()) coding_.run(operation.node().self(), span);
}

void CollectiveQueue::put(const Result& result, std::size_t member, Operation& operation) {
  if (operation.kind() == Operation::Kind::shard) return;
  if (!result.parts)
    part_of(operation).payload = member == 0 ? result.first : result.others;
  else if (kind_of(operation) == CollectiveKind::all_gather)
    static_cast<AllGatherOperationBase&>(operation).gathered = result.parts;
  else if (kind_of(operation) == CollectiveKind::reduce_scatter)
    part_of(operation).payload = result.parts->at(member);
}

void CollectiveQueue::complete(const Result& result, std::size_t member, Operation& operation, double coded_share, std::size_t members) {
  const Time span = decoding(operation, coded_share, members);
  put(result, member, operation);
  if (operation.kind() == Operation::Kind::shard && static_cast<ShardOperation&>(operation).advance())
    return run_.world.queue().after(Time(), operation);  // it joins the collective that follows
  if (span == Time() && !coding_.busy(operation.node().self())) return operation.complete();
  part_of(operation).coding = CollectivePart::Coding::decoding;
  run_.world.queue().at(coding_.run(operation.node().self(), span), operation);
}

CollectiveTrace CollectiveQueue::traced(const Operation& operation, const CollectivePiece& piece, std::size_t members) const {
  const auto* const shard = operation.kind() == Operation::Kind::shard ? &static_cast<const ShardOperation&>(operation).what() : nullptr;
  return {.what = name_of(kind_of(operation)),
          .piece = shard ? shard->piece : piece.index,
          .pieces = shard ? shard->pieces : pieces_.count(operation),
          .members = members,
          .bytes = piece.bytes,
          .start = run_.world.now(),
          .end = Time(),
          .waited_for = std::nullopt};
}

void CollectiveQueue::describe_waiting(const std::vector<const Operation*>& waiting, const RankGroup& among,
                                       std::vector<std::string>& who) const {
  constexpr std::size_t most = 3;
  const auto rank_of = [&](std::size_t i) { return among ? (*among)[i] : static_cast<Rank>(i); };
  const auto name_of_worker = [](Rank rank) { return "worker " + std::to_string(rank); };
  const auto article_of = [](const std::string& name) { return (name.front() == 'a' ? "an " : "a ") + name; };
  std::string others;
  std::size_t missing = 0;
  for (std::size_t i = 0; i < waiting.size(); ++i) {
    if (waiting[i] || !run_.workers.awaits(rank_of(i)) || ++missing > most) continue;
    others += (others.empty() ? "" : "; ") + name_of_worker(rank_of(i)) + run_.workers.whereabouts(rank_of(i));
  }
  if (missing > most) others += "; and " + std::to_string(missing - most) + " more";
  for (std::size_t i = 0; i < waiting.size(); ++i)
    if (waiting[i]) who.push_back(name_of_worker(rank_of(i)) + " waits in " + article_of(name_of(kind_of(*waiting[i]))) + " for " + others);
}

}  // namespace straggler

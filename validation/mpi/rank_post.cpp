#include "validation/mpi/rank_post.hpp"

#include <algorithm>

namespace straggler {

RankPost::RankPost(RankWorld& world) : world_(world), wire_bytes_(world.task.cut.wire_bytes()), coming_(index_of(world.channel.ranks())) {}

RankPost::Packed RankPost::packed(const Payload& payload) {
  const auto* weights = std::get_if<Weights>(&payload);
  const auto* before = std::get_if<Weights>(&last_packed_.payload);
  if (weights && before && weights->operator->() == before->operator->()) return last_packed_.packed;
  Packed packed;
  for (Bytes& part : pack(payload, world_.task.cut, world_.values, &packed.vectors))
    packed.parts.push_back(std::make_shared<const Bytes>(std::move(part)));
  if (world_.self() >= world_.task.plan.workers && weights) {
    last_packed_.payload = payload;
    last_packed_.packed = packed;
  }
  return packed;
}

void RankPost::note_sent(Rank to, const Part& part, double spared) {
  world_.note(part.kind == Part::Kind::statistics ? LogEntry::Kind::statistics_sent : LogEntry::Kind::sent, to, part.bytes, spared);
}

void RankPost::send(Rank to, const Payload& payload, Operation* operation) {
  keep_sent(to, payload);
  const Packed packed = this->packed(payload);
  const Parts parts = wire_bytes_.parts_of(payload);
  for (std::size_t k = 0; k < packed.parts.size(); ++k) {
    note_sent(to, k < parts.size() ? parts[k] : Part(), k == 0 ? wire_bytes_.spared_of(payload) : 0);
    if (k == 0)
      for (const std::shared_ptr<const float>& each : packed.vectors)
        world_.channel.send(to, MessageKind::vector, std::as_bytes(std::span(each.get(), world_.task.cut.length)), each, operation);
    world_.channel.send(to, k + 1 < packed.parts.size() ? MessageKind::part : MessageKind::payload, packed.parts[k], operation);
  }
}

void RankPost::send_step(Rank to, Bytes bytes, const Part& part, double spared) {
  note_sent(to, part, spared);
  world_.channel.send(to, MessageKind::ring, std::make_shared<const Bytes>(std::move(bytes)), nullptr);
}

MessagePointer RankPost::arrived(Rank from, Bytes part, bool last) {
  Coming& coming = coming_[index_of(from)];
  coming.parts.push_back(std::move(part));
  if (!last) return nullptr;
  Coming all = std::exchange(coming, {});
  auto message = std::make_unique<Message>(from, world_.self(), unpack(world_.task.cut, world_.values, all.parts, all.vectors));
  forget_sent(from, message->payload);
  return message;
}

void RankPost::drop(const Payload& contribution) {
  world_.note(LogEntry::Kind::dropped, 0, wire_bytes_.all_of(contribution));
  for (const Contribution& made : made_of(contribution)) {
    world_.note(LogEntry::Kind::dropped_samples, made.worker, made.samples);
    world_.note(LogEntry::Kind::dropped_time, made.worker, static_cast<std::uint64_t>(made.spent.ticks()));
  }
}

void RankPost::tell(Rank first, Rank end, MessageKind kind, Bytes word) {
  if (closed_) return;
  const auto shared = std::make_shared<const Bytes>(std::move(word));
  for (Rank rank = first; rank < end; ++rank)
    if (rank != world_.self()) world_.channel.send(rank, kind, shared, nullptr);
}

void RankPost::close() {
  tell_all(MessageKind::bye, {});
  closed_ = true;
}

void RankPost::keep_sent(Rank to, const Payload& payload) {
  const auto* weights = std::get_if<Weights>(&payload);
  const TrainingPlan& plan = world_.task.plan;
  if (!weights || !plan.compression || !plan.compression->exchange.of_weights || world_.self() < plan.workers) return;
  if (to < plan.workers || !plan.aggregation.has(world_.self())) sent_[to].push_back((*weights)->value);
}

void RankPost::forget_sent(Rank from, const Payload& payload) {
  const auto known = sent_.find(from);
  if (known == sent_.end()) return;
  Key builds_on;
  if (const auto* gradient = std::get_if<Gradient>(&payload)) builds_on = (*gradient)->at->value.key();
  if (const auto* weights = std::get_if<Weights>(&payload); weights && (*weights)->difference())
    builds_on = (*weights)->difference()->base.key();
  const auto base = std::ranges::find(known->second, builds_on, &Handle::key);
  if (base != known->second.end()) known->second.erase(known->second.begin(), base);
}

}  // namespace straggler

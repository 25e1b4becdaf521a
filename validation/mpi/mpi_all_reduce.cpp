// Collectives of the real back end: the contents of the rings of workers and groups, and the keys of their results.
#include <algorithm>
#include <cstring>

#include "validation/mpi/mpi_backend.hpp"

namespace straggler {

namespace {

/// The same on all ranks of the group, without communication.
std::uint64_t number_of(const RankGroup& group) {
  if (!group) return 0;
  Hasher hasher;
  for (const Rank rank : *group) hasher.add(static_cast<std::uint64_t>(rank));
  return hasher.key().low | 1;
}

Rank place_in(const RankGroup& group, Rank rank) {
  if (!group) return rank;
  return static_cast<Rank>(std::ranges::lower_bound(*group, rank) - group->begin());
}

}  // namespace

MpiBackend::Ring::Ring(MpiBackend& backend, RankGroup among, std::uint64_t its_number)
    : group(std::move(among)),
      number(its_number),
      size(group ? static_cast<Rank>(group->size()) : backend.task_.plan.workers),
      place(place_in(group, backend.channel_.self())),
      right(group ? (*group)[index_of((place + 1) % size)] : (place + 1) % size),
      sums(backend.task_.plan.compression && !backend.task_.plan.compression->gathered),
      mean(place, size, [&backend, this](RingMean::Outgoing out) { backend.send_right(*this, std::move(out)); }),
      gather(place, size, [&backend, this](RingMean::Outgoing out) { backend.send_right(*this, std::move(out)); }) {}

MpiBackend::Ring& MpiBackend::ring_of(const RankGroup& group) {
  const std::uint64_t number = number_of(group);
  std::unique_ptr<Ring>& ring = rings_[number];
  if (!ring) ring = std::make_unique<Ring>(*this, group, number);
  return *ring;
}

/// The ring's number comes after the data that the ring moves.
void MpiBackend::send_right(const Ring& ring, RingMean::Outgoing out) {
  const double spared = out.part.kind == Part::Kind::statistics
                            ? 0
                            : wire_bytes_.spared_per_byte(*ring.reducing.front().payload, index_of(ring.size), ring.gathering());
  note_sent(ring.right, out.part, spared * static_cast<double>(out.part.bytes));
  const auto* const number = reinterpret_cast<const std::byte*>(&ring.number);
  out.bytes.insert(out.bytes.end(), number, number + sizeof ring.number);
  channel_.send(ring.right, MessageKind::ring, std::make_shared<Bytes>(std::move(out.bytes)), nullptr);
}

void MpiBackend::begin_gather(Ring& ring, const Payload& payload) {
  std::vector<Bytes> packed = pack(payload, task_.cut, values_);
  const Parts parts = wire_bytes_.parts_of(payload);
  std::vector<RingGather::Packed> mine;
  packed.resize(task_.cut.parts().size());
  for (Bytes& bytes : packed) mine.push_back({std::move(bytes), {0, task_.cut.parts()[mine.size()].kind}});
  for (const Part& part : parts)
    for (RingGather::Packed& each : mine)
      if (each.part.kind == part.kind) each.part = part;
  ring.gather.begin(std::move(mine), flags_for(ring));
}

/// By rank.
std::vector<Payload> MpiBackend::gathered(Ring& ring) {
  take_flags(ring.gather.flags());
  std::vector<Payload> parts;
  for (Rank rank = 0; rank < ring.size; ++rank)
    parts.push_back(rank == ring.place ? *ring.reducing.front().payload : unpack(task_.cut, values_, ring.gather.message(rank)));
  return parts;
}

/// Each rank sums for itself, in the order of ranks.
template <class T>
Payload MpiBackend::gathered_mean(Ring& ring) {
  std::vector<T> parts;
  for (Payload& part : gathered(ring)) parts.push_back(std::get<T>(std::move(part)));
  return node_.algebra().mean(parts, node_.algebra().all_reduce_rule());
}

/// The same algebra as in the simulation, on names; the values are set afterwards.
template <class T>
Payload MpiBackend::ring_mean(Ring& ring) {
  take_flags(ring.mean.flags());
  const std::vector<T> parts = named_parts<T>(ring);
  Payload mean = node_.algebra().mean(parts, rules::ring_mean);
  const Fragment fragment = fragment_of(mean);
  std::size_t k = 0;
  for (const Handle& vector : vectors_in(mean)) {
    if (fragment.whole()) {
      values_.give(vector, ring.mean.mean(k++));
      continue;
    }
    std::vector<float> whole(task_.cut.length);
    std::ranges::copy(ring.mean.mean(k++), whole.begin() + static_cast<std::ptrdiff_t>(task_.cut.begin_of(fragment)));
    values_.give(vector, whole);
  }
  return mean;
}

/// Only the ring of all workers carries votes: those of a group's ring would reach no other group.
bool MpiBackend::join_ring(Ring& ring, Operation& operation, Payload& payload) {
  if (ring.of_all() && task_.votes) {
    broken_off_ = broken_off_ || interrupted();
    if (broken_off_ || (task_.stop.simulated_time && now() >= *task_.stop.simulated_time)) voted_ = true;
  }
  if (ring.size == 1) return true;
  // One after the other, in the order in which all its ranks begin them.
  ring.reducing.push_back({&operation, &payload});
  if (ring.reducing.size() > 1) return false;
  begin_ring(ring);
  while (ring.done()) {
    if (take_result(ring)) return true;
    begin_ring(ring);
  }
  return false;
}

/// The first of those that this rank has joined.
void MpiBackend::begin_ring(Ring& ring) {
  const Payload& payload = *ring.reducing.front().payload;
  if (ring.gathering())
    begin_gather(ring, payload);
  else if (ring.sums_compressed())
    begin_sum(ring, payload);
  else
    begin_mean(ring, payload);
  std::deque<Bytes>& early = early_[ring.number];
  while (!ring.done() && !early.empty()) {
    const Bytes next = std::move(early.front());
    early.pop_front();
    ring.arrived(next);
  }
}

void MpiBackend::begin_mean(Ring& ring, const Payload& payload) {
  const Fragment fragment = fragment_of(payload);
  const Cut cut = task_.cut.of(fragment);
  std::vector<float> mine;
  for (const Handle& vector : vectors_in(payload)) {
    const std::span<const float> values = values_of_fragment(vector, fragment);
    mine.insert(mine.end(), values.begin(), values.end());
  }
  Packer beside;
  pack_names(payload, beside);
  ring.mean.begin(std::move(mine), cut, beside.take(), flags_for(ring));
}

std::span<const float> MpiBackend::values_of_fragment(const Handle& vector, const Fragment& fragment) {
  const std::span<const float> all = values_.of(vector);
  return fragment.whole() ? all : all.subspan(task_.cut.begin_of(fragment), task_.cut.of(fragment).length);
}

bool MpiBackend::take_result(Ring& ring) {
  if (ring.sums_compressed()) return take_sum(ring);
  Payload& payload = *ring.reducing.front().payload;
  if (ring.all_gathers())
    static_cast<AllGatherOperationBase&>(*ring.reducing.front().operation).gathered =
        std::make_shared<const std::vector<Payload>>(gathered(ring));
  else if (std::holds_alternative<Weights>(payload))
    payload = ring.gathering() ? gathered_mean<Weights>(ring) : ring_mean<Weights>(ring);
  else
    payload = ring.gathering() ? gathered_mean<Gradient>(ring) : ring_mean<Gradient>(ring);
  ring.reducing.pop_front();
  return true;
}

void MpiBackend::ring_message(Bytes bytes) {
  const std::uint64_t number = take_last_number(bytes);
  const auto found = rings_.find(number);
  if (found == rings_.end() || found->second->reducing.empty()) {
    early_[number].push_back(std::move(bytes));
    return;
  }
  Ring& ring = *found->second;
  ring.arrived(bytes);
  while (!ring.reducing.empty() && ring.done()) {
    Operation& operation = *ring.reducing.front().operation;
    if (!take_result(ring)) {
      begin_ring(ring);
      continue;
    }
    operation.complete();
    if (!ring.reducing.empty()) begin_ring(ring);
  }
}

}  // namespace straggler

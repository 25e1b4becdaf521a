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
  double spared = 0;
  if (const Payload& mine = *ring.reducing.front().payload; !out.behind && compressed_form(mine)) {
    // A reduction would send p - 1 pieces of 1/p twice around the ring; here p - 1 whole messages go around once.
    const auto bytes = static_cast<double>(value_bytes(mine, task_.cut));
    if (ring.sums_compressed())
      spared = spared_bytes(mine, task_.cut) / bytes * static_cast<double>(out.value_bytes);
    else
      spared = 2 * (bytes + spared_bytes(mine, task_.cut)) / ring.size - bytes;
  }
  note(out.behind ? LogEntry::Kind::statistics_sent : LogEntry::Kind::sent, ring.right, out.value_bytes, spared);
  const auto* const number = reinterpret_cast<const std::byte*>(&ring.number);
  out.bytes.insert(out.bytes.end(), number, number + sizeof ring.number);
  channel_.send(ring.right, MessageKind::ring, std::make_shared<Bytes>(std::move(out.bytes)), nullptr);
}

void MpiBackend::begin_gather(Ring& ring, const Payload& payload) {
  Packer first, behind;
  pack(payload, task_.cut, values_, first, behind);
  first.put(std::uint8_t{broken_off_});  // so that the rank that writes the results knows
  RingGather::Part mine;
  mine.first = first.take();
  mine.behind = behind.take();
  mine.first_values = value_bytes(payload, task_.cut);
  mine.behind_values = statistics_bytes(payload, task_.cut);
  ring.gather.begin(std::move(mine), task_.cut.two(), ring.of_all() && voted_);
}

/// By rank.
std::vector<Payload> MpiBackend::gathered(Ring& ring) {
  voted_ = voted_ || ring.gather.vote();
  std::vector<Payload> parts;
  for (const RingGather::Part& part : ring.gather.parts()) {
    if (static_cast<Rank>(parts.size()) == ring.place) {
      parts.push_back(*ring.reducing.front().payload);
      continue;
    }
    Unpacker first(part.first), behind(part.behind);
    parts.push_back(unpack(task_.cut, values_, first, behind));
    if (first.get<std::uint8_t>() != 0) broken_off_ = true;
  }
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
  voted_ = voted_ || ring.mean.vote();
  std::vector<T> parts;
  for (const Bytes& said : ring.mean.beside()) {
    Unpacker unpacker(said);
    parts.push_back(std::get<T>(unpack_names(values_, unpacker)));
    if (unpacker.get<std::uint8_t>() != 0) broken_off_ = true;
  }
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
  beside.put(std::uint8_t{broken_off_});  // so that the rank that writes the results knows
  ring.mean.begin(std::move(mine), cut, beside.take(), ring.of_all() && voted_);
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

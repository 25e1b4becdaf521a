// The all-reduce of the real back end: what a ring moves, and what its result is called.
#include <algorithm>

#include "validation/mpi/mpi_backend.hpp"

namespace straggler {

void MpiBackend::send_right(RingMean::Outgoing out) {
  const Rank right = (channel_.self() + 1) % task_.plan.workers;
  note(out.behind ? LogEntry::Kind::statistics_sent : LogEntry::Kind::sent, right, out.value_bytes);
  channel_.send(right, MessageKind::ring, std::make_shared<Bytes>(std::move(out.bytes)), nullptr);
}

void MpiBackend::begin_gather(const Payload& payload) {
  Packer first, behind;
  pack(payload, task_.cut, values_, first, behind);
  first.put(std::uint8_t{broken_off_});  // so that the rank that writes the results knows
  RingGather::Part mine;
  mine.first = first.take();
  mine.behind = behind.take();
  mine.first_values = value_bytes(payload, task_.cut);
  mine.behind_values = statistics_bytes(payload, task_.cut);
  gather_.begin(std::move(mine), task_.cut.two(), voted_);
}

/// Each rank sums for itself, in the order of ranks.
Payload MpiBackend::gathered_mean() {
  voted_ = voted_ || gather_.vote();
  const Gradient mine = std::get<Gradient>(*reducing_.front().payload);
  std::vector<Gradient> parts;
  for (const RingGather::Part& part : gather_.parts()) {
    if (static_cast<Rank>(parts.size()) == node_.self()) {
      parts.push_back(mine);
      continue;
    }
    Unpacker first(part.first), behind(part.behind);
    parts.push_back(std::get<Gradient>(unpack(task_.cut, values_, first, behind)));
    if (first.get<std::uint8_t>() != 0) broken_off_ = true;
  }
  return node_.algebra().mean(parts, node_.algebra().all_reduce_rule());
}

/// The same algebra as in the simulation, over names; then the values are given.
template <class T>
Payload MpiBackend::ring_mean() {
  voted_ = voted_ || ring_.vote();
  std::vector<T> parts;
  for (const Bytes& said : ring_.beside()) {
    Unpacker unpacker(said);
    parts.push_back(std::get<T>(unpack_names(values_, unpacker)));
    if (unpacker.get<std::uint8_t>() != 0) broken_off_ = true;
  }
  Payload mean = node_.algebra().mean(parts, rules::ring_mean);
  const Fragment fragment = fragment_of(mean);
  std::size_t k = 0;
  for (const Handle& vector : vectors_in(mean)) {
    if (fragment.whole()) {
      values_.give(vector, ring_.mean(k++));
      continue;
    }
    std::vector<float> whole(task_.cut.length);
    std::ranges::copy(ring_.mean(k++), whole.begin() + static_cast<std::ptrdiff_t>(task_.cut.begin_of(fragment)));
    values_.give(vector, whole);
  }
  return mean;
}

bool MpiBackend::join_ring(Operation& operation, Payload& payload) {
  broken_off_ = broken_off_ || interrupted();
  if (broken_off_ || (task_.stop.simulated_time && now() >= *task_.stop.simulated_time)) voted_ = true;
  if (task_.plan.workers == 1) return true;
  // One after the other, in the order in which all ranks begin them.
  reducing_.push_back({&operation, &payload});
  if (reducing_.size() > 1) return false;
  begin_ring();
  if (!ring_done()) return false;
  take_ring_mean();
  return true;
}

/// The first of those that this rank has joined.
void MpiBackend::begin_ring() {
  const Payload& payload = *reducing_.front().payload;
  if (gathering())
    begin_gather(payload);
  else
    begin_mean(payload);
  while (!ring_done() && !early_.empty()) {
    const Bytes next = std::move(early_.front());
    early_.pop_front();
    ring_arrived(next);
  }
}

void MpiBackend::begin_mean(const Payload& payload) {
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
  ring_.begin(std::move(mine), cut, beside.take(), voted_);
}

std::span<const float> MpiBackend::values_of_fragment(const Handle& vector, const Fragment& fragment) {
  const std::span<const float> all = values_.of(vector);
  return fragment.whole() ? all : all.subspan(task_.cut.begin_of(fragment), task_.cut.of(fragment).length);
}

void MpiBackend::take_ring_mean() {
  Payload& payload = *reducing_.front().payload;
  payload = gathering() ? gathered_mean() : std::holds_alternative<Weights>(payload) ? ring_mean<Weights>() : ring_mean<Gradient>();
  reducing_.pop_front();
}

void MpiBackend::ring_message(Bytes bytes) {
  if (reducing_.empty()) {
    early_.push_back(std::move(bytes));
    return;
  }
  ring_arrived(bytes);
  while (!reducing_.empty() && ring_done()) {
    Operation& operation = *reducing_.front().operation;
    take_ring_mean();
    operation.complete();
    if (!reducing_.empty()) begin_ring();
  }
}

}  // namespace straggler

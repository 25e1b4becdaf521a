#include "validation/mpi/rings.hpp"

#include <algorithm>
#include <utility>

namespace straggler {

namespace {

/// The same on all ranks of the group, without communication.
std::uint64_t number_of(const RankGroup& group) {
  if (!group) return 0;
  Hasher hasher;
  for (const Rank rank : *group) hasher.add(static_cast<std::uint64_t>(rank));
  return hasher.key().low | 1;
}

}  // namespace

Rings::Ring& Rings::ring_of(const RankGroup& group) {
  const std::uint64_t number = number_of(group);
  Ring& ring = rings_[number];
  if (ring.seat.size > 0) return ring;
  const Rank self = rooms_.world.self();
  RingSeat& seat = ring.seat;
  seat.group = group;
  seat.number = number;
  seat.size = group ? static_cast<Rank>(group->size()) : rooms_.world.task.plan.workers;
  seat.place = group ? static_cast<Rank>(std::ranges::lower_bound(*group, self) - group->begin()) : self;
  const Rank next = (seat.place + 1) % seat.size;
  seat.right = group ? (*group)[index_of(next)] : next;
  return ring;
}

bool Rings::join(Operation& operation, const RankGroup& group) {
  Ring& ring = ring_of(group);
  if (!group) rooms_.stop.vote();
  if (ring.seat.size == 1) return true;
  ring.joined.push_back(&operation);
  if (ring.joined.size() > 1) return false;
  begin(ring);
  if (!ring.move->done()) return false;
  finish(ring);
  return true;
}

void Rings::begin(Ring& ring) {
  ring.move = begin_ring_move(rooms_, ring.seat, *ring.joined.front());
  while (!ring.move->done() && !ring.early.empty()) {
    const Bytes next = std::move(ring.early.front());
    ring.early.pop_front();
    ring.move->arrived(next);
  }
}

Operation& Rings::finish(Ring& ring) {
  ring.move->finish();
  ring.move.reset();
  Operation& operation = *ring.joined.front();
  ring.joined.pop_front();
  return operation;
}

void Rings::arrived(Bytes message) {
  Ring& ring = rings_[take_last_number(message)];
  if (!ring.move) return ring.early.push_back(std::move(message));
  ring.move->arrived(message);
  while (ring.move && ring.move->done()) {
    finish(ring).complete();
    if (!ring.joined.empty()) begin(ring);
  }
}

void Rings::cancel(const Operation& operation) noexcept {
  for (auto& [number, ring] : rings_) {
    if (!ring.joined.empty() && ring.joined.front() == &operation) ring.move.reset();
    std::erase(ring.joined, &operation);
  }
}

}  // namespace straggler

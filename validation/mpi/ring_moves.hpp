// How a collective moves around a ring: as a mean, as a sum of compressed messages, or as an all-gather.
#pragma once
#include <cstdint>
#include <memory>

#include "sim/training/operations.hpp"
#include "validation/mpi/rank_post.hpp"
#include "validation/mpi/rank_stop.hpp"
#include "validation/mpi/ring_mean.hpp"

namespace straggler {

/// A rank's place in the ring of a group.
struct RingSeat {
  RankGroup group;           // in the order of ranks; null: all workers
  std::uint64_t number = 0;  // names the ring in its messages; 0: of all workers
  Rank size = 0, place = 0, right = 0;
};

/// What all rings of a rank use, and does not outlive.
struct RingRooms {
  RankWorld& world;
  Algebra& algebra;
  RankPost& post;
  RankStop& stop;
};

/// One rank's part of one collective.
class RingMove {
 public:
  virtual ~RingMove() = default;
  RingMove(const RingMove&) = delete;
  RingMove& operator=(const RingMove&) = delete;

  /// The next message from the left. Only while not done.
  virtual void arrived(const Bytes& message) = 0;
  virtual bool done() const = 0;
  /// Once done: puts the result into the operation.
  virtual void finish() = 0;

 protected:
  /// All outlive it.
  RingMove(const RingRooms& rooms, const RingSeat& seat, Operation& operation) : rooms_(rooms), seat_(seat), operation_(operation) {}
  Payload& payload() const { return part_of(operation_).payload; }
  const Cut& cut() const { return rooms_.world.task.cut; }
  std::uint8_t flags() const { return rooms_.stop.flags(seat_.group == nullptr); }
  void send_right(RingMean::Outgoing out, bool gathered) const;

  const RingRooms& rooms_;
  const RingSeat& seat_;
  Operation& operation_;
};

/// Begins the operation's collective, in a ring of two ranks or more.
std::unique_ptr<RingMove> begin_ring_move(const RingRooms& rooms, const RingSeat& seat, Operation& operation);

}  // namespace straggler

// The rings around which this rank's collectives move: one of all workers, and one of each group. In a ring one collective follows another,
// in the order in which all its ranks begin them.
#pragma once
#include <algorithm>
#include <deque>
#include <map>
#include <memory>

#include "validation/mpi/ring_moves.hpp"

namespace straggler {

class Rings {
 public:
  explicit Rings(const RingRooms& rooms) : rooms_(rooms) {}

  /// Among the workers of a group; null: all. The operation's payload is this rank's part. True: its result is there (CollectivePart).
  /// Otherwise the operation completes with its result.
  bool join(Operation& operation, const RankGroup& group);
  void cancel(const Operation& operation) noexcept;
  /// The next message of a ring, from this rank's left neighbour.
  void arrived(Bytes message);
  /// No collective that this rank has begun is under way.
  bool idle() const {
    return std::ranges::all_of(rings_, [](const auto& each) { return each.second.joined.empty(); });
  }

 private:
  struct Ring {
    RingSeat seat;                   // of size 0: this rank has joined no collective yet
    std::deque<Operation*> joined;   // the first one moves
    std::unique_ptr<RingMove> move;  // null: none has joined
    std::deque<Bytes> early;         // messages for which this rank is not ready
  };
  Ring& ring_of(const RankGroup& group);
  void begin(Ring& ring);
  /// Returns the operation that is done.
  Operation& finish(Ring& ring);

  const RingRooms rooms_;
  std::map<std::uint64_t, Ring> rings_;  // by number
};

}  // namespace straggler

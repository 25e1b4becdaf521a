// All-gather around a ring: in p - 1 steps each rank passes the last part received from the left on to its right neighbour, starting with
// its own part (Thakur, Rabenseifner & Gropp, Optimization of Collective Communication Operations in MPICH, 2005). Used for
// compressed messages, whose sums are not compressed. Each part of a message (Part) goes around after the one before it.
#pragma once
#include <functional>
#include <span>
#include <vector>

#include "validation/mpi/ring_mean.hpp"

namespace straggler {

/// One rank's view of it. Knows no MPI: messages leave by a function, and come in by `arrived`.
class RingGather {
 public:
  /// The bytes of a part of a rank's message, and how many of them are values.
  struct Packed {
    Bytes bytes;
    Part part;
  };
  RingGather(Rank self, Rank ranks, std::function<void(RingMean::Outgoing)> to_right);

  /// All ranks bring the same kinds of parts; some may be empty. Flags that any rank has set reach all.
  void begin(std::vector<Packed> mine, std::uint8_t flags);
  /// The next message from the left. Only while not done.
  void arrived(std::span<const std::byte> message);
  bool done() const { return around_ == parts_; }

  /// Once done: a rank's parts.
  std::vector<Bytes> message(Rank rank) const;
  std::uint8_t flags() const { return flags_; }

 private:
  /// In step s rank r passes on the part of rank r - s.
  Packed& part_from(Rank back) { return messages_[index_of(((self_ - back) % ranks_ + ranks_) % ranks_)][around_]; }
  void send();

  const Rank self_, ranks_;
  std::function<void(RingMean::Outgoing)> to_right_;
  std::vector<std::vector<Packed>> messages_;  // [ranks][parts]
  std::uint8_t flags_ = 0;
  std::size_t around_ = 0, parts_ = 0;  // each part goes around once; 0: this rank is alone
  Rank step_ = 0;                       // of this time around
};

}  // namespace straggler

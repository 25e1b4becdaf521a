// All-gather around a ring: in p - 1 steps each rank passes the last part received from the left on to its right neighbour, starting with
// its own part (Thakur, Rabenseifner & Gropp, Optimization of Collective Communication Operations in MPICH, 2005). Used for compressed
// gradients, whose sums are not compressed. Running statistics go around afterwards, whole. A rank's extra bytes are in its part.
#pragma once
#include <functional>
#include <span>
#include <vector>

#include "validation/mpi/ring_mean.hpp"

namespace straggler {

/// One rank's view of it. Knows no MPI: messages leave by a function, and come in by `arrived`.
class RingGather {
 public:
  /// A rank's part: bytes, and how many of them are values; then the bytes for the second round, empty if there are none.
  struct Part {
    Bytes first, behind;
    std::uint64_t first_values = 0, behind_values = 0;
  };
  RingGather(Rank self, Rank ranks, std::function<void(RingMean::Outgoing)> to_right);

  /// `two`: with a second round. The same on all ranks.
  void begin(Part mine, bool two, bool vote);
  /// The next message from the left. Only while not done.
  void arrived(std::span<const std::byte> message);
  bool done() const { return around_ == times_around_; }

  /// Once done: by rank.
  const std::vector<Part>& parts() const { return parts_; }
  bool vote() const { return vote_; }

 private:
  /// In step s rank r passes on the part of rank r - s.
  Part& part_from(Rank back) { return parts_[static_cast<std::size_t>(((self_ - back) % ranks_ + ranks_) % ranks_)]; }
  void send();

  const Rank self_, ranks_;
  std::function<void(RingMean::Outgoing)> to_right_;
  std::vector<Part> parts_;  // [ranks]
  bool vote_ = false;
  int around_ = 0, times_around_ = 0;
  Rank step_ = 0;  // of this time around
};

}  // namespace straggler

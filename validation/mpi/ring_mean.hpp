// The mean over all ranks by a ring all-reduce (Patarasuk & Yuan, Bandwidth optimal all-reduce algorithms, 2009): p - 1 steps of
// reduce-scatter, p - 1 of all-gather, each rank sending to its right neighbour only.
//  A vector of n floats is cut into p chunks, chunk c being [n c / p, n (c + 1) / p). It starts at rank c, and each next rank adds its own:
// the sum's order is that of rules::ring_mean, whose bits this has. Each part of the vectors (Part) is cut likewise, and goes around after
// the one before it. In the first reduce-scatter, ranks also pass on extra bytes in addition to their vectors, so that at the end each has
// those of all ranks. Flags that any rank has set reach all.
#pragma once
#include <functional>
#include <span>
#include <vector>

#include "validation/mpi/wire.hpp"

namespace straggler {

/// One rank's part. Knows no MPI: messages leave by a function, and come in by `arrived`.
class RingMean {
 public:
  struct Outgoing {
    Bytes bytes;
    Part part;  // of the vectors: what it has of one
  };
  /// Floats that are cut into chunks by themselves, and are sent as those numbers.
  struct Segment {
    std::size_t begin = 0, length = 0;
    Precision numbers = Precision::fp32;
    Part::Kind part = Part::Kind::main;
  };
  RingMean(Rank self, Rank ranks, std::function<void(Outgoing)> to_right);

  /// All ranks bring the same segments.
  void begin(std::vector<float> mine, std::vector<Segment> segments, Bytes beside, std::uint8_t flags);
  /// `mine`: equally long vectors, one after another, the same number on all ranks. Their main parts have format `numbers`.
  void begin(std::vector<float> mine, Cut cut, Bytes beside, std::uint8_t flags, Precision numbers = Precision::fp32);
  /// The next message from the left. Only while not done.
  void arrived(std::span<const std::byte> message);
  bool done() const { return around_ == parts_.size(); }

  /// The segments of a vector that begins there.
  static void add_segments(std::vector<Segment>& segments, std::size_t begin, Cut cut, Precision numbers = Precision::fp32);

  /// Once done: the means, in the place of `mine`, and the extra bytes by rank.
  std::span<const float> means() const { return values_; }
  std::size_t main_length() const { return segments_.front().length; }
  std::span<const float> mean(std::size_t vector) const { return std::span(values_).subspan(vector * length_, length_); }
  const std::vector<Bytes>& beside() const { return beside_; }
  std::uint8_t flags() const { return flags_; }

 private:
  Rank wrapped(Rank rank) const { return (rank % ranks_ + ranks_) % ranks_; }
  std::span<float> chunk_of(const Segment& segment, Rank chunk);
  bool goes_now(const Segment& segment) const { return segment.part == parts_[around_]; }
  std::size_t largest_message() const;
  void send();
  void take(Unpacker& message, Rank chunk, bool gathering);

  const Rank self_, ranks_;
  std::function<void(Outgoing)> to_right_;
  std::vector<float> values_;
  std::vector<Segment> segments_;
  std::size_t length_ = 0;     // of a vector, where all are equally long
  std::vector<Bytes> beside_;  // [ranks]
  std::uint8_t flags_ = 0;
  std::vector<Part::Kind> parts_;  // each goes around once; none: this rank is alone
  std::size_t around_ = 0;         // of them
  Rank step_ = 0;                  // of this time around
};

}  // namespace straggler

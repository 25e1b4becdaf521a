// A number of ranks that is no power of two, folded onto one: of the last ranks, each second one hands its data to the one before it
// and gets the result back in the end (Rabenseifner 2004; Thakur, Rabenseifner & Gropp 2005).
#pragma once
#include <bit>
#include <cstddef>

#include "sim/collectives/schedule.hpp"

namespace straggler {

/// Core ranks have positions 0 .. 2^k - 1; the last `extras()` positions have an extra rank each, the rank after theirs. Neighbouring
/// positions are neighbouring ranks. At the end and not at the beginning, so that in a tree towards position 0 no rank that
/// waits for its extra is waited for by one that does not.
class Fold {
 public:
  explicit Fold(std::size_t ranks)
      : levels_(static_cast<std::size_t>(std::bit_width(ranks)) - 1), extras_(ranks - core()), single_(core() - extras_) {}
  std::size_t ranks() const { return core() + extras_; }
  std::size_t core() const { return std::size_t{1} << levels_; }
  std::size_t levels() const { return levels_; }  // k
  std::size_t extras() const { return extras_; }

  bool is_extra(CollectiveRank rank) const { return rank >= single_ && (rank - single_) % 2 == 1; }
  bool has_extra(CollectiveRank rank) const { return rank >= single_ && (rank - single_) % 2 == 0; }
  /// Of a core rank.
  std::size_t position(CollectiveRank rank) const { return rank < single_ ? rank : single_ + (rank - single_) / 2; }
  CollectiveRank rank(std::size_t position) const {
    return static_cast<CollectiveRank>(position < single_ ? position : single_ + 2 * (position - single_));
  }

  /// The round in which the extras hand over `bytes`; both sides of it.
  void hand_over(CollectiveRank rank, std::uint64_t bytes, RoundPart& out) const {
    if (is_extra(rank)) out.sends.push_back({rank - 1, bytes});
    if (has_extra(rank)) {
      out.receives = 1;
      out.received_bytes = out.reduced_bytes = bytes;
    }
  }
  /// The round in which they get the result.
  void hand_back(CollectiveRank rank, std::uint64_t bytes, RoundPart& out) const {
    if (has_extra(rank)) out.sends.push_back({rank + 1, bytes});
    if (is_extra(rank)) {
      out.receives = 1;
      out.received_bytes = bytes;
    }
  }

 private:
  std::size_t levels_, extras_, single_;
};

/// One stretch for each of `rounds` rounds.
inline std::vector<Stretch> each_round(std::size_t rounds) {
  std::vector<Stretch> all;
  for (std::size_t round = 0; round < rounds; ++round) all.push_back({round, 1});
  return all;
}

}  // namespace straggler

// Choices that timing makes: whom a receive-from-anyone took, which branch of a first_of won, which samples of a pool a worker drew.
// Recorded, and forced in a replay.
#pragma once
#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "sim/record/record.hpp"
#include "sim/training/payload.hpp"

namespace straggler {

class Choices {
 public:
  /// `sink` may be null; outlives this.
  explicit Choices(RecordSink* sink) : sink_(sink) {}

  /// One sequence per process, in its program order; choices are free once they are used up.
  void force(std::vector<std::vector<std::int32_t>> choices) {
    forced_ = std::move(choices);
    used_.assign(forced_.size(), 0);
    made_.assign(forced_.size(), 0);
  }
  /// -1: free.
  std::int32_t next(Rank rank) {
    const auto at = index_of(rank);
    if (at >= forced_.size() || used_[at] >= forced_[at].size()) return -1;
    return forced_[at][used_[at]++];
  }
  void made(Rank rank, std::int32_t choice) {
    if (index_of(rank) < forced_.size()) ++made_[index_of(rank)];
    if (sink_) sink_->choice(rank, choice);
  }
  /// The replay has not yet made all choices of the original run.
  bool are_left() const {
    for (std::size_t rank = 0; rank < forced_.size(); ++rank)
      if (made_[rank] < forced_[rank].size()) return true;
    return false;
  }
  /// A choice that a life looked up but did not make belongs to its next life.
  void life_ended(Rank rank) {
    const auto at = index_of(rank);
    if (at < forced_.size()) used_[at] = std::min(used_[at], made_[at]);
  }

 private:
  RecordSink* sink_;
  std::vector<std::vector<std::int32_t>> forced_;  // [processes]
  std::vector<std::size_t> used_, made_;           // [processes]: of those, looked up, and made since
};

}  // namespace straggler

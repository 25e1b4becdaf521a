// Messages of a collective that are early: of rounds that their receiver has not reached.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

namespace straggler {

/// Counts the messages to one rank that arrived before the rank came to their round.
class EarlyMessages {
 public:
  /// `ahead`: rounds after the next one.
  void add(std::size_t ahead) {
    if (next_ + ahead >= counts_.size()) counts_.resize(next_ + ahead + 1);
    ++counts_[next_ + ahead];
  }
  /// Of the next round, which becomes the present one.
  std::uint32_t take() {
    if (next_ == counts_.size()) return 0;
    const std::uint32_t count = counts_[next_++];
    if (next_ == counts_.size()) clear();
    return count;
  }
  bool empty() const { return counts_.empty(); }
  void clear() {
    counts_.clear();
    next_ = 0;
  }

 private:
  std::vector<std::uint32_t> counts_;
  std::size_t next_ = 0;
};

}  // namespace straggler

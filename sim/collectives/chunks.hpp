// Bytes cut into chunks that differ by at most one byte: chunk c of k covers [n c / k, n (c + 1) / k), rounded down.
#pragma once
#include <cstddef>
#include <cstdint>

namespace straggler {

/// `count` is at least 1 and below 2^32, so that no product overflows.
class Chunks {
 public:
  Chunks(std::uint64_t bytes, std::size_t count) : whole_(bytes / count), rest_(bytes % count), count_(count) {}
  std::size_t count() const { return count_; }
  std::uint64_t bytes() const { return whole_ * count_ + rest_; }
  /// Where chunk `c` begins; edge(count()) is where the last one ends.
  std::uint64_t edge(std::size_t c) const { return whole_ * c + (rest_ == 0 ? 0 : rest_ * c / count_); }
  std::uint64_t size(std::size_t c) const { return rest_ == 0 ? whole_ : whole_ + (rest_ * c % count_ + rest_ >= count_ ? 1 : 0); }
  /// Of chunks [first, last).
  std::uint64_t size(std::size_t first, std::size_t last) const { return edge(last) - edge(first); }

 private:
  std::uint64_t whole_, rest_, count_;
};

}  // namespace straggler

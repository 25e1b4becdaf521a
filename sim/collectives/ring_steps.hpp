// The steps of one ring of k members: reduce-scatter, then all-gather, each in k-1 steps that pass a chunk to the next member.
#pragma once
#include "sim/collectives/chunks.hpp"

namespace straggler {

/// Invariant: after the reduce-scatter, member i has the sum of chunk i + 1 (mod k).
class RingSteps {
 public:
  RingSteps(std::uint64_t bytes, std::size_t members) : chunks_(bytes, members) {}
  std::size_t members() const { return chunks_.count(); }
  std::size_t steps() const { return members() - 1; }  // of each half
  std::uint64_t owned(std::size_t member) const { return chunks_.size(after(member, 1)); }

  // Bytes that `member` sends in step s of each half. It receives the bytes that its predecessor sends.
  std::uint64_t scattered(std::size_t member, std::size_t step) const { return chunks_.size(before(member, step)); }
  std::uint64_t gathered(std::size_t member, std::size_t step) const { return chunks_.size(before(after(member, 1), step)); }

  // The same over all steps: every chunk but one.
  std::uint64_t all_scattered(std::size_t member) const { return steps() == 0 ? 0 : chunks_.bytes() - owned(member); }
  std::uint64_t all_gathered(std::size_t member) const { return steps() == 0 ? 0 : chunks_.bytes() - chunks_.size(after(member, 2)); }

  std::size_t next(std::size_t member) const { return after(member, 1); }
  std::size_t previous(std::size_t member) const { return before(member, 1); }

 private:
  // By at most `members()`.
  std::size_t after(std::size_t member, std::size_t by) const {
    const std::size_t sum = member + by;
    return sum < members() ? sum : (sum - members()) % members();
  }
  std::size_t before(std::size_t member, std::size_t by) const { return member >= by ? member - by : member + members() - by; }
  Chunks chunks_;
};

}  // namespace straggler

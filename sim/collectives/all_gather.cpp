#include "sim/collectives/all_gather.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

namespace straggler {
namespace {

class AllGatherRing final : public CollectiveSchedule {
 public:
  explicit AllGatherRing(std::vector<std::uint64_t> blocks) : blocks_(std::move(blocks)) {}
  std::size_t ranks() const override { return blocks_.size(); }
  std::size_t rounds() const override { return blocks_.size() - 1; }

  void part(CollectiveRank rank, std::size_t round, RoundPart& out) const override {
    out.clear();
    out.sends.push_back({static_cast<CollectiveRank>((rank + 1) % ranks()), blocks_[before(rank, round)]});
    out.receives = 1;
    out.received_bytes = blocks_[before(rank, round + 1)];
  }

  /// Blocks of one size make rounds that are equal.
  std::vector<Stretch> stretches() const override {
    if (rounds() == 0) return {};
    if (std::all_of(blocks_.begin(), blocks_.end(), [&](std::uint64_t block) { return block == blocks_.front(); })) return {{0, rounds()}};
    std::vector<Stretch> all;
    for (std::size_t round = 0; round < rounds(); ++round) all.push_back({round, 1});
    return all;
  }

  std::uint64_t bytes_sent(CollectiveRank rank) const override { return all_but(static_cast<std::size_t>(rank) + 1); }
  std::uint64_t bytes_received(CollectiveRank rank) const override { return all_but(rank); }

 private:
  /// The rank `by` before it, at most once around.
  std::size_t before(std::size_t rank, std::size_t by) const { return (rank + ranks() - by) % ranks(); }
  std::uint64_t all_but(std::size_t rank) const {
    return std::accumulate(blocks_.begin(), blocks_.end(), std::uint64_t{0}) - blocks_[rank % ranks()];
  }
  std::vector<std::uint64_t> blocks_;  // [ranks]
};

}  // namespace

std::unique_ptr<CollectiveSchedule> all_gather_ring(std::vector<std::uint64_t> block_bytes) {
  return std::make_unique<AllGatherRing>(std::move(block_bytes));
}

}  // namespace straggler

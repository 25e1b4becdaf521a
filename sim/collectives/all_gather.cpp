#include "sim/collectives/all_gather.hpp"

namespace straggler {

namespace {

class RingAllGather final : public CollectiveSchedule {
 public:
  RingAllGather(std::uint64_t bytes, std::size_t ranks) : bytes_(bytes), ranks_(ranks) {}
  std::size_t ranks() const override { return ranks_; }
  std::size_t rounds() const override { return ranks_ - 1; }

  void part(CollectiveRank rank, std::size_t, RoundPart& out) const override {
    out.clear();
    out.sends.push_back({static_cast<CollectiveRank>((rank + 1) % ranks_), bytes_});
    out.receives = 1;
    out.received_bytes = bytes_;
  }

  std::vector<Stretch> stretches() const override {
    if (rounds() == 0) return {};
    return {{0, rounds()}};
  }
  std::uint64_t bytes_sent(CollectiveRank) const override { return bytes_ * rounds(); }
  std::uint64_t bytes_received(CollectiveRank) const override { return bytes_ * rounds(); }

 private:
  std::uint64_t bytes_;
  std::size_t ranks_;
};

}  // namespace

std::unique_ptr<CollectiveSchedule> ring_all_gather(std::uint64_t bytes, std::size_t ranks) {
  return std::make_unique<RingAllGather>(bytes, ranks);
}

}  // namespace straggler

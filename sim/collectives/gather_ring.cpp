// Ring: in each of p - 1 steps a rank passes one block on to the next rank, starting with its own. A reduce-scatter passes the sum of a
// block on to the next rank, which adds its own part. For n bytes in p blocks:
//   all-gather      T = (p-1) α + ((p-1)/p) n β
//   reduce-scatter  T = (p-1) α + ((p-1)/p) n (β + γ)
// Both together are the ring all-reduce. Thakur, Rabenseifner & Gropp, Optimization of Collective Communication Operations in MPICH, 2005.
#include "sim/collectives/gathering.hpp"

namespace straggler::collectives::gather_ring {
namespace {

class Ring final : public Gathering {
 public:
  Ring(Blocks blocks, bool backwards) : Gathering(std::move(blocks)), next_(backwards ? ranks() - 1 : 1) {}
  std::size_t rounds() const override { return ranks() - 1; }

  void add(CollectiveRank rank, std::size_t round, Moves& moves) const override {
    const std::size_t next = after(rank, 1), previous = after(rank, rounds());
    moves.to.push_back({static_cast<CollectiveRank>(next), blocks().size(after(rank, ranks() - round))});
    moves.from.push_back({static_cast<CollectiveRank>(previous), blocks().size(after(rank, rounds() - round))});
  }

  std::vector<Stretch> stretches() const override {
    if (!blocks().alike()) return Gathering::stretches();
    return rounds() == 0 ? std::vector<Stretch>() : std::vector<Stretch>{{0, rounds()}};
  }
  std::uint64_t sent(CollectiveRank rank) const override { return blocks().all() - blocks().size(after(rank, 1)); }

 private:
  /// The rank `by` steps further along the ring, at most once around.
  std::size_t after(std::size_t rank, std::size_t by) const { return (rank + by * next_) % ranks(); }
  std::size_t next_;  // 1, or p - 1: one back
};

CollectiveEntry entry() {
  CollectiveEntry made;
  made.name = "ring";
  made.reference = "Thakur, Rabenseifner & Gropp 2005";
  made.seconds = [](double bytes, const CollectiveShape& shape, const UniformLinks& links, const Parameters&) {
    const auto p = static_cast<double>(shape.workers);
    return (p - 1) * links.alpha + (p - 1) / p * bytes * links.beta;
  };
  return made;
}
const RegisterGathering registered(entry(), "p-1 steps that pass a block to the next rank", "p-1 steps that pass a sum to the next rank",
                                   [](Blocks blocks, const CollectiveShape&, bool backwards) -> std::unique_ptr<Gathering> {
                                     return std::make_unique<Ring>(std::move(blocks), backwards);
                                   });

}  // namespace
}  // namespace straggler::collectives::gather_ring

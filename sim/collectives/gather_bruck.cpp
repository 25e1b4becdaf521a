// Bruck's algorithm: in round j a rank r sends the rank 2^j before it the blocks r, r + 1, … that it has and that one lacks: 2^j of them,
// in the last round the rest. A reduce-scatter sends the sums of as many blocks the other way. For n bytes in any number p of blocks:
//   all-gather      T = ⌈lg p⌉ α + ((p-1)/p) n β
//   reduce-scatter  T = ⌈lg p⌉ α + ((p-1)/p) n (β + γ)
// Bruck et al., Efficient Algorithms for All-to-All Communications in Multiport Message-Passing Systems, 1997; Thakur, Rabenseifner & Gropp
// 2005.
#include <algorithm>
#include <bit>

#include "sim/collectives/gathering.hpp"

namespace straggler::collectives::gather_bruck {
namespace {

std::size_t rounds_of(std::size_t ranks) { return static_cast<std::size_t>(std::bit_width(ranks - 1)); }

class Bruck final : public Gathering {
 public:
  using Gathering::Gathering;
  std::size_t rounds() const override { return rounds_of(ranks()); }

  void add(CollectiveRank rank, std::size_t round, Moves& moves) const override {
    const std::size_t far = std::size_t{1} << round, count = std::min(far, ranks() - far);
    const std::size_t before = (rank + ranks() - far) % ranks(), after = (rank + far) % ranks();
    moves.to.push_back({static_cast<CollectiveRank>(before), blocks().size(rank, count)});
    moves.from.push_back({static_cast<CollectiveRank>(after), blocks().size(after, count)});
  }
};

CollectiveEntry entry() {
  CollectiveEntry made;
  made.name = "bruck";
  made.reference = "Bruck et al. 1997";
  made.seconds = [](double bytes, const CollectiveShape& shape, const UniformLinks& links, const Parameters&) {
    const auto p = static_cast<double>(shape.workers);
    return static_cast<double>(rounds_of(shape.workers)) * links.alpha + (p - 1) / p * bytes * links.beta;
  };
  return made;
}
const RegisterGathering registered(entry(), "⌈lg p⌉ rounds with any number of ranks, each with twice the bytes",
                                   "⌈lg p⌉ rounds with any number of ranks, each with half of the bytes",
                                   [](Blocks blocks, const CollectiveShape&, bool) -> std::unique_ptr<Gathering> {
                                     return std::make_unique<Bruck>(std::move(blocks));
                                   });

}  // namespace
}  // namespace straggler::collectives::gather_bruck

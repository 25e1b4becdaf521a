// Recursive doubling: in round j a rank exchanges the 2^j blocks that it has with the rank 2^j away. A reduce-scatter is recursive halving:
// the first exchange, of half of the bytes, is with the rank p/2 away. For n bytes in p = 2^k blocks:
//   all-gather      T = lg p α + ((p-1)/p) n β
//   reduce-scatter  T = lg p α + ((p-1)/p) n (β + γ)
// Both together take the time of halving_doubling. Thakur, Rabenseifner & Gropp, Optimization of Collective Communication Operations in
// MPICH, 2005.
#include <bit>
#include <cmath>

#include "sim/collectives/gathering.hpp"

namespace straggler::collectives::gather_doubling {
namespace {

class Doubling final : public Gathering {
 public:
  using Gathering::Gathering;
  std::size_t rounds() const override { return static_cast<std::size_t>(std::bit_width(ranks())) - 1; }

  void add(CollectiveRank rank, std::size_t round, Moves& moves) const override {
    const std::size_t has = std::size_t{1} << round, first = rank / has * has;
    const auto other = static_cast<CollectiveRank>(rank ^ has);
    moves.to.push_back({other, blocks().size(first, has)});
    moves.from.push_back({other, blocks().size(first ^ has, has)});
  }
};

CollectiveEntry entry() {
  CollectiveEntry made;
  made.name = "halving_doubling";
  made.reference = "Thakur, Rabenseifner & Gropp 2005";
  made.seconds = [](double bytes, const CollectiveShape& shape, const UniformLinks& links, const Parameters&) {
    const auto p = static_cast<double>(shape.workers);
    return std::log2(p) * links.alpha + (p - 1) / p * bytes * links.beta;
  };
  made.unfit = [](const CollectiveShape& shape) -> std::string {
    if (std::has_single_bit(shape.workers)) return "";
    return "needs a number of workers that is a power of two, not " + std::to_string(shape.workers) + "; bruck takes any";
  };
  return made;
}
const RegisterGathering registered(entry(), "recursive doubling: lg p rounds, each with twice the bytes",
                                   "recursive halving: lg p rounds, each with half of the bytes",
                                   [](Blocks blocks, const CollectiveShape&, bool) -> std::unique_ptr<Gathering> {
                                     return std::make_unique<Doubling>(std::move(blocks));
                                   });

}  // namespace
}  // namespace straggler::collectives::gather_doubling

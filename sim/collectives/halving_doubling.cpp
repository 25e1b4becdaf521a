// Rabenseifner's algorithm: reduce-scatter by recursive halving, then all-gather by recursive doubling. The first exchange, of half
// of the bytes, is with the neighbour; each one further is with a rank twice as far away, of half as many bytes.
//   p = 2^k:  T = 2 lg p α + 2((p-1)/p) n β + ((p-1)/p) n γ
//   other p:  T = (2⌊lg p⌋ + 2) α + (2((q-1)/q) + 2) n β + (1 + (q-1)/q) n γ, q = 2^⌊lg p⌋: the ranks beyond q are folded
// Rabenseifner, Optimization of Collective Reduction Operations, 2004; Thakur, Rabenseifner & Gropp 2005.
#include "sim/base/registry.hpp"
#include "sim/collectives/chunks.hpp"
#include "sim/collectives/collective.hpp"
#include "sim/collectives/fold.hpp"

namespace straggler::collectives::halving_doubling {
namespace {

class HalvingDoubling final : public CollectiveSchedule {
 public:
  HalvingDoubling(std::uint64_t bytes, std::size_t ranks) : fold_(ranks), chunks_(bytes, fold_.core()) {}
  std::size_t ranks() const override { return fold_.ranks(); }
  std::size_t rounds() const override { return 2 * fold_.levels() + (fold_.extras() > 0 ? 2 : 0); }

  void part(CollectiveRank rank, std::size_t round, RoundPart& out) const override {
    out.clear();
    if (fold_.extras() > 0) {
      if (round == 0) return fold_.hand_over(rank, chunks_.bytes(), out);
      if (--round == 2 * fold_.levels()) return fold_.hand_back(rank, chunks_.bytes(), out);
    }
    if (fold_.is_extra(rank)) return;
    const bool halving = round < fold_.levels();
    const std::size_t level = halving ? round : 2 * fold_.levels() - 1 - round;
    const std::size_t self = fold_.position(rank), other = self ^ std::size_t{1} << level;
    // The two halves of what both have before this level: each keeps its own, and while halving sends the other's.
    const std::uint64_t own = kept(self, level), others = kept(other, level);
    out.sends.push_back({fold_.rank(other), halving ? others : own});
    out.receives = 1;
    out.received_bytes = halving ? own : others;
    if (halving) out.reduced_bytes = own;
  }

  std::vector<Stretch> stretches() const override { return each_round(rounds()); }

 private:
  /// Bytes of the range that a position keeps after `level`: bit i of it chooses the half at level i.
  std::uint64_t kept(std::size_t position, std::size_t level) const {
    std::size_t first = 0, half = fold_.core();
    for (std::size_t i = 0; i <= level; ++i) {
      half /= 2;
      if (position >> i & 1) first += half;
    }
    return chunks_.size(first, first + half);
  }

  Fold fold_;
  Chunks chunks_;
};

double seconds(double bytes, const CollectiveShape& shape, const UniformLinks& links, const Parameters&) {
  const Fold fold(shape.workers);
  const double q = static_cast<double>(fold.core()), share = (q - 1) / q;
  const double more = fold.extras() > 0 ? 1 : 0;
  return (2 * static_cast<double>(fold.levels()) + 2 * more) * links.alpha + (2 * share + 2 * more) * bytes * links.beta +
         (share + more) * bytes * links.gamma;
}

CollectiveEntry entry() {
  CollectiveEntry made;
  made.name = "halving_doubling";
  made.summary = "reduce-scatter by recursive halving, all-gather by recursive doubling: 2 lg p rounds, the bytes of a ring";
  made.reference = "Rabenseifner 2004";
  made.seconds = seconds;
  made.make = [](std::uint64_t bytes, const CollectiveShape& shape, const UniformLinks&,
                 const Parameters&) -> std::unique_ptr<CollectiveSchedule> {
    return std::make_unique<HalvingDoubling>(bytes, shape.workers);
  };
  return made;
}
const Register<CollectiveEntry> registered(entry());

}  // namespace
}  // namespace straggler::collectives::halving_doubling

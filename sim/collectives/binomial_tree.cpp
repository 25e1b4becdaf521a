// Binomial tree: all n bytes are reduced to rank 0, then broadcast from it.
//   T = 2⌈lg p⌉ (α + nβ) + ⌈lg p⌉ nγ
// Where p is no power of two, the ranks beyond 2^⌊lg p⌋ are leaves of the lowest level, so that the formula holds for any p.
// Thakur, Rabenseifner & Gropp, Optimization of Collective Communication Operations in MPICH, 2005.
#include "sim/base/registry.hpp"
#include "sim/collectives/collective.hpp"
#include "sim/collectives/fold.hpp"

namespace straggler::collectives::binomial_tree {
namespace {

class BinomialTree final : public CollectiveSchedule {
 public:
  BinomialTree(std::uint64_t bytes, std::size_t ranks) : bytes_(bytes), fold_(ranks) {}
  std::size_t ranks() const override { return fold_.ranks(); }
  std::size_t rounds() const override { return 2 * levels(); }

  void part(CollectiveRank rank, std::size_t round, RoundPart& out) const override {
    out.clear();
    const bool reducing = round < levels();
    std::size_t level = reducing ? round : 2 * levels() - 1 - round;
    if (fold_.extras() > 0) {
      if (level == 0) return reducing ? fold_.hand_over(rank, bytes_, out) : fold_.hand_back(rank, bytes_, out);
      --level;
    }
    if (fold_.is_extra(rank)) return;
    const std::size_t position = fold_.position(rank), stride = std::size_t{1} << level;
    if (position % stride != 0) return;  // gave its data away below this level
    const bool child = (position & stride) != 0;
    if (child == reducing) {
      out.sends.push_back({fold_.rank(position ^ stride), bytes_});
    } else {
      out.receives = 1;
      out.received_bytes = bytes_;
      if (reducing) out.reduced_bytes = bytes_;
    }
  }

  std::vector<Stretch> stretches() const override { return each_round(rounds()); }

 private:
  std::size_t levels() const { return fold_.levels() + (fold_.extras() > 0 ? 1 : 0); }
  std::uint64_t bytes_;
  Fold fold_;
};

double seconds(double bytes, const CollectiveShape& shape, const UniformLinks& links, const Parameters&) {
  const double levels = static_cast<double>(std::bit_width(shape.workers - 1));
  return levels * (2 * (links.alpha + bytes * links.beta) + bytes * links.gamma);
}

CollectiveEntry entry() {
  CollectiveEntry made;
  made.name = "binomial_tree";
  made.summary = "all n bytes reduced to rank 0 along a binomial tree, then broadcast";
  made.reference = "Thakur, Rabenseifner & Gropp 2005";
  made.seconds = seconds;
  made.make = [](std::uint64_t bytes, const CollectiveShape& shape, const UniformLinks&,
                 const Parameters&) -> std::unique_ptr<CollectiveSchedule> { return std::make_unique<BinomialTree>(bytes, shape.workers); };
  return made;
}
const Register<CollectiveEntry> registered(entry());

}  // namespace
}  // namespace straggler::collectives::binomial_tree

// Recursive doubling: in round j all n bytes are exchanged with the rank 2^j away, and added.
//   p = 2^k:  T = lg p (α + nβ + nγ)
//   other p:  T = (⌊lg p⌋ + 2)(α + nβ) + (⌊lg p⌋ + 1) nγ, by a round before and one after that fold the ranks beyond 2^⌊lg p⌋
// Thakur, Rabenseifner & Gropp, Optimization of Collective Communication Operations in MPICH, 2005.
#include "sim/base/registry.hpp"
#include "sim/collectives/collective.hpp"
#include "sim/collectives/fold.hpp"

namespace straggler::collectives::recursive_doubling {
namespace {

class RecursiveDoubling final : public CollectiveSchedule {
 public:
  RecursiveDoubling(std::uint64_t bytes, std::size_t ranks) : bytes_(bytes), fold_(ranks) {}
  std::size_t ranks() const override { return fold_.ranks(); }
  std::size_t rounds() const override { return fold_.levels() + (fold_.extras() > 0 ? 2 : 0); }

  void part(CollectiveRank rank, std::size_t round, RoundPart& out) const override {
    out.clear();
    if (fold_.extras() > 0) {
      if (round == 0) return fold_.hand_over(rank, bytes_, out);
      if (--round == fold_.levels()) return fold_.hand_back(rank, bytes_, out);
    }
    if (fold_.is_extra(rank)) return;
    out.sends.push_back({fold_.rank(fold_.position(rank) ^ std::size_t{1} << round), bytes_});
    out.receives = 1;
    out.received_bytes = out.reduced_bytes = bytes_;
  }

  std::vector<Stretch> stretches() const override { return each_round(rounds()); }

 private:
  std::uint64_t bytes_;
  Fold fold_;
};

double seconds(double bytes, const CollectiveShape& shape, const UniformLinks& links, const Parameters&) {
  const Fold fold(shape.workers);
  const double levels = static_cast<double>(fold.levels());
  const double more = fold.extras() > 0 ? 1 : 0;
  return (levels + 2 * more) * (links.alpha + bytes * links.beta) + (levels + more) * bytes * links.gamma;
}

CollectiveEntry entry() {
  CollectiveEntry made;
  made.name = "recursive_doubling";
  made.summary = "lg p rounds with all n bytes exchanged in each: lowest latency";
  made.reference = "Thakur, Rabenseifner & Gropp 2005";
  made.seconds = seconds;
  made.make = [](std::uint64_t bytes, const CollectiveShape& shape, const UniformLinks&,
                 const Parameters&) -> std::unique_ptr<CollectiveSchedule> {
    return std::make_unique<RecursiveDoubling>(bytes, shape.workers);
  };
  return made;
}
const Register<CollectiveEntry> registered(entry());

}  // namespace
}  // namespace straggler::collectives::recursive_doubling

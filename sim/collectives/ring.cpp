// Ring all-reduce: reduce-scatter, then all-gather, each in p-1 steps that pass one chunk of n/p to the next rank.
//   T = 2(p-1) α + 2((p-1)/p) n β + ((p-1)/p) n γ
// Patarasuk & Yuan, Bandwidth Optimal All-reduce Algorithms for Clusters of Workstations, 2009.
#include "sim/base/registry.hpp"
#include "sim/collectives/collective.hpp"
#include "sim/collectives/ring_steps.hpp"

namespace straggler::collectives::ring {
namespace {

class Ring final : public CollectiveSchedule {
 public:
  Ring(std::uint64_t bytes, std::size_t ranks) : steps_(bytes, ranks) {}
  std::size_t ranks() const override { return steps_.members(); }
  std::size_t rounds() const override { return 2 * steps_.steps(); }

  void part(CollectiveRank rank, std::size_t round, RoundPart& out) const override {
    const auto next = static_cast<CollectiveRank>(steps_.next(rank));
    const std::size_t previous = steps_.previous(rank);
    out.clear();
    out.receives = 1;
    if (round < steps_.steps()) {
      out.sends.push_back({next, steps_.scattered(rank, round)});
      out.reduced_bytes = out.received_bytes = steps_.scattered(previous, round);
    } else {
      out.sends.push_back({next, steps_.gathered(rank, round - steps_.steps())});
      out.received_bytes = steps_.gathered(previous, round - steps_.steps());
    }
  }

  std::vector<Stretch> stretches() const override {
    if (steps_.steps() == 0) return {};
    return {{0, steps_.steps()}, {steps_.steps(), steps_.steps()}};
  }
  std::uint64_t bytes_sent(CollectiveRank rank) const override { return steps_.all_scattered(rank) + steps_.all_gathered(rank); }
  std::uint64_t bytes_received(CollectiveRank rank) const override {
    return bytes_sent(static_cast<CollectiveRank>(steps_.previous(rank)));
  }

 private:
  RingSteps steps_;
};

double seconds(double bytes, const CollectiveShape& shape, const UniformLinks& links, const Parameters&) {
  const double p = static_cast<double>(shape.workers);
  return 2 * (p - 1) * links.alpha + (p - 1) / p * bytes * (2 * links.beta + links.gamma);
}

CollectiveEntry entry() {
  CollectiveEntry ring;
  ring.name = "ring";
  ring.summary = "2(p-1) steps of n/p bytes to the next rank";
  ring.reference = "Patarasuk & Yuan 2009";
  ring.seconds = seconds;
  ring.make = [](std::uint64_t bytes, const CollectiveShape& shape, const UniformLinks&,
                 const Parameters&) -> std::unique_ptr<CollectiveSchedule> { return std::make_unique<Ring>(bytes, shape.workers); };
  return ring;
}
const Register<CollectiveEntry> registered(entry());

}  // namespace
}  // namespace straggler::collectives::ring

// Open MPI's `tuned` component: chooses the algorithm of an all-reduce by the number of ranks and the bytes of the message, on any links.
// Facts of github.com/open-mpi/ompi, ompi/mca/coll/tuned/coll_tuned_decision_fixed.c of commit 8efebee7 (before 6.1): the rule for
// operations that commute. Three of its names map to algorithms here:
//  - segmented_ring is requested without a segment size, with which coll_base_allreduce.c runs its plain ring;
//   - rabenseifner is `halving_doubling`;
//  - nonoverlapping, a reduction and a broadcast chosen by separate rules, is `binomial_tree`.
#include <limits>

#include "sim/base/registry.hpp"
#include "sim/collectives/collective.hpp"

namespace straggler::collectives::openmpi {
namespace {

enum class Algorithm { nonoverlapping, recursive_doubling, ring, rabenseifner };

/// Messages below `bytes` of groups of fewer than `ranks`; the first line that fits counts.
struct Rule {
  std::size_t ranks;
  double bytes;
  Algorithm algorithm;
};

constexpr std::size_t any_ranks = std::numeric_limits<std::size_t>::max();
constexpr double any_bytes = std::numeric_limits<double>::infinity();
constexpr double kib = 1024;
constexpr Rule rules[] = {
    {4, 8, Algorithm::ring},
    {4, 4 * kib, Algorithm::recursive_doubling},
    {4, 8 * kib, Algorithm::ring},
    {4, 16 * kib, Algorithm::recursive_doubling},
    {4, 256 * kib, Algorithm::ring},
    {4, any_bytes, Algorithm::rabenseifner},
    {8, 16, Algorithm::ring},
    {8, 8 * kib, Algorithm::recursive_doubling},
    {8, any_bytes, Algorithm::rabenseifner},
    {16, 8 * kib, Algorithm::recursive_doubling},
    {16, any_bytes, Algorithm::rabenseifner},
    {32, 64, Algorithm::ring},
    {32, 4 * kib, Algorithm::recursive_doubling},
    {32, any_bytes, Algorithm::rabenseifner},
    {64, 128, Algorithm::ring},
    {64, any_bytes, Algorithm::rabenseifner},
    {128, 256 * kib, Algorithm::recursive_doubling},
    {128, any_bytes, Algorithm::rabenseifner},
    {256, 128 * kib, Algorithm::nonoverlapping},
    {256, 256 * kib, Algorithm::recursive_doubling},
    {256, any_bytes, Algorithm::rabenseifner},
    {512, 4 * kib, Algorithm::nonoverlapping},
    {512, any_bytes, Algorithm::rabenseifner},
    {2048, 2 * kib, Algorithm::nonoverlapping},
    {2048, 16 * kib, Algorithm::recursive_doubling},
    {2048, any_bytes, Algorithm::rabenseifner},
    {4096, 2 * kib, Algorithm::nonoverlapping},
    {4096, 4 * kib, Algorithm::ring},
    {4096, 16 * kib, Algorithm::recursive_doubling},
    {4096, any_bytes, Algorithm::rabenseifner},
    {any_ranks, 2 * kib, Algorithm::nonoverlapping},
    {any_ranks, 16 * kib, Algorithm::ring},
    {any_ranks, 32 * kib, Algorithm::recursive_doubling},
    {any_ranks, any_bytes, Algorithm::rabenseifner},
};

/// A ring of fewer elements than ranks is recursive doubling (coll_base_allreduce.c); elements of 4 B.
Algorithm choice(double bytes, std::size_t ranks) {
  for (const Rule& rule : rules) {
    if (ranks >= rule.ranks || bytes >= rule.bytes) continue;
    const bool too_short = rule.algorithm == Algorithm::ring && bytes < 4 * static_cast<double>(ranks);
    return too_short ? Algorithm::recursive_doubling : rule.algorithm;
  }
  return Algorithm::rabenseifner;
}

const CollectiveEntry& chosen(double bytes, std::size_t ranks) {
  static const char* const names[] = {"binomial_tree", "recursive_doubling", "ring", "halving_doubling"};
  return Registry<CollectiveEntry>::instance().at(names[static_cast<std::size_t>(choice(bytes, ranks))]);
}

CollectiveEntry entry() {
  CollectiveEntry made;
  made.name = "openmpi";
  made.summary = "Open MPI's choice for each message, by its bytes and the number of ranks";
  made.reference = "open-mpi/ompi, coll_tuned_decision_fixed.c";
  made.library = true;
  made.choice = [](double bytes, const CollectiveShape& shape, const UniformLinks&, const Parameters&) {
    return chosen(bytes, shape.workers).name;
  };
  made.seconds = [](double bytes, const CollectiveShape& shape, const UniformLinks& links, const Parameters&) {
    const CollectiveEntry& entry = chosen(bytes, shape.workers);
    return entry.seconds(bytes, shape, links, complete(entry.parameters, {}));
  };
  made.make = [](std::uint64_t bytes, const CollectiveShape& shape, const UniformLinks& links, const Parameters&) {
    const CollectiveEntry& entry = chosen(static_cast<double>(bytes), shape.workers);
    return entry.make(bytes, shape, links, complete(entry.parameters, {}));
  };
  return made;
}
const Register<CollectiveEntry> registered(entry());

}  // namespace
}  // namespace straggler::collectives::openmpi

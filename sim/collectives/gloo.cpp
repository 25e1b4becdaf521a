// Gloo's all-reduce, which PyTorch's backend of that name takes: a ring, at any size. A rank's chunk of n/p bytes goes in at least two
// segments of 1 MiB at most. Facts of github.com/facebookincubator/gloo, gloo/allreduce.cc and .h of commit cc441984: without an option for
// it the algorithm is the ring, and maxSegmentSize is 1 MiB.
//   T = 2(p-1) α + 2((p-1)/p) n β + ((p-1)/p) n γ, with 2k(p-1) messages of a rank, k = max(2, ⌈n / (p · 1 MiB)⌉)
// The segments of a chunk are in progress together here. In Gloo two are, and the next chunk's first may follow before the last has
// arrived: where α is about the time of a segment, that hides up to a third of T.
#include <algorithm>

#include "sim/base/registry.hpp"
#include "sim/collectives/chunks.hpp"
#include "sim/collectives/collective.hpp"

namespace straggler::collectives::gloo {
namespace {

constexpr std::uint64_t segment_bytes = 1 << 20;
constexpr std::size_t least_segments = 2;

class SegmentedRing final : public CollectiveSchedule {
 public:
  SegmentedRing(std::uint64_t bytes, std::size_t ranks)
      : ranks_(ranks),
        segments_(std::max<std::size_t>(least_segments, (bytes + ranks * segment_bytes - 1) / (ranks * segment_bytes))),
        chunks_(bytes, ranks * segments_) {}
  std::size_t ranks() const override { return ranks_; }
  std::size_t rounds() const override { return 2 * (ranks_ - 1); }

  /// As sim/collectives/ring_steps.hpp: in round t, of both halves, rank r passes chunk r - t (mod p) on.
  void part(CollectiveRank rank, std::size_t round, RoundPart& out) const override {
    const bool scatters = round < ranks_ - 1;
    const std::size_t previous = (rank + ranks_ - 1) % ranks_;
    out.clear();
    for (std::size_t segment = 0; segment < segments_; ++segment) {
      out.sends.push_back({static_cast<CollectiveRank>((rank + 1) % ranks_), chunks_.size(segment_of(rank, round, segment))});
      ++out.receives;
      out.received_bytes += chunks_.size(segment_of(previous, round, segment));
    }
    if (scatters) out.reduced_bytes = out.received_bytes;
  }

  std::vector<Stretch> stretches() const override {
    if (ranks_ < 2) return {};
    return {{0, ranks_ - 1}, {ranks_ - 1, ranks_ - 1}};
  }

 private:
  std::size_t segment_of(std::size_t rank, std::size_t round, std::size_t segment) const {
    return (rank + 2 * ranks_ - round) % ranks_ * segments_ + segment;
  }
  std::size_t ranks_, segments_;
  Chunks chunks_;
};

CollectiveEntry entry() {
  CollectiveEntry made;
  made.name = "gloo";
  made.summary = "Gloo's ring: at least two segments per chunk, of at most 1 MiB";
  made.reference = "facebookincubator/gloo, allreduce.cc";
  made.library = true;
  made.choice = [](double, const CollectiveShape&, const UniformLinks&, const Parameters&) { return std::string("ring"); };
  made.seconds = [](double bytes, const CollectiveShape& shape, const UniformLinks& links, const Parameters&) {
    const double p = static_cast<double>(shape.workers);
    return 2 * (p - 1) * links.alpha + (p - 1) / p * bytes * (2 * links.beta + links.gamma);
  };
  made.make = [](std::uint64_t bytes, const CollectiveShape& shape, const UniformLinks&,
                 const Parameters&) -> std::unique_ptr<CollectiveSchedule> {
    return std::make_unique<SegmentedRing>(bytes, shape.workers);
  };
  return made;
}
const Register<CollectiveEntry> registered(entry());

}  // namespace
}  // namespace straggler::collectives::gloo

// Gloo's all-reduce, which PyTorch's backend of that name takes: a ring, at any size. A rank's chunk of n/p bytes goes in k segments: at
// least two, of at most 1 MiB. Facts of github.com/facebookincubator/gloo, gloo/allreduce.cc and gloo/transport/tcp/pair.cc of commit
// cc441984: without an option for it the algorithm is the ring, and maxSegmentSize is 1 MiB. Two segments are in progress each way. A rank
// posts the next receive and send when it has received the segment before the last one. A segment leaves when the word that its receiver
// has posted (NOTIFY_RECV_READY) has come, and that word leaves its own host behind the segment that is leaving. Let S = n β / (p k) be the
// time of a segment. A pair of segments takes
//   2 α + S,  or where α < S:  2 S + α if the word is posted before the next segment leaves, else 2 S + 2 α.
// In the reduce-scatter a rank adds up before it posts; in the all-gather it does not. We take the mean, max(2 α + S, 2 S + 3/2 α). With
// N = (p-1) k segments a half:
//   T = 2((p-1)/p) n β + ((p-1)/p) n γ + 2 α (2 + ⌊(N-1)/2⌋ (2 - min(1/2, S / α)))
// The schedule has rounds of whole chunks, whose latency holds what the pairs wait for. In Gloo the sum of a segment may pass while the
// other one flows; here it does not (docs/decisions/collective-libraries.md, 214).
#include <algorithm>

#include "sim/base/registry.hpp"
#include "sim/collectives/chunks.hpp"
#include "sim/collectives/collective.hpp"

namespace straggler::collectives::gloo {
namespace {

constexpr std::uint64_t segment_bytes = 1 << 20;
constexpr std::size_t least_segments = 2, in_progress = 2;

std::size_t segments_of_chunk(std::uint64_t bytes, std::size_t ranks) {
  return std::max<std::size_t>(least_segments, (bytes + ranks * segment_bytes - 1) / (ranks * segment_bytes));
}

/// Over all segments of a half.
double latencies_of_half(double bytes, std::size_t ranks, const UniformLinks& links) {
  const std::size_t segments = segments_of_chunk(static_cast<std::uint64_t>(bytes), ranks), of_half = (ranks - 1) * segments;
  const double flowing = bytes / static_cast<double>(ranks * segments) * links.beta;
  constexpr double most_hidden = 0.5;
  const double hidden = flowing < most_hidden * links.alpha ? flowing / links.alpha : most_hidden;  // of a pair's two latencies
  return 2 + static_cast<double>((of_half - 1) / in_progress) * (2 - hidden);
}

class SegmentedRing final : public CollectiveSchedule {
 public:
  SegmentedRing(std::uint64_t bytes, std::size_t ranks, const UniformLinks& links)
      : ranks_(ranks),
        segments_(segments_of_chunk(bytes, ranks)),
        chunks_(bytes, ranks * segments_),
        latency_share_(ranks < 2 ? 1 : latencies_of_half(static_cast<double>(bytes), ranks, links) / static_cast<double>(ranks - 1)) {}
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

  double latency_share(std::size_t) const override { return latency_share_; }
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
  double latency_share_;
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
    const double latencies = shape.workers < 2 ? 0 : 2 * latencies_of_half(bytes, shape.workers, links);
    return latencies * links.alpha + (p - 1) / p * bytes * (2 * links.beta + links.gamma);
  };
  made.make = [](std::uint64_t bytes, const CollectiveShape& shape, const UniformLinks& links,
                 const Parameters&) -> std::unique_ptr<CollectiveSchedule> {
    return std::make_unique<SegmentedRing>(bytes, shape.workers, links);
  };
  return made;
}
const Register<CollectiveEntry> registered(entry());

}  // namespace
}  // namespace straggler::collectives::gloo

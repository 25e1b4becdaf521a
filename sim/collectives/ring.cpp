// Ring all-reduce: reduce-scatter, then all-gather, each in p-1 steps that pass one chunk of n/p to the next rank.
//   T = 2(p-1) α + 2((p-1)/p) n β + ((p-1)/p) n γ
// Patarasuk & Yuan, Bandwidth Optimal All-reduce Algorithms for Clusters of Workstations, 2009.
//
// With a largest `chunk` of c bytes, longer messages go round in L = ⌈n / (p c)⌉ laps of p c bytes, the last one with the rest:
//   T = 2(p-1) L α + 2((p-1)/p) n β + ((p-1)/p) n γ   if all ranks take each step together.
// NCCL's rings have such laps: chunkSize in src/collectives/device/all_reduce.h of NCCL 2.3.5, the first version of NCCL 2 with a public
// source, is half of a buffer of 4 MiB (DEFAULT_BUFFER_SIZE_BYTES, ALLREDUCE_BUFCHUNKS), and so up to 2.6.4 at least. A rank sends into its
// neighbour's buffer without waiting for it (collective.start: as_they_come), so that a lap begins while others are still in the last one.
//
// With k slices each step's message is k messages, of which a rank passes one on while the next ones come: with as_they_come, equal links
// and two slices of s seconds each, the latency is hidden where it is at most s, and T = 4(p-1) L s + α. Since NCCL 2.5 a chunk is two
// slices (ALLREDUCE_CHUNKSTEPS and ALLREDUCE_SLICESTEPS in src/include/collectives.h).
#include <algorithm>
#include <cmath>

#include "sim/base/registry.hpp"
#include "sim/collectives/chunks.hpp"
#include "sim/collectives/collective.hpp"
#include "sim/collectives/ring_steps.hpp"

namespace straggler::collectives::ring {
namespace {

/// Bytes of a lap, and of the last one.
struct Laps {
  Laps(std::uint64_t bytes, std::size_t ranks, std::uint64_t chunk) {
    const bool one = chunk == 0 || chunk >= (bytes + ranks - 1) / ranks;
    each = one ? bytes : chunk * ranks;
    count = one ? 1 : static_cast<std::size_t>((bytes + each - 1) / each);
    last = bytes - each * (count - 1);
  }
  std::uint64_t each, last;
  std::size_t count;
};

class Ring final : public CollectiveSchedule {
 public:
  Ring(const Laps& laps, std::size_t ranks, std::size_t slices)
      : laps_(laps.count), slices_(slices), each_(laps.each, ranks), last_(laps.last, ranks) {}
  std::size_t ranks() const override { return each_.members(); }
  std::size_t rounds() const override { return laps_ * rounds_of_lap(); }

  std::size_t ahead() const override { return slices_ - 1; }

  void part(CollectiveRank rank, std::size_t round, RoundPart& out) const override {
    const std::size_t lap = laps_ == 1 ? 0 : round / rounds_of_lap(), in_lap = round - lap * rounds_of_lap();
    const std::size_t step = slices_ == 1 ? in_lap : in_lap / slices_, slice = in_lap - step * slices_;
    const auto sliced = [&](std::uint64_t bytes) { return slices_ == 1 ? bytes : Chunks(bytes, slices_).size(slice); };
    const RingSteps& steps = lap + 1 == laps_ ? last_ : each_;
    const auto next = static_cast<CollectiveRank>(steps.next(rank));
    const std::size_t previous = steps.previous(rank);
    out.receives = 1;
    if (out.sends.size() != 1) out.sends.resize(1);
    if (step < steps.steps()) {
      out.sends[0] = {next, sliced(steps.scattered(rank, step))};
      out.reduced_bytes = out.received_bytes = sliced(steps.scattered(previous, step));
    } else {
      out.sends[0] = {next, sliced(steps.gathered(rank, step - steps.steps()))};
      out.received_bytes = sliced(steps.gathered(previous, step - steps.steps()));
      out.reduced_bytes = 0;
    }
  }

  std::vector<Stretch> stretches() const override {
    std::vector<Stretch> halves;
    for (std::size_t first = 0; first < rounds(); first += rounds_of_lap() / 2) halves.push_back({first, rounds_of_lap() / 2});
    return halves;
  }
  std::uint64_t bytes_sent(CollectiveRank rank) const override { return (laps_ - 1) * of_lap(each_, rank) + of_lap(last_, rank); }
  std::uint64_t bytes_received(CollectiveRank rank) const override { return bytes_sent(static_cast<CollectiveRank>(each_.previous(rank))); }

 private:
  static std::uint64_t of_lap(const RingSteps& steps, CollectiveRank rank) { return steps.all_scattered(rank) + steps.all_gathered(rank); }
  std::size_t rounds_of_lap() const { return 2 * each_.steps() * slices_; }
  std::size_t laps_, slices_;
  RingSteps each_, last_;
};

std::uint64_t chunk_of(const Parameters& parameters) {
  return parameters.has("chunk") ? static_cast<std::uint64_t>(parameters.number("chunk")) : 0;
}

std::size_t slices_of(const Parameters& parameters) {
  return parameters.has("slices") ? static_cast<std::size_t>(parameters.count("slices")) : 1;
}

double seconds(double bytes, const CollectiveShape& shape, const UniformLinks& links, const Parameters& parameters) {
  const double p = static_cast<double>(shape.workers), chunk = static_cast<double>(chunk_of(parameters));
  const double laps = chunk > 0 ? std::max(1.0, std::ceil(bytes / (p * chunk))) : 1;
  return 2 * (p - 1) * laps * static_cast<double>(slices_of(parameters)) * links.alpha +
         (p - 1) / p * bytes * (2 * links.beta + links.gamma);
}

CollectiveEntry entry() {
  CollectiveEntry ring;
  ring.name = "ring";
  ring.summary = "2(p-1) steps of n/p bytes to the next rank";
  ring.reference = "Patarasuk & Yuan 2009";
  ring.parameters = {
      {.name = "chunk",
       .type = ValueType::bytes,
       .meaning = "most bytes of a step's message; longer messages go round in laps; NCCL's ring: 2MiB; default: n/p, one lap",
       .range = Range::between(1024, 1e15)},
      {.name = "slices",
       .type = ValueType::count,
       .fallback = "1",
       .meaning =
           "of a step's message, each passed on while the next one comes (with `as_they_come`, else each pays a latency); NCCL's ring: 2",
       .range = Range::between(1, 64)}};
  ring.seconds = seconds;
  ring.make = [](std::uint64_t bytes, const CollectiveShape& shape, const UniformLinks&,
                 const Parameters& parameters) -> std::unique_ptr<CollectiveSchedule> {
    return std::make_unique<Ring>(Laps(bytes, shape.workers, chunk_of(parameters)), shape.workers, slices_of(parameters));
  };
  return ring;
}
const Register<CollectiveEntry> registered(entry());

}  // namespace
}  // namespace straggler::collectives::ring

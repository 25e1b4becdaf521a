#include "sim/collectives/gathering.hpp"

#include <algorithm>
#include <utility>

namespace straggler {

std::vector<Stretch> Gathering::stretches() const {
  std::vector<Stretch> all;
  for (std::size_t round = 0; round < rounds(); ++round) all.push_back({round, 1});
  return all;
}

std::uint64_t Gathering::sent(CollectiveRank rank) const {
  std::uint64_t bytes = 0;
  for (std::size_t round = 0; round < rounds(); ++round) {
    Moves moves;
    add(rank, round, moves);
    for (const Message& message : moves.to) bytes += message.bytes;
  }
  return bytes;
}

namespace {

class GatheringSchedule : public CollectiveSchedule {
 public:
  explicit GatheringSchedule(std::unique_ptr<Gathering> gathering) : gathering_(std::move(gathering)) {}
  std::size_t ranks() const override { return gathering_->ranks(); }
  std::size_t rounds() const override { return gathering_->rounds(); }

 protected:
  template <class Messages>
  static void fill(RoundPart& out, const Messages& sends, const Messages& receives) {
    out.clear();
    for (const Gathering::Message& message : sends) out.sends.push_back({message.with, message.bytes});
    out.receives = static_cast<std::uint32_t>(receives.size());
    for (const Gathering::Message& message : receives) out.received_bytes += message.bytes;
  }
  std::uint64_t of_others(CollectiveRank rank) const { return gathering_->blocks().all() - gathering_->blocks().size(rank); }
  const std::unique_ptr<const Gathering> gathering_;
};

class AllGather final : public GatheringSchedule {
 public:
  using GatheringSchedule::GatheringSchedule;
  void part(CollectiveRank rank, std::size_t round, RoundPart& out) const override {
    Gathering::Moves moves;
    gathering_->add(rank, round, moves);
    fill(out, moves.to, moves.from);
  }
  std::vector<Stretch> stretches() const override { return gathering_->stretches(); }
  std::uint64_t bytes_sent(CollectiveRank rank) const override { return gathering_->sent(rank); }
  std::uint64_t bytes_received(CollectiveRank rank) const override { return of_others(rank); }
};

class ReduceScatter final : public GatheringSchedule {
 public:
  using GatheringSchedule::GatheringSchedule;
  void part(CollectiveRank rank, std::size_t round, RoundPart& out) const override {
    Gathering::Moves moves;
    gathering_->add(rank, rounds() - 1 - round, moves);
    fill(out, moves.from, moves.to);
    out.reduced_bytes = out.received_bytes;
  }
  std::vector<Stretch> stretches() const override {
    std::vector<Stretch> all = gathering_->stretches();
    std::reverse(all.begin(), all.end());
    for (Stretch& each : all) each.first = rounds() - each.first - each.rounds;
    return all;
  }
  std::uint64_t bytes_sent(CollectiveRank rank) const override { return of_others(rank); }
  std::uint64_t bytes_received(CollectiveRank rank) const override { return gathering_->sent(rank); }
};

}  // namespace

RegisterGathering::RegisterGathering(const CollectiveEntry& both, const char* all_gather_summary, const char* reduce_scatter_summary,
                                     const Make& make) {
  CollectiveEntry gather = both, scatter = both;
  gather.operation = CollectiveKind::all_gather;
  gather.summary = all_gather_summary;
  gather.make = [make](std::uint64_t bytes, const CollectiveShape& shape, const UniformLinks&,
                       const Parameters&) -> std::unique_ptr<CollectiveSchedule> {
    return std::make_unique<AllGather>(make(Blocks(bytes, shape), shape, false));
  };
  scatter.operation = CollectiveKind::reduce_scatter;
  scatter.summary = reduce_scatter_summary;
  scatter.seconds = [seconds = both.seconds](double bytes, const CollectiveShape& shape, const UniformLinks& links,
                                             const Parameters& parameters) {
    const auto p = static_cast<double>(shape.workers);
    return seconds(bytes, shape, links, parameters) + (p - 1) / p * bytes * links.gamma;
  };
  scatter.make = [make](std::uint64_t bytes, const CollectiveShape& shape, const UniformLinks&,
                        const Parameters&) -> std::unique_ptr<CollectiveSchedule> {
    return std::make_unique<ReduceScatter>(make(Blocks(bytes, shape), shape, true));
  };
  RegisterCollective(std::move(gather));
  RegisterCollective(std::move(scatter));
}

}  // namespace straggler

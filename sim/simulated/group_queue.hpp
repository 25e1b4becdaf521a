// Collectives over a group of workers, or over all workers beside a server.
#pragma once
#include "sim/simulated/together_queue.hpp"

namespace straggler {

/// The n-th collectives of the group's workers belong together. The group never waits for a worker that is down, even with on_failure:
/// wait; the others begin again.
///
/// A worker that joins or comes back restarts its program, and the group cannot know its position in the sequence of collectives. So it is
/// a newcomer, for which the others do not wait.
///  - Its collective belongs to the next of the same kind that the others begin; from then on it is a regular member. A scheme that calls
///    each kind once per round has it in step then. If only newcomers are in, the first of them becomes regular.
///  - In a scheme whose versions come from all-reduces over all workers, the others wait for it there. So it does not wait for them here:
///    it gets its own payload back at once, as if it were alone, until it has taken part in one of those all-reduces.
/// So faults cause no deadlock, unless the others in the scheme wait for a newcomer's actions after its collective.
class GroupQueue final : public TogetherQueue {
 public:
  /// `among` null: all workers. `reduces_all`: versions come from all-reduces over all workers.
  GroupQueue(const SimulatedRun& run, PostOffice& post_office, RankGroup among, bool reduces_all);
  using CollectiveQueue::join;
  bool join(Operation& operation, std::size_t pieces) override;
  void cancel(Operation& operation) noexcept override;
  void membership_changed(Rank worker) override;
  void published(std::uint32_t) override {}
  bool may_start() const override { return true; }
  std::uint32_t start(Rank worker) override;
  bool finishing(std::uint32_t) const override { return false; }

 private:
  bool awaits(std::size_t place) const override { return run_.workers.is_member(rank_at(place)) && !is_new(place); }
  std::size_t awaited() const override;
  void about_to_begin() override;
  void keep_result() override {}
  bool is_new(std::size_t place) const;
  void take_in(std::size_t place);
  void take_in_first_if_alone();

  const bool reduces_all_;
  std::vector<bool> new_;  // by place: it has come, and is not yet a regular member; empty: no worker ever comes
  Slots waiting_;          // by place: of newcomers
};

}  // namespace straggler

// Members and faults: workers crash and restart, leave, join; links fail and processors slow down.
#pragma once
#include <algorithm>
#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "sim/simulated/collectives.hpp"
#include "sim/simulated/computations.hpp"
#include "sim/simulated/post_office.hpp"
#include "sim/simulated/publications.hpp"
#include "sim/simulated/recovery_policy.hpp"

namespace straggler {

/// A worker that joins or comes back is first sent the state it needs: the weights, by the server; without a server by the first member,
/// with the optimizer's state of those weights. If no member is left, it reads saved state, in no time. If workers share their host's
/// memory, the state is there. A worker starts from the version that is the latest when it starts; if workers have their own weights, from
/// that first member's latest ones; among workers that reduce together, at the moment that CollectiveQueue names.
class Membership final : private StateTransferWatch {
 public:
  /// All outlive this.
  Membership(const SimulatedRun& run, PostOffice& post_office, Collectives& collectives, Computations& computations,
             Publications& publications);
  /// Schedules the dated faults.
  void begin();
  /// Decides what failures do from now on; outlives this.
  void follow(RecoveryPolicy& policy) { policy_ = &policy; }
  /// The unit fails, or is repaired: what it holds goes or comes back, unless another unit holds it down, too.
  void fail(Failure failure);
  void repair(const Failure& failure);
  /// It will fail at `failure.at`.
  void announce(const Failure& failure);
  /// Its workers compute slower, or its links are narrower, from now on; or no longer.
  void impair(FaultUnit unit, double times_slower, double bandwidth_factor, bool begins);
  /// They come back at once, so none gets its state from another.
  void fetch_state(std::span<const Rank> workers);
  /// All are about to start again from an earlier version, with that state of the optimizer.
  void rolled_back(std::vector<Handle> optimizer);
  /// They have no state of their own, and have read that of the others.
  void start_from_saved(const std::vector<Rank>& workers);
  /// Of each server a replica is left.
  bool servers_are_there() const {
    const std::size_t replicas = run_.world.cluster.faults.units ? run_.world.cluster.faults.units->replicas() : 1;
    return std::ranges::none_of(replicas_down_, [replicas](std::uint32_t down) { return down >= replicas; });
  }
  /// A unit that holds the worker has failed and is not repaired.
  bool is_down(Rank worker) const { return down_[index_of(worker)] > 0; }
  /// One of these will not be repaired.
  bool is_lost(Rank worker) const { return lost_[index_of(worker)]; }
  /// A version was published: workers that waited for it start.
  void published(Rank by);
  /// RecoveryPolicy::holds_starts is over.
  void may_start() { start_ready(); }
  /// A worker has joined an all-reduce: the others may be waiting for one that is ready to start.
  void joined() { start_ready(); }

 private:
  using State = Workers::State;
  // StateTransferWatch
  void state_arrived(Rank worker) override;
  /// Requests the transfer again, from another source.
  void state_lost(Rank worker) override;

  Process crash(const Fault& fault);
  Process slow(const Fault& fault);
  Process fail_link(const Fault& fault);
  Process join(const Fault& fault);
  Process leave(const Fault& fault);
  /// The vector that the worker keeps, if it has one and its server holds the mean of all (TrainingPlan::clients_keep_vectors).
  void send_kept_vector(Rank worker);
  /// They are no longer members, and their work in progress is lost. All go at once: none of them is counted on.
  void take_out(std::span<const Rank> workers, State becomes);
  void request_state(Rank worker, Rank source);
  void start(Rank worker);
  void start_ready();
  void start_all();
  /// State of the optimizer that belongs to the weights that `source` sends.
  const std::vector<Handle>& optimizer_of(Rank source) const;
  void slow_down(Rank worker, double factor, bool begins);
  void set_bandwidth(std::span<const LinkId> links, double factor, bool failing);

  const SimulatedRun run_;
  PostOffice& post_office_;
  Collectives& collectives_;
  Computations& computations_;
  Publications& publications_;
  RecoveryPolicy* policy_ = nullptr;                       // null: on_failure decides
  std::unordered_map<Rank, std::vector<double>> slow_;     // slowdown factors of the worker's present slow spells
  std::unordered_map<LinkId, std::vector<double>> links_;  // bandwidth factors of the link's present failures
  std::vector<Rank> ready_;                                // arrived, waiting for the next version
  std::vector<std::uint16_t> down_;                        // [workers]: units that hold it and have failed
  std::vector<bool> lost_;                                 // [workers]: one of them will not be repaired
  std::vector<std::uint32_t> replicas_down_;               // [servers]; empty unless units repeat their faults
  std::vector<Handle> optimizer_;  // of the latest version, where workers have it: some may not have taken that step yet
};

}  // namespace straggler

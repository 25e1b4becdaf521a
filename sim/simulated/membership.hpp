// Members and faults: workers crash and restart, leave, join; links fail and processors slow down.
#pragma once
#include <cstdint>
#include <vector>

#include "sim/simulated/collectives.hpp"
#include "sim/simulated/computations.hpp"
#include "sim/simulated/post_office.hpp"
#include "sim/simulated/publications.hpp"

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
  /// Schedules the faults.
  void begin();
  /// A version was published: workers that waited for it start.
  void published(Rank by);
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
  /// It is no longer a member, and its work in progress is lost.
  void take_out(Rank worker, State becomes);
  void fetch_state(Rank worker);
  void start(Rank worker);
  void start_ready();
  void start_all();
  /// State of the optimizer that belongs to the weights that `source` sends.
  const std::vector<Handle>& optimizer_of(Rank source) const;
  void set_bandwidth(const Fault& fault, bool failing);

  const SimulatedRun run_;
  PostOffice& post_office_;
  Collectives& collectives_;
  CollectiveQueue* queue_;  // of the versions; null: none
  Computations& computations_;
  Publications& publications_;
  std::vector<std::vector<double>> slow_;   // [workers]: slowdown factors of its present slow spells
  std::vector<std::vector<double>> links_;  // [links]: bandwidth factors of its present failures; empty unless links fail
  std::vector<Rank> ready_;                 // arrived, waiting for the next version
  std::vector<bool> to_come_;               // [workers]: a recovery or join is scheduled that will start it
  std::vector<Handle> optimizer_;           // of the latest version, where workers have it: some may not have taken that step yet
};

}  // namespace straggler

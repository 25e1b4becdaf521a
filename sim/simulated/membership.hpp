// Members and faults: workers crash and restart, leave, join; links fail and processors slow down.
#pragma once
#include <cstdint>
#include <vector>

#include "sim/simulated/computations.hpp"
#include "sim/simulated/post_office.hpp"
#include "sim/simulated/publications.hpp"
#include "sim/simulated/reductions.hpp"
#include "sim/simulated/workers.hpp"

namespace straggler {

/// A worker that joins or comes back is first sent the state it needs: the weights, by the server, or by the first member where there is
/// none (then with the optimizer's state that belongs to them); if nobody is left, it reads what was saved, in no time, and where workers
/// share their host's memory, all that it needs is there. It starts from the version that is the latest when it starts, where workers have
/// weights of their own from the latest ones of that first member; among workers that reduce together, when Reduction says.
class Membership final : private StateTransferWatch {
 public:
  /// All outlive this.
  Membership(World& world, Books& books, Workers& workers, PostOffice& post_office, Reductions& reductions, Computations& computations,
             Publications& publications);
  /// The faults' stories begin.
  void begin();
  /// A version was published: those who waited for that start.
  void published(Rank by);
  /// A worker has joined an all-reduce: the others may be waiting for one that is ready to start.
  void joined() { start_ready(); }

 private:
  using State = Workers::State;
  // StateTransferWatch
  void state_arrived(Rank worker) override;
  /// Again, from somebody else.
  void state_lost(Rank worker) override;

  Process crash(const Fault& fault);
  Process slow(const Fault& fault);
  Process fail_link(const Fault& fault);
  Process join(const Fault& fault);
  Process leave(const Fault& fault);
  /// It is no member any more, and what it was doing is lost.
  void take_out(Rank worker, State becomes);
  void fetch_state(Rank worker);
  void start(Rank worker);
  void start_ready();
  void start_all();
  /// State of the optimizer that belongs to what `source` sends.
  const std::vector<Handle>& optimizer_of(Rank source) const;
  void set_bandwidth(const Fault& fault, bool failing);

  World& world_;
  Books& books_;
  Workers& workers_;
  PostOffice& post_office_;
  Reductions& reductions_;
  Reduction* reduction_;  // of the versions; null: none
  Computations& computations_;
  Publications& publications_;
  std::vector<std::vector<double>> slow_;   // [workers]: factors of the slow spells it is in
  std::vector<std::vector<double>> links_;  // [links]: factors of the failures it is in; empty unless links fail
  std::vector<Rank> ready_;                 // come, waiting for the next version
  std::vector<bool> to_come_;               // [workers]: a story is in progress at whose end it starts
  std::vector<Handle> optimizer_;  // that belongs to the latest version, where workers have it: some may not have taken that step yet
};

}  // namespace straggler

// Who is in: workers crash and restart, leave, join; links fail and processors slow down. The story of every fault.
#pragma once
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "sim/backend/simulated_backend.hpp"

namespace straggler {

/// A worker that comes (back) is first sent the state it needs: the weights, by the server, or by the first member where there is none
/// (then with the optimizer's state that belongs to them); if nobody is left, it reads what was saved, at no time. It starts from the
/// version that is the latest when it starts; among workers that reduce together, between two updates.
class SimulatedBackend::Membership final {
 public:
  explicit Membership(SimulatedBackend& backend);
  /// The faults' stories begin.
  void begin();
  bool is_member(Rank worker) const { return state(worker) == State::member; }
  /// The others wait for it: it crashed, and they were told to.
  bool awaits(Rank worker) const {
    return is_member(worker) || (waits_ && (state(worker) == State::crashed || state(worker) == State::coming));
  }
  Rank members() const { return members_; }
  /// `node` has taken a message of the worker's present life, or of the last one if it is down.
  void heard(Rank node, Rank worker);
  /// Whose message that was when it last did; any life's if it never did.
  Peer last_heard(Rank node, Rank worker) const;
  /// That life is over: another one has begun.
  bool is_former(Peer worker) const {
    return worker.life != Peer::any_life && worker.life != lives_[static_cast<std::size_t>(worker.rank)];
  }
  /// A version was published: those who waited for that start.
  void published(Rank by);
  /// The state has arrived.
  void state_arrived(Rank worker);
  /// Its transfer was lost: again, from somebody else.
  void state_lost(Rank worker);
  /// First rank that is in.
  Rank first_member() const;
  bool is_up(Rank worker) const { return is_member(worker) || state(worker) == State::coming; }

 private:
  enum class State : std::uint8_t {
    member,
    absent,   // not yet joined
    crashed,  // down
    coming,   // up: the state is on its way, or it waits for the next version
    gone,     // left for good
  };
  State state(Rank worker) const { return states_[static_cast<std::size_t>(worker)]; }
  State& state(Rank worker) { return states_[static_cast<std::size_t>(worker)]; }

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
  bool may_start() const;
  void notify();
  void set_bandwidth(const Fault& fault, bool failing);

  SimulatedBackend& backend_;
  bool waits_;
  std::vector<State> states_;               // [workers]
  std::vector<std::uint32_t> lives_;        // [workers]: the number of its present life, or of the last one
  std::vector<std::vector<double>> slow_;   // [workers]: factors of the slow spells it is in
  std::vector<std::vector<double>> links_;  // [links]: factors of the failures it is in; empty unless links fail
  std::vector<Rank> ready_;                 // come, waiting for the next version
  Rank members_;
  std::vector<bool> to_come_;                               // [workers]: a story is under way at whose end it starts
  std::unordered_map<std::uint64_t, std::uint32_t> heard_;  // by node and worker: the life whose message the node took last
  std::vector<Handle> optimizer_;  // that belongs to the latest version, where workers have it: some may not have taken that step yet
};

}  // namespace straggler

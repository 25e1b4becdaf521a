// The processes of a run and their nodes, and who of the workers is in.
#pragma once
#include <cstdint>
#include <vector>

#include "sim/base/fixed_array.hpp"
#include "sim/simulated/choices.hpp"
#include "sim/simulated/world.hpp"
#include "sim/training/node.hpp"

namespace straggler {

/// Without faults every worker is in, always, and nothing is kept about it.
class Workers {
 public:
  enum class State : std::uint8_t {
    member,
    absent,   // not yet joined
    crashed,  // down
    coming,   // up: the state is on its way, or it waits for the next version
    gone,     // left for good
  };

  /// All outlive this. `backend`: what nodes talk to.
  Workers(World& world, Choices& choices, const Scheme& scheme, Backend& backend, Lineage& lineage, const TrainingPlan& plan);

  Node& node(Rank rank) { return nodes_[index_of(rank)]; }
  const Node& node(Rank rank) const { return nodes_[index_of(rank)]; }
  Algebra& algebra() { return context_.algebra; }
  /// Samples drawn by all.
  std::uint64_t drawn() const;

  void spawn_worker(Rank worker);
  void spawn_server();
  /// Its process ends where it waits.
  void kill(Rank worker);
  /// All processes end; nodes go.
  void take_down();

  bool change() const { return !states_.empty(); }
  State state(Rank worker) const { return states_.empty() ? State::member : states_[index_of(worker)]; }
  /// Where workers change.
  void set_state(Rank worker, State state);
  bool is_member(Rank worker) const { return state(worker) == State::member; }
  bool is_up(Rank worker) const { return is_member(worker) || state(worker) == State::coming; }
  /// It is in, or it crashed and the others were told to wait for it.
  bool awaits(Rank worker) const {
    return is_member(worker) || (waits_ && (state(worker) == State::crashed || state(worker) == State::coming));
  }
  Rank members() const { return members_; }
  /// Of its lives, the present one, or the last one if it is down.
  Peer present_life(Rank worker) const { return {worker, lives_.empty() ? Peer::any_life : lives_[index_of(worker)]}; }
  void begin_life(Rank worker) {
    ++lives_[index_of(worker)];
    out_of_step_[index_of(worker)] = true;
  }
  /// It has been in from the beginning, or has since taken part in an all-reduce over all workers: it is where the others are in the
  /// scheme's program.
  bool in_step(Rank worker) const { return out_of_step_.empty() || !out_of_step_[index_of(worker)]; }
  void comes_in_step(Rank worker) {
    if (!out_of_step_.empty()) out_of_step_[index_of(worker)] = false;
  }
  /// That life is over: another one has begun.
  bool is_former(Peer worker) const {
    return worker.life != Peer::any_life && !lives_.empty() && worker.life != lives_[index_of(worker.rank)];
  }
  /// `anyone`: nobody is in.
  Rank first_member() const;

 private:
  World& world_;
  Choices& choices_;
  const Scheme& scheme_;
  NodeContext context_;
  FixedArray<Node> nodes_;                        // [workers], and the server
  std::vector<Simulation::ProcessId> processes_;  // [workers]; empty unless workers change
  std::vector<State> states_;                     // likewise
  std::vector<std::uint32_t> lives_;              // likewise: the number of its present life, or of the last one
  std::vector<bool> out_of_step_;                 // likewise
  Rank members_;
  bool waits_;
};

}  // namespace straggler

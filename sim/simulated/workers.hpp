// The processes of a run and their nodes, and which workers are members.
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "sim/base/sparse_array.hpp"
#include "sim/simulated/choices.hpp"
#include "sim/simulated/presence.hpp"
#include "sim/simulated/world.hpp"
#include "sim/training/node.hpp"

namespace straggler {

/// Where nobody crashes, leaves, joins or is absent, every worker is always in, and no membership state is kept.
///
/// Where workers act only when they are invited (TrainingPlan::invited), a worker without an invitation so far is idle: it is in, but it
/// has no process and no node. It gets both just before its first message.
class Workers {
 public:
  enum class State : std::uint8_t {
    member,
    absent,   // not yet joined
    crashed,  // down
    coming,   // up: the state is on its way, or it waits for the next version
    gone,     // left for good
  };

  /// All outlive this. `backend`: the back end of the nodes.
  Workers(World& world, Choices& choices, const Scheme& scheme, Backend& backend, Lineage& lineage, const TrainingPlan& plan);

  /// Made on first use.
  Node& node(Rank rank) { return nodes_.made(index_of(rank), context_, rank); }
  /// Null: it has none yet.
  const Node* find_node(Rank rank) const { return nodes_.find(index_of(rank)); }
  /// The same on every node.
  Weights initial_weights() { return node(world_.has_server() ? world_.workers : 0).initial_weights(); }
  const TrainingPlan& plan() const { return context_.plan; }
  Algebra& algebra() { return context_.algebra; }
  Lineage& lineage() { return context_.lineage; }
  /// Samples drawn by all.
  std::uint64_t drawn() const;

  void spawn_worker(Rank worker);
  /// Starts all workers that are in and act before they get a message.
  void spawn_first_workers();
  void spawn_server();
  void spawn_aggregators();
  /// `rank` is about to get a message: if it is an idle worker, its process starts.
  void wake(Rank rank) {
    if (!idle_.empty() && world_.is_worker(rank) && idle_[index_of(rank)]) wake_worker(rank);
  }
  /// Its process ends at its present wait.
  void kill(Rank worker);
  /// The processes of all ranks end, where the run may be rolled back.
  void kill_all();
  /// The same, and it is idle again: its next message begins a new life.
  void rest(Rank worker);
  /// Workers act only when they are invited.
  bool acts_when_invited() const { return !idle_.empty(); }
  /// After kill_all: its next message begins a new life.
  void idles_again(Rank worker) {
    idle_[index_of(worker)] = true;
    begin_life(worker);
  }
  /// Visits the nodes that exist, in the order of ranks.
  template <class Visit>
  void for_each_node(Visit visit) {
    nodes_.for_each(visit);
  }
  /// The place in the pool of samples that all workers draw from, if there is one.
  SampleStream pool() const { return context_.shared_stream; }
  void set_pool(SampleStream pool) { context_.shared_stream = pool; }
  /// Of workers that share states: means in progress.
  void forget_means() { context_.means.reset(); }
  /// It has a process.
  bool has_begun(Rank worker) const { return idle_.empty() || !idle_[index_of(worker)]; }
  /// All processes end; nodes go.
  void take_down();

  bool change() const { return !states_.empty(); }
  State state(Rank worker) const { return states_.empty() ? State::member : states_[index_of(worker)]; }
  /// Where workers change.
  void set_state(Rank worker, State state);
  bool is_member(Rank worker) const { return state(worker) == State::member && presence_.is_present(worker, world_.now()); }
  Presence& presence() { return presence_; }
  /// Why it does nothing, as an apposition to its name: ", down since 2 s". Empty: it has a process, or no worker ever goes.
  std::string whereabouts(Rank worker) const;
  bool is_up(Rank worker) const { return is_member(worker) || state(worker) == State::coming; }
  /// It is in, and present where workers come and go; or it crashed and the others wait for it.
  bool awaits(Rank worker) const {
    return is_member(worker) || (waits_ && (state(worker) == State::crashed || state(worker) == State::coming));
  }
  Rank members() const { return members_; }
  /// Those that have joined and have not left; one that leaves while it is down stays among them, as one that crashed for good.
  Rank enrolled() const { return enrolled_; }
  bool is_enrolled(Rank worker) const { return not_enrolled_.empty() || !not_enrolled_[index_of(worker)]; }
  void set_enrolled(Rank worker, bool enrolled);
  /// Of its lives, the present one, or the last one if it is down.
  Peer present_life(Rank worker) const { return {worker, lives_.empty() ? Peer::any_life : lives_[index_of(worker)]}; }
  void begin_life(Rank worker) {
    ++lives_[index_of(worker)];
    out_of_step_[index_of(worker)] = true;
  }
  /// It is at the same step of the scheme as the others: a member from the start, or since an all-reduce over all workers.
  bool in_step(Rank worker) const { return out_of_step_.empty() || !out_of_step_[index_of(worker)]; }
  void comes_in_step(Rank worker) {
    if (!out_of_step_.empty()) out_of_step_[index_of(worker)] = false;
  }
  /// That life is over: another one has begun.
  bool is_former(Peer worker) const {
    return worker.life != Peer::any_life && !lives_.empty() && worker.life != lives_[index_of(worker.rank)];
  }
  /// `anyone`: there is no member.
  Rank first_member() const;

 private:
  void wake_worker(Rank worker);
  void note_process(Rank rank, Simulation::ProcessId id) {
    if (!processes_.empty()) processes_[index_of(rank)] = id;
  }
  static constexpr auto no_process = ~Simulation::ProcessId{0};

  World& world_;
  Choices& choices_;
  const Scheme& scheme_;
  NodeContext context_;
  SparseArray<Node> nodes_;                       // [ranks]
  mutable Presence presence_;                     // caches its progress
  std::vector<bool> idle_;                        // [workers]; empty unless workers act only when they are invited
  std::vector<Simulation::ProcessId> processes_;  // [ranks]; empty unless workers change, or the run may be rolled back
  std::vector<State> states_;                     // likewise
  std::vector<std::uint32_t> lives_;              // likewise: the number of its present life, or of the last one
  std::vector<bool> out_of_step_;                 // likewise
  std::vector<bool> not_enrolled_;                // likewise
  std::map<Rank, Time> went_;                     // of those that crashed or left: when
  Rank members_, enrolled_;
  bool waits_;
};

}  // namespace straggler

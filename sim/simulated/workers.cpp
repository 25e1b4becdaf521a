#include "sim/simulated/workers.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "sim/base/quantity.hpp"

namespace straggler {

Workers::Workers(World& world, Choices& choices, const Scheme& scheme, Backend& backend, Lineage& lineage, const TrainingPlan& plan)
    : world_(world),
      choices_(choices),
      scheme_(scheme),
      context_(backend, lineage, plan),
      presence_(world.cluster),
      members_(plan.workers),
      enrolled_(plan.workers),
      waits_(world.cluster.faults.on_failure == OnFailure::wait) {
  const auto workers = static_cast<std::size_t>(plan.workers);
  nodes_ = SparseArray<Node>(world.rank_bound());
  if (plan.invited || presence_.changes()) idle_.assign(workers, true);
  // A failed worker after whose failure all wait, and go back together, remains a member.
  const RecoverySettings& recovery = world.cluster.recovery;
  const bool stays = recovery.rolls_back() && recovery.by_worker && !recovery.shrinks;
  const bool change = presence_.changes() ||
                      (stays ? world.cluster.faults.join_or_leave() : world.cluster.faults.change_members() || recovery.rolls_back());
  if (change || recovery.rolls_back()) processes_.assign(world.rank_bound(), no_process);
  if (!change) return;
  states_.assign(workers, State::member);
  lives_.resize(workers);
  out_of_step_.resize(workers);
  not_enrolled_.resize(workers);
}

std::uint64_t Workers::drawn() const {
  std::uint64_t samples = 0;
  nodes_.for_each([&](const Node& node) { samples += node.drawn(); });
  return samples;
}

void Workers::spawn_worker(Rank worker) {
  if (!idle_.empty()) idle_[index_of(worker)] = false;
  Process process = scheme_.worker(node(worker));
  const bool first = world_.now() == Time() && !change();
  note_process(worker, first ? world_.simulation.spawn_now(std::move(process)) : world_.simulation.spawn(std::move(process)));
}

void Workers::spawn_first_workers() {
  if (!context_.plan.invited) {
    for (Rank worker = 0; worker < world_.workers; ++worker)
      if (is_member(worker)) spawn_worker(worker);
    return;
  }
  Node& server = node(world_.workers);
  const auto first = server.first_clients({0, world_.workers}, *context_.plan.invited);
  for (const Rank worker : *first)
    if (is_member(worker)) spawn_worker(worker);
}

void Workers::wake_worker(Rank worker) {
  idle_[index_of(worker)] = false;
  note_process(worker, world_.simulation.spawn_now(scheme_.worker(node(worker))));
}

void Workers::spawn_server() { note_process(world_.workers, world_.simulation.spawn(scheme_.server(node(world_.workers)))); }

void Workers::spawn_aggregators() {
  for (Rank k = 0; k < world_.cluster.aggregators.count; ++k) {
    const Rank rank = world_.cluster.aggregators.first + k;
    note_process(rank, world_.simulation.spawn(scheme_.aggregator(node(rank))));
  }
}

void Workers::kill(Rank worker) {
  // Once a process has ended, its number may be another's.
  const Simulation::ProcessId id = std::exchange(processes_[index_of(worker)], no_process);
  if (id != no_process) world_.simulation.kill(id);
  choices_.life_ended(worker);
}

void Workers::kill_all() {
  for (std::size_t rank = 0; rank < processes_.size(); ++rank) kill(static_cast<Rank>(rank));
}

void Workers::rest(Rank worker) {
  kill(worker);
  idle_[index_of(worker)] = true;
  begin_life(worker);
  if (nodes_.find(index_of(worker)) == nullptr) return;
  node(worker).reset_optimizer();
  node(worker).forget_messages();
}

void Workers::take_down() {
  world_.simulation.kill_all();
  nodes_ = SparseArray<Node>();
}

void Workers::set_state(Rank worker, State state) {
  State& now = states_[index_of(worker)];
  if (now == State::member) --members_;
  if (state == State::member) ++members_;
  if (state == State::crashed || state == State::gone) went_.insert_or_assign(worker, world_.now());
  now = state;
}

std::string Workers::whereabouts(Rank worker) const {
  if (!change()) return {};
  const auto at = [](Time time) { return format_quantity(time.seconds(), Dimension::time); };
  switch (state(worker)) {
    case State::absent:
      return ", which has not joined";
    case State::coming:
      return ", whose state has not arrived";
    case State::crashed:
      return ", down since " + at(went_.at(worker));
    case State::gone:
      return ", which left at " + at(went_.at(worker));
    case State::member:
      break;
  }
  const std::optional<Time> absent = presence_.absent_from(worker, world_.now());
  if (!is_member(worker)) return ", absent since " + at(*absent);
  if (has_begun(worker)) return {};
  return absent && present_life(worker).life > 0 ? ", which went at " + at(*absent) + " and was sent nothing since"
                                                 : ", which was never sent a message";
}

void Workers::set_enrolled(Rank worker, bool enrolled) {
  if (not_enrolled_[index_of(worker)] != enrolled) return;
  not_enrolled_[index_of(worker)] = !enrolled;
  enrolled_ += enrolled ? 1 : -1;
}

Rank Workers::first_member() const {
  for (Rank worker = 0; worker < world_.workers; ++worker)
    if (is_member(worker)) return worker;
  return anyone;
}

}  // namespace straggler

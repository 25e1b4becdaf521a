// The simulated back end: the Node interface in simulated time, on a described cluster. Composes the parts of this folder.
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sim/simulated/attendance.hpp"
#include "sim/simulated/background.hpp"
#include "sim/simulated/collectives.hpp"
#include "sim/simulated/failures.hpp"
#include "sim/simulated/membership.hpp"
#include "sim/simulated/post_office.hpp"
#include "sim/simulated/publications.hpp"
#include "sim/simulated/recovery.hpp"
#include "sim/simulated/replacement.hpp"
#include "sim/simulated/update_watch.hpp"
#include "sim/simulated/updates.hpp"
#include "sim/simulated/varying_links.hpp"

namespace straggler {

class SimulatedBackend final : public Backend, private WaitingPlace {
 public:
  SimulatedBackend(SimulatedCluster cluster, const TrainingPlan& plan, const Scheme& scheme, Lineage& lineage, RunRecorder& recorder,
                   Evaluator* evaluator);
  ~SimulatedBackend() override;

  /// Choices to force, one sequence per process (RecordSink::choice), in its program order; free once they are used up.
  void replay(std::vector<std::vector<std::int32_t>> choices) { choices_.force(std::move(choices)); }
  /// The same for free-running versions: the worker of each.
  void replay_versions(std::vector<Rank> makers) { publications_.force_order(std::move(makers)); }
  /// Only updates, or their samples, end this run: it fails where none has come for so long.
  void expect_updates(const UpdatePatience& patience, Goal goal) { watch_.emplace(patience, goal, workers_.plan()); }
  /// Runs to the stop, at the latest to `until`, and closes the record. Throws Deadlock (unless a fault led to it: that is an outcome),
  /// NoUpdates, Standstill and the scheme's exceptions.
  void run(std::optional<Time> until, std::optional<Time> evaluate_every);
  void interrupt() { publications_.end_run(Outcome::interrupted); }

  Simulation& simulation() { return world_.simulation; }
  const Network& network() const { return world_.network; }

 private:
  /// Who waits for whom becomes part of the record, and a warning.
  std::string cut_off() const;  // Failures::cut_off(), where units fail again and again
  void note_stall();
  /// An overload becomes the outcome, with a warning that says what to change.
  void note_overload();
  void note_loaders();
  // Backend
  bool start(Operation& operation) override;
  void cancel(Operation& operation) noexcept override;
  void due(Operation& operation) override;
  void wake(Operation& operation) override { world_.queue().after(Time(), operation); }
  void received(MailOperation& operation) override { post_office_.received(operation); }
  void post(Rank from, Peer to, Payload&& payload) override { post_office_.dispatch(from, to, std::move(payload), nullptr); }
  void unsent(Rank from, Rank to) override { post_office_.unsent(from, to); }
  void discarded(Rank node, const Payload& contribution) override;
  void signal_workers(Rank from, SyncSignal signal) override { post_office_.signals().broadcast(from, signal.number); }
  bool is_member(Rank worker) const override { return !world_.is_worker(worker) || workers_.is_member(worker); }
  Peer last_heard(Rank node, Rank other) const override { return post_office_.last_heard(node, other); }
  Peer present(Rank worker) const override { return workers_.present_life(worker); }
  bool awaits(Rank worker) const override { return !world_.is_worker(worker) || workers_.awaits(worker); }
  Rank enrolled() const override { return workers_.enrolled(); }
  bool is_enrolled(Rank worker) const override { return workers_.is_enrolled(worker); }
  std::uint64_t first_version(Rank worker) const override { return publications_.first_version(worker); }
  bool is_in(Rank worker, std::uint64_t version) const override { return publications_.is_in(worker, version); }
  bool reduces() const override { return collectives_.any(); }
  bool members_change() const override { return workers_.change(); }
  Time now() const override { return world_.now(); }
  void await_comers() override {
    if (events_.attendance) events_.attendance->await_comers();
  }
  std::int32_t forced_choice(Rank rank) override { return choices_.next(rank); }
  void averaged(Rank teller, const Averaging& averaging) override { publications_.averaged(teller, averaging); }
  void chosen(Rank rank, std::int32_t choice) override { choices_.made(rank, choice); }
  std::int32_t forced_draw(Rank worker) override { return choices_.next(pool_process(worker)); }
  void drawn(Rank worker, std::int32_t samples) override { choices_.made(pool_process(worker), samples); }
  /// Draws are choices of a process of their own, behind all ranks: they would change places with receives that wait meanwhile.
  Rank pool_process(Rank worker) const { return static_cast<Rank>(world_.cluster.fabric->ranks()) + worker; }
  // WaitingPlace
  void describe_waiting(std::vector<std::string>& who) const override;

  /// True: it joins after coding.
  bool encodes_first(CollectiveOperation& operation);
  bool join(CollectiveOperation& operation);
  bool join(ShardOperation& operation);
  void join(AveragedGradientOperation& operation);
  void averaged_gradient_due(AveragedGradientOperation& operation);
  void watch(const ComputeOperation& operation);
  void watch(const StepOperation& operation);
  void watch_poll(const Operation& operation);
  bool publish(PublishOperation& operation);
  void close_record(Time when);
  void take_down();

  World world_;
  RunRecorder& recorder_;
  Books books_;
  Choices choices_;
  Workers workers_;
  const SimulatedRun run_{world_, books_, workers_};
  PostOffice post_office_;
  Collectives collectives_;
  Computations computations_;
  Updates updates_;
  Publications publications_;
  std::optional<Rebalancing> rebalancing_;  // none: batches stay
  std::optional<UpdateWatch> watch_;        // none: time ends the run, too
  PollWatch polls_;
  struct {
    std::unique_ptr<Recovery> recovery;           // null: nothing rolls the run back
    std::unique_ptr<Replacement> replacement;     // null: no lost worker is replaced
    std::unique_ptr<Membership> membership;       // null: all workers are in, always
    std::unique_ptr<Failures> failures;           // null: no unit fails again and again
    std::unique_ptr<Attendance> attendance;       // null: no worker comes and goes
    std::unique_ptr<Background> background;       // null: none
    std::unique_ptr<VaryingLinks> varying_links;  // null: none varies
  } events_;                                      // changes of the cluster, independent of training
};

}  // namespace straggler

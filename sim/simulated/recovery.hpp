// Checkpoints, and the way back to the latest one when something fails (RecoverySettings::Kind::rollback).
#pragma once
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <vector>

#include "sim/simulated/membership.hpp"

namespace straggler {

/// A checkpoint is taken where an update ends. Where workers publish, each is held there until all have come; a server is held alone. So
/// all that the next version depends on stands in the nodes, and what a process knows beside it in its Durable variables.
///
/// A failure stops all processes; what is in flight is lost. It is detected, repaired or a spare takes over, and all start again from the
/// version that was saved last. Another failure meanwhile begins that again.
class Recovery final : public RecoveryPolicy {
 public:
  /// All outlive this.
  Recovery(const SimulatedRun& run, RunRecorder& recorder, PostOffice& post_office, Collectives& collectives, Computations& computations,
           Publications& publications, Membership& membership);
  ~Recovery();

  /// An update has been published. False: its publisher waits until a checkpoint is saved.
  bool published(PublishOperation& operation);
  /// It waits no longer.
  void left(const PublishOperation& operation) noexcept;
  // RecoveryPolicy
  bool failed(const Failure& failure) override;
  bool repaired(const Failure& failure) override;
  bool restores(Rank worker) override { return to_restore_.erase(worker) > 0; }
  /// Those that wait for a checkpoint may be all.
  void members_changed() override;
  bool holds_starts() const override { return !run_.world.has_server() && at_ && highest_ >= *at_; }
  void started(std::uint64_t version) override;

 private:
  enum class Stage { working, detecting, waiting, restarting };
  class Alarm;
  struct Snapshot;

  bool due(std::uint64_t version) const;
  std::size_t awaited() const;
  void begin_saving_if_all_came();
  void snapshot_over();
  void write_over();
  std::shared_ptr<Snapshot> state_of_all(const Weights& weights) const;
  void remember(Snapshot& snapshot, const Node& node, const Weights& weights, bool publishes) const;
  void set_saving(bool on);

  /// The failure rolls all back.
  bool takes(const Failure& failure) const;
  void stop_all();
  void goes_down(Rank rank);
  void comes(Rank worker);
  void detected();
  void restart_if_possible();
  void restarted();
  void start_all();
  void start_workers();
  const Weights& weights_of(Rank rank) const;
  /// The checkpoint has no state of this worker: it was not in when it was taken.
  bool is_not_in_checkpoint(Rank worker) const;

  const SimulatedRun run_;
  const RecoverySettings settings_;
  RunRecorder& recorder_;
  PostOffice& post_office_;
  Collectives& collectives_;
  Computations& computations_;
  Publications& publications_;
  Membership& membership_;

  Stage stage_ = Stage::working;
  std::unique_ptr<Alarm> saving_, recovering_;  // the end of a stage of either
  std::shared_ptr<Snapshot> kept_, taken_;      // saved last; being taken or written: null, if none is
  Time worked_since_;                           // the end of the last save or restart
  std::uint64_t highest_ = 0;                   // version that any process has published
  std::uint64_t latest_start_ = 0;              // version from which any worker has started since the last restart
  std::optional<std::uint64_t> at_;             // the version that is to be saved: after those from which members have started
  std::vector<PublishOperation*> held_;         // that wait for it
  bool snapshotting_ = false;                   // all have come, and wait
  std::set<Rank> down_;
  std::set<Rank> to_restore_;  // fetch the weights, and start from the checkpoint for the rest
  std::size_t in_repair_ = 0;  // machines
  Rank spares_;
};

}  // namespace straggler

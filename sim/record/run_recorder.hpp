// Records a run: it gets every published version, and keeps the curve, the accounts and the stop rules.
#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <vector>

#include "sim/lineage/evaluator.hpp"
#include "sim/record/record.hpp"
#include "sim/record/server_times.hpp"
#include "sim/record/time_accounts.hpp"
#include "sim/training/payload.hpp"

namespace straggler {

/// When a run ends; whichever comes first.
struct StopRule {
  std::optional<double> epochs, target_accuracy;
  std::optional<std::uint64_t> updates;
  std::optional<Time> simulated_time;
  bool at_target = true;  // false: a target that was reached is only noted

  /// A version with that many updates and epochs is the last. Time and accuracy are checked elsewhere.
  bool ends_at(std::uint64_t version, double now_epochs) const {
    return (updates && version >= *updates) || (epochs && now_epochs >= *epochs);
  }
  /// Share of the run that is over, at most 1; a target accuracy counts nothing.
  double fraction_done(std::uint64_t version, double now_epochs, Time now) const;
};

/// When weights are evaluated, and when an accuracy counts as reached.
struct EvaluationRule {
  std::optional<double> every_epochs;
  std::optional<std::uint64_t> every_updates;
  std::optional<Time> every_time;
  std::vector<double> thresholds;
  std::int64_t sustain = 2;
  EvaluationSet set = EvaluationSet::test;  // the set of the `test` columns and the target
};

/// Which published versions are evaluated. Evaluations by time are handled elsewhere.
class EvaluationSchedule {
 public:
  explicit EvaluationSchedule(const EvaluationRule& rule) : every_epochs_(rule.every_epochs), every_updates_(rule.every_updates) {}
  /// Call it for each version once, in order.
  bool due(std::uint64_t version, double epochs);

 private:
  std::optional<double> every_epochs_;
  std::optional<std::uint64_t> every_updates_;
  std::uint64_t next_ = 1;  // in units of every_epochs
};

/// Present byte counts, for rows of the record.
struct ByteCounters {
  std::uint64_t sent = 0, received = 0;
  std::uint64_t statistics = 0;  // of those sent: running statistics
  std::uint64_t lost = 0;        // of messages that will not arrive; at the stop also of those in progress
  double spared = 0;             // saved by compression, of those sent; negative: added
};

/// The scheme hands over a contribution twice. what() says how it should be.
struct CountedTwice : std::runtime_error {
  using std::runtime_error::runtime_error;
};

class RunRecorder {
 public:
  /// `evaluator` null: timing alone. `sink` may be null. All outlive this.
  RunRecorder(std::size_t workers, std::uint64_t epoch_samples, StopRule stop, EvaluationRule evaluation, Evaluator* evaluator,
              RecordSink* sink, bool trace);

  TimeAccounts& times() { return times_; }
  WorkerRecord& worker(Rank rank) { return record_.workers[index_of(rank)]; }
  RecordSink* trace() const { return trace_; }
  RecordSink* sink() const { return sink_; }
  ByteCounters& bytes() { return bytes_; }

  /// Machines cost money or energy. `absent` may be empty: nobody is absent but those who are down. Before begin().
  void charge(const Tariffs& tariffs, AbsentTime absent);
  /// Of the servers together, then of each aggregator; null: their energy is not counted.
  ServerTimes* server_times() { return server_times_ ? &*server_times_ : nullptr; }

  /// The first curve point: the initial weights, at time 0; of a job that continues, those of a later version, at a later time. True: the
  /// run stops here.
  bool begin(const Weights& initial, Time now = Time());
  /// A published version and its contributions. True: the run stops here. Weights without a value: `look_up` is called where it is needed.
  bool published(const Weights& weights, const Contributions& made, Time now);
  /// Epochs end with a pause: the caller closes them, by end_epochs.
  void epochs_end_later() { epochs_end_later_ = true; }
  /// Closes the epochs that the latest version has completed.
  void end_epochs(Time now) {
    if (whole_epochs() > epochs_closed_) close_epoch(now);
  }
  /// Epochs that the latest version has completed; 0 if the number of samples per epoch is unknown.
  std::uint64_t whole_epochs() const { return epoch_samples_ == 0 ? 0 : latest_->progress / epoch_samples_; }
  /// Computes the value of the latest version if it came without one.
  void look_up_values(std::function<Handle()> look_up) { look_up_ = std::move(look_up); }
  /// Contributions that go into no version, and the bytes that brought them.
  void discarded(std::span<const Contribution> made, std::uint64_t bytes);
  /// An evaluation that is due by time. True: the run stops here.
  bool evaluate_now(Time now);

  // Checkpoints and rollbacks, in simulated time. A run begins as if its initial weights had been saved.
  /// Failures may come at random, or roll the run back: the record says so.
  void has_failures() {
    record_.recovery.there = true;
    if (!record_.failures) record_.failures = 0;
  }
  /// The same, and the run may go back to versions that were saved.
  void may_roll_back();
  /// Work stops, and the latest version begins to be saved.
  void begin_checkpoint(Time now);
  /// Work goes on, while that version is written or after it.
  void resume(Time now);
  /// That version is saved. Versions up to it will not be lost.
  void saved(Time now);
  /// Work stops. All that came after the version that was saved last is lost.
  void roll_back(Time now);
  /// Work goes on from there.
  void restart(Time now);

  /// Closes all accounts at `now`. `failure`: the reason why the run could not continue; none: it could. Throws CountedTwice.
  void finish(Time now, std::optional<Outcome> failure);

  const Weights& latest() const { return latest_; }
  /// With its value, which latest() may lack until the run is over.
  const Weights& latest_with_value();
  RunRecord& record() { return record_; }
  double fraction_done(Time now) const { return stop_.fraction_done(latest_->version, epochs(), now); }
  /// NaN if the number of samples per epoch is unknown.
  double epochs() const;

 private:
  void count_contributions(std::uint64_t version, const Contributions& made, Time now);
  void close_epoch(Time now);
  /// Up to `now`.
  Costs costs(Time now);
  bool evaluate(Time now);
  bool target_sustained() const;
  /// What a rollback to the latest version restores, and what has been spent up to now.
  struct Kept;
  std::shared_ptr<Kept> as_it_is() const;
  void note_spent(Kept& kept, Time now) const;
  void begin_work(Time now);
  void end_work(Time now);
  void warn();
  void check_accounts() const;

  std::uint64_t epoch_samples_;
  StopRule stop_;
  EvaluationRule evaluation_;
  EvaluationSchedule schedule_;
  Evaluator* evaluator_;
  RecordSink *sink_, *trace_;
  ByteCounters bytes_;
  Tariffs tariffs_;
  AbsentTime absent_;
  std::optional<ServerTimes> server_times_;
  Weights latest_;
  std::function<Handle()> look_up_;  // empty: versions have values
  RunRecord record_;
  TimeAccounts times_;
  std::map<std::uint64_t, std::uint64_t> stalest_;  // contributions by staleness; below `few_versions` they are counted in the record
  static constexpr std::uint64_t few_versions = 1u << 22;
  bool diverged_ = false, target_reached_ = false, epochs_end_later_ = false;
  std::shared_ptr<Kept> kept_, saving_;  // null: the run is never rolled back; nothing is being saved
  std::optional<Time> working_since_;    // none: work has stopped, to save or to recover
  // State at the end of the last closed epoch.
  ByPhase<WideTicks> epoch_sums_;
  std::uint64_t epoch_bytes_ = 0, epochs_closed_ = 0;
  Time epoch_start_;
};

}  // namespace straggler

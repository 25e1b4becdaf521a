// The versions of a run: recording, evaluation, the serial part at the end of an epoch, and the stop.
#pragma once
#include <memory>
#include <optional>

#include "sim/lineage/evaluator.hpp"
#include "sim/record/own_versions.hpp"
#include "sim/simulated/collective_queue.hpp"
#include "sim/simulated/computations.hpp"
#include "sim/simulated/processors.hpp"

namespace straggler {

class Publications {
 public:
  /// Live nodes of lineage without a value above which the math plane is asked to catch up.
  static constexpr std::size_t lineage_window = 2048;
  /// In a replay: updates that a worker may queue before its turn. The worker whose turn it is may never return.
  static constexpr std::size_t furthest_ahead = 10'000;

  /// All outlive this. `recorder`: gets the versions. `queue` null: workers do not reduce; `evaluator` null: timing alone.
  Publications(const SimulatedRun& run, RunRecorder& recorder, CollectiveQueue* queue, Computations& computations, Processors& processors,
               Evaluator* evaluator);
  ~Publications();

  enum class Result {
    recorded,  // a new version
    known,     // known, published or to be published by another worker
    last,      // the stop rule is met: the publisher waits forever
  };
  /// Every worker of a collective scheme publishes; one call is recorded: worker 0's, or the first one where workers may fail. If workers
  /// have their own weights, each call is recorded, in one version or another (OwnVersions); if they share memory, each call is recorded,
  /// too.
  Result publish(const PublishOperation& operation);
  /// Where workers run free: one of two workers reports that they have averaged their weights.
  void averaged(Rank teller, const Averaging& averaging) {
    if (own_) own_->averaged(teller, averaging);
  }
  /// Where workers run free: the worker of each version. Free once it is used up.
  void force_order(std::vector<Rank> workers) {
    if (!own_) return;
    forced_ = !workers.empty();
    own_->force_order(std::move(workers));
  }
  void evaluate_every(Time span);

  /// `worker` has not joined yet.
  void worker_is_absent(Rank worker);
  /// `worker` is no longer a member: versions may be complete without it. True: the stop rule is met.
  bool remove_worker(Rank worker);
  /// The starting state of a worker that gets its state from `source`; `anyone` if no member is left.
  Weights state_of(Rank source) const;
  /// `worker` is in, from that state. Returns the weights that it starts from.
  Weights readmit_worker(Rank worker, const Weights& state);
  /// Number of the weights with which its present life began, where workers have their own; otherwise 0.
  std::uint64_t first_version(Rank worker) const { return own_ ? own_->first(worker) : 0; }
  /// All who have begun that version of their own weights know `worker` as one that takes part in it.
  bool is_in(Rank worker, std::uint64_t version) const { return !own_ || own_->is_in(worker, version); }
  bool own_versions() const { return own_.has_value(); }
  /// The versions of workers with weights of their own, as they are; none: they have common ones.
  const std::optional<OwnVersions>& own() const { return own_; }
  /// The recorder is at an earlier version again. `own`: as they were then; `queue`: a new one, which outlives this.
  void roll_back(const std::optional<OwnVersions>& own, CollectiveQueue* queue);
  /// The stop rule is met.
  bool is_over() const { return over_; }

  /// The run ends now, for another reason than its stop rule.
  void end_run(Outcome failure);
  void note_failure(Outcome failure) { failure_ = failure; }
  /// After the record is closed: tells the evaluator where the run ended.
  void run_ended();
  std::optional<Outcome> failure() const { return failure_; }
  const Weights& latest() const { return recorder_.latest(); }

 private:
  class EvaluationClock;
  class SerialPart;
  bool is_recorded(const PublishOperation& operation) const;
  /// True: the stop rule is met. `forced`: the value that the math plane computes, with its inputs, when too much waits for it.
  bool record(const Weights& weights, const Contributions& made, const Handle& forced);
  bool record_own();
  /// The latest version is with all that are to have it: its epoch's serial part begins, and the run ends with that, or else now.
  void pause_or_stop();

  const SimulatedRun run_;
  RunRecorder& recorder_;
  CollectiveQueue* queue_;
  Evaluator* evaluator_;
  std::optional<OwnVersions> own_;  // none: all workers have the same weights
  bool lockstep_ = false, forced_ = false;
  bool over_ = false;                        // the stop rule is met: no other version counts
  std::unique_ptr<EvaluationClock> clock_;   // null: none by time
  std::unique_ptr<SerialPart> serial_part_;  // null: epochs have none
  std::uint32_t reductions_ = 0;             // results that the latest version holds
  std::optional<Outcome> failure_;
};

}  // namespace straggler

#include "sim/simulated/publications.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>
#include <utility>

namespace straggler {

/// Evaluates at fixed intervals of simulated time, as long as anything else is going to happen.
class Publications::EvaluationClock final : public Event {
 public:
  EvaluationClock(World& world, RunRecorder& recorder, Time every) : world_(world), recorder_(recorder), every_(every) {
    world_.queue().after(every_, *this);
    world_.bystanders.clock = true;
  }

 private:
  void happen() override {
    if (recorder_.evaluate_now(world_.now())) return world_.simulation.stop();
    if (world_.queue().pending() > world_.bystanders.timers || world_.network.flows() > world_.bystanders.flows)
      world_.queue().after(every_, *this);
  }
  World& world_;
  RunRecorder& recorder_;
  Time every_;
};

/// The serial parts of epochs: until one is over no worker computes, and no server takes or sends a message. If a version completes several
/// epochs, their parts follow one another.
class Publications::SerialPart final : public Event {
 public:
  SerialPart(Publications& of, Computations& computations, Processors& processors)
      : of_(of), computations_(computations), processors_(processors) {
    recorder().epochs_end_later();
  }
  /// A version was published. True: computing pauses, and the time of the serial part is to begin.
  bool published() {
    if (recorder().whole_epochs() > epochs_ && !pauses_) computations_.pause();
    for (; epochs_ < recorder().whole_epochs(); ++epochs_) to_begin_ += of_.run_.world.cluster.serial_per_epoch;
    return pauses_ = pauses_ || to_begin_ > Time();
  }
  /// All that hold the version have it.
  void begin() {
    cancel();
    end_ = std::max(end_, of_.run_.world.now()) + std::exchange(to_begin_, Time());
    processors_.hold_servers(end_);
    of_.run_.world.queue().at(end_, *this);
  }
  bool pauses() const { return pauses_; }
  /// The epochs after the latest version are to come again.
  void roll_back() {
    cancel();
    to_begin_ = Time();
    epochs_ = recorder().whole_epochs();
    if (std::exchange(pauses_, false)) computations_.resume();
  }

 private:
  void happen() override {
    recorder().end_epochs(of_.run_.world.now());
    pauses_ = false;
    if (of_.over_)
      of_.run_.world.simulation.stop();
    else
      computations_.resume();
  }
  RunRecorder& recorder() { return of_.recorder_; }
  Publications& of_;
  Computations& computations_;
  Processors& processors_;
  Time end_, to_begin_;
  bool pauses_ = false;
  std::uint64_t epochs_ = 0;
};

Publications::Publications(const SimulatedRun& run, RunRecorder& recorder, CollectiveQueue* queue, Computations& computations,
                           Processors& processors, Evaluator* evaluator)
    : run_(run), recorder_(recorder), queue_(queue), evaluator_(evaluator) {
  if (run.world.cluster.serial_per_epoch > Time()) serial_part_ = std::make_unique<SerialPart>(*this, computations, processors);
  const Versions versions = run.workers.plan().versions;
  if (versions == Versions::shared) return;
  lockstep_ = versions == Versions::lockstep;
  own_.emplace(versions, run.world.workers, run.workers.initial_weights());
  if (!lockstep_) recorder.look_up_values([this] { return run_.workers.algebra().mean(own_->counted())->value; });
}

Publications::~Publications() = default;

void Publications::roll_back(const std::optional<OwnVersions>& own, CollectiveQueue* queue) {
  own_ = own;
  queue_ = queue;
  reductions_ = 0;
  if (serial_part_) serial_part_->roll_back();
}

void Publications::evaluate_every(Time span) { clock_ = std::make_unique<EvaluationClock>(run_.world, recorder_, span); }

void Publications::end_run(Outcome failure) {
  failure_ = failure;
  run_.world.simulation.stop();
}

void Publications::run_ended() {
  if (evaluator_ && failure_ != Outcome::interrupted) evaluator_->stopped(latest()->value, latest()->version);
}

bool Publications::is_recorded(const PublishOperation& operation) const {
  const Rank rank = operation.node().self();
  if (run_.world.has_server()) return !run_.world.is_worker(rank);
  if (run_.workers.plan().cell_chunks > 0) return true;  // each worker publishes its additions to shared memory
  return run_.workers.change() ? operation.weights()->version > latest()->version : rank == 0;
}

Publications::Result Publications::publish(const PublishOperation& operation) {
  if (over_) return Result::last;
  const Weights& weights = operation.weights();
  if (own_) {
    const Rank rank = operation.node().self();
    own_->publish(rank, weights, operation.made(), run_.world.now());
    if (forced_ && run_.workers.change() && own_->waiting(rank) > furthest_ahead)
      throw ReplayMismatch("its order of versions cannot be followed: " + operation.node().name() + " is " +
                           std::to_string(furthest_ahead) + " updates ahead of it; replay it with its own cluster and faults");
    return record_own() ? Result::last : Result::recorded;
  }
  if (!is_recorded(operation)) {
    if (!run_.world.has_server() && weights->version == latest()->version && !(weights->value.key() == latest()->value.key()))
      throw UnsupportedOperation(operation.node().name() + " publishes other weights than the others as version " +
                                 std::to_string(weights->version) +
                                 "; a scheme whose workers have weights of their own says so: versions lockstep or free_running");
    return Result::known;
  }
  reductions_ = operation.node().reductions_taken();
  return record(weights, operation.made(), weights->value) ? Result::last : Result::recorded;
}

bool Publications::record(const Weights& weights, const Contributions& made, const Handle& forced) {
  over_ = recorder_.published(weights, made, run_.world.now());
  if (evaluator_ && !over_) {
    if (run_.workers.lineage().pending() > lineage_window) evaluator_->force(forced);
    evaluator_->published(forced, weights->version);
  }
  if ((serial_part_ && serial_part_->published()) || over_) {
    // Where messages move one by one, others may still receive.
    if (queue_ && !own_ && queue_->finishing(reductions_)) {
      if (over_) queue_->begin_no_more();
      queue_->when_done([this] { pause_or_stop(); });
    } else {
      pause_or_stop();
    }
  }
  return over_;
}

void Publications::pause_or_stop() {
  if (serial_part_ && serial_part_->pauses())
    serial_part_->begin();
  else if (over_)
    run_.world.simulation.stop();
}

/// With free-running workers the mean is not computed for each version; one worker's published weights are forced.
bool Publications::record_own() {
  while (std::optional<OwnVersions::Version> version = own_->next()) {
    Handle value = version->parts.front()->value;
    if (lockstep_) version->weights.edit().value = value = run_.workers.algebra().mean(version->parts)->value;
    if (record(version->weights, version->made, value)) return true;
  }
  return false;
}

void Publications::worker_is_absent(Rank worker) {
  if (!own_) return;
  own_->remove(worker);
  own_->is_out_from_the_beginning(worker);
}

bool Publications::remove_worker(Rank worker) {
  if (own_) {
    own_->remove(worker);
    if (!run_.workers.awaits(worker)) own_->is_out(worker);
  }
  return over_ || (own_ && record_own());
}

Weights Publications::state_of(Rank source) const {
  return own_ && source != anyone ? own_->current(source) : recorder_.latest_with_value();
}

Weights Publications::readmit_worker(Rank worker, const Weights& state) { return own_ ? own_->readmit(worker, state) : state; }

}  // namespace straggler

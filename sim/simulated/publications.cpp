#include "sim/simulated/publications.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>

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

/// The serial part of an epoch: until it is over no worker computes, and no server takes or sends a message.
class Publications::SerialPart final : public Event {
 public:
  SerialPart(World& world, RunRecorder& recorder, Computations& computations, Processors& processors)
      : world_(world), recorder_(recorder), computations_(computations), processors_(processors) {}
  /// A version was published.
  void published() {
    const std::uint64_t epochs = recorder_.epochs_closed();
    if (epochs == epochs_) return;
    epochs_ = epochs;
    if (scheduled())
      cancel();  // one follows the other
    else
      computations_.pause();
    end_ = std::max(end_, world_.now()) + world_.cluster.serial_per_epoch;
    processors_.hold_servers(end_);
    world_.queue().at(end_, *this);
  }

 private:
  void happen() override { computations_.resume(); }
  World& world_;
  RunRecorder& recorder_;
  Computations& computations_;
  Processors& processors_;
  Time end_;
  std::uint64_t epochs_ = 0;
};

Publications::Publications(World& world, Books& books, Workers& workers, Reduction* reduction, Computations& computations,
                           Processors& processors, Lineage& lineage, Evaluator* evaluator)
    : world_(world), books_(books), workers_(workers), reduction_(reduction), lineage_(lineage), evaluator_(evaluator) {
  if (world.cluster.serial_per_epoch > Time())
    serial_part_ = std::make_unique<SerialPart>(world, books.recorder(), computations, processors);
  const Versions versions = workers.plan().versions;
  if (versions == Versions::shared) return;
  lockstep_ = versions == Versions::lockstep;
  own_.emplace(versions, world.workers, workers.initial_weights());
  if (!lockstep_) books.recorder().look_up_values([this] { return workers_.algebra().mean(own_->counted())->value; });
}

Publications::~Publications() = default;

void Publications::evaluate_every(Time span) { clock_ = std::make_unique<EvaluationClock>(world_, books_.recorder(), span); }

void Publications::end_run(Outcome failure) {
  failure_ = failure;
  world_.simulation.stop();
}

void Publications::run_ended() {
  if (evaluator_ && failure_ != Outcome::interrupted) evaluator_->stopped(latest()->value, latest()->version);
}

bool Publications::is_recorded(const PublishOperation& operation) const {
  const Rank rank = operation.node().self();
  if (world_.has_server()) return !world_.is_worker(rank);
  if (workers_.plan().cell_chunks > 0) return true;  // each worker publishes its additions to shared memory
  return workers_.change() ? operation.weights()->version > latest()->version : rank == 0;
}

Publications::Result Publications::publish(const PublishOperation& operation) {
  if (reduction_ && reduction_->run_ends()) return Result::last;
  const Weights& weights = operation.weights();
  if (own_) {
    const Rank rank = operation.node().self();
    own_->publish(rank, weights, operation.made(), world_.now());
    if (forced_ && workers_.change() && own_->waiting(rank) > furthest_ahead)
      throw ReplayMismatch("its order of versions cannot be followed: " + operation.node().name() + " is " +
                           std::to_string(furthest_ahead) + " updates ahead of it; replay it with its own cluster and faults");
    return record_own() ? Result::last : Result::recorded;
  }
  if (!is_recorded(operation)) {
    if (!world_.has_server() && weights->version == latest()->version && !(weights->value.key() == latest()->value.key()))
      throw UnsupportedOperation(operation.node().name() + " publishes other weights than the others as version " +
                                 std::to_string(weights->version) +
                                 "; a scheme whose workers have weights of their own says so: versions lockstep or free_running");
    return Result::known;
  }
  reductions_ = operation.node().reductions_taken();
  return record(weights, operation.made(), weights->value) ? Result::last : Result::recorded;
}

bool Publications::record(const Weights& weights, const Contributions& made, const Handle& forced) {
  if (books_.recorder().published(weights, made, world_.now())) {
    // Where messages move one by one, others may still receive: the run ends with the last of them.
    if (reduction_ && !own_ && reduction_->finishing(reductions_))
      reduction_->end_run_when_done();
    else
      world_.simulation.stop();
    return true;
  }
  if (evaluator_ && lineage_.pending() > lineage_window) evaluator_->force(forced);
  if (evaluator_) evaluator_->published(forced, weights->version);
  if (serial_part_) serial_part_->published();
  return false;
}

/// With free-running workers the mean is not computed for each version; one worker's published weights are forced.
bool Publications::record_own() {
  while (std::optional<OwnVersions::Version> version = own_->next()) {
    Handle value = version->parts.front()->value;
    if (lockstep_) version->weights.edit().value = value = workers_.algebra().mean(version->parts)->value;
    if (record(version->weights, version->made, value)) return true;
  }
  return false;
}

bool Publications::worker_went(Rank worker) {
  if (!own_) return false;
  own_->went(worker);
  return record_own();
}

Weights Publications::state_of(Rank source) const {
  return own_ && source != anyone ? own_->current(source) : books_.recorder().latest_with_value();
}

Weights Publications::worker_comes(Rank worker, const Weights& state) { return own_ ? own_->comes(worker, state) : state; }

}  // namespace straggler

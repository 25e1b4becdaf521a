#include "validation/mpi/rank_computations.hpp"

#include <algorithm>
#include <utility>

#include "validation/mpi/patience.hpp"

namespace straggler {

void RankComputations::start(ComputeOperation& operation) {
  const DrawnBatch& batch = operation.batch();
  operation_ = &operation;
  start_ = end_ = world_.note(LogEntry::Kind::compute_begins);  // the worker's account gets the time spent on the gradient
  const std::uint64_t call = node_.next_call();
  if (world_.task.emulated)
    end_ += world_.task.compute.duration(node_.self(), {batch.work, batch.size, batch.number, batch.offset}, call, start_);
  // A step that led to these weights is evaluated here, within the time of the draw.
  std::shared_ptr<const float> weights = world_.values.hold(operation.weights()->value);
  job_ = std::make_shared<ComputeThread::Job>(std::move(weights), batch, world_.values.lend());
  begun_ = false;
}

bool RankComputations::begin(bool alone) {
  if (!job_ || std::exchange(begun_, true)) return false;
  if (!alone || !is_short() || !thread_.compute_here(*job_)) thread_.start(job_);
  return true;
}

bool RankComputations::is_short() const { return pace_ * job_->batch.size <= std::chrono::duration<double>(Patience::asleep).count(); }

bool RankComputations::take_computed() {
  if (!job_ || !job_->done) return false;
  const std::shared_ptr<ComputeThread::Job> job = std::exchange(job_, nullptr);
  if (job->failure) std::rethrow_exception(job->failure);
  gradient_ = lineage_.gradient(operation_->weights()->value, operation_->batch());
  world_.values.give(gradient_, std::move(job->gradient));
  job->weights.reset();
  const Time computed = world_.now();
  pace_ = std::min(pace_, (computed - start_).seconds() / job->batch.size);
  if (world_.task.emulated) note_overrun(computed);
  queue_.at(std::max(computed, end_), *operation_);
  return true;
}

void RankComputations::note_overrun(Time computed) {
  Overruns& overruns = world_.log.overruns;
  ++overruns.gradients;
  if (computed <= end_) return;
  const std::int64_t late = (computed - end_).ticks();
  ++overruns.late;
  overruns.ticks += late;
  overruns.worst = std::max(overruns.worst, late);
}

void RankComputations::end(ComputeOperation& operation) {
  operation_ = nullptr;
  operation.span = world_.note(LogEntry::Kind::compute_ends) - start_;
}

void RankComputations::drop() {
  if (job_) job_->cancelled = true;
  job_.reset();
  operation_ = nullptr;
}

void RankComputations::cancel() {
  drop();
  world_.note(LogEntry::Kind::compute_discarded);
}

bool RankComputations::wait(std::int64_t nanoseconds) {
  if (job_) thread_.wait(*job_, nanoseconds);
  return job_ != nullptr;
}

}  // namespace straggler

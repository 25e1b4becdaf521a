// A batch in progress: its forward and backward, bucket by bucket (TrainingPlan::buckets), and its gradient.
#pragma once
#include <cstddef>
#include <cstdint>

#include "sim/training/operations.hpp"

namespace straggler {

/// All of its slices together take as long as the computing of Node::averaged_gradient: jitter and loading are of the whole batch, and
/// draws of jitter by time are those of the time after its beginning, as if no slice waited. With accumulation each micro-batch has its
/// forward and its backward. Outlives its slices.
///
///   Work work = node.work(weights, batch);
///   for (std::size_t bucket = 0; bucket < work.buckets(); ++bucket) co_await work.forward(bucket);
///   for (std::size_t bucket = work.buckets(); bucket-- > 0;) co_await work.backward(bucket);
///   const Gradient gradient = work.gradient();
class Work {
 public:
  Work(Participant& node, OperationSlot& slot, const Weights& weights, const DrawnBatch& batch);
  Work(const Work&) = delete;
  Work& operator=(const Work&) = delete;

  std::size_t buckets() const;
  /// In which the batch is computed, one after another.
  std::int64_t micro_batches() const { return point_.micro_batches; }
  /// Computes forward until it is through that bucket: from where the batch stands, buckets before it included. The first of a micro-batch
  /// begins it. Throws std::invalid_argument if forward is through it already, or if the batch is done.
  Pending<SliceOperation> forward(std::size_t bucket);
  /// The same of backward, which goes from the last bucket to bucket 0: what is left of forward comes first.
  Pending<SliceOperation> backward(std::size_t bucket);
  /// Of the whole batch. Throws std::logic_error before the last micro-batch's backward is through bucket 0.
  Gradient gradient() const;

 private:
  Pending<SliceOperation> until(std::size_t bucket, bool backward);

  Participant& node_;
  OperationSlot& slot_;
  Weights weights_;
  DrawnBatch batch_;
  WorkProgress progress_;
  SliceOperation::Point point_;  // that the last slice reaches
  std::size_t bucket_ = 0;       // that it is through
  bool begun_ = false;
};

}  // namespace straggler

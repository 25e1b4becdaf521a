#include "sim/training/work.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>

namespace straggler {

Work::Work(Participant& node, OperationSlot& slot, const Weights& weights, const DrawnBatch& batch)
    : node_(node), slot_(slot), weights_(weights), batch_(batch) {
  point_.micro_batches = std::clamp<std::int64_t>(node.plan().accumulate, 1, std::max<std::int64_t>(batch.size, 1));
}

std::size_t Work::buckets() const { return std::max<std::size_t>(node_.plan().buckets.size(), 1); }

Pending<SliceOperation> Work::forward(std::size_t bucket) { return until(bucket, false); }
Pending<SliceOperation> Work::backward(std::size_t bucket) { return until(bucket, true); }

Pending<SliceOperation> Work::until(std::size_t bucket, bool backward) {
  const auto refuse = [&](const std::string& what) {
    throw std::invalid_argument(node_.name() + ": " + (backward ? "backward" : "forward") + " of bucket " + std::to_string(bucket) + what);
  };
  if (bucket >= buckets()) refuse(", and there are " + std::to_string(buckets()) + "; they are numbered from 0");
  const bool over = begun_ && point_.backward && bucket_ == 0;  // a micro-batch is
  if (point_.ends) refuse(" of a batch whose backward is over; begin another one by node.work");
  const bool follows = !begun_ || over || (backward ? !point_.backward || bucket < bucket_ : !point_.backward && bucket > bucket_);
  if (!follows) refuse(" is over already; forward goes from bucket 0 up, backward from the last one down");
  const std::vector<WorkBucket>& all = node_.plan().buckets;
  if (over) ++point_.micro;
  point_.backward = backward;
  point_.share = all.empty() ? 1 : backward ? all[bucket].backward_until : all[bucket].forward_until;
  point_.ends = backward && bucket == 0 && point_.micro + 1 == point_.micro_batches;
  bucket_ = bucket;
  begun_ = true;
  return Pending<SliceOperation>(slot_, node_, weights_, batch_, progress_, point_);
}

Gradient Work::gradient() const {
  if (!progress_.over)
    throw std::logic_error(node_.name() + " asks for the gradient of a batch whose backward is not over; compute it down to bucket 0");
  return computed_gradient(node_, weights_, batch_, progress_.computed);
}

}  // namespace straggler

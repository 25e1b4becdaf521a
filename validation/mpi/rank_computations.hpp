// The gradients that a rank computes, one at a time: on a thread of its own. Emulated, a gradient takes the time that was drawn for it.
#pragma once
#include <limits>
#include <memory>

#include "sim/engine/event_queue.hpp"
#include "sim/training/node.hpp"
#include "validation/mpi/compute_thread.hpp"
#include "validation/mpi/rank_world.hpp"

namespace straggler {

class RankComputations {
 public:
  /// All outlive it.
  RankComputations(RankWorld& world, Node& node, Lineage& lineage, ComputeThread& thread, EventQueue& queue)
      : world_(world), node_(node), lineage_(lineage), thread_(thread), queue_(queue) {}

  /// The operation's event comes when its gradient is computed, and its time is over.
  void start(ComputeOperation& operation);
  /// Has the gradient computed that was started last. `alone`: nothing else waits for this thread, which computes a short one itself,
  /// rather than wake another thread and be woken by it. False: none was started.
  bool begin(bool alone);
  bool is_of(const Operation& operation) const { return &operation == operation_; }
  /// Its event has come.
  void end(ComputeOperation& operation);
  void cancel();
  /// The run is over: nothing more is logged.
  void drop();
  /// Takes a computed gradient's value. True: there was one.
  bool take_computed();
  /// A gradient is being computed now.
  bool running() const { return job_ != nullptr; }
  /// Waits until the gradient is computed, at most this long. False: none is being computed.
  bool wait(std::int64_t nanoseconds);

 private:
  void note_overrun(Time computed);
  bool is_short() const;

  RankWorld& world_;
  Node& node_;
  Lineage& lineage_;
  ComputeThread& thread_;
  EventQueue& queue_;
  ComputeOperation* operation_ = nullptr;
  std::shared_ptr<ComputeThread::Job> job_;  // null: computed, and waiting for its time
  bool begun_ = false;                       // the job
  Time start_, end_;
  double pace_ = std::numeric_limits<double>::infinity();  // shortest time of a sample so far, in seconds
  Handle gradient_;                                        // keeps its value until the scheme takes it
};

}  // namespace straggler

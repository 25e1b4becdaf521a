// Computes gradients beside the communication loop, so that a computation can be interrupted.
#pragma once
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <exception>
#include <memory>
#include <mutex>
#include <span>
#include <thread>

#include "models/executor/single_gradient.hpp"

namespace straggler {

class ComputeThread {
 public:
  /// Shared by both threads: the waiting process may end before the computation.
  struct Job {
    explicit Job(std::size_t length) : weights(allocate_aligned(length)), gradient(allocate_aligned(length)) {}
    AlignedFloats weights, gradient;
    Batch batch;
    std::exception_ptr failure;
    std::atomic<bool> cancelled{false}, done{false};
  };
  /// `gradient` outlives it, and is used by this thread only. In the background: messages of all ranks on the machine go first. An emulated
  /// computation needs its gradient only at its end.
  ComputeThread(SingleGradient& gradient, bool in_background);
  ~ComputeThread();
  ComputeThread(const ComputeThread&) = delete;
  ComputeThread& operator=(const ComputeThread&) = delete;

  /// One after another; a cancelled one ends at the next layer.
  std::shared_ptr<Job> start(std::span<const float> weights, const Batch& batch);
  /// Waits until the job is done, at most this long.
  void wait(const Job& job, std::int64_t nanoseconds);

 private:
  void work();

  SingleGradient& gradient_;
  std::mutex mutex_;
  std::condition_variable begun_, ended_;
  std::deque<std::shared_ptr<Job>> jobs_;
  std::shared_ptr<Job> spare_[2];  // reused when no other pointer holds them
  bool quit_ = false;
  std::thread thread_;
};

}  // namespace straggler

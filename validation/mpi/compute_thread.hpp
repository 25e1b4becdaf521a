// Computes gradients beside the communication loop, so that a computation can be interrupted.
#pragma once
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>

#include "models/executor/executor.hpp"
#include "models/executor/single_gradient.hpp"

namespace straggler {

class ComputeThread {
 public:
  /// Of the thread that starts it; kept until it is computed, though cancelled.
  struct Job {
    Job(std::shared_ptr<const float> at, const Batch& of, LentFloats into) : weights(std::move(at)), batch(of), gradient(std::move(into)) {}
    std::shared_ptr<const float> weights;
    Batch batch;
    LentFloats gradient;
    std::exception_ptr failure;
    std::atomic<bool> cancelled{false}, done{false};
  };
  /// `gradient` outlives it, and is used by this thread only, which calls `ended` after each job. In the background: messages of all ranks
  /// on the machine go first. An emulated computation needs its gradient only at its end.
  ComputeThread(
      SingleGradient& gradient, bool in_background, std::function<void()> ended = [] {});
  ~ComputeThread();
  ComputeThread(const ComputeThread&) = delete;
  ComputeThread& operator=(const ComputeThread&) = delete;

  /// One after another; a cancelled one ends at the next layer.
  void start(std::shared_ptr<Job> job);
  /// On the caller's thread. False, and nothing done, while another one is being computed.
  bool compute_here(Job& job);
  /// Waits until the job is done, at most this long.
  void wait(const Job& job, std::int64_t nanoseconds);

 private:
  void work();
  void compute(Job& job);
  /// The first one that is not done; null: there is none. The caller holds the mutex.
  Job* next() const;

  SingleGradient& gradient_;
  const std::function<void()> tell_;
  std::mutex mutex_;
  std::condition_variable begun_, ended_;
  std::deque<std::shared_ptr<Job>> jobs_;  // not done, but for those at the front
  bool quit_ = false;
  std::thread thread_;
};

}  // namespace straggler

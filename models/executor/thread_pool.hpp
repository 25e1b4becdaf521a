// Threads that work together on one job at a time; the caller's thread is one of them.
#pragma once
#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

namespace straggler {

/// Work that is handed out piece by piece under the pool's mutex.
class Job {
 public:
  /// Called with `lock` held. Takes a piece of work, unlocks, does it, locks again and returns true; or returns false if
  /// nothing can be taken now. Must not throw.
  virtual bool step(std::unique_lock<std::mutex>& lock, unsigned thread) noexcept = 0;
  /// Called with the lock held: no step is left or running.
  virtual bool done() const noexcept = 0;

 protected:
  ~Job() = default;
};

class ThreadPool {
 public:
  /// `threads` in all, at least 1; `threads - 1` are started, and sleep when there is nothing to do.
  explicit ThreadPool(unsigned threads);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  unsigned size() const { return static_cast<unsigned>(helpers_.size()) + 1; }
  /// Returns when the job is done. Threads that find nothing to take sleep.
  void run(Job& job);
  /// To be called by steps with the lock held, when there is more to take than the caller will: what to notify, best after
  /// unlocking, to wake a thread that is asleep. Null if none is.
  std::condition_variable* sleeper();

 private:
  void help(unsigned thread);

  std::mutex mutex_;
  std::condition_variable helper_, caller_;  // each kind sleeps on its own: the end of a job wakes the caller alone
  Job* job_ = nullptr;
  unsigned helpers_asleep_ = 0;
  bool caller_asleep_ = false;
  bool stop_ = false;
  std::vector<std::thread> helpers_;
};

}  // namespace straggler

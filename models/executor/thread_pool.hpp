// Threads that work together on one job at a time; the caller's thread is one of them. Others only wait for other processes' work.
#pragma once
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <thread>
#include <vector>

namespace straggler {

/// Work that is dealt in pieces under the pool's mutex.
class Job {
 public:
  /// Called with `lock` held. Takes a piece of work, unlocks, does it, locks again and returns true; or returns false if no piece is
  /// available now. Must not throw.
  virtual bool step(std::unique_lock<std::mutex>& lock, unsigned thread) noexcept = 0;
  /// Called with the lock held: no step is left or running.
  virtual bool done() const noexcept = 0;

 protected:
  ~Job() = default;
};

class ThreadPool {
 public:
  /// `threads` that compute, at least 1; `threads - 1` are started, and sleep while idle. After these `waiting` ones, which do not compute.
  explicit ThreadPool(unsigned threads, unsigned waiting = 0);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  unsigned size() const { return static_cast<unsigned>(helpers_.size()) + 1; }
  /// Of these the first, which compute.
  unsigned computing() const { return computing_; }
  /// Returns when the job is done. Idle threads sleep. Of those that compute, the first `admitted` take part.
  void run(Job& job, unsigned admitted);
  void run(Job& job) { run(job, computing_); }
  unsigned admitted() const { return admitted_; }
  /// For steps, with the lock held: from now on the first `threads` computing threads, at least 1, take pieces.
  void admit(unsigned threads);
  /// For steps, with the lock held, when more pieces are available than the caller will take: the condition variable to notify, best after
  /// unlocking, to wake a sleeping thread. Null if none sleeps. Threads that still wait awake see it too, and those that do not compute.
  std::condition_variable* sleeper();

 private:
  void help(unsigned thread);
  /// Waits awake for some microseconds, unlocked: less than it takes to wake up. True if there is news.
  bool await_news(std::unique_lock<std::mutex>& lock);

  const unsigned computing_;
  std::mutex mutex_;
  // Separate: the end of a job wakes the caller alone, and a piece wakes none that may not take it.
  std::condition_variable helper_, caller_, waiter_, dismissed_;
  Job* job_ = nullptr;
  std::atomic<std::uint32_t> news_ = 0;  // changed under the mutex: pieces are available, or the job is done
  unsigned admitted_;
  unsigned helpers_asleep_ = 0, waiters_asleep_ = 0, dismissed_asleep_ = 0;
  bool caller_asleep_ = false;
  bool stop_ = false;
  std::vector<std::thread> helpers_;
};

}  // namespace straggler

#include "models/executor/thread_pool.hpp"

namespace straggler {

ThreadPool::ThreadPool(unsigned threads) {
  for (unsigned thread = 1; thread < threads; ++thread) helpers_.emplace_back([this, thread] { help(thread); });
}

ThreadPool::~ThreadPool() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  helper_.notify_all();
  for (std::thread& helper : helpers_) helper.join();
}

void ThreadPool::run(Job& job) {
  std::unique_lock lock(mutex_);
  job_ = &job;
  while (!job.done()) {
    if (job.step(lock, 0)) continue;
    caller_asleep_ = true;
    caller_.wait(lock);
    caller_asleep_ = false;
  }
  job_ = nullptr;
}

void ThreadPool::help(unsigned thread) {
  std::unique_lock lock(mutex_);
  while (!stop_) {
    if (job_ && job_->step(lock, thread)) {
      if (caller_asleep_ && job_ && job_->done()) caller_.notify_one();
      continue;
    }
    ++helpers_asleep_;
    helper_.wait(lock);
    --helpers_asleep_;
  }
}

std::condition_variable* ThreadPool::sleeper() {
  if (caller_asleep_) return &caller_;
  return helpers_asleep_ > 0 ? &helper_ : nullptr;
}

}  // namespace straggler

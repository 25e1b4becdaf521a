#include "models/executor/thread_pool.hpp"

#include <chrono>

namespace straggler {
namespace {

/// Lets the other thread of the core work.
void relax() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#endif
}

}  // namespace

ThreadPool::ThreadPool(unsigned threads, unsigned waiting) : computing_(threads), admitted_(threads) {
  for (unsigned thread = 1; thread < threads + waiting; ++thread) helpers_.emplace_back([this, thread] { help(thread); });
}

ThreadPool::~ThreadPool() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  helper_.notify_all();
  waiter_.notify_all();
  dismissed_.notify_all();
  for (std::thread& helper : helpers_) helper.join();
}

void ThreadPool::run(Job& job, unsigned admitted) {
  std::unique_lock lock(mutex_);
  job_ = &job;
  admit(admitted);
  while (!job.done()) {
    if (job.step(lock, 0) || await_news(lock)) continue;
    caller_asleep_ = true;
    caller_.wait(lock);
    caller_asleep_ = false;
  }
  job_ = nullptr;
}

void ThreadPool::help(unsigned thread) {
  std::unique_lock lock(mutex_);
  while (!stop_) {
    const bool computes = thread < computing_;
    const bool takes_part = !computes || thread < admitted_;
    if (takes_part && job_ && job_->step(lock, thread)) {
      if (job_ && job_->done()) {
        ++news_;
        if (caller_asleep_) caller_.notify_one();
      }
      continue;
    }
    if (takes_part && computes && job_ && (await_news(lock) || stop_)) continue;
    if (takes_part != (!computes || thread < admitted_)) continue;
    if (!takes_part)  // its last step may have made pieces available
      if (std::condition_variable* const next = sleeper()) next->notify_one();
    unsigned& asleep = !takes_part ? dismissed_asleep_ : computes ? helpers_asleep_ : waiters_asleep_;
    ++asleep;
    (!takes_part ? dismissed_ : computes ? helper_ : waiter_).wait(lock);
    --asleep;
  }
}

void ThreadPool::admit(unsigned threads) {
  if (threads == admitted_) return;
  (threads > admitted_ ? dismissed_ : helper_).notify_all();  // all sleep again where they belong
  admitted_ = threads;
  ++news_;
}

bool ThreadPool::await_news(std::unique_lock<std::mutex>& lock) {
  constexpr auto patience = std::chrono::microseconds(40);
  const std::uint32_t before = news_;
  lock.unlock();
  const auto end = std::chrono::steady_clock::now() + patience;
  do {
    for (int i = 0; i < 32 && news_.load(std::memory_order_relaxed) == before; ++i) relax();
  } while (news_.load(std::memory_order_relaxed) == before && std::chrono::steady_clock::now() < end);
  lock.lock();
  return news_ != before;
}

std::condition_variable* ThreadPool::sleeper() {
  ++news_;
  if (waiters_asleep_ > 0) waiter_.notify_all();
  if (caller_asleep_) return &caller_;
  return helpers_asleep_ > 0 ? &helper_ : nullptr;
}

}  // namespace straggler

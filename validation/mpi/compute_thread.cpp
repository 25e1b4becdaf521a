#include "validation/mpi/compute_thread.hpp"

#include <algorithm>
#include <chrono>

#include "validation/mpi/waiting.hpp"

namespace straggler {

ComputeThread::ComputeThread(SingleGradient& gradient, bool in_background, std::function<void()> ended)
    : gradient_(gradient), tell_(std::move(ended)), thread_([this, in_background] {
        if (in_background) go_behind_messages();
        work();
      }) {}

ComputeThread::~ComputeThread() {
  {
    const std::lock_guard lock(mutex_);
    quit_ = true;
    for (const auto& job : jobs_) job->cancelled = true;
  }
  begun_.notify_one();
  thread_.join();
}

void ComputeThread::start(std::shared_ptr<Job> job) {
  {
    const std::lock_guard lock(mutex_);
    while (!jobs_.empty() && jobs_.front()->done) jobs_.pop_front();
    jobs_.push_back(std::move(job));
  }
  begun_.notify_one();
}

bool ComputeThread::compute_here(Job& job) {
  {
    const std::lock_guard lock(mutex_);
    if (next()) return false;
  }
  compute(job);
  job.done = true;
  return true;
}

void ComputeThread::compute(Job& job) {
  try {
    if (!job.cancelled) gradient_.compute(job.weights.get(), job.batch, job.cancelled, job.gradient.get());
  } catch (...) {
    job.failure = std::current_exception();
  }
}

ComputeThread::Job* ComputeThread::next() const {
  const auto next = std::ranges::find_if(jobs_, [](const auto& each) { return !each->done; });
  return next == jobs_.end() ? nullptr : next->get();
}

void ComputeThread::wait(const Job& job, std::int64_t nanoseconds) {
  std::unique_lock lock(mutex_);
  ended_.wait_for(lock, std::chrono::nanoseconds(nanoseconds), [&job] { return job.done.load(); });
}

void ComputeThread::work() {
  for (;;) {
    Job* job = nullptr;
    {
      std::unique_lock lock(mutex_);
      begun_.wait(lock, [&] {
        job = next();
        return quit_ || job;
      });
      if (quit_) return;
    }
    compute(*job);
    {
      const std::lock_guard lock(mutex_);
      job->done = true;
    }
    ended_.notify_one();
    tell_();
  }
}

}  // namespace straggler

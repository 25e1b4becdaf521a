#include "validation/mpi/compute_thread.hpp"

#include <algorithm>
#include <chrono>

#include "validation/mpi/waiting.hpp"

namespace straggler {

ComputeThread::ComputeThread(SingleGradient& gradient, bool in_background)
    : gradient_(gradient), thread_([this, in_background] {
        if (in_background) go_behind_messages();
        work();
      }) {}

ComputeThread::~ComputeThread() {
  {
    const std::lock_guard lock(mutex_);
    quit_ = true;
    for (const auto& job : jobs_) job->cancelled = true;
    for (const auto& job : spare_)
      if (job) job->cancelled = true;
  }
  begun_.notify_one();
  thread_.join();
}

std::shared_ptr<ComputeThread::Job> ComputeThread::start(std::span<const float> weights, const Batch& batch) {
  std::shared_ptr<Job> job;
  {
    const std::lock_guard lock(mutex_);  // under which the thread releases a job
    for (std::shared_ptr<Job>& spare : spare_) {
      if (!spare) spare = std::make_shared<Job>(gradient_.length());
      if (spare.use_count() == 1) job = spare;
      if (job) break;
    }
  }
  if (!job) job = std::make_shared<Job>(gradient_.length());
  std::copy(weights.begin(), weights.end(), job->weights.get());
  job->batch = batch;
  job->failure = nullptr;
  job->cancelled = job->done = false;
  {
    const std::lock_guard lock(mutex_);
    jobs_.push_back(job);
  }
  begun_.notify_one();
  return job;
}

void ComputeThread::wait(const Job& job, std::int64_t nanoseconds) {
  std::unique_lock lock(mutex_);
  ended_.wait_for(lock, std::chrono::nanoseconds(nanoseconds), [&job] { return job.done.load(); });
}

void ComputeThread::work() {
  for (;;) {
    std::shared_ptr<Job> job;
    {
      std::unique_lock lock(mutex_);
      begun_.wait(lock, [this] { return quit_ || !jobs_.empty(); });
      if (quit_) return;
      job = std::move(jobs_.front());
      jobs_.pop_front();
    }
    try {
      if (!job->cancelled) gradient_.compute(job->weights.get(), job->batch, job->cancelled, job->gradient.get());
    } catch (...) {
      job->failure = std::current_exception();
    }
    {
      const std::lock_guard lock(mutex_);
      job->done = true;
      job.reset();
    }
    ended_.notify_one();
  }
}

}  // namespace straggler

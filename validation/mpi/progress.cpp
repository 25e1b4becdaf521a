#include "validation/mpi/progress.hpp"

#include <fmt/format.h>

#include "sim/base/readable.hpp"

namespace straggler {

RankProgress::RankProgress(bool shown) : line_(shown ? ProgressStyle::plain : ProgressStyle::none) {
  if (line_.shown()) thread_ = std::thread([this] { work(); });
}

RankProgress::~RankProgress() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    over_ = true;
  }
  ended_.notify_one();
  thread_.join();
}

void RankProgress::stage(std::string name) {
  const std::lock_guard lock(mutex_);
  stage_ = std::move(name);
  stage_began_ = Clock::now();
  updating_ = false;
}

void RankProgress::published(std::uint64_t updates, double epochs, double fraction) {
  const std::lock_guard lock(mutex_);
  updates_ = updates;
  epochs_ = epochs;
  fraction_ = fraction;
  updating_ = true;
}

void RankProgress::work() {
  using namespace std::chrono_literals;
  std::unique_lock lock(mutex_);
  while (!ended_.wait_for(lock, 100ms, [this] { return over_; })) {
    const double seconds = std::chrono::duration<double>(Clock::now() - start_).count();
    if (!stage_.empty() && line_.due(seconds)) line_.show(state(), seconds);
  }
}

ProgressState RankProgress::state() const {
  const double seconds = std::chrono::duration<double>(Clock::now() - stage_began_).count();
  const std::string stage = fmt::format("{} for {}", stage_, readable_seconds(seconds));
  if (!updating_) return {{}, {stage}};
  ProgressState now{fraction_, {}};
  if (fraction_ > 0) now.parts.push_back(readable_seconds(seconds * (1 - fraction_) / fraction_) + " left");
  now.parts.insert(now.parts.end(), {stage, fmt::format("epoch {:.2f}", epochs_), fmt::format("updates {}", updates_)});
  return now;
}

}  // namespace straggler

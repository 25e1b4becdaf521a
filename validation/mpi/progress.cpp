#include "validation/mpi/progress.hpp"

#include <fmt/format.h>

#include <cstdio>

#include "sim/base/readable.hpp"

namespace straggler {

RankProgress::RankProgress(bool shown) {
  if (shown) thread_ = std::thread([this] { work(); });
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
  for (auto pause = 2s; !ended_.wait_for(lock, pause, [this] { return over_; }); pause = 5s)
    if (!stage_.empty()) fmt::print(stderr, "{}\n", line());
}

std::string RankProgress::line() const {
  const std::string since = readable_seconds(std::chrono::duration<double>(Clock::now() - stage_began_).count());
  if (!updating_) return fmt::format("       {} for {}", stage_, since);
  return fmt::format("{:3.0f} %  {} for {}  epoch {:.2f}  updates {}", 100 * fraction_, stage_, since, epochs_, updates_);
}

}  // namespace straggler

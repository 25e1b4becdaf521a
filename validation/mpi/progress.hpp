// Progress of a real run: lines on standard error, concurrent with the rank's work.
#pragma once
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <string>
#include <thread>

#include "sim/base/progress_line.hpp"

namespace straggler {

/// Lines, and no bar, since a launcher passes them on; from its own thread, since loading and evaluating take long, too.
class RankProgress {
 public:
  /// Not `shown`: no thread, no lines.
  explicit RankProgress(bool shown);
  ~RankProgress();
  RankProgress(const RankProgress&) = delete;
  RankProgress& operator=(const RankProgress&) = delete;

  /// "loading data". The number of updates is left out of the lines until it is set again.
  void stage(std::string name);
  /// `fraction` of the way to the stop: 0 to 1, judged by updates.
  void published(std::uint64_t updates, double epochs, double fraction);

 private:
  using Clock = std::chrono::steady_clock;
  void work();
  ProgressState state() const;

  ProgressLine line_;
  std::mutex mutex_;
  std::condition_variable ended_;
  std::string stage_;
  Clock::time_point start_ = Clock::now(), stage_began_ = start_;
  bool updating_ = false, over_ = false;
  std::uint64_t updates_ = 0;
  double epochs_ = 0, fraction_ = 0;
  std::thread thread_;
};

}  // namespace straggler

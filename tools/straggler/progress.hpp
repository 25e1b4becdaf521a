// Progress of a run, on standard error.
#pragma once
#include <chrono>
#include <functional>
#include <utility>

#include "scenarios/experiment/experiment.hpp"
#include "tools/straggler/command.hpp"

namespace straggler::cli {

/// The clock is read only as often as it takes to draw in time, so that it costs nothing however often the simulation calls.
class Progress final : public ProgressListener {
 public:
  /// `stop`: asked at every call; true ends the run.
  Progress(const Common& common, std::function<bool()> stop) : line_(common.progress), quiet_(common.quiet), stop_(std::move(stop)) {}
  ~Progress() override { clear(); }
  void progress(const State& state) override;
  bool interrupted() override;
  /// Erases the bar from the terminal.
  void clear() { line_.clear(); }

 private:
  using Clock = std::chrono::steady_clock;

  ProgressLine line_;
  bool quiet_, announced_ = false;
  std::function<bool()> stop_;
  Clock::time_point start_ = Clock::now(), last_look_ = start_;
  unsigned calls_ = 0, calls_per_look_ = 1;
};

}  // namespace straggler::cli

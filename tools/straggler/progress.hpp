// Progress of a run, on standard error.
#pragma once
#include <chrono>
#include <functional>
#include <string>

#include "scenarios/experiment/experiment.hpp"
#include "tools/straggler/command.hpp"

namespace straggler::cli {

/// Nothing for the first two seconds; then a bar on a terminal, or a line every five seconds. The clock is read only as often
/// as it takes to draw in time, so that it costs nothing however often the simulation calls.
class Progress final : public ProgressListener {
 public:
  /// `stop`: asked at every call; true ends the run.
  Progress(ProgressStyle style, bool quiet, std::function<bool()> stop);
  ~Progress() override { clear(); }
  void progress(const State& state) override;
  bool interrupted() override;
  /// Erases the bar from the terminal.
  void clear();

 private:
  using Clock = std::chrono::steady_clock;
  void draw(const State& state, double wall_seconds);
  std::string line(const State& state, double wall_seconds) const;

  ProgressStyle style_;
  bool quiet_, drawn_ = false, announced_ = false;
  std::function<bool()> stop_;
  Clock::time_point start_ = Clock::now(), last_look_ = start_;
  double next_draw_ = 2;  // seconds after the start
  unsigned calls_ = 0, calls_per_look_ = 1;
};

}  // namespace straggler::cli

// Progress of a run for other programs: live.csv in the hidden folder of its results, removed at the end of the run.
#pragma once
#include <chrono>
#include <filesystem>
#include <fstream>
#include <optional>

#include "scenarios/experiment/experiment.hpp"

namespace straggler {

class LiveProgress final : public ProgressListener {
 public:
  static constexpr const char* name = "live.csv";
  static constexpr std::size_t columns = 5;  // time_s, updates, samples, fraction, test_accuracy
  /// Also tells `other`, which outlives it.
  LiveProgress(ProgressListener& other, std::filesystem::path file) : other_(other), path_(std::move(file)) {}
  ~LiveProgress() override;
  LiveProgress(const LiveProgress&) = delete;
  LiveProgress& operator=(const LiveProgress&) = delete;

  /// A row, if half a second of wall-clock time has passed since the last one, or a tenth and there is a new accuracy. Shorter runs write
  /// none. A disk that is full is no reason to stop: nothing is written then.
  void progress(const State& state) override;
  bool interrupted() override { return other_.interrupted(); }

 private:
  using Clock = std::chrono::steady_clock;
  void write(const State& state);

  ProgressListener& other_;
  std::filesystem::path path_;
  std::ofstream out_;
  std::optional<double> accuracy_;  // of the last row
  Clock::time_point last_ = Clock::now();
  bool tried_ = false;
};

}  // namespace straggler

// Progress of a run for other programs: live.csv in the hidden folder of its results, removed at the end of the run.
#pragma once
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <optional>

#include "sim/engine/time.hpp"

namespace straggler {

class LiveFile {
 public:
  static constexpr const char* name = "live.csv";
  static constexpr std::size_t columns = 5;  // time_s, updates, samples, fraction, test_accuracy
  explicit LiveFile(std::filesystem::path path) : path_(std::move(path)) {}
  ~LiveFile();
  LiveFile(const LiveFile&) = delete;
  LiveFile& operator=(const LiveFile&) = delete;

  /// A row, if half a second of wall-clock time has passed since the last one, or a tenth and there is a new accuracy. Shorter runs write
  /// none. `fraction` of the run that is done, 0 .. 1. A disk that is full is no reason to stop: nothing is written then.
  void note(Time time, std::uint64_t updates, std::uint64_t samples, double fraction, const std::optional<double>& accuracy);

 private:
  using Clock = std::chrono::steady_clock;
  std::filesystem::path path_;
  std::ofstream out_;
  std::optional<double> accuracy_;  // of the last row
  Clock::time_point last_ = Clock::now();
  bool tried_ = false;
};

}  // namespace straggler

// Also writes a run's progress to its live.csv.
#pragma once
#include "scenarios/experiment/experiment.hpp"
#include "scenarios/results/live_file.hpp"

namespace straggler {

class LiveProgress final : public ProgressListener {
 public:
  /// `other` outlives it.
  LiveProgress(ProgressListener& other, std::filesystem::path file) : other_(other), file_(std::move(file)) {}
  void progress(const State& state) override {
    file_.note(state.time, state.updates, state.samples, state.fraction, state.test_accuracy);
    other_.progress(state);
  }
  bool interrupted() override { return other_.interrupted(); }

 private:
  ProgressListener& other_;
  LiveFile file_;
};

}  // namespace straggler

#include "scenarios/results/live_progress.hpp"

#include <fmt/format.h>

#include "scenarios/results/text.hpp"

namespace straggler {

namespace {
constexpr auto between_rows = std::chrono::milliseconds(500), between_accuracies = std::chrono::milliseconds(100);
}

LiveProgress::~LiveProgress() {
  out_.close();
  std::error_code ignored;
  if (tried_) std::filesystem::remove(path_, ignored);
}

void LiveProgress::progress(const State& state) {
  write(state);
  other_.progress(state);
}

void LiveProgress::write(const State& state) {
  const Clock::time_point now = Clock::now();
  if (now - last_ < (tried_ && state.test_accuracy != accuracy_ ? between_accuracies : between_rows)) return;
  if (!tried_) {
    tried_ = true;
    out_.open(path_);
    out_ << "time_s,updates,samples,fraction,test_accuracy\n";
  }
  out_ << fmt::format("{},{},{},{:.4f},{}\n", seconds_text(state.time), state.updates, state.samples, state.fraction,
                      state.test_accuracy ? number_text(*state.test_accuracy) : "");
  out_.flush();
  accuracy_ = state.test_accuracy;
  last_ = now;
}

}  // namespace straggler

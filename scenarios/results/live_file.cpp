#include "scenarios/results/live_file.hpp"

#include <fmt/format.h>

#include "scenarios/results/text.hpp"

namespace straggler {

namespace {
constexpr auto between_rows = std::chrono::milliseconds(500), between_accuracies = std::chrono::milliseconds(100);
}

LiveFile::~LiveFile() {
  out_.close();
  std::error_code ignored;
  if (tried_) std::filesystem::remove(path_, ignored);
}

void LiveFile::note(Time time, std::uint64_t updates, std::uint64_t samples, double fraction, const std::optional<double>& accuracy) {
  const Clock::time_point now = Clock::now();
  if (now - last_ < (tried_ && accuracy != accuracy_ ? between_accuracies : between_rows)) return;
  if (!tried_) {
    tried_ = true;
    out_.open(path_);
    out_ << "time_s,updates,samples,fraction,test_accuracy\n";
  }
  out_ << fmt::format("{},{},{},{:.4f},{}\n", seconds_text(time), updates, samples, fraction, accuracy ? number_text(*accuracy) : "");
  out_.flush();
  accuracy_ = accuracy;
  last_ = now;
}

}  // namespace straggler

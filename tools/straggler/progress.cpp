#include "tools/straggler/progress.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "sim/base/readable.hpp"

namespace straggler::cli {

namespace {

ProgressState progress_of(const ProgressListener::State& state, double wall_seconds) {
  ProgressState now{std::min(state.fraction, 1.0), {}};
  if (state.fraction > 0) now.parts.push_back(readable_seconds(wall_seconds * (1 - *now.fraction) / *now.fraction) + " left");
  if (state.test_perplexity)
    now.parts.push_back(fmt::format("perplexity {:.4g}", *state.test_perplexity));
  else if (state.test_accuracy)
    now.parts.push_back(fmt::format("accuracy {:.4f}", *state.test_accuracy));
  now.parts.push_back("simulated " + readable_seconds(state.time.seconds()));
  if (!std::isnan(state.epochs)) now.parts.push_back(fmt::format("epoch {:.2f}", state.epochs));
  now.parts.push_back(readable_number(static_cast<double>(state.samples) / wall_seconds) + " samples/s");
  now.parts.push_back(fmt::format("updates {}", state.updates));
  return now;
}

}  // namespace

void Progress::progress(const State& state) {
  if (!line_.shown() || ++calls_ < calls_per_look_) return;
  calls_ = 0;
  const Clock::time_point now = Clock::now();
  const double since_last = std::chrono::duration<double>(now - last_look_).count();
  last_look_ = now;
  // Look at the clock about every 10 ms.
  if (since_last < 0.005)
    calls_per_look_ = std::min(calls_per_look_ * 2, 1u << 20);
  else if (since_last > 0.02)
    calls_per_look_ = std::max(calls_per_look_ / 2, 1u);
  const double wall_seconds = std::chrono::duration<double>(now - start_).count();
  if (line_.due(wall_seconds)) line_.show(progress_of(state, wall_seconds), wall_seconds);
}

bool Progress::interrupted() {
  if (!stop_()) return false;
  if (!announced_ && !quiet_) {
    clear();
    print_text(stderr, "straggler: stopping; finished results will be written (once more to stop at once)\n");
  }
  announced_ = true;
  return true;
}

}  // namespace straggler::cli

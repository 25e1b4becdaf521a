#include "tools/straggler/progress.hpp"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "sim/base/readable.hpp"

namespace straggler::cli {

namespace {

constexpr double bar_every = 0.2, line_every = 5;  // seconds

std::size_t terminal_width() {
  winsize size{};
  return ::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 20 ? size.ws_col : 80;
}

}  // namespace

Progress::Progress(ProgressStyle style, bool quiet, std::function<bool()> stop) : style_(style), quiet_(quiet), stop_(std::move(stop)) {
  if (style_ == ProgressStyle::automatic) style_ = ::isatty(STDERR_FILENO) ? ProgressStyle::bar : ProgressStyle::plain;
  if (quiet_) style_ = ProgressStyle::none;
}

void Progress::progress(const State& state) {
  if (style_ == ProgressStyle::none || ++calls_ < calls_per_look_) return;
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
  if (wall_seconds >= next_draw_) draw(state, wall_seconds);
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

void Progress::clear() {
  if (drawn_) fmt::print(stderr, "\r\033[K");
  drawn_ = false;
}

void Progress::draw(const State& state, double wall_seconds) {
  std::string text = line(state, wall_seconds);
  if (style_ == ProgressStyle::plain) {
    next_draw_ = wall_seconds + line_every;
    print_text(stderr, "{:3.0f} %  {}\n", 100 * state.fraction, text);
    return;
  }
  next_draw_ = wall_seconds + bar_every;
  constexpr std::size_t cells = 24;
  const auto full = static_cast<std::size_t>(std::clamp(state.fraction, 0.0, 1.0) * cells);
  text = fmt::format("[{}{}] {:3.0f} %  {}", std::string(full, '#'), std::string(cells - full, '.'), 100 * state.fraction, text);
  text.resize(std::min(text.size(), terminal_width() - 1));
  fmt::print(stderr, "\r{}\033[K", shown_text(text));
  std::fflush(stderr);
  drawn_ = true;
}

std::string Progress::line(const State& state, double wall_seconds) const {
  // The most important figures come first: a narrow terminal cuts off the end.
  std::string text = fmt::format("simulated {}", readable_seconds(state.time.seconds()));
  if (!std::isnan(state.epochs)) text += fmt::format("  epoch {:.2f}", state.epochs);
  if (state.fraction > 0)
    text += fmt::format("  {} left", readable_seconds(wall_seconds * (1 - std::min(state.fraction, 1.0)) / state.fraction));
  text += fmt::format("  {} samples/s", readable_number(static_cast<double>(state.samples) / wall_seconds));
  if (state.test_accuracy) text += fmt::format("  accuracy {:.4f}", *state.test_accuracy);
  text += fmt::format("  updates {}", state.updates);
  return text;
}

}  // namespace straggler::cli

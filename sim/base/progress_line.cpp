#include "sim/base/progress_line.hpp"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "sim/base/screen.hpp"
#include "sim/base/shown_text.hpp"

namespace straggler {

namespace {

constexpr double bar_every = 0.2, line_every = 5;  // seconds

/// " 40 %"; blanks where it is unknown.
std::string percent(const ProgressState& state) {
  if (!state.fraction) return "     ";
  std::string digits = std::to_string(std::lround(100 * *state.fraction));
  digits.insert(0, 3 - std::min<std::size_t>(3, digits.size()), ' ');
  return digits + " %";
}

}  // namespace

std::string progress_bar(const ProgressState& state, std::size_t width) {
  const std::size_t cells = width >= 100 ? 24 : width >= 70 ? 12 : 6;
  const auto full = static_cast<std::size_t>(std::clamp(state.fraction.value_or(0), 0.0, 1.0) * static_cast<double>(cells));
  std::string text = "[" + std::string(full, '#') + std::string(cells - full, '.') + "] " + percent(state);
  for (const std::string& part : state.parts) {
    if (text.size() + 2 + part.size() >= width) break;
    text += "  " + part;
  }
  return text;
}

std::string progress_text(const ProgressState& state) {
  std::string text = percent(state);
  for (const std::string& part : state.parts) text += "  " + part;
  return text;
}

ProgressLine::ProgressLine(ProgressStyle style) : style_(style) {
  if (style_ == ProgressStyle::automatic || style_ == ProgressStyle::bar)
    style_ = ::isatty(STDERR_FILENO) ? ProgressStyle::bar : ProgressStyle::plain;
}

void ProgressLine::show(const ProgressState& state, double seconds) {
  drawn_ = style_ == ProgressStyle::bar;
  next_ = seconds + (drawn_ ? bar_every : line_every);
  if (drawn_)
    std::fprintf(stderr, "\r%s\033[K", shown_text(progress_bar(state, terminal_width(stderr))).c_str());
  else
    std::fprintf(stderr, "%s\n", shown_text(progress_text(state)).c_str());
  std::fflush(stderr);
}

void ProgressLine::clear() {
  if (drawn_) std::fputs("\r\033[K", stderr);
  drawn_ = false;
}

}  // namespace straggler

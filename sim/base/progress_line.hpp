// Progress of a program's work: the one writer of such lines, on standard error.
#pragma once
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace straggler {

/// automatic: a bar on a terminal, else plain.
enum class ProgressStyle { automatic, bar, plain, none };

/// How far the work is.
struct ProgressState {
  std::optional<double> fraction;  // of the work: 0 to 1; none: unknown
  std::vector<std::string> parts;  // "12 s left", "accuracy 0.8532", ...: the most important ones first
};

/// "[####......]  40 %  12 s left  accuracy 0.8532" in fewer than `width` columns: parts that do not fit are left out, whole and with all
/// that follow them.
std::string progress_bar(const ProgressState& state, std::size_t width);
/// " 40 %  12 s left  accuracy 0.8532", with all parts.
std::string progress_text(const ProgressState& state);

/// Nothing for the first two seconds; then a bar five times a second, or a line every five seconds. No bar where standard error is no
/// terminal.
class ProgressLine {
 public:
  explicit ProgressLine(ProgressStyle style);
  bool shown() const { return style_ != ProgressStyle::none; }
  /// Whether the next one is due so many seconds after the start.
  bool due(double seconds) const { return shown() && seconds >= next_; }
  void show(const ProgressState& state, double seconds);
  /// Erases the bar.
  void clear();

 private:
  ProgressStyle style_;
  double next_ = 2;  // seconds after the start
  bool drawn_ = false;
};

}  // namespace straggler

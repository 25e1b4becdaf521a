// How many threads compute the gradients of a run fastest: found by comparing pairs of slices of the run's own time.
#pragma once
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace straggler {

inline double seconds_now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

/// Begins with all threads. A challenger, twice or half as many, wins if it is ahead after each of three pairs of slices: fewer threads if
/// they are at most 0.5 % slower, more if they are 2 % faster. Comparisons go on through the run, as the machine's load may change. They
/// may lose a hundredth of the time. Clocks are the caller's, in seconds.
class ThreadChoice {
 public:
  explicit ThreadChoice(unsigned most);

  /// That compute now.
  unsigned threads() const { return counts_[trial_ && trial_->challenges ? trial_->other : at_]; }
  /// The fastest so far.
  unsigned fastest() const { return counts_[at_]; }
  /// Whether any comparison has ended.
  bool compared() const { return compared_; }

  /// The clock runs from here to `pause`.
  void resume(double now) { last_ = now; }
  /// As resume, after `samples` in all, some of which others decided about.
  void go_on(double now, std::uint64_t samples);
  void pause(double now);
  /// A gradient is finished, `samples` in all are, and `in_flight` gradients are being computed. True if threads() has changed.
  bool advance(double now, std::uint64_t samples, std::size_t in_flight);

 private:
  struct Trial {
    std::size_t other;
    double start;             // time spent when it began
    bool challenges = false;  // the challenger computes
    int pairs = 0;
    // Seconds a sample, added over the pairs: of the fastest number so far, and of the challenger.
    double fastest = 0, challenger = 0;
  };
  void begin_slice(std::uint64_t samples);
  /// Null if it is not due.
  std::optional<Trial> next_trial() const;
  void end_pair();

  std::vector<unsigned> counts_;  // ascending
  std::size_t at_;                // of counts_, the fastest
  bool fewer_ = true;             // where the next challenger is looked for first
  bool compared_ = false;
  std::optional<Trial> trial_;
  double last_ = 0, spent_ = 0, lost_ = 0;
  double rest_until_ = 0;     // no trial begins before
  std::size_t settling_ = 0;  // gradients that were begun by another number of threads
  double slice_start_ = 0;
  std::uint64_t slice_samples_ = 0;
  std::size_t slice_gradients_ = 0;
};

}  // namespace straggler

// Spans of a run as Chrome trace events (https://ui.perfetto.dev opens them), of bounded number.
#pragma once
#include <cstdint>
#include <vector>

#include "scenarios/results/out_file.hpp"
#include "sim/record/record.hpp"

namespace straggler {

/// Keeps at most `limit` spans, by a rule that depends on nothing but their order: spans are numbered as they come, `window`
/// consecutive ones make a window, and every k-th window is kept whole, k being the smallest power of two that suffices.
/// Whole windows, because what the workers did at the same time is what a trace is read for.
class TraceSampler {
 public:
  static constexpr std::size_t most_events = 1'000'000;
  static constexpr std::size_t most_names = 1'000;  // workers that get a name of their own; others show their number
  explicit TraceSampler(std::size_t limit = most_events - most_names - 1, std::size_t window = 4096);

  /// Spans without a length are left out.
  void add(Rank worker, Phase phase, Time start, Time end);
  std::uint64_t seen() const { return seen_; }
  std::size_t kept() const { return spans_.size(); }
  std::uint64_t stride() const { return stride_; }
  /// trace.json: times in microseconds, exact; process 0, a thread a worker.
  void write(OutFile& file, std::string_view name) const;

 private:
  struct Span {
    Time start, length;
    Rank worker;
    Phase phase;
  };
  void halve();

  std::size_t limit_, window_;
  std::uint64_t stride_ = 1, seen_ = 0;
  std::vector<Span> spans_;  // whole windows 0, stride, 2 stride, …, and what there is of the current one
};

}  // namespace straggler

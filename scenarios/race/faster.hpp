// Is one contender faster than another? Two-sided tests on times to a finish, of which some may be missed.
//
// All runs reached it: Student's t on logarithms of times, so that what comes out is a ratio; of the differences by seed where the runs are
// paired (Student 1908), with unequal variances where they are not (Welch 1947).
// Some missed it: the exact permutation test on the sum of ranks (Wilcoxon 1945; Mann & Whitney 1947), a missed run behind all that reached
// it and level with the other missed ones. It leaves the pairing aside: the signs of n pairs alone give no p below 2/2^n, which is 0.0625
// for five, and runs that have their seed in common, which makes them more alike, are told apart by it less often than at its level.
// Several comparisons of one family: Holm's step-down (1979), which keeps the chance of any false claim at the level.
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace straggler {

/// Seconds to a finish in each run; none: it was missed.
using FinishTimes = std::vector<std::optional<double>>;

enum class FasterTest : std::uint8_t { paired_t, welch_t, rank_sum };
const char* name_of(FasterTest test);

struct FasterResult {
  FasterTest test = FasterTest::paired_t;
  double p = 1;
  int faster = 0;  // the sign of what was seen: -1: a, 1: b, 0: neither
  // Of the t tests: logarithm of b's time over a's.
  double log_ratio = 0, standard_error = 0, degrees = 0;

  struct Interval {
    double low, ratio, high;  // b's time over a's
  };
  /// None of the rank sum. Excludes 1 exactly where p is below 1 - confidence.
  std::optional<Interval> interval(double confidence) const;
};

/// Runs most_ranked at most, as many of a as of b; those of one index have their seed in common if `paired`.
FasterResult which_is_faster(const FinishTimes& a, const FinishTimes& b, bool paired);
inline constexpr std::size_t most_ranked = 50;  // runs of each, so that ranks are summed up exactly and at once

struct HolmStep {
  double adjusted = 1;  // the smallest level at which Holm's procedure rejects this hypothesis
  double level = 0;     // at which this p was (or, after the first that was not rejected, would have been) judged
  bool rejected = false;
};

/// In the order of `p`.
std::vector<HolmStep> holm(const std::vector<double>& p, double level);

}  // namespace straggler

// The test behind "better": two contenders, one metric, some runs each, of which some may have missed it.
//
// All runs have a positive value: Student's t on logarithms, so that the effect is a ratio; on the differences by seed where runs are
// paired (Student 1908), with unequal variances where they are not (Welch 1947). Some runs missed it, or a value has no logarithm: the
// exact permutation test on the sum of ranks (Wilcoxon 1945; Mann & Whitney 1947). A missed run ranks behind every run with a value and
// level with the other missed ones. The test ignores the pairing: the signs of n pairs alone give no p below 2/2^n, which is 0.0625 for
// five. Common seeds make runs more alike, which makes this test conservative. One run each: no test. Where the metric does not depend on
// the seed, one run is all there is to know.
//
// "They differ by less than 10 %" is a claim of its own: two one-sided tests (Schuirmann 1987) with the same mean, error and degrees.
// Their p is at most 5 % exactly where the 90 % interval of the ratio lies in (1/1.1, 1.1). Ranks have no ratio, and cannot support it.
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "scenarios/statistics/statistics.hpp"

namespace straggler {

enum class TestKind : std::uint8_t {
  paired_t,
  welch_t,
  rank_sum,
  exact,    // one run each of something that does not depend on the seed
  untested  // fewer than two runs
};
const char* name_of(TestKind test);

/// How the runs came about, and which way is better.
struct RunDesign {
  bool paired = true;     // runs of one number share a seed
  bool maximize = false;  // larger values are better
  bool exact = false;     // the seed changes nothing of the metric
};

struct PairTest {
  TestKind kind = TestKind::untested;
  std::size_t runs = 0;  // of each
  double p = 1;          // two-sided; 0 or 1 if exact, 1 if untested
  int better = 0;        // the sign of the observed difference: -1: a, 1: b, 0: neither
  // Of the t tests, and where there is a ratio without a test: the logarithm of b's value over a's.
  double log_ratio = 0, standard_error = 0, degrees = 0;
  bool has_ratio = false;
  bool anybody = true;  // has a value in some run

  struct Interval {
    double low, ratio, high;  // b's value over a's
  };
  /// Of the t tests only. Excludes 1 exactly where p is below 1 - confidence.
  std::optional<Interval> interval(double confidence) const;

  /// The two are level for all practical purposes: their ratio is within `level_ratio` of 1.
  bool level() const;
  /// Of the hypothesis that the two differ by `notable_ratio` or more. At most s exactly where interval(1 - 2 s) lies in
  /// (1 / notable_ratio, notable_ratio); 0 or 1 if exact; 1 without a test of the ratio.
  double p_notable() const;
};

/// A smaller difference than this counts as none, however sure it is; `compare` uses the same bound.
inline constexpr double level_ratio = 1.005;
/// "No difference" is said only where a test excludes a difference of this size.
inline constexpr double notable_ratio = 1.1;

/// Run i of a is compared with run i of b where they are paired. Throws std::invalid_argument for unequal numbers of runs.
PairTest compare_runs(const RunValues& a, const RunValues& b, const RunDesign& design);
/// Beyond this many runs of each the rank test uses the normal approximation with the variance of tied ranks.
inline constexpr std::size_t most_ranked = 50;

/// The smallest p that the rank test can have with this many runs of each: two of the C(2n, n) orders keep the two apart.
double smallest_rank_p(std::size_t runs);

struct HolmStep {
  double adjusted = 1;  // the smallest family-wise level at which this hypothesis is rejected
  double level = 0;     // at which this p was judged (after the first that was not rejected: the level at which the procedure stopped)
  bool rejected = false;
};

/// Holm's step-down correction (1979), which bounds the family-wise error rate by `level`. In the order of `p`.
std::vector<HolmStep> holm(const std::vector<double>& p, double level);
/// Bonferroni's correction, likewise.
std::vector<HolmStep> bonferroni(const std::vector<double>& p, double level);

}  // namespace straggler

// The one rule of "better", for sweeps, searches, crossovers and races.
//
// Which runs count: of two contenders, the runs whose numbers both have, so that runs are paired by seed. A run without a value missed the
// target (or failed) and is worse than every run with one. The contender that missed less often is ahead; then the one with the better mean
// over runs with a value. That is a description, not a claim. A contender is better if the difference is significant by the test of
// pair_test.hpp at a family-wise error rate of 5 %, and at least `level_ratio`. A second family of claims, at 5 % as well: the two differ
// by less than `notable_ratio`. Both: the better one is named, with its lead. The second alone: "no difference". Neither: too few runs.
//
// Two questions have two families of comparisons:
//  - which of a few rivals is better than which: all pairs, with Holm's correction (races, cells of a sweep, crossovers);
//  - which of many settings is the best: the one that is ahead against each other one, with Bonferroni's correction. The chance that the
//    true best is found worse than the one ahead is at most 5 %: for each setting that could be ahead instead it is at most
//    5 % / (n - 1). Holm's steps would not keep to that, since the data choose the one that is ahead.
#pragma once
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "scenarios/statistics/pair_test.hpp"
#include "scenarios/statistics/said.hpp"

namespace straggler {

inline constexpr double family_wise_error = 0.05;

/// The metric by number of the run; runs of one number share a seed if the design is paired.
using Contender = std::map<std::int64_t, std::optional<double>>;
/// Numbers the runs from 0.
Contender contender_of(const RunValues& values);

/// Contenders with a value in some run, the one that is ahead first; equal ones keep their order.
std::vector<std::size_t> ranked(const std::vector<Contender>& contenders, bool maximize);
/// Whether a is ahead of b.
bool is_ahead(const Contender& a, const Contender& b, bool maximize);

struct PairVerdict {
  std::size_t a = 0, b = 0;  // contenders
  PairTest test;
  HolmStep step;       // of "they differ"
  HolmStep near_step;  // of "they differ by less than `notable_ratio`"
  /// The better one. None: no difference, or too few runs.
  std::optional<std::size_t> better() const {
    return step.rejected && test.better != 0 && !test.level() ? std::optional(test.better < 0 ? a : b) : std::nullopt;
  }
  /// None is better, and they differ by less than `notable_ratio`.
  bool alike() const { return !better() && near_step.rejected; }
  /// By how much the better one is ahead, where both are certain: that it is better, and that this is less than `notable_ratio`.
  std::optional<double> narrow_lead() const;
  /// Of the test that decides, at the confidence at which the correction judged it. Of two that are alike: it lies in
  /// (1 / notable_ratio, notable_ratio); of others: it holds no 1 exactly where the difference is significant.
  std::optional<PairTest::Interval> interval() const { return test.interval(confidence()); }
  double confidence() const { return alike() ? 1 - 2 * near_step.level : 1 - step.level; }
};

/// One that is significantly worse than the one ahead, but by less than `notable_ratio`.
struct NarrowLead {
  std::size_t contender = 0;
  double by = 0;  // 0.061: the worse value is 6.1 % from the better one
};

/// The comparison of two or more contenders.
struct Verdict {
  std::vector<PairVerdict> pairs;     // all, a before b; or those of the one ahead, which is a
  bool anybody = false;               // has a value
  std::optional<std::size_t> winner;  // significantly better than every other one
  std::size_t ahead = 0;              // the winner; else by the numbers alone
  std::vector<std::size_t> beaten;    // the one ahead is better
  std::vector<std::size_t> alike;     // no difference from the one ahead
  std::vector<std::size_t> open;      // too few runs
  bool all_alike = true;              // the one ahead and `alike`: each pair of them
  std::vector<NarrowLead> narrow;     // of `beaten`
  /// One run of each whose metric depends on the seed: nothing can be tested.
  bool one_run = false;
};

enum class TestFamily : std::uint8_t { all_pairs, with_best };

/// Throws nothing; contenders without a common run are `open`.
Verdict judge(const std::vector<Contender>& contenders, const RunDesign& design, TestFamily family = TestFamily::all_pairs);
/// [contenders][runs]
Verdict judge(const std::vector<RunValues>& values, const RunDesign& design);

/// The smallest number of runs of each with which the rank test finds a contender that never misses better than one that always does, among
/// this number of rivals, independent of the other pairs.
std::size_t runs_that_tell(std::size_t rivals);

/// "asgd IS ssgd", "asgd and fedavg ARE ssgd": who is better than whom.
struct BetterWords {
  const char *is = "is faster", *are = "are faster";
};
/// "asgd wins"; "asgd wins; ssgd differs by 6.1 %, less than 10 %"; "no difference"; "too few seeds to tell"; "no difference between asgd
/// and fedavg; too few seeds to tell asgd from local; asgd is faster than ssgd"; "nobody reached it".
std::string sentence(const Verdict& verdict, const std::vector<std::string>& labels, const BetterWords& words = {});
/// "no difference", "too few seeds to tell", "nobody reached it", "asgd", or "asgd (differs by 6.1 %, less than 10 %)": the better one.
std::string pair_words(const PairVerdict& pair, const std::vector<std::string>& labels);
/// "differs by 6.1 %, less than 10 %"
std::string narrow_words(double by);
/// "ssgd differs by 6.1 %, local by 8.2 % and 2 more, less than 10 %": the first three. Empty: there are none. `names`: of the contenders.
Said narrow_said(const std::vector<NarrowLead>& narrow, const std::vector<Said>& names);
std::string narrow_words(const std::vector<NarrowLead>& narrow, const std::vector<std::string>& names);
/// "no difference between asgd, fedavg and local"; "no difference between asgd and each of fedavg and local", who may differ.
std::string alike_words(const std::string& ahead, const std::vector<std::string>& alike, bool all_alike);
inline constexpr const char *no_difference = "no difference", *too_few_seeds = "too few seeds to tell",
                            *nobody_reached = "nobody reached it";
/// "one seed cannot tell chance from a difference"; `of`: of what there is one seed, with a blank before it.
std::string chance_words(const char* of = "", const char* from = "a difference");
/// Three digits, or on which side of the level at which it is judged it lies: "0.0432", "< 0.05".
std::string readable_p(double p);

}  // namespace straggler

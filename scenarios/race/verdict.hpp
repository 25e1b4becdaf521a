// Who is first at a finish, and how sure that is.
//
// All pairs of entrants are compared at once; Holm's correction over the pairs of one finish keeps the chance at 5 % that anything is told
// there which is not so. (Finishes are not corrected for each other: each is a question of its own, and the runs to one go on to the next.)
#pragma once
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "scenarios/race/faster.hpp"

namespace straggler {

inline constexpr double verdict_level = 0.05;

struct PairVerdict {
  std::size_t a = 0, b = 0;  // entrants; a before b
  FasterResult result;
  HolmStep holm;
  /// Nothing else than that the difference is told. None: it is not.
  std::optional<std::size_t> faster() const {
    return holm.rejected && result.faster != 0 ? std::optional(result.faster < 0 ? a : b) : std::nullopt;
  }
  /// Holds no 1 exactly where a difference is told; of the confidence at which Holm judged it.
  std::optional<FasterResult::Interval> interval() const { return result.interval(confidence()); }
  double confidence() const { return 1 - holm.level; }
};

struct FinishVerdict {
  std::vector<PairVerdict> pairs;
  bool anybody = false;               // reached it
  std::optional<std::size_t> winner;  // told to be faster than every other
  std::size_t ahead = 0;              // the winner; else by the numbers alone: reached most often, then soonest in the mean
  std::vector<std::size_t> not_told;  // whom `ahead` is not told to be faster than
  std::vector<std::size_t> beaten;    // whom it is
};

/// `times`: [entrants][runs].
FinishVerdict judge(const std::vector<FinishTimes>& times, bool paired);

/// "asgd wins", "no difference", "no difference between asgd and fedavg; asgd is faster than ssgd".
std::string sentence(const FinishVerdict& verdict, const std::vector<std::string>& labels);

}  // namespace straggler

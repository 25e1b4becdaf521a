// The outcome of a search: what was tried, and how it stands. Tables, sentences and pages are made from it, now or when its folder's state
// is read again.
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "scenarios/results/endings.hpp"
#include "scenarios/search/metric.hpp"
#include "scenarios/search/search.hpp"
#include "scenarios/sweep/sweep_state.hpp"

namespace straggler {

/// A setting that was searched.
struct SearchedSetting {
  std::string path;
  bool ordered = false;             // a range; else choices, which have no order
  std::vector<std::string> labels;  // of its ends, or of all choices
  static SearchedSetting of(const Setting& setting);
  /// "1 to 64", "ring, tree".
  std::string values() const;
};

// Of a find: the best of some settings.

struct FoundPoint {
  std::vector<AxisValue> values;  // [settings]
  std::vector<double> shares;
  std::size_t batch = 0;
  Measured measured;
};

/// The best of a group, relative to the other tried points.
struct FoundBest {
  std::size_t point = 0;
  std::vector<int> edge;  // by setting: -1 nothing smaller was tried, 1 nothing greater, 0 it lies between others, or has no order
  /// Points that are not significantly worse, the best among them; with one run each, those within `level_ratio` of it.
  std::vector<std::size_t> as_good;
  std::vector<std::size_t> open = {};   // of these: too few repeats
  std::vector<NarrowLead> narrow = {};  // points that are worse than the best, by less than 10 %
  bool one_run = false;                 // of each, and the seed matters: nothing can be tested
};

struct FoundGroup {
  std::vector<std::string> labels;  // of the axes
  std::vector<FoundPoint> points;   // in the order in which they were tried
  std::optional<FoundBest> best;    // none: no point has a value
  bool exhaustive = false;

  bool is_best(std::size_t point) const { return best && best->point == point; }
  /// Not significantly worse than the best; the best is.
  bool as_good(std::size_t point) const;
};

// Of a crossover: the better of two, along a setting.

/// Which one is ahead; neither: both have no value, or they are equal. This guides the search; the test decides which one is better.
enum class Winner : std::uint8_t { first, second, neither };
Winner ahead_of(const Measured& first, const Measured& second, bool maximize);

struct ComparedPoint {
  AxisValue at;
  double value = 0;  // in SI
  std::pair<Measured, Measured> measured;
  RepeatStatistics difference;  // first minus second, of paired repeats
  Winner winner = Winner::neither;
  Verdict verdict;  // by the rule of better.hpp

  static ComparedPoint of(AxisValue at, std::pair<Measured, Measured> measured, bool maximize);
  const Measured& of_winner() const { return winner == Winner::first ? measured.first : measured.second; }
  /// The difference was tested, and is not significant.
  bool unclear() const { return winner != Winner::neither && !verdict.one_run && !verdict.pairs.front().step.rejected; }
  /// Neither: no significant difference, or too few repeats.
  Winner better() const { return verdict.winner ? static_cast<Winner>(*verdict.winner) : Winner::neither; }
};

/// One change of the winner, between two neighbours among the points that were tried.
struct Crossing {
  std::size_t below = 0, above = 0;              // points
  std::size_t unclear_from = 0, unclear_to = 0;  // points around it at which the difference is not significant
  bool noisy = false;                            // these lie further apart than the tolerance
  bool supported = true;                         // on both sides, up to the next crossings, a test finds the one ahead better somewhere
  AxisValue between = {};                        // halfway
};

struct CrossoverGroup {
  std::vector<std::string> labels;    // of the axes
  std::vector<ComparedPoint> points;  // by value
  std::vector<Crossing> crossings;
};

struct SearchOutcome {
  std::vector<std::string> axes;  // paths
  Metric metric;
  std::int64_t repeats = 1;
  std::vector<std::string> failures;
  std::size_t runs = 0, timing_runs = 0;
  bool interrupted = false;
  // A find.
  std::vector<SearchedSetting> over;
  std::vector<FoundGroup> found;
  // A crossover.
  std::string compared;              // the path of the two
  std::vector<std::string> between;  // their labels; empty in a find
  SearchedSetting along;
  double tolerance = 0;
  std::vector<CrossoverGroup> crossed;

  /// What is asked, before anything is tried.
  static SearchOutcome of(const SearchFile& search);
  bool is_find() const { return between.empty(); }
  /// "neither" for neither.
  std::string name_of(Winner winner) const;
  /// How the runs ended that did not fail.
  Endings endings() const;
};

/// In the state of its folder.
void keep(SweepState& state, const SearchOutcome& outcome);
/// From the state in the file `place`. Throws ResultsError if it has none, or another version's, or that of a search before the last.
SearchOutcome kept_search(SweepState& state, const std::string& place);

}  // namespace straggler

// Where along a setting the better of two others changes: a coarse grid first, so that several crossings are seen; then each stretch
// between neighbours with different winners is halved until it is narrow.
#pragma once
#include <cmath>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "scenarios/search/search.hpp"
#include "scenarios/search/trials.hpp"

namespace straggler {

/// Which one is ahead; neither: both have no value, or they are equal. This guides the search; the test decides which one is better.
enum class Winner : std::uint8_t { first, second, neither };

struct ComparedPoint {
  AxisValue at;
  double value = 0;  // in SI
  std::pair<Measured, Measured> measured;
  RepeatStatistics difference;  // first minus second, of paired repeats
  Winner winner = Winner::neither;
  Verdict verdict;  // by the rule of better.hpp
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
};

struct CrossoverGroup {
  std::vector<std::string> labels;    // of the axes
  std::vector<ComparedPoint> points;  // by value
  std::vector<Crossing> crossings;
};

struct CrossoverOutcome {
  Metric metric;
  std::vector<CrossoverGroup> groups;
  std::vector<std::string> failures;
  Endings endings;
  std::size_t runs = 0, timing_runs = 0;
  bool interrupted = false;
};

Winner ahead_of(const Measured& first, const Measured& second, bool maximize);

/// The value halfway between two, in the scale of the setting.
AxisValue middle_of(const Setting& along, const AxisValue& below, const AxisValue& above);

/// Which values to compare at next, for one group. `spec` outlives it.
class CrossoverSearch {
 public:
  CrossoverSearch(const CrossoverSpec& spec, bool maximize) : spec_(spec), maximize_(maximize) {}
  /// None: every change of the winner is known to the tolerance.
  std::vector<AxisValue> next() const;
  void tell(AxisValue at, Measured first, Measured second);
  CrossoverGroup finish(std::vector<std::string> labels);

 private:
  Crossing crossing(const std::vector<ComparedPoint>& points, std::size_t above) const;
  static bool told_from(const std::vector<ComparedPoint>& points, std::size_t at, int step);

  const CrossoverSpec& spec_;
  const bool maximize_;
  std::map<double, ComparedPoint> points_;  // by value
};

/// Whether any of the points that it begins with is finished already. Throws ScenarioErrors.
bool crossover_goes_on(const SearchFile& search, const Trials::Options& options, PointPool& pool);
CrossoverOutcome run_crossover(const SearchFile& search, const Trials::Options& options, PointPool& pool);

}  // namespace straggler

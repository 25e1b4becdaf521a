// Where along a setting the better of two others changes: a coarse grid first, so that several crossings are seen; then each stretch
// between neighbours with different winners is halved until it is narrow.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "scenarios/search/search.hpp"
#include "scenarios/search/search_outcome.hpp"
#include "scenarios/search/trials.hpp"

namespace straggler {

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
bool can_resume_crossover(const SearchFile& search, const Trials::Options& options, PointPool& pool);
SearchOutcome run_crossover(const SearchFile& search, const Trials::Options& options, PointPool& pool);

}  // namespace straggler

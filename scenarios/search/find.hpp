// The best of some settings: first points spread evenly over all of them, then batches within a box around the best so far, each box
// smaller than the one before. It needs no derivatives, and tolerates noise (the box may drift, since it shrinks slowly), plateaus, and
// points without a value. While no point has a value it searches everywhere. If there are few settings, all are tried.
//
// Invariant: the points that are tried depend only on the file and on earlier results, not on the number of jobs.
#pragma once
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "scenarios/search/search.hpp"
#include "scenarios/search/search_outcome.hpp"
#include "scenarios/search/trials.hpp"

namespace straggler {

/// Which points to try next. A point: a share of each setting.
class BoxSearch {
 public:
  BoxSearch(const std::vector<Setting>& over, std::size_t budget, std::uint64_t seed);
  /// Points that were not tried before; none: nothing is left to be tried. `best` of those so far; none: no point has a value.
  std::vector<std::vector<double>> next(const std::optional<std::vector<double>>& best);
  /// All that there is was tried.
  bool exhaustive() const { return exhaustive_; }

 private:
  using Point = std::vector<double>;
  bool add(const Point& drawn, std::vector<Point>& points);
  void add_all(std::vector<Point>& points);
  void add_grid(std::size_t count, std::vector<Point>& points);
  void draw(std::size_t count, const std::optional<Point>& center, double side, std::vector<Point>& points);
  double place_in_box(const Setting& setting, double center, double side, double draw) const;

  const std::vector<Setting>& over_;
  const std::size_t budget_;
  EvenDraw draw_;
  std::set<std::vector<std::string>> tried_;
  std::size_t batch_ = 1;            // points in a batch after the first
  double side_ = 1, shrinking_ = 1;  // of the box, in shares
  bool exhaustive_ = false, ended_ = false;
};

/// Whether any of the points that it begins with is finished already. Throws ScenarioErrors.
bool can_resume_find(const SearchFile& search, const Trials::Options& options, PointPool& pool);
SearchOutcome run_find(const SearchFile& search, const Trials::Options& options, PointPool& pool);

}  // namespace straggler

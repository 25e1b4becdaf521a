// Charts that several pages have: learning curves, and the split of the workers' time.
#pragma once
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "scenarios/report/figure.hpp"
#include "scenarios/report/page.hpp"
#include "scenarios/results/reader.hpp"
#include "scenarios/results/result_table.hpp"
#include "sim/base/readable.hpp"
#include "sim/record/phase.hpp"

namespace straggler {

/// The axes of curves: columns of curve.csv.
struct CurveAxis {
  const char *column, *title;
  NumberText text;
};
/// Of runs that cost.
inline constexpr CurveAxis cost_axes[] = {{"price", "price", readable_price}, {"energy_joules", "energy", readable_joules}};

/// Column `y` over each of `axes`, in the rows that have all of them.
std::vector<LearningPoint> learning_points(const ResultTable& curve, const std::vector<CurveAxis>& axes, const std::string& y);

/// The points that are drawn, at most `most`.
std::vector<LearningPoint> thinned(const std::vector<LearningPoint>& points, std::size_t most);

/// "Of 100,000 evaluations 4,000 are drawn …"; empty if all are.
std::string thinning_words(std::size_t points, std::size_t drawn, const std::string& where);

/// Where a run reaches an accuracy, on each of `axes`; none: it does not, or there it is not known.
std::optional<std::vector<double>> reached_at(const ThresholdResult& threshold, const std::vector<CurveAxis>& axes);

/// A run by itself, beside the means.
struct NamedRun {
  std::string name;
  std::vector<std::pair<std::string, std::string>> keys;  // the same ones for all runs of a figure
};

struct RepeatedCurve {
  std::string name;
  std::size_t look = 0;
  std::vector<std::vector<LearningPoint>> runs;                  // those with fewer than two points do not count
  std::size_t evaluations = 0;                                   // of a run, where its points are some of them; 0: they are all
  std::string link = {};                                         // to where a click on it leads
  std::vector<std::optional<std::vector<double>>> reached = {};  // [runs]: reached_at(); may be empty
  bool best = false;                                             // the first to reach the target
  std::vector<NamedRun> named = {};                              // [runs]; empty: they are not shown by themselves
};

/// Curves of several runs or settings in one picture: repeats are one curve, with a band.
struct LearningFigure {
  std::string word;  // "test accuracy"
  std::vector<std::pair<std::string, NumberText>> axes;
  std::vector<RepeatedCurve> curves;
  std::optional<double> target = {};  // a broken line
  std::string file = {};              // which has all evaluations, for the caption
  std::string note = {};              // at the end of the caption
  std::size_t most_points = 8'000;    // of all curves
  Crop crop = Crop::none;
  std::string group = {};  // as of a LearningChart
};

/// The mean over runs at each evaluation, with the lowest and the highest. Where some have ended it continues with the others, as long as
/// all axes grow.
std::vector<LearningPoint> mean_curve(const std::vector<std::vector<LearningPoint>>& runs);

/// None without a curve.
std::optional<Figure> learning_figure(const LearningFigure& wanted);

/// Adds what a run costs, where its summary has it.
void add_price(std::vector<LargeNumber>& numbers, const std::vector<SummaryField>& summary);

/// Rows of shares, without the phases that no row has.
StackChart time_split(const std::vector<std::string>& names, const std::vector<ByPhase<double>>& rows);

}  // namespace straggler

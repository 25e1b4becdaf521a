// Learning curves of several runs or settings in one picture: repeats are one curve, with a band.
#pragma once
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "scenarios/report/curve_points.hpp"
#include "scenarios/report/figure.hpp"

namespace straggler {

struct RepeatedCurve {
  std::string name;
  std::size_t look = 0;
  std::vector<std::vector<LearningPoint>> runs;  // those with fewer than two points do not count
  std::size_t evaluations = 0;                   // of a run, where its points are some of them; 0: they are all
  std::string link = {};                         // to where a click on it leads
};

struct LearningFigure {
  std::string word;  // "test accuracy"
  std::vector<std::pair<std::string, NumberText>> axes;
  std::vector<RepeatedCurve> curves;
  std::optional<double> target = {};  // a broken line
  std::string file = {};              // which has all evaluations, for the caption
  std::string note = {};              // at the end of the caption
  std::size_t most_points = 8'000;    // of all curves
};

/// The mean over runs at each evaluation, with the lowest and the highest. Where some have ended it goes on with the others, as long as all
/// axes grow.
std::vector<LearningPoint> mean_curve(const std::vector<std::vector<LearningPoint>>& runs);

/// None without a curve.
std::optional<Figure> learning_figure(const LearningFigure& wanted);

}  // namespace straggler

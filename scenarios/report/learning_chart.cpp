#include <algorithm>

#include "scenarios/report/charts.hpp"
#include "sim/base/readable.hpp"

namespace straggler {

std::vector<SvgPicture> draw(const LearningChart& chart) {
  std::vector<SvgPicture> pictures;
  for (std::size_t axis = 0; axis < chart.axes.size(); ++axis) {
    LineChart line;
    const auto& [title, text] = chart.axes[axis];
    line.label = chart.label + " over " + title;
    line.x = {title, {}, {}, text};
    line.y_title = chart.y_title;
    line.y_text = readable_number;
    line.from_zero = line.marks = false;
    line.linear_x = true;
    line.linear_y = chart.linear_y;
    for (const LearningCurve& curve : chart.curves) {
      Curve drawn{curve.name, curve.colour, {}, {}};
      const std::size_t stride = curve.points.size() / chart.still_points + 1;
      for (std::size_t i = 0; i < curve.points.size();
           i += i + 1 == curve.points.size() ? 1 : std::min(stride, curve.points.size() - 1 - i)) {
        const LearningPoint& point = curve.points[i];
        drawn.points.push_back({point.x[axis], point.value, 0, false, {}});
        if (point.low && point.high) drawn.range.push_back({point.x[axis], *point.low, *point.high});
        line.x.numbers.push_back(point.x[axis]);
      }
      line.curves.push_back(std::move(drawn));
    }
    if (line.x.numbers.empty()) continue;
    if (chart.target) {
      const auto [low, high] = std::minmax_element(line.x.numbers.begin(), line.x.numbers.end());
      line.ideal = {{*low, *chart.target}, {*high, *chart.target}};
      line.ideal_name = chart.target_name;
    }
    pictures.push_back(draw(line));
  }
  return pictures;
}

}  // namespace straggler

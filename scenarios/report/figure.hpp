// A chart of a page: the data for its script, and the picture that is shown without scripts and in print.
#pragma once
#include <string>
#include <utility>
#include <vector>

#include "scenarios/report/chart_data.hpp"
#include "scenarios/report/charts.hpp"

namespace straggler {

struct Figure {
  std::string title, caption;
  std::vector<SvgPicture> drawings;  // one, or several of the same data
  std::string data;                  // chart_data(); empty: a picture without a script
  std::string file = {};             // of its own, as "map.svg"; empty: none
  bool full = false;                 // as wide as the page
};

template <class Chart>
Figure figure_of(std::string title, std::string caption, const Chart& chart, std::string file = {}) {
  return {std::move(title), std::move(caption), {draw(chart)}, chart_data(chart), std::move(file)};
}
inline Figure figure_of(std::string title, std::string caption, const LearningChart& chart) {
  return {std::move(title), std::move(caption), draw(chart), chart_data(chart), {}, true};
}

std::string html_of(const Figure& figure);
/// Side by side where the window is wide enough.
std::string html_of(const std::vector<Figure>& figures);

}  // namespace straggler

// A chart of a page: the data for its script, and what is shown without scripts and in print: a picture, or a table.
#pragma once
#include <string>
#include <utility>
#include <vector>

#include "scenarios/report/charts.hpp"

namespace straggler {

struct Figure {
  std::string title, caption;
  std::vector<SvgPicture> drawings;     // one, or several of the same data; none: a table
  std::string data;                     // chart_data()
  std::vector<std::string> files = {};  // of its own, as "map.svg", one a drawing; empty: none
  bool full = false;                    // as wide as the page
  std::string table = {};               // HTML
  bool scripted_print = false;          // where the script has drawn it, that is printed: it shows more than the still form
};

template <class Chart>
Figure figure_of(std::string title, std::string caption, const Chart& chart, std::string file = {}) {
  return {std::move(title),
          std::move(caption),
          {draw(chart)},
          chart_data(chart),
          file.empty() ? std::vector<std::string>() : std::vector<std::string>{std::move(file)},
          false,
          {},
          true};
}
inline Figure figure_of(std::string title, std::string caption, const LearningChart& chart) {
  return {std::move(title), std::move(caption), draw(chart), chart_data(chart), {}, true, {}, true};
}
Figure figure_of(std::string title, std::string caption, const IntervalChart& chart);
Figure figure_of(std::string title, std::string caption, const HeatChart& chart);
Figure figure_of(std::string title, std::string caption, const StackChart& chart);

/// Figures of one kind as one, with a menu of their names; without a script all pictures are there. One figure stays as it is.
Figure menu_of(std::string title, std::vector<std::pair<std::string, Figure>> figures);

/// The pictures or the table alone.
std::string still_of(const Figure& figure);
std::string html_of(const Figure& figure);
/// Side by side where the window is wide enough.
std::string html_of(const std::vector<Figure>& figures);

}  // namespace straggler

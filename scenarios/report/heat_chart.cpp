#include <algorithm>

#include "scenarios/report/charts.hpp"

namespace straggler {
namespace {

constexpr double most_cell_width = 40, heat_head = 34, legend_box = 26, least_ink = 0.04, most_ink = 0.96;
constexpr int legend_boxes = 6;

}  // namespace

SvgPicture draw(const HeatChart& chart) {
  double names = 0, most = chart.least;
  for (const std::string& label : chart.y_labels) names = std::max(names, text_width(label, 13));
  for (const std::vector<double>& row : chart.values)
    for (const double value : row) most = std::max(most, value);
  const auto rows = static_cast<double>(chart.values.size()),
             columns = static_cast<double>(std::max<std::size_t>(1, chart.x_labels.size()));
  const double left = std::min(names, chart_width / 2) + 14, wide = std::min(most_cell_width, (chart_width - left - 8) / columns);
  const double high = std::clamp(700 / std::max(1.0, rows), 14.0, 22.0), base = heat_head + rows * high;
  const auto ink = [&](double value) {
    return most > chart.least ? least_ink + (most_ink - least_ink) * std::clamp((value - chart.least) / (most - chart.least), 0.0, 1.0)
                              : least_ink;
  };
  SvgPicture drawing(chart_width, base + below_axis, chart.label);
  double at = left + text_width(chart.title, 13) + 12;
  drawing.text(left, 18, chart.title, SvgPicture::Anchor::start, "dim");
  drawing.text(at, 18, chart.text(chart.least), SvgPicture::Anchor::start, "small");
  at += text_width(chart.text(chart.least), 11.5) + 6;
  for (int i = 0; i < legend_boxes; ++i, at += legend_box)
    drawing.rectangle(at, 6, legend_box, 14, "level", ink(chart.least + (most - chart.least) * i / (legend_boxes - 1)));
  drawing.text(at + 6, 18, chart.text(most), SvgPicture::Anchor::start, "small");
  for (std::size_t y = 0; y < chart.values.size(); ++y) {
    const double top = heat_head + high * static_cast<double>(y);
    drawing.text(left - 8, top + high / 2 + 4.5, chart.y_labels[y], SvgPicture::Anchor::end);
    for (std::size_t x = 0; x < chart.values[y].size(); ++x)
      drawing.rectangle(left + wide * static_cast<double>(x), top, wide - 0.6, high - 0.6, "level", ink(chart.values[y][x]));
  }
  double taken = -1e9;
  for (std::size_t x = 0; x < chart.x_labels.size(); ++x) {
    const double middle = left + wide * (static_cast<double>(x) + 0.5), half = text_width(chart.x_labels[x], 11.5) / 2;
    if (middle - half < taken + 8) continue;
    drawing.text(middle, base + 18, chart.x_labels[x], SvgPicture::Anchor::middle, "small");
    taken = middle + half;
  }
  drawing.text(left + wide * columns / 2, base + 42, chart.x_title, SvgPicture::Anchor::middle, "dim");
  return drawing;
}

}  // namespace straggler

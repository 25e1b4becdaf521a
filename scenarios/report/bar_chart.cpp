#include <fmt/format.h>

#include <algorithm>

#include "scenarios/report/charts.hpp"

namespace straggler {
namespace {

constexpr double bar_pitch = 30, bar_height = 18, bar_head = 10;

}  // namespace

SvgPicture draw(const BarChart& chart) {
  std::vector<double> ends{0};
  double names = 0, texts = 0;
  for (const BarRow& row : chart.rows) {
    if (!row.missed) ends.push_back(row.mean + row.half_width);
    names = std::max(names, text_width(row.name, 13));
    texts = std::max(texts, text_width(row.text, 13));
  }
  const double left = std::min(names, chart_width / 2) + 14, right = chart_width - texts - 18;
  const double base = bar_head + bar_pitch * static_cast<double>(chart.rows.size());
  SvgPicture drawing(chart_width, base + below_axis, chart.label);
  const Scale x(ends, left, right, true, 0.02);
  for (const double tick : x.ticks()) {
    drawing.line(x(tick), bar_head, x(tick), base, "grid");
    drawing.text(x(tick), base + 20, chart.text(tick), SvgPicture::Anchor::middle, "small");
  }
  for (std::size_t i = 0; i < chart.rows.size(); ++i) {
    const BarRow& row = chart.rows[i];
    const double middle = bar_head + bar_pitch * (static_cast<double>(i) + 0.5);
    drawing.text(left - 8, middle + 4.5, row.name, SvgPicture::Anchor::end);
    if (row.missed) {
      drawing.text(left + 6, middle + 4.5, row.text, SvgPicture::Anchor::start, "dim");
      continue;
    }
    drawing.open(fmt::format("s{}", row.colour % series_colours), row.name + ": " + row.text);
    drawing.rectangle(left, middle - bar_height / 2, std::max(1.0, x(row.mean) - left), bar_height, "full");
    drawing.close();
    if (row.half_width > 0) {
      const double low = x(std::max(0.0, row.mean - row.half_width)), high = x(row.mean + row.half_width);
      drawing.line(low, middle, high, middle, "axis");
      for (const double end : {low, high}) drawing.line(end, middle - 5, end, middle + 5, "axis");
    }
    drawing.text(x(row.mean + row.half_width) + 8, middle + 4.5, row.text);
  }
  drawing.line(left, bar_head, left, base, "axis");
  drawing.text((left + right) / 2, base + 44, chart.title, SvgPicture::Anchor::middle, "dim");
  return drawing;
}

}  // namespace straggler

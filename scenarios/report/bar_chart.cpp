#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "scenarios/report/charts.hpp"

namespace straggler {
namespace {

constexpr double bar_pitch = 28, bar_height = 16, bar_head = 10;

/// From 0 to the value, with whiskers to the ends of the interval, and the text behind them.
void draw_bar(SvgPicture& drawing, const IntervalRow& row, double low, const Scale& x, double middle, double left) {
  if (row.missed) {
    drawing.text(left + 6, middle + 4.5, row.text, SvgPicture::Anchor::start, "dim");
    return;
  }
  const double from = std::min(x(0), x(row.value)), wide = std::abs(x(row.value) - x(0));
  drawing.open(row.colour ? fmt::format("s{}", *row.colour % series_colours) : std::string("grey"),
               row.tip.empty() ? row.name + ": " + row.text : row.tip);
  drawing.rectangle(from, middle - bar_height / 2, std::max(1.0, wide), bar_height, row.hollow ? "hollow" : "full");
  drawing.close();
  if (row.high > low) {
    drawing.line(x(low), middle, x(row.high), middle, "axis");
    for (const double end : {low, row.high}) drawing.line(x(end), middle - 5, x(end), middle + 5, "axis");
  }
  drawing.text(std::max({x(0), x(row.value), x(row.high)}) + 8, middle + 4.5, row.text);
}

}  // namespace

SvgPicture draw(const IntervalChart& chart) {
  const auto low_of = [&](const IntervalRow& row) { return chart.from_zero ? std::max(0.0, row.low) : row.low; };
  std::vector<double> ends{0, chart.reference.value_or(0)};
  double names = 0, texts = 0, rows = 0;
  for (const IntervalGroup& group : chart.groups) {
    rows += static_cast<double>(group.rows.size()) + (group.title.empty() ? 0 : 1);
    for (const IntervalRow& row : group.rows) {
      names = std::max(names, text_width(row.name, 13));
      texts = std::max(texts, text_width(row.text, 13));
      if (!row.missed) ends.insert(ends.end(), {low_of(row), row.value, row.high});
    }
  }
  const double left = std::min(names, chart_width / 2) + 14, right = std::max(left + chart_width / 4, chart_width - texts - 18);
  const double base = bar_head + bar_pitch * rows;
  SvgPicture drawing(std::max(chart_width, right + texts + 18), base + below_axis, chart.label);
  const Scale x(ends, left, right, true, 0.02);
  double taken = -1e9;
  for (const double tick : x.ticks()) {
    const std::string text = chart.text(tick);
    const double half = text_width(text, 11.5) / 2;
    drawing.line(x(tick), bar_head, x(tick), base, "grid");
    if (x(tick) - half < taken + 6) continue;
    drawing.text(x(tick), base + 20, text, SvgPicture::Anchor::middle, "small");
    taken = x(tick) + half;
  }
  double top = bar_head;
  for (const IntervalGroup& group : chart.groups) {
    if (!group.title.empty()) {
      drawing.text(2, top + bar_pitch / 2 + 4.5, group.title, SvgPicture::Anchor::start, "bold");
      top += bar_pitch;
    }
    for (const IntervalRow& row : group.rows) {
      drawing.text(left - 8, top + bar_pitch / 2 + 4.5, row.name, SvgPicture::Anchor::end);
      draw_bar(drawing, row, low_of(row), x, top + bar_pitch / 2, left);
      top += bar_pitch;
    }
  }
  drawing.line(x(0), bar_head, x(0), base, "axis");
  if (chart.reference) drawing.line(x(*chart.reference), bar_head, x(*chart.reference), base, "ideal");
  drawing.text((left + right) / 2, base + 44, chart.title, SvgPicture::Anchor::middle, "dim");
  return drawing;
}

SvgPicture draw(const BarChart& chart) {
  IntervalChart bars;
  bars.label = chart.label;
  bars.title = chart.title;
  bars.text = chart.text;
  bars.groups.emplace_back();
  for (const BarRow& row : chart.rows)
    bars.groups[0].rows.push_back(
        {row.name, row.text, row.colour, row.missed, false, row.mean - row.half_width, row.mean, row.mean + row.half_width});
  return draw(bars);
}

}  // namespace straggler

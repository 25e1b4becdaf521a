#include <fmt/format.h>

#include <algorithm>

#include "scenarios/report/charts.hpp"

namespace straggler {
namespace {

constexpr double interval_pitch = 26, title_height = 30, interval_head = 6;

/// Pixels for names, and for the text at the end of rows.
struct Columns {
  double names = 0, texts = 0;
};

Columns columns_of(const IntervalChart& chart) {
  Columns columns;
  for (const IntervalGroup& group : chart.groups)
    for (const IntervalRow& row : group.rows) {
      columns.names = std::max(columns.names, text_width(row.name, 13));
      if (!row.missed) columns.texts = std::max(columns.texts, text_width(row.text, 13));
    }
  return columns;
}

std::vector<double> values_of(const IntervalChart& chart) {
  std::vector<double> values;
  if (chart.reference) values.push_back(*chart.reference);
  for (const IntervalGroup& group : chart.groups)
    for (const IntervalRow& row : group.rows) {
      if (row.missed) continue;
      values.insert(values.end(), {row.value, row.high});
      if (row.low > 0) values.push_back(row.low);
    }
  if (values.empty()) values = {0, 1};
  return values;
}

void draw_row(SvgPicture& drawing, const IntervalRow& row, const Scale& x, double middle, double left, double right) {
  drawing.text(left - 10, middle + 4.5, row.name, SvgPicture::Anchor::end);
  if (row.missed) {
    drawing.text(left + 6, middle + 4.5, row.text, SvgPicture::Anchor::start, "dim");
    return;
  }
  drawing.open(row.colour ? fmt::format("s{}", *row.colour % series_colours) : std::string("grey"));
  if (row.high > row.low) {
    const double low = x(std::max(row.low, x.lowest())), high = x(row.high);
    drawing.line(low, middle, high, middle, "course");
    for (const double end : {low, high}) drawing.line(end, middle - 5, end, middle + 5, "course");
  }
  drawing.close();
  drawing.mark(x(row.value), middle, row.colour, row.hollow, row.tip);
  drawing.text(right + 14, middle + 4.5, row.text);
}

}  // namespace

SvgPicture draw(const IntervalChart& chart) {
  const Columns columns = columns_of(chart);
  const double left = std::min(columns.names, chart_width / 2) + 18,
               right = std::max(left + chart_width / 4, chart_width - columns.texts - 26);
  double base = interval_head;
  for (const IntervalGroup& group : chart.groups)
    base += (group.title.empty() ? 0 : title_height) + interval_pitch * static_cast<double>(group.rows.size());
  SvgPicture drawing(std::max(chart_width, right + columns.texts + 26), base + below_axis, chart.label);
  const Scale x(values_of(chart), left, right, chart.from_zero);
  double taken = -1e9;
  for (const double tick : x.ticks()) {
    const std::string text = chart.text(tick);
    const double half = text_width(text, 11.5) / 2;
    drawing.line(x(tick), interval_head, x(tick), base, "grid");
    if (x(tick) - half < taken + 6) continue;
    drawing.text(x(tick), base + 20, text, SvgPicture::Anchor::middle, "small");
    taken = x(tick) + half;
  }
  if (chart.reference) drawing.line(x(*chart.reference), interval_head, x(*chart.reference), base, "ideal");
  double top = interval_head;
  for (const IntervalGroup& group : chart.groups) {
    if (!group.title.empty()) {
      drawing.text(2, top + 20, group.title, SvgPicture::Anchor::start, "bold");
      top += title_height;
    }
    for (const IntervalRow& row : group.rows) {
      draw_row(drawing, row, x, top + interval_pitch / 2, left, right);
      top += interval_pitch;
    }
  }
  drawing.line(left, base, right, base, "axis");
  drawing.text((left + right) / 2, base + 44, chart.title + (x.logarithmic() ? " (logarithmic)" : ""), SvgPicture::Anchor::middle, "dim");
  return drawing;
}

}  // namespace straggler

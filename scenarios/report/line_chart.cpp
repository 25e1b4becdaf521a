#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "scenarios/report/charts.hpp"
#include "sim/base/readable.hpp"

namespace straggler {
namespace {

constexpr double plot_height = 300, left = 84, right = 22, below_lines = 58, top_gap = 14, band_name = 8;

/// (value, label) by value.
std::vector<std::pair<double, std::string>> x_ticks(const NumberAxis& axis, const Scale& x) {
  std::vector<std::pair<double, std::string>> ticks;
  if (axis.labels.empty()) {
    const std::vector<double> all = x.ticks();
    const std::vector<std::string> texts = tick_texts(axis.text, all);
    for (std::size_t i = 0; i < all.size(); ++i) ticks.emplace_back(all[i], texts[i]);
  }
  for (std::size_t i = 0; i < axis.labels.size(); ++i) ticks.emplace_back(axis.numbers[i], axis.labels[i]);
  std::sort(ticks.begin(), ticks.end());
  return ticks;
}

/// Labels that stand a little apart, the first one always there.
void draw_x_axis(SvgPicture& drawing, const NumberAxis& axis, const Scale& x, double top, double base) {
  double taken = -1e9;
  for (const auto& [value, label] : x_ticks(axis, x)) {
    const double at = x(value), half = text_width(label, 13) / 2;
    drawing.line(at, top, at, base, "grid");
    if (at - half < taken + 6) continue;
    drawing.text(at, base + 20, label, SvgPicture::Anchor::middle);
    taken = at + half;
  }
  drawing.text((left + chart_width - right) / 2, base + 44, axis.title + (x.logarithmic() ? " (logarithmic)" : ""),
               SvgPicture::Anchor::middle, "dim");
}

void draw_y_axis(SvgPicture& drawing, const LineChart& chart, const Scale& y, double top, double base) {
  const std::vector<double> ticks = y.ticks();
  const std::vector<std::string> texts = tick_texts(chart.y_text, ticks);
  for (std::size_t i = 0; i < ticks.size(); ++i) {
    drawing.line(left, y(ticks[i]), chart_width - right, y(ticks[i]), "grid");
    drawing.text(left - 8, y(ticks[i]) + 4.5, texts[i], SvgPicture::Anchor::end);
  }
  drawing.line(left, base, chart_width - right, base, "axis");
  drawing.upwards(16, (top + base) / 2, chart.y_title + (y.logarithmic() ? " (logarithmic)" : ""));
}

/// At least as wide as a line, its name above it where the one before leaves room.
void draw_bands(SvgPicture& drawing, const std::vector<Band>& bands, const Scale& x, double top, double base) {
  constexpr double least = 2;
  double taken = 0;
  for (const Band& band : bands) {
    const double from = x(band.from), wide = std::max(least, x(band.to) - from), half = text_width(band.name, 11.5) / 2;
    drawing.rectangle(from, top, wide, base - top, "band", 0.22);
    const double middle = std::max(left + half, std::min(from + wide / 2, chart_width - right - half));
    if (band.name.empty() || middle - half < taken) continue;
    drawing.text(middle, top - 4, band.name, SvgPicture::Anchor::middle, "small");
    taken = middle + half + 6;
  }
}

void draw_curve(SvgPicture& drawing, const Curve& curve, const Scale& x, const Scale& y, double top, bool marks) {
  drawing.open(fmt::format("s{}", curve.colour % series_colours));
  if (!curve.range.empty()) {
    std::string upper, lower;
    for (const auto& [at, low, high] : curve.range) {
      upper += fmt::format("{:.1f},{:.1f} ", x(at), y(high));
      lower.insert(0, fmt::format("{:.1f},{:.1f} ", x(at), y(low)));
    }
    drawing.area(upper + lower, "range");
  }
  std::string points;
  for (const ChartPoint& point : curve.points) {
    const bool gap = std::any_of(curve.missed.begin(), curve.missed.end(), [&](double missed) {
      return &point != curve.points.data() && missed > (&point)[-1].x && missed < point.x;
    });
    if (gap || !curve.joined) {
      if (!points.empty() && curve.joined) drawing.path(points, "course");
      points.clear();
    }
    points += fmt::format("{}{:.1f},{:.1f}", points.empty() ? "" : " ", x(point.x), y(point.mean));
    if (!point.has_interval()) continue;
    const double at = x(point.x), low = y(std::max(point.low(), y.lowest())), high = y(point.high());
    drawing.line(at, low, at, high, "bar");
    for (const double end : {low, high}) drawing.line(at - 4, end, at + 4, end, "bar");
  }
  if (!points.empty() && curve.joined) drawing.path(points, "course");
  for (const double missed : curve.missed) {
    const double at = x(missed), up = top + 8 + 12 * static_cast<double>(curve.colour % series_colours);
    drawing.line(at - 4, up - 4, at + 4, up + 4, "bar");
    drawing.line(at - 4, up + 4, at + 4, up - 4, "bar");
  }
  drawing.close();
  if (!marks) return;
  for (const ChartPoint& point : curve.points) drawing.mark(x(point.x), y(point.mean), curve.colour, point.some_missed, point.tip);
}

/// The part of a rising line below `most`; at least two points.
std::vector<std::pair<double, double>> up_to(const std::vector<std::pair<double, double>>& line, double most) {
  std::vector<std::pair<double, double>> part;
  for (const auto& [x, y] : line) {
    if (y > most && !part.empty()) {
      const auto& [x0, y0] = part.back();
      part.emplace_back(x0 + (x - x0) * (most - y0) / (y - y0), most);
      break;
    }
    part.emplace_back(x, y);
  }
  return part;
}

}  // namespace

SvgPicture draw(const LineChart& chart) {
  std::vector<std::string> names;
  std::vector<std::size_t> looks;
  std::vector<double> values;
  bool crosses = false;
  const bool named_bands = std::any_of(chart.bands.begin(), chart.bands.end(), [](const Band& band) { return !band.name.empty(); });
  for (const Curve& curve : chart.curves) {
    names.push_back(curve.name);
    looks.push_back(curve.colour);
    crosses = crosses || !curve.missed.empty();
    for (const ChartPoint& point : curve.points) values.insert(values.end(), {point.mean, point.high()});
  }
  const bool flat = std::ranges::all_of(chart.ideal, [&](const auto& point) { return point.second == chart.ideal.front().second; });
  if (flat)
    for (const auto& [x, y] : chart.ideal) values.push_back(y);
  if (values.empty()) values = {0, 1};
  const bool legend = names.size() > 1;
  const double head = (legend ? SvgPicture::legend_height(chart_width - left, names) : 0) + (named_bands ? band_name : 0) + top_gap,
               base = head + plot_height;
  // Crosses of missed targets have rows of their own, above the curves.
  const double crosses_height = crosses ? 16 + 12 * static_cast<double>(std::min(chart.curves.size(), series_colours)) : 0;
  SvgPicture drawing(chart_width, base + below_lines, chart.label);
  if (legend) drawing.legend(left, 4, names, looks, chart.marks);
  const Scale x(chart.x.numbers, left, chart_width - right, chart.x_from_zero, chart.linear_x && chart.x_from_zero ? 0 : 0.04,
                !chart.linear_x),
      y(values, base, head + crosses_height, chart.from_zero, 0.04, !chart.linear_y);
  draw_x_axis(drawing, chart.x, x, head, base);
  draw_y_axis(drawing, chart, y, head, base);
  draw_bands(drawing, chart.bands, x, head, base);
  for (const double at : chart.lines) drawing.line(x(at), head, x(at), base, "event");
  for (const double at : chart.ticks) drawing.line(x(at), base - 8, x(at), base, "axis");
  if (crosses) drawing.text(left - 8, head + 16, "\u00d7 missed", SvgPicture::Anchor::end, "small dim");
  if (!chart.ideal.empty()) {
    std::string points;
    const std::vector<std::pair<double, double>> ideal = up_to(chart.ideal, y.value_at_end());
    for (const auto& [at, value] : ideal) points += fmt::format("{:.1f},{:.1f} ", x(at), y(value));
    drawing.path(points, "ideal");
    const double end = y(ideal.back().second);
    drawing.text(x(ideal.back().first) - (chart.ideal_name == "ideal" ? 22 : 4), end < head + 12 ? end + 12 : end - 5, chart.ideal_name,
                 SvgPicture::Anchor::end, "small dim");
  }
  for (const Curve& curve : chart.curves) draw_curve(drawing, curve, x, y, head, chart.marks);
  return drawing;
}

/// Where the picture ends: a fifth after all have reached the target that do.
static double last_shown(const LearningChart& chart, std::size_t axis) {
  double last = -1;
  for (const LearningCurve& curve : chart.curves)
    if (chart.crop == Crop::both && axis < curve.reached.size()) last = std::max(last, 1.2 * curve.reached[axis]);
  return last < 0 ? std::numeric_limits<double>::infinity() : last;
}

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
    const double last = last_shown(chart, axis);
    if (axis == 0)
      for (const LearningEvent& event : chart.events) (event.through ? line.lines : line.ticks).push_back(event.seconds);
    for (const LearningCurve& curve : chart.curves) {
      Curve drawn{curve.name, curve.colour, {}, {}};
      const std::size_t stride = curve.points.size() / chart.still_points + 1;
      for (std::size_t i = 0; i < curve.points.size();
           i += i + 1 == curve.points.size() ? 1 : std::min(stride, curve.points.size() - 1 - i)) {
        const LearningPoint& point = curve.points[i];
        if (point.x[axis] > last) break;
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

SvgPicture draw(const HeatChart& chart) {
  constexpr std::size_t most_curves = series_colours;
  LineChart line;
  line.label = chart.label;
  line.x = {chart.x_title, chart.x, {}, readable_number};
  line.y_title = chart.title;
  line.y_text = chart.text;
  line.from_zero = line.marks = line.x_from_zero = false;
  line.linear_x = true;
  std::vector<std::pair<double, std::size_t>> rows;  // (highest value, row)
  for (std::size_t row = 1; row < chart.values.size(); ++row)
    rows.emplace_back(-*std::max_element(chart.values[row].begin(), chart.values[row].end()), row);
  std::stable_sort(rows.begin(), rows.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  rows.insert(rows.begin(), {0, 0});
  if (rows.size() > most_curves) {
    line.x.title += fmt::format("; {} of {} lines, those that rise highest", most_curves, rows.size());
    rows.resize(most_curves);
  }
  for (const auto& [highest, row] : rows) {
    Curve curve{chart.y_labels[row], line.curves.size(), {}, {}};
    for (std::size_t i = 0; i < chart.x.size(); ++i) curve.points.push_back({chart.x[i], chart.values[row][i], 0, false, {}});
    line.curves.push_back(std::move(curve));
  }
  return draw(line);
}

}  // namespace straggler

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "scenarios/report/charts.hpp"

namespace straggler {
namespace {

constexpr double stack_pitch = 22, stack_height = 16;

}  // namespace

SvgPicture draw(const StackChart& chart) {
  double names = 0, most = 0;
  for (const std::string& name : chart.names) names = std::max(names, text_width(name, 13));
  for (const std::vector<double>& row : chart.values) most = std::max(most, std::accumulate(row.begin(), row.end(), 0.0));
  const double left = std::min(names, chart_width / 3) + 14, right = chart_width - 24;
  std::vector<std::string> parts, colours;
  for (const StackPart& part : chart.parts) {
    parts.push_back(part.name);
    colours.push_back(part.colour);
  }
  const double head = SvgPicture::legend_height(chart_width - left, parts) + 8;
  const double base = head + stack_pitch * static_cast<double>(chart.names.size());
  SvgPicture drawing(chart_width, base + below_axis, chart.label);
  drawing.legend(left, 2, parts, colours);
  const Scale x({0, most}, left, right, true, 0);
  for (const double tick : x.ticks()) {
    drawing.line(x(tick), head, x(tick), base, "grid");
    drawing.text(x(tick), base + 20, chart.text(tick), SvgPicture::Anchor::middle, "small");
  }
  for (std::size_t i = 0; i < chart.names.size(); ++i) {
    const double middle = head + stack_pitch * (static_cast<double>(i) + 0.5);
    drawing.text(left - 8, middle + 4.5, chart.names[i], SvgPicture::Anchor::end);
    double sum = 0;
    for (std::size_t part = 0; part < chart.parts.size(); ++part) {
      const double value = chart.values[i][part], from = x(sum), to = x(sum + value);
      sum += value;
      if (value <= 0) continue;
      drawing.open(colours[part], fmt::format("{}: {} {}", chart.names[i], parts[part], chart.text(value)));
      drawing.rectangle(from, middle - stack_height / 2, std::max(0.5, to - from), stack_height, "full");
      drawing.close();
    }
  }
  drawing.line(left, head, left, base, "axis");
  drawing.text((left + right) / 2, base + 44, chart.title, SvgPicture::Anchor::middle, "dim");
  return drawing;
}

}  // namespace straggler

#include "scenarios/report/histogram_picture.hpp"

#include "scenarios/report/charts.hpp"
#include "sim/base/readable.hpp"

namespace straggler {
namespace {

/// The outline of the bars, filled. One is added to each count: an empty bar has a logarithm, too.
SvgPicture panel_of(const NamedHistogram& shown) {
  const double low = static_cast<double>(shown.histogram.range.low), high = static_cast<double>(shown.histogram.range.high);
  LineChart chart;
  chart.label = shown.name;
  chart.x = {shown.name, {low, high}, {}, readable_number};
  chart.y_title = "numbers, plus one";
  chart.y_text = readable_number;
  chart.marks = chart.x_from_zero = false;
  chart.linear_x = true;
  Curve outline;
  const std::vector<std::uint64_t>& counts = shown.histogram.counts;
  for (std::size_t bin = 0; bin < counts.size(); ++bin)
    for (const std::size_t end : {bin, bin + 1}) {
      const double x = low + (high - low) * static_cast<double>(end) / static_cast<double>(counts.size());
      const double height = 1 + static_cast<double>(counts[bin]);
      outline.points.push_back({x, height, 0, false, {}});
      outline.range.push_back({x, 1, height});
    }
  chart.curves.push_back(std::move(outline));
  if (low < 0 && high > 0) chart.bands.push_back({0, 0, {}});
  return draw(chart);
}

}  // namespace

std::string histogram_picture(const std::string& title, const std::vector<NamedHistogram>& panels) {
  constexpr std::size_t columns = 2;
  constexpr double wide = 480, head = 40;
  std::vector<SvgPicture> pictures;
  for (const NamedHistogram& panel : panels) pictures.push_back(panel_of(panel));
  const double high = pictures.empty() ? 0 : pictures.front().height() * wide / pictures.front().width();
  SvgPicture drawing(columns * wide, head + high * static_cast<double>((panels.size() + columns - 1) / columns), title);
  drawing.style("svg .range{fill:currentColor;fill-opacity:.4;stroke:none}");
  drawing.text(14, 24, title, SvgPicture::Anchor::start, "bold");
  for (std::size_t i = 0; i < pictures.size(); ++i)
    drawing.inset(wide * static_cast<double>(i % columns), head + high * static_cast<double>(i / columns), wide, pictures[i]);
  return drawing.standalone();
}

}  // namespace straggler

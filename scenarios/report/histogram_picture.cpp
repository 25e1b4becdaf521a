#include "scenarios/report/histogram_picture.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>

#include "scenarios/report/picture.hpp"

namespace straggler {
namespace {

constexpr std::size_t panel_columns = 4;
constexpr double panel_width = 240, panel_height = 150, panel_margin = 14, panels_head = 40;
constexpr double plot_top = 22, plot_bottom = 34;  // above and below a panel's bars

double height_of(std::uint64_t count) { return std::log10(1 + static_cast<double>(count)); }

void draw_panel(SvgPicture& drawing, const NamedHistogram& shown, double left, double top) {
  const std::vector<std::uint64_t>& counts = shown.histogram.counts;
  const std::uint64_t most = *std::max_element(counts.begin(), counts.end());
  const double from = left + panel_margin, width = panel_width - 2 * panel_margin, height = panel_height - plot_top - plot_bottom;
  const double base = top + plot_top + height, bar = width / static_cast<double>(counts.size());
  drawing.text(from, top + 14, shown.name, SvgPicture::Anchor::start, "bold");
  std::string outline = fmt::format("{:.2f},{:.2f}", from, base);
  for (std::size_t bin = 0; bin < counts.size(); ++bin) {
    const double x = from + bar * static_cast<double>(bin), y = most == 0 ? base : base - height * height_of(counts[bin]) / height_of(most);
    fmt::format_to(std::back_inserter(outline), " {:.2f},{:.2f} {:.2f},{:.2f}", x, y, x + bar, y);
  }
  drawing.area(outline + fmt::format(" {:.2f},{:.2f}", from + width, base), "s0 full");
  drawing.line(from, base, from + width, base, "axis");
  const Interval& range = shown.histogram.range;
  drawing.text(from, base + 14, fmt::format("{:.4g}", range.low), SvgPicture::Anchor::start, "small");
  drawing.text(from + width, base + 14, fmt::format("{:.4g}", range.high), SvgPicture::Anchor::end, "small");
  drawing.text(from + width / 2, base + 14, fmt::format("highest bar {}", most), SvgPicture::Anchor::middle, "dim small");
  if (!(range.low < 0 && range.high > 0)) return;
  const double zero = from + width * static_cast<double>(-range.low) / (static_cast<double>(range.high) - static_cast<double>(range.low));
  drawing.line(zero, top + plot_top, zero, base, "ideal");
}

}  // namespace

std::string histogram_picture(const std::string& title, const std::vector<NamedHistogram>& panels) {
  const std::size_t rows = (panels.size() + panel_columns - 1) / panel_columns;
  SvgPicture drawing(static_cast<double>(panel_columns) * panel_width + 2 * panel_margin,
                     panels_head + static_cast<double>(rows) * panel_height + panel_margin, title);
  drawing.text(2 * panel_margin, 24, title, SvgPicture::Anchor::start, "bold");
  for (std::size_t i = 0; i < panels.size(); ++i) {
    const std::size_t row = i / panel_columns, column = i % panel_columns;
    draw_panel(drawing, panels[i], panel_margin + static_cast<double>(column) * panel_width,
               panels_head + static_cast<double>(row) * panel_height);
  }
  return drawing.standalone();
}

}  // namespace straggler

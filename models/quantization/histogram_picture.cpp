#include "models/quantization/histogram_picture.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>

#include "sim/base/xml_text.hpp"

namespace straggler {
namespace {

constexpr int columns = 4, panel_width = 240, panel_height = 150, margin = 14, head = 40;
constexpr int plot_top = 22, plot_bottom = 34;  // above and below a panel's bars

double height_of(std::uint64_t count) { return std::log10(1 + static_cast<double>(count)); }

void panel(const NamedHistogram& shown, double left, double top, std::string& out) {
  const Histogram& histogram = shown.histogram;
  const std::uint64_t most = *std::max_element(histogram.counts.begin(), histogram.counts.end());
  const double width = panel_width - 2 * margin, height = panel_height - plot_top - plot_bottom;
  const double base = top + plot_top + height, bar = width / static_cast<double>(histogram.counts.size());
  const auto to = std::back_inserter(out);
  fmt::format_to(to, "<text x=\"{:.1f}\" y=\"{:.1f}\" font-weight=\"bold\">{}</text>\n", left + margin, top + 14, xml_text(shown.name));
  out += "<path fill=\"#1f6fb4\" d=\"";
  for (std::size_t bin = 0; bin < histogram.counts.size(); ++bin) {
    if (histogram.counts[bin] == 0) continue;
    const double tall = height * height_of(histogram.counts[bin]) / height_of(most);
    fmt::format_to(to, "M{:.2f} {:.2f}h{:.2f}v{:.2f}h-{:.2f}z", left + margin + bar * static_cast<double>(bin), base, bar, -tall, bar);
  }
  out += "\"/>\n";
  fmt::format_to(to, "<line x1=\"{0:.1f}\" x2=\"{1:.1f}\" y1=\"{2:.1f}\" y2=\"{2:.1f}\" stroke=\"#555\"/>\n", left + margin,
                 left + margin + width, base);
  const Interval& range = histogram.range;
  fmt::format_to(to, "<text x=\"{:.1f}\" y=\"{:.1f}\">{:.4g}</text>\n", left + margin, base + 14, range.low);
  fmt::format_to(to, "<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"end\">{:.4g}</text>\n", left + margin + width, base + 14, range.high);
  fmt::format_to(to, "<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"middle\" fill=\"#555\">highest bar {}</text>\n",
                 left + margin + width / 2, base + 14, most);
  if (!(range.low < 0 && range.high > 0)) return;
  const double zero =
      left + margin + width * static_cast<double>(-range.low) / (static_cast<double>(range.high) - static_cast<double>(range.low));
  fmt::format_to(to, "<line x1=\"{0:.1f}\" x2=\"{0:.1f}\" y1=\"{1:.1f}\" y2=\"{2:.1f}\" stroke=\"#d9541e\" stroke-dasharray=\"3 3\"/>\n",
                 zero, top + plot_top, base);
}

}  // namespace

std::string histogram_picture(const std::string& title, const std::vector<NamedHistogram>& panels) {
  const int rows = (static_cast<int>(panels.size()) + columns - 1) / columns;
  const int width = columns * panel_width + 2 * margin, height = head + rows * panel_height + margin;
  std::string out = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0} {1}\" width=\"{0}\" height=\"{1}\" font-family=\"sans-serif\" "
      "font-size=\"11\">\n<rect width=\"{0}\" height=\"{1}\" fill=\"white\"/>\n<text x=\"{2}\" y=\"24\" font-size=\"15\">{3}</text>\n",
      width, height, 2 * margin, xml_text(title));
  for (std::size_t i = 0; i < panels.size(); ++i) {
    const auto row = static_cast<int>(i) / columns, column = static_cast<int>(i) % columns;
    panel(panels[i], margin + column * panel_width, head + row * panel_height, out);
  }
  return out + "</svg>\n";
}

}  // namespace straggler

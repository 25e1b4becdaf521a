#include <fmt/format.h>

#include <algorithm>

#include "scenarios/report/charts.hpp"

namespace straggler {
namespace {

constexpr double line_height = 17, gap = 3, below_map = 58, least_width = 76;

double cell_width(const MapChart& chart) {
  double wide = least_width;
  for (const auto& row : chart.cells)
    for (const MapCell& cell : row)
      for (std::size_t i = 0; i < cell.lines.size(); ++i) wide = std::max(wide, text_width(cell.lines[i], i == 0 ? 13 : 11.5) + 18);
  for (const std::string& label : chart.x_labels) wide = std::max(wide, text_width(label, 13) + 8);
  return wide;
}

void draw_cell(SvgPicture& drawing, const MapCell& cell, std::size_t look, double x, double y, double wide, double high) {
  using Kind = MapCell::Kind;
  drawing.open(cell.kind == Kind::winner ? fmt::format("s{}", look % series_colours) : std::string("cell"), cell.tip);
  switch (cell.kind) {
    case Kind::winner:
      drawing.rectangle(x, y, wide, high, "full", 0.24);
      drawing.rectangle(x, y, 6, high, "full");
      break;
    case Kind::level:
      drawing.rectangle(x, y, wide, high, "level", 0.06 + 0.5 * cell.level);
      break;
    case Kind::tie:
      drawing.rectangle(x, y, wide, high, "tie");
      break;
    case Kind::nobody:
    case Kind::nothing:
      drawing.rectangle(x, y, wide, high, "nobody");
      break;
  }
  if (cell.best) drawing.rectangle(x, y, wide, high, "best");
  const double first = y + high / 2 - line_height * (static_cast<double>(cell.lines.size()) - 1) / 2 + 4.5;
  const bool dim = cell.kind == Kind::nobody || cell.kind == Kind::nothing;
  for (std::size_t i = 0; i < cell.lines.size(); ++i)
    drawing.text(x + wide / 2 + (cell.kind == Kind::winner ? 3 : 0), first + line_height * static_cast<double>(i), cell.lines[i],
                 SvgPicture::Anchor::middle,
                 dim      ? "dim"
                 : i == 0 ? "bold"
                          : "small");
  drawing.close();
}

std::size_t look_of(const MapChart& chart, const MapCell& cell) { return cell.series < chart.looks.size() ? chart.looks[cell.series] : 0; }

}  // namespace

SvgPicture draw(const MapChart& chart) {
  std::size_t lines = 1;
  double labels = 0;
  for (const auto& row : chart.cells)
    for (const MapCell& cell : row) lines = std::max(lines, cell.lines.size());
  for (const std::string& label : chart.y_labels) labels = std::max(labels, text_width(label, 13));
  const double wide = cell_width(chart), high = line_height * static_cast<double>(lines) + 16, left = 34 + labels + 8;
  const auto columns = static_cast<double>(chart.x_labels.size()), rows = static_cast<double>(chart.y_labels.size());
  double width = left + columns * (wide + gap) + 12;
  const double legend = chart.series.empty() ? 0 : SvgPicture::legend_height(width - left, chart.series) + 8;
  const double base = legend + 6 + rows * (high + gap);
  SvgPicture drawing(width, base + below_map, chart.label);
  if (!chart.series.empty()) drawing.legend(left, 4, chart.series, chart.looks, false);
  for (std::size_t y = 0; y < chart.cells.size(); ++y) {
    const double top = base - static_cast<double>(y + 1) * (high + gap);
    drawing.text(left - 8, top + high / 2 + 4.5, chart.y_labels[y], SvgPicture::Anchor::end);
    for (std::size_t x = 0; x < chart.cells[y].size(); ++x)
      draw_cell(drawing, chart.cells[y][x], look_of(chart, chart.cells[y][x]), left + static_cast<double>(x) * (wide + gap), top, wide,
                high);
  }
  for (std::size_t x = 0; x < chart.x_labels.size(); ++x)
    drawing.text(left + static_cast<double>(x) * (wide + gap) + wide / 2, base + 20, chart.x_labels[x], SvgPicture::Anchor::middle);
  drawing.text(left + columns * (wide + gap) / 2, base + 44, chart.x_title, SvgPicture::Anchor::middle, "dim");
  drawing.upwards(16, base - rows * (high + gap) / 2, chart.y_title);
  return drawing;
}

}  // namespace straggler

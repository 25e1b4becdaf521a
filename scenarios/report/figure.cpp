#include "scenarios/report/figure.hpp"

#include <fmt/format.h>

#include <iterator>

#include "scenarios/report/chart_json.hpp"
#include "scenarios/report/page.hpp"
#include "sim/base/xml_text.hpp"

namespace straggler {

Figure figure_of(std::string title, std::string caption, const IntervalChart& chart) {
  return {std::move(title), std::move(caption), {draw(chart)}, chart_data(chart), {}, false, {}, true};
}

Figure figure_of(std::string title, std::string caption, const HeatChart& chart) {
  return {std::move(title), std::move(caption), {draw(chart)}, chart_data(chart), {}, true, {}, true};
}

Figure figure_of(std::string title, std::string caption, const StackChart& chart) {
  std::vector<std::string> head{chart.title};
  for (const StackPart& part : chart.parts) head.push_back(part.name);
  std::vector<std::vector<std::string>> rows;
  for (std::size_t row = 0; row < chart.names.size(); ++row) {
    rows.push_back({chart.names[row]});
    for (const double value : chart.values[row]) rows.back().push_back(chart.text(value));
  }
  std::string table = html_table(head, rows, 1, rows.size(), {}, chart.links);
  return {std::move(title), std::move(caption), {}, chart_data(chart), {}, false, std::move(table), true};
}

Figure menu_of(std::string title, std::vector<std::pair<std::string, Figure>> figures) {
  if (figures.size() == 1) return std::move(figures.front().second);
  Figure all = std::move(figures.front().second);
  all.title = std::move(title);
  all.data.back() = ',';  // its last brace
  all.data += fmt::format("\"menu\":[{{\"name\":{}}}", chart_text(figures.front().first));
  for (std::size_t i = 1; i < figures.size(); ++i) {
    auto& [name, figure] = figures[i];
    all.data += fmt::format(",{{\"name\":{},\"chart\":{}}}", chart_text(name), figure.data);
    std::move(figure.drawings.begin(), figure.drawings.end(), std::back_inserter(all.drawings));
    std::move(figure.files.begin(), figure.files.end(), std::back_inserter(all.files));
  }
  all.data += "]}";
  return all;
}

std::string still_of(const Figure& figure) {
  std::string all = figure.table;
  for (const SvgPicture& drawing : figure.drawings) all += drawing.inside();
  return all;
}

std::string html_of(const Figure& figure) {
  const bool many = figure.drawings.size() > 1;
  std::string out = fmt::format("<figure class=\"chart{}{}\">\n<h3>{}</h3>\n<div class=\"still{}\"{}>{}</div>\n",
                                figure.full ? " full" : "", figure.scripted_print ? " scripted-print" : "", xml_text(figure.title),
                                many ? " many" : " wide", many ? "" : " tabindex=\"0\"", still_of(figure));
  if (!figure.data.empty()) out += "<script type=\"application/json\">" + figure.data + "</script>\n";
  if (!figure.caption.empty()) out += "<figcaption>" + xml_text(figure.caption) + "</figcaption>\n";
  return out + "</figure>\n";
}

std::string html_of(const std::vector<Figure>& figures) {
  if (figures.empty()) return {};
  std::string out = "<div class=\"pictures\">\n";
  for (const Figure& figure : figures) out += html_of(figure);
  return out + "</div>\n";
}

}  // namespace straggler

#include "scenarios/report/figure.hpp"

#include <fmt/format.h>

#include "sim/base/xml_text.hpp"

namespace straggler {

std::string html_of(const Figure& figure) {
  std::string pictures;
  for (const SvgPicture& drawing : figure.drawings) pictures += drawing.inside();
  const bool many = figure.drawings.size() > 1;
  std::string out = fmt::format("<figure class=\"chart{}\">\n<h3>{}</h3>\n<div class=\"still{}\"{}>{}</div>\n", figure.full ? " full" : "",
                                xml_text(figure.title), many ? " many" : " wide", many ? "" : " tabindex=\"0\"", pictures);
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

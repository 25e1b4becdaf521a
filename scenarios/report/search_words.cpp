#include "scenarios/report/search_words.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "scenarios/report/axis_title.hpp"
#include "scenarios/report/units.hpp"
#include "scenarios/sweep/range.hpp"
#include "sim/base/readable.hpp"

namespace straggler {
namespace {

std::string with_blanks(std::string text) {
  std::replace(text.begin(), text.end(), '_', ' ');
  return text;
}

NumberText text_of(const RangeEnd& number) {
  if (number.percent) return share_text;
  if (number.dimension == Dimension::time) return readable_seconds;
  if (number.dimension == Dimension::bytes) return readable_bytes;
  if (number.dimension == Dimension::rate) return number.bits ? bits_rate_text : bytes_rate_text;
  return readable_number;
}

}  // namespace

std::string metric_title(const std::string& metric) {
  if (metric == "simulated_seconds") return "simulated time";
  return with_blanks(metric.ends_with("_s") ? metric.substr(0, metric.size() - 2) : metric);
}

NumberText metric_number_text(const std::string& metric) {
  return metric.ends_with("_s") || metric.ends_with("_seconds") ? readable_seconds : readable_number;
}

LabelNumbers numbers_of_labels(const std::vector<std::string>& labels) {
  LabelNumbers out;
  std::optional<RangeEnd> first;
  for (const std::string& label : labels) {
    const std::optional<RangeEnd> number = parse_range_end(label);
    if (number && !first) first = number;
    const bool alike = number && number->dimension == first->dimension;
    out.numbers.push_back(alike ? std::optional(number->value * (first->bits ? 8 : 1)) : std::nullopt);
  }
  out.text = first ? text_of(*first) : readable_number;
  return out;
}

std::string group_title(const std::vector<std::string>& axes, const std::vector<std::string>& labels) {
  std::string title;
  for (std::size_t i = 0; i < std::min(axes.size(), labels.size()); ++i)
    title += (title.empty() ? "" : ", ") + axis_title(axes[i]) + " " + labels[i];
  return title;
}

}  // namespace straggler

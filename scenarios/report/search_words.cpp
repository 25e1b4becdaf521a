#include "scenarios/report/search_words.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "scenarios/report/axis_title.hpp"
#include "scenarios/report/share_text.hpp"
#include "scenarios/report/units.hpp"
#include "scenarios/sweep/range.hpp"
#include "sim/base/readable.hpp"
#include "sim/base/text_lines.hpp"

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

void replace_all(std::string& text, const std::string& from, const std::string& to) {
  for (std::size_t at = text.find(from); !from.empty() && at != std::string::npos; at = text.find(from, at + to.size()))
    text.replace(at, from.size(), to);
}

/// "PATH=VALUE" becomes "title VALUE"; longer paths first, since one may begin another.
std::string in_words(std::string line, const SearchAnswer& answer) {
  std::vector<std::string> paths = answer.axes;
  for (const SearchedSetting& setting : answer.over) paths.push_back(setting.path);
  paths.push_back(answer.along.path);
  std::stable_sort(paths.begin(), paths.end(), [](const std::string& a, const std::string& b) { return a.size() > b.size(); });
  for (const std::string& path : paths) {
    if (path.empty()) continue;
    replace_all(line, path + "=", axis_title(path) + " ");
    replace_all(line, path, axis_title(path));
  }
  replace_all(line, answer.metric, metric_title(answer.metric));
  replace_all(line, "+-", "\u00b1");
  return capital(std::string(trimmed(line)));
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

std::vector<std::string> said_in_words(const SearchAnswer& answer) {
  std::vector<std::string> entries;
  TextLines lines(answer.said);
  for (std::string_view line; lines.next(line);) {
    const bool goes_on = line.starts_with(' ') && !entries.empty();
    const std::string words = in_words(std::string(line), answer) + ".";
    if (goes_on)
      entries.back() += " " + words;
    else
      entries.push_back(words);
  }
  return entries;
}

}  // namespace straggler

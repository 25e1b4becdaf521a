#include "scenarios/report/search_words.hpp"

#include <algorithm>
#include <cmath>

#include "scenarios/report/axis_title.hpp"
#include "scenarios/report/units.hpp"
#include "scenarios/results/summary.hpp"
#include "scenarios/sweep/range.hpp"
#include "scenarios/sweep/swept_axes.hpp"
#include "sim/base/readable.hpp"
#include "sim/base/units.hpp"

namespace straggler {
namespace {

NumberText text_of(const RangeEnd& number) {
  if (number.percent) return share_text;
  if (number.bits) return bits_rate_text;
  return number.dimension ? row_of(*number.dimension).readable : readable_number;
}

}  // namespace

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

std::string setting_title(const SearchOutcome& outcome, const SearchedSetting& setting) {
  std::string title = axis_title(setting.path);
  if (!counts_workers(setting.path)) return title;
  bool others = false;
  const auto look = [&](const std::string& label, const Measured& measured) {
    const std::optional<RangeEnd> own = parse_range_end(label);
    for (const StudyRun& run : measured.runs)
      if (const auto all = scalar_of(run.fields, "workers").number(); own && all) others = others || *all > own->value;
  };
  for (const FoundGroup& group : outcome.found)
    for (const FoundPoint& point : group.points)
      for (std::size_t i = 0; i < outcome.over.size(); ++i)
        if (outcome.over[i].path == setting.path) look(point.values[i].label, point.measured);
  for (const CrossoverGroup& group : outcome.crossed)
    for (const ComparedPoint& point : group.points) look(point.at.label, point.measured.first);
  const std::size_t from = setting.path.find('['), to = setting.path.find(']');
  return others && from < to && to != std::string::npos ? title + setting.path.substr(from, to + 1 - from) : title;
}

std::vector<ShownRun> shown_runs(const std::vector<StudyRun>& runs) {
  std::vector<ShownRun> shown;
  for (const StudyRun& run : runs)
    if (!run.fields.empty()) shown.push_back(shown_run(run.seed, run.fields, run.sketch));
  return shown;
}

RepeatStatistics drawable(const Measured& measured) {
  const RepeatStatistics& all = measured.statistics;
  return std::isfinite(all.mean) && std::isfinite(all.half_width) ? all : RepeatStatistics();
}

}  // namespace straggler

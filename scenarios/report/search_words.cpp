#include "scenarios/report/search_words.hpp"

#include <algorithm>
#include <cmath>

#include "scenarios/report/units.hpp"
#include "scenarios/sweep/range.hpp"
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

#include "scenarios/statistics/statistics.hpp"

#include <fmt/format.h>

#include <boost/math/distributions/students_t.hpp>
#include <cmath>

namespace straggler {

RepeatStatistics statistics_of(const std::vector<double>& values) {
  RepeatStatistics out;
  out.count = values.size();
  if (values.empty()) return out;
  for (const double value : values) out.mean += value;
  const auto n = static_cast<double>(values.size());
  out.mean /= n;
  if (values.size() < 2) return out;
  double squares = 0;
  for (const double value : values) squares += (value - out.mean) * (value - out.mean);
  out.deviation = std::sqrt(squares / (n - 1));
  out.half_width = boost::math::quantile(boost::math::students_t(n - 1), 0.975) * out.deviation / std::sqrt(n);
  return out;
}

RepeatStatistics statistics_of(const RunValues& values) {
  std::vector<double> known;
  for (const auto& value : values)
    if (value) known.push_back(*value);
  return statistics_of(known);
}

std::string mean_text(const RepeatStatistics& statistics, std::size_t runs, std::string (*text)(double), const MeanStyle& style) {
  const std::string count = fmt::format(" ({} of {})", statistics.count, runs);
  if (statistics.count == 0) return !style.missed ? "-" : runs > 1 ? "missed" + count : "missed";
  std::string out = text(statistics.mean);
  if (statistics.count > 1 && (style.zero_widths || statistics.half_width > 0)) out += style.sign + text(statistics.half_width);
  if (statistics.count < runs || (style.count_all && runs > 1)) out += count;
  return out;
}

}  // namespace straggler

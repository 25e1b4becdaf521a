#include "scenarios/statistics/statistics.hpp"

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

std::string half_width_note(const std::string& text) {
  return text.find(" +- ") == std::string::npos ? "" : "+-: half of the 95 % confidence interval of the mean (Student's t)\n";
}

}  // namespace straggler

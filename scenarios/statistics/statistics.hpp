// Mean, spread and confidence of repeats.
#pragma once
#include <cstddef>
#include <string>
#include <vector>

namespace straggler {

struct RepeatStatistics {
  std::size_t count = 0;
  double mean = 0;
  double deviation = 0;   // of the sample (n - 1); 0 with fewer than two
  double half_width = 0;  // of the 95 % confidence interval of the mean (Student's t); 0 with fewer than two
};

RepeatStatistics statistics_of(const std::vector<double>& values);

/// A line that says what "+-" means, if `text` has one before a `half_width`; else nothing.
std::string half_width_note(const std::string& text);

}  // namespace straggler

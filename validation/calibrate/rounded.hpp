// Numbers to be pasted into scenarios.
#pragma once
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <vector>

namespace straggler {

/// To five digits, the resolution of timings.
inline double rounded(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.4e", value);
  return std::strtod(text, nullptr);
}

inline double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

}  // namespace straggler

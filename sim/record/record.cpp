#include "sim/record/record.hpp"

#include <array>
#include <cmath>

namespace straggler {

const char* name_of(Outcome outcome) {
  static constexpr std::array<const char*, 8> names = {"completed", "target_reached",   "diverged", "interrupted",
                                                       "aborted",   "all_workers_down", "stalled",  "overloaded"};
  return names[static_cast<std::size_t>(outcome)];
}

std::optional<double> perplexity(const std::optional<double>& loss) { return loss ? std::optional(std::exp(*loss)) : std::nullopt; }

Reached reached(const std::vector<CurvePoint>& curve, double accuracy, std::int64_t sustain) {
  Reached result;
  result.accuracy = accuracy;
  std::int64_t held = 0;
  std::size_t first = 0;  // of those at which it held
  for (std::size_t i = 0; i < curve.size(); ++i) {
    if (!curve[i].test_accuracy || curve[i].lost) continue;
    if (!(*curve[i].test_accuracy >= accuracy)) {  // a NaN is below everything
      held = 0;
      result.last_below = curve[i].time;
      continue;
    }
    if (held == 0) first = i;
    if (++held >= sustain) {
      result.at = curve[first];
      return result;
    }
  }
  return result;
}

}  // namespace straggler

#include "scenarios/results/below_again.hpp"

namespace straggler {

std::optional<double> below_again(const AccuracyCurve& curve, double accuracy, double reached) {
  for (const auto& [seconds, value] : curve)
    if (seconds > reached && !(value >= accuracy)) return seconds;
  return std::nullopt;
}

}  // namespace straggler

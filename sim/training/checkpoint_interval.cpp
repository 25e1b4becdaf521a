#include "sim/training/checkpoint_interval.hpp"

#include <cmath>

namespace straggler {

/// With x = λ τ: (1 - x) e^x = e^(-λ Ts), so f(x) = x + ln(1 - x) + λ Ts is 0, x in (0, 1). f falls and is concave there: Newton's steps
/// from the right of the root stay there. x = √(1 - e^(-2 λ Ts)) is right of it.
double optimal_interval(double rate, double save) {
  const double cost = rate * save;
  double x = std::sqrt(-std::expm1(-2 * cost));
  if (x >= 1) return 1 / rate;
  for (int i = 0; i < 100; ++i) {
    const double next = x + (x + std::log1p(-x) + cost) * (1 - x) / x;
    if (!(next < 1)) return 1 / rate;  // saving takes many times the mean time between failures
    if (!(std::abs(next - x) > 1e-14 * x)) return next / rate;
    x = next;
  }
  return x / rate;
}

double youngs_interval(double rate, double save) { return std::sqrt(2 * save / rate); }

double dalys_interval(double rate, double save) {
  const double mean = 1 / rate;
  if (save >= 2 * mean) return mean;
  return std::sqrt(2 * save * mean) * (1 + std::sqrt(save / (2 * mean)) / 3 + save / (18 * mean)) - save;
}

}  // namespace straggler

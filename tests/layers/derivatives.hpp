// Derivatives against central differences: f'(x) = (f(x + h) - f(x - h)) / 2h + O(h²).
#pragma once
#include <doctest/doctest.h>

#include <cmath>
#include <functional>
#include <vector>

namespace straggler::test {

using Doubles = std::vector<double>;

/// Checks `derivative` of f at x. With h = 1e-5 the error of the difference is h² / 6 = 2e-11 times f's third derivative (below 100
/// here), and the rounding 1e-16 / h = 1e-11 times f (below 100). Looks at every `every`-th number.
inline void check_derivative(Doubles x, const Doubles& derivative, const std::function<double(const Doubles&)>& f, std::size_t every = 1) {
  constexpr double h = 1e-5;
  REQUIRE(derivative.size() == x.size());
  for (std::size_t i = 0; i < x.size(); i += every) {
    const double middle = x[i];
    x[i] = middle + h;
    const double above = f(x);
    x[i] = middle - h;
    const double below = f(x);
    x[i] = middle;
    CAPTURE(i);
    CHECK(std::abs((above - below) / (2 * h) - derivative[i]) <= 1e-8 * (1 + std::abs(derivative[i])));
  }
}

inline double dot(const Doubles& a, const Doubles& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

}  // namespace straggler::test

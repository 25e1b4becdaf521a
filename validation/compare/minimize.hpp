// Bounded minimization without derivatives. The only door to NLopt (Johnson, The NLopt nonlinear-optimization package).
#pragma once
#include <cstddef>
#include <functional>
#include <vector>

namespace straggler {

struct Minimum {
  std::vector<double> at;
  double value = 0;
  bool converged = false;  // false: the evaluations ran out first
};

/// Minimizes `function` over the unit cube, starting from each of `starts`: Subplex (Rowan 1990) from every start until it stands still to
/// `coarse`, then from the best point BOBYQA (Powell 2009; Subplex again in one dimension) until it does to 1e-9, again while that helps
/// but at most `rounds` times, or until a value of at most `good_enough` is found. Deterministic. What `function` throws ends it.
Minimum minimize(const std::function<double(const std::vector<double>&)>& function, const std::vector<std::vector<double>>& starts,
                 double good_enough, double coarse = 1e-4, int rounds = 4);

}  // namespace straggler

// Bounded minimization without derivatives. The only use of NLopt (Johnson, The NLopt nonlinear-optimization package).
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

/// Minimizes `function` over the unit cube, starting from each of `starts`: Subplex (Rowan 1990) from every start until it converges to
/// `coarse`, then BOBYQA from the best point (Powell 2009; Subplex again in one dimension) until it converges to 1e-9. This is repeated
/// while it helps, at most `rounds` times, or until a value of at most `good_enough` is found. Deterministic. Exceptions of `function` end
/// it.
Minimum minimize(const std::function<double(const std::vector<double>&)>& function, const std::vector<std::vector<double>>& starts,
                 double good_enough, double coarse = 1e-4, int rounds = 4);

}  // namespace straggler

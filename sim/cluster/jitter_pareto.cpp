// Pareto with tail index alpha > 1 and scale x_m = (alpha - 1) / alpha: P(X > x) = (x_m / x)^alpha for x >= x_m. The mean,
// alpha x_m / (alpha - 1), is 1; the variance is infinite for alpha <= 2: rare, very slow stragglers.
// Drawn by inversion: x_m U^(-1/alpha), U uniform in (0, 1].
// Dutta et al., Slow and Stale Gradients Can Win the Race, AISTATS 2018; Dean, Barroso, The Tail at Scale, CACM 56(2), 2013.
#include <cmath>

#include "sim/cluster/jitter_kind.hpp"

namespace straggler::cluster::jitter_pareto {
namespace {

std::unique_ptr<Jitter> make(const Parameters& parameters) {
  const double alpha = parameters.number("alpha"), scale = (alpha - 1) / alpha;
  return independent_jitter([alpha, scale](RandomStream& draws) { return scale * std::pow(1 - draws.uniform(), -1 / alpha); });
}

const Register<JitterEntry> entry({"pareto",
                                   "heavy tail: rare, very slow stragglers; mean 1",
                                   {{"alpha",
                                     ValueType::number,
                                     "3",
                                     false,
                                     "tail index; the smaller, the heavier the tail (infinite variance up to 2)",
                                     Range::above_to(1, 1e6),
                                     {}}},
                                   make});

}  // namespace
}  // namespace straggler::cluster::jitter_pareto

// X / m, where X is normal with mean 1 and standard deviation sigma, drawn again until it is above 0, and
//   m = 1 + sigma · phi(1/sigma) / Phi(1/sigma)
// is X's mean, so that the factor's mean is exactly 1 (phi, Phi: the standard normal's density and distribution).
// Truncation shows from sigma = 0.3 on: below, m - 1 < 5e-4. The standard deviation is a little below sigma where it does.
// Johnson, Kotz, Balakrishnan, Continuous Univariate Distributions 1, 1994, section 13.10.1 (truncated normal).
#include <boost/random/normal_distribution.hpp>
#include <cmath>
#include <numbers>

#include "sim/cluster/jitter_kind.hpp"

namespace straggler::cluster::jitter_normal {
namespace {

double truncated_mean(double sigma) {
  if (sigma == 0) return 1;
  const double z = 1 / sigma;
  const double density = std::exp(-z * z / 2) / std::sqrt(2 * std::numbers::pi), below = std::erfc(-z / std::numbers::sqrt2) / 2;
  return 1 + sigma * density / below;
}

std::unique_ptr<Jitter> make(const Parameters& parameters) {
  const double sigma = parameters.number("sigma"), mean = truncated_mean(sigma);
  return independent_jitter([sigma, mean](RandomStream& draws) {
    boost::random::normal_distribution<double> normal(1, sigma);
    for (;;)
      if (const double x = normal(draws); x > 0) return x / mean;
  });
}

const Register<JitterEntry> entry(
    {"normal",
     "symmetric noise, mean 1, never negative",
     {{"sigma", ValueType::number, "0.1", false, "standard deviation, before truncation above 0", Range::between(0, 10), {}}},
     make});

}  // namespace
}  // namespace straggler::cluster::jitter_normal

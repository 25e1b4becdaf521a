// exp(N(mu, sigma²)) with mu = -sigma² / 2, which makes the mean exp(mu + sigma²/2) = 1; the median is exp(mu), the squared
// coefficient of variation exp(sigma²) - 1.
// Johnson, Kotz, Balakrishnan, Continuous Univariate Distributions 1, 1994, chapter 14.
#include <boost/random/normal_distribution.hpp>
#include <cmath>

#include "sim/cluster/jitter_kind.hpp"

namespace straggler::cluster::jitter_lognormal {
namespace {

std::unique_ptr<Jitter> make(const Parameters& parameters) {
  const double sigma = parameters.number("sigma");
  return independent_jitter(
      [sigma](RandomStream& draws) { return std::exp(boost::random::normal_distribution<double>(-sigma * sigma / 2, sigma)(draws)); });
}

const Register<JitterEntry> entry(
    {"lognormal",
     "mostly near the median, sometimes much slower; mean 1",
     {{"sigma", ValueType::number, "0.2", false, "standard deviation of the factor's logarithm", Range::between(0, 5), {}}},
     make});

}  // namespace
}  // namespace straggler::cluster::jitter_lognormal

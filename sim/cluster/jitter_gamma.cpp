// Gamma(shape, scale = 1/shape): mean 1, variance 1/shape; shape 1 is `exponential`, large shapes approach a normal.
// Ali, Siegel, Maheswaran, Hensgen, Task Execution Time Modeling for Heterogeneous Computing Systems, HCW 2000 (used for workers
// of asynchronous SGD by Hakimi, Barkai, Gabel, Schuster, Taming Momentum in a Distributed Asynchronous Environment, 2019).
#include <boost/random/gamma_distribution.hpp>

#include "sim/cluster/jitter_kind.hpp"

namespace straggler::cluster::jitter_gamma {
namespace {

std::unique_ptr<Jitter> make(const Parameters& parameters) {
  const double shape = parameters.number("shape");
  return independent_jitter([shape](RandomStream& draws) { return boost::random::gamma_distribution<double>(shape, 1 / shape)(draws); });
}

const Register<JitterEntry> entry(
    {"gamma",
     "skewed to the slow side, from exponential (shape 1) to nearly constant; mean 1",
     {{"shape", ValueType::number, "4", false, "1 / variance: the larger, the steadier", Range::between(0.01, 1e6), {}}},
     make});

}  // namespace
}  // namespace straggler::cluster::jitter_gamma

// shift + Exp(mean): a part that always takes its time and a memoryless rest. Its mean is shift + mean.
// Lee, Lam, Pedarsani, Papailiopoulos, Ramchandran, Speeding Up Distributed Machine Learning Using Codes, IEEE Transactions on
// Information Theory 64(3), 2018; Dutta et al., Slow and Stale Gradients Can Win the Race, AISTATS 2018.
#include <boost/random/exponential_distribution.hpp>
#include <stdexcept>

#include "sim/cluster/jitter_kind.hpp"

namespace straggler::cluster::jitter_shifted_exponential {
namespace {

std::unique_ptr<Jitter> make(const Parameters& parameters) {
  const double shift = parameters.number("shift"), mean = parameters.number("mean");
  if (!(shift + mean > 0))
    throw std::invalid_argument("mean: shift and mean are both 0, so computing would take no time; give one above 0");
  return independent_jitter(
      [shift, mean](RandomStream& draws) { return shift + mean * boost::random::exponential_distribution<double>(1)(draws); });
}

const Register<JitterEntry> entry(
    {"shifted_exponential",
     "a constant part and a memoryless rest; the mean is shift + mean",
     {{"shift", ValueType::number, "0.5", false, "the smallest factor, the part that does not vary", Range::between(0, 1e6), {}},
      {"mean", ValueType::number, "0.5", false, "mean of the part above shift", Range::between(0, 1e6), {}}},
     make,
     {},
     [](const Parameters& own) { return own.number("shift") + own.number("mean"); }});

}  // namespace
}  // namespace straggler::cluster::jitter_shifted_exponential

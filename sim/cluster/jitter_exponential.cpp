// Exp(1): density exp(-x), mean 1, memoryless: a worker that has computed for long is no nearer to its end.
// Dutta, Joshi, Ghosh, Dube, Nagpurkar, Slow and Stale Gradients Can Win the Race, AISTATS 2018.
#include <boost/random/exponential_distribution.hpp>

#include "sim/cluster/jitter_kind.hpp"

namespace straggler::cluster::jitter_exponential {
namespace {

const Register<JitterEntry> entry({"exponential", "memoryless, mean 1", {}, [](const Parameters&) {
                                     return independent_jitter(
                                         [](RandomStream& draws) { return boost::random::exponential_distribution<double>(1)(draws); });
                                   }});

}  // namespace
}  // namespace straggler::cluster::jitter_exponential

// Uniform in [low, high): mean (low + high) / 2.
#include <stdexcept>

#include "sim/base/quantity.hpp"
#include "sim/cluster/jitter_kind.hpp"

namespace straggler::cluster::jitter_uniform {
namespace {

std::unique_ptr<Jitter> make(const Parameters& parameters) {
  const double low = parameters.number("low"), high = parameters.number("high");
  if (!(high >= low))
    throw std::invalid_argument("high: " + format_number(high) + " is below low, " + format_number(low) + "; it must be at least low");
  return independent_jitter([low, high](RandomStream& draws) { return low + (high - low) * draws.uniform(); });
}

const Register<JitterEntry> entry({"uniform",
                                   "uniform between two bounds; the mean is (low + high) / 2",
                                   {{"low", ValueType::number, std::nullopt, true, "the smallest factor", Range::above_to(0, 1e6), {}},
                                    {"high", ValueType::number, std::nullopt, true, "the largest factor", Range::above_to(0, 1e6), {}}},
                                   make,
                                   {},
                                   [](const Parameters& own) { return (own.number("low") + own.number("high")) / 2; }});

}  // namespace
}  // namespace straggler::cluster::jitter_uniform

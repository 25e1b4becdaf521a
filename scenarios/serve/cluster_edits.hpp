// Effects of a cluster's sliders on a scenario, one function per slider.
#pragma once
#include <cstdint>

#include "scenarios/schema/scenario.hpp"

namespace straggler {

struct Slow {
  std::int64_t workers = 0;
  double least = 1, times = 1;  // the smallest slowdown; the largest in multiples of it
};
Slow slow_of(const Scenario& scenario);

/// Groups keep their shares of all workers, as nearly as whole workers allow (largest remainders); one that is left without any goes.
void set_workers(Scenario& scenario, std::int64_t count);
/// The last `slow` workers are `times` times slower than the fastest; hosts stay as they are.
void set_slow_workers(Scenario& scenario, std::int64_t slow, double times);
/// Every link between hosts keeps its ratio to the network's; bytes per second, seconds.
void set_bandwidth(Scenario& scenario, double bandwidth);
void set_latency(Scenario& scenario, double latency);

}  // namespace straggler

// A network with its queue, and times as closed forms give them.
#pragma once
#include <doctest/doctest.h>

#include <cmath>
#include <vector>

#include "tests/network/run.hpp"

namespace straggler {

struct World {
  std::vector<LinkId> links(int number, double bytes_per_second) {
    std::vector<LinkId> made;
    for (int i = 0; i < number; ++i) made.push_back(network.add_link(bytes_per_second));
    return made;
  }
  void run_until(double seconds) { straggler::run_until(queue, network, Time::from_seconds(seconds)); }
  void run() { straggler::run(queue, network); }

  EventQueue queue;
  Network network{queue};
};

inline constexpr Time no_latency;
inline Time seconds(double s) { return Time::from_seconds(s); }
inline void check_about(Time a, Time b) { CHECK_MESSAGE(std::abs((a - b).ticks()) <= 2, a.ticks(), " and ", b.ticks(), " ticks"); }

}  // namespace straggler

// What the parts of a simulated run share.
#pragma once
#include "sim/simulated/books.hpp"
#include "sim/simulated/workers.hpp"

namespace straggler {

/// All outlive the parts that refer to them.
struct SimulatedRun {
  World& world;
  Books& books;
  Workers& workers;
};

}  // namespace straggler

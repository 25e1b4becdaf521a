// What a message does to a gradient, where the run compresses them.
#pragma once
#include <cstdint>
#include <vector>

#include "sim/lineage/draws.hpp"
#include "sim/lineage/lineage.hpp"

namespace straggler {

/// A worker sends q = C(v), or with error feedback q = C(v + e) and keeps e <- v + e - q for its next gradient. What arrives is q, a vector
/// as long as v.
struct Compression {
  const Rule* rule = nullptr;   // (v[, e]) -> q
  std::vector<double> scalars;  // followed by the draw's number, where something is drawn
  Draws draws = Draws::none;
  std::uint64_t bytes = 0;  // of a message; running statistics come on top
  bool error_feedback = false;
  bool gathered = false;  // an all-reduce is an all-gather: each rank gets all q and takes their mean itself
};

}  // namespace straggler

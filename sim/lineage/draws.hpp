// Random draws of rules: a rule gets the number of a draw, so that a value follows from its formula.
#pragma once
#include <cstdint>

#include "sim/base/rank.hpp"

namespace straggler {

/// The scope of a compressor's random draw.
enum class Draws : std::uint8_t {
  none,
  run,      // once, the same by all workers
  message,  // a new draw for each message of each worker
  version   // the same by all workers whose gradients were taken at weights of the same version
};

/// The number of a draw, an integer below 2^53: a scalar of the rule. It follows from (seed, worker, number of the worker's message), or
/// from (seed, version).
double draw_number(std::uint64_t seed, Rank worker, std::uint64_t message);
double draw_number(std::uint64_t seed, std::uint64_t version);

}  // namespace straggler

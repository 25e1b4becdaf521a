// What a synchronization does to the optimizer state of workers that take local steps: the parameter `momentum_at_sync`.
#pragma once
#include "sim/base/choice_table.hpp"
#include "sim/base/parameters.hpp"

namespace straggler {

/// keep: each worker continues with its own momentum. reset: it starts anew. average: it travels with the weights and is averaged like them
/// (which doubles the bytes of a message under SGD with momentum).
enum class MomentumMode { keep, reset, average };
inline constexpr ChoiceTable<MomentumMode> momentum_modes{
    "momentum_at_sync", {{MomentumMode::keep, "keep"}, {MomentumMode::reset, "reset"}, {MomentumMode::average, "average"}}};

/// The vectors of a message of weights: averaged momentum travels with them.
inline double vectors_with_momentum(const Parameters& parameters) {
  return parameters.has(momentum_modes.parameter_name()) && momentum_modes.of(parameters) == MomentumMode::average ? 2 : 1;
}

}  // namespace straggler

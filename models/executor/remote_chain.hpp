// Which nodes of a plan travel together to another process.
#pragma once
#include <cstdint>
#include <vector>

#include "models/executor/node_states.hpp"
#include "models/executor/plan.hpp"
#include "models/executor/remote.hpp"

namespace straggler {

/// The most gradients of a chain: what a lost process can lose, and for what others may wait at the end of a plan.
inline constexpr std::size_t most_chained_gradients = 32;

inline constexpr std::size_t most_chain_nodes = 8 * most_chained_gradients;

/// The most values that a chain is sent with: those of one worker, such as weights and momentum.
inline constexpr std::size_t most_chain_inputs = 4;

/// A gradient that is ready, at `first` of the connected plan, and the nodes that follow from it alone, such as the local steps of a
/// client: as many as can be computed without delay to others. No value that is needed elsewhere waits for a gradient that needs it, and no
/// two gradients that could be computed at the same time are in one chain. Outputs have no addresses yet.
struct PlannedChain {
  PlannedChain(Plan& plan, std::uint32_t first, NodeStates& states);
  /// One lane of the large gradient there.
  static PlannedChain of_lane(Plan& plan, std::uint32_t position, std::uint32_t lane, NodeStates& states);
  std::vector<std::uint32_t> positions;  // in the plan
  RemoteChain chain;

 private:
  PlannedChain() = default;
};

}  // namespace straggler

// The processes of a data loader that binds, found in the waits for its batches.
#pragma once
#include <cstddef>
#include <vector>

#include "scenarios/import/trace_steps.hpp"

namespace straggler {

struct LoaderTurns {
  std::size_t processes = 0;  // which take turns; 0: the waits do not repeat
  std::size_t from = 0;       // the first steady step: neither prepared in advance nor in the first round
};

/// Requires at least one step.
LoaderTurns loader_turns(const std::vector<TraceStep>& steps);

}  // namespace straggler

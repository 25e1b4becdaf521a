// The other end of a RemoteThread: a chain is computed by an executor of its own.
#pragma once
#include "models/executor/executor.hpp"
#include "models/executor/remote.hpp"

namespace straggler {

/// Fills the chain's outputs, with the inputs' values given. `lineage` is of that executor, and has no nodes before and after. Throws
/// std::logic_error if a node gets another key than the one it came with.
void compute_chain(Lineage& lineage, Executor& executor, const RemoteChain& chain);

}  // namespace straggler

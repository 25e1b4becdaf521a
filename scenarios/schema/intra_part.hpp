// The inside of a host: its keys, and checks across them.
#pragma once
#include "scenarios/schema/part.hpp"

namespace straggler {

/// `machine` is read first: the others stand on it.
Part<IntraSpec> intra_part();
void check_intra(Section& intra, IntraSpec& spec);

}  // namespace straggler

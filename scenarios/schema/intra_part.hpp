// What a host is like inside: its keys, and what they say together.
#pragma once
#include "scenarios/schema/part.hpp"

namespace straggler {

/// `machine` is read first: the others stand on it.
Part<IntraSpec> intra_part();
void check_intra(Section& intra, IntraSpec& spec);

}  // namespace straggler

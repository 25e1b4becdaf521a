// Schemes that are registered while the program runs, such as Python's, beside those that are linked into it.
#pragma once
#include <string>
#include <string_view>

#include "sim/training/scheme.hpp"

namespace straggler {

/// Registers the scheme; it replaces an earlier late scheme of that name. `code` identifies its code, across processes too, and is part of
/// the keys of stored results. No pointer to an entry may be in use; after a run none is. Throws std::invalid_argument if a linked scheme
/// has that name.
void register_late(SchemeEntry entry, std::string code);

/// The code of a scheme registered at run time; empty: it is linked into the program, or unknown.
std::string late_code(std::string_view scheme);

}  // namespace straggler

// Colours of schemes, the same on all pages.
#pragma once
#include <cstddef>
#include <string>
#include <vector>

namespace straggler {

/// Looks of the compared names on a page ("asgd", "nonblocking, counters persist"). A name that begins with a scheme gets the scheme's
/// look, or the next free one if it is taken; names without a scheme get the first free ones.
std::vector<std::size_t> scheme_looks(const std::vector<std::string>& names);

}  // namespace straggler

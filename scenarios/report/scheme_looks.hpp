// The colour of each scheme, the same on all pages.
#pragma once
#include <cstddef>
#include <string>
#include <vector>

namespace straggler {

/// Of what is compared on a page, by its name ("asgd", "nonblocking, counters persist") or scheme: the look of the scheme that the name
/// begins with, or the next free one where another has it already; of names without a scheme the first free ones.
std::vector<std::size_t> scheme_looks(const std::vector<std::string>& names);

}  // namespace straggler

// Messages about unknown names: the closest known name, and the list of known names.
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace straggler {

/// Edits (insert, delete, replace, swap of neighbours) that turn `a` into `b`: optimal string alignment distance.
std::size_t edit_distance(std::string_view a, std::string_view b);

/// The known name nearest to `name`, ignoring case; empty if none is near enough to be a typing error. The first of equals.
std::string nearest_name(std::string_view name, const std::vector<std::string>& known);

/// "unknown WHAT 'bandwith'; did you mean 'bandwidth'? known: bandwidth, latency".
std::string unknown_name(std::string_view what, std::string_view name, const std::vector<std::string>& known);

/// `text` in single quotes for a message: cut in the middle to 60 bytes; what could hide or mislead, or is no UTF-8, as \xNN.
std::string in_quotes(std::string_view text);

/// "a, b, c".
std::string joined(const std::vector<std::string>& names);

}  // namespace straggler

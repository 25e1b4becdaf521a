// Messages about unknown names: the closest known names.
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace straggler {

/// Edits (insert, delete, replace, swap of neighbours) that turn `a` into `b`: optimal string alignment distance.
std::size_t edit_distance(std::string_view a, std::string_view b);

/// The known name nearest to `name`, ignoring case; empty if none is near enough to be a typing error. The first of equals.
std::string nearest_name(std::string_view name, const std::vector<std::string>& known);

/// The `most` known names nearest to `name`, ignoring case: first those that begin with it, then those that hold it, then by distance;
/// equals in their order.
std::vector<std::string> nearest_names(std::string_view name, const std::vector<std::string>& known, std::size_t most);

/// "known: bandwidth, latency" if these are few; else the three nearest to `name`: "known: ssgd, asgd, sgp; all 33: straggler list
/// schemes". `all`: the command that prints all of them; empty: "known: ssgd, asgd, sgp and 30 more".
std::string known_names(std::string_view name, const std::vector<std::string>& known, std::string_view all = {});

/// "unknown WHAT 'bandwith'; did you mean 'bandwidth'? known: bandwidth, latency". `all`: as above.
std::string unknown_name(std::string_view what, std::string_view name, const std::vector<std::string>& known, std::string_view all = {});

/// `text` in single quotes for a message: cut in the middle to 60 bytes; what could hide or mislead, or is no UTF-8, as \xNN.
std::string in_quotes(std::string_view text);

/// "a, b, c".
std::string joined(const std::vector<std::string>& names);

}  // namespace straggler

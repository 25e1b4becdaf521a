// Boost.Graph's readers recurse once per level of nesting and multiply groups of nodes out, so a small file could exhaust stack or memory;
// they also misread some text. These functions check the text first. Each throws std::invalid_argument ("what is wrong; what would be
// right").
#pragma once
#include <string_view>

namespace straggler {

/// Refuses elements nested deeper than a graph needs, and declarations of its own document type.
void guard_xml(std::string_view text);
/// Refuses subgraphs nested deeper than a drawing needs, edges between subgraphs, HTML-like labels, and numbers followed by letters.
void guard_dot(std::string_view text);

}  // namespace straggler

// An HTML page that needs nothing beside itself: no network, no scripts, light or dark as the reader's system is.
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace straggler {

/// The whole document around `body`, which is HTML.
std::string html_page(std::string_view title, std::string_view body);

/// A table; the first `words` columns are left-aligned text, `marked` names a row to stand out (none: rows.size()). Cells are plain text.
std::string html_table(const std::vector<std::string>& head, const std::vector<std::vector<std::string>>& rows, std::size_t words,
                       std::size_t marked);

/// A picture that may be wider than the screen, with what it is called and a caption (may be empty).
std::string html_figure(std::string_view title, std::string_view svg, std::string_view caption);

}  // namespace straggler

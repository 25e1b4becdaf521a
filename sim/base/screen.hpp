// Text for a terminal's width.
#pragma once
#include <cstddef>
#include <cstdio>
#include <string>
#include <string_view>

namespace straggler {

/// Columns of the terminal behind `to`; 0: it is none, as a pipe or a file.
std::size_t terminal_width(std::FILE* to);

/// Lines of more than `width` columns continue in the next line, below the last column of theirs that begins in the first two thirds, or
/// two columns further in than the line. They break at blanks alone. Rows of tables (four columns or more) and a `width` of 0: as they are.
std::string wrapped(std::string_view text, std::size_t width);

}  // namespace straggler

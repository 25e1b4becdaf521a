// Tables for the terminal.
#pragma once
#include <string>
#include <vector>

namespace straggler {

/// Rows of equal length, columns aligned two blanks apart: the first `left` of them to the left, the others to the right.
std::string aligned(const std::vector<std::vector<std::string>>& rows, std::size_t left);

}  // namespace straggler

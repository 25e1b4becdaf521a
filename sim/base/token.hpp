// Secrets by which a process knows that another belongs to it.
#pragma once
#include <string>
#include <string_view>

namespace straggler {

/// 128 random bits from the operating system, as 32 hexadecimal digits. Throws std::system_error.
std::string new_token();
/// Compares in constant time, which does not reveal where they differ.
bool same_secret(std::string_view a, std::string_view b);

}  // namespace straggler

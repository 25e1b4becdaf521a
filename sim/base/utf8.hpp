// Characters of a UTF-8 text (RFC 3629: no overlong forms, surrogates or code points beyond U+10FFFF).
#pragma once
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace straggler {

inline constexpr std::uint32_t code_points = 0x110000;  // U+0000 to U+10FFFF

struct Utf8Character {
  std::uint32_t code = 0;
  std::size_t bytes = 0;  // 0: not UTF-8
};
/// The one that begins at `at`, which is within the text.
Utf8Character utf8_character(std::string_view text, std::size_t at);

}  // namespace straggler

// Text of others (names, labels, fields of files) made safe to show: in a terminal, on a page, in a message.
#pragma once
#include <cstddef>
#include <string>
#include <string_view>

namespace straggler {

/// A character of a text, or a byte of it that is not UTF-8. Not safe to show are such bytes, control characters (of ASCII, tabs and line
/// ends among them, U+0080 to U+009F, U+2028, U+2029), and characters that change the direction of text (U+061C, U+200E, U+200F, U+202A to
/// U+202E, U+2066 to U+2069).
struct ShownCharacter {
  std::size_t bytes = 1;
  bool safe = false;
};
/// The one that begins at `at`, which is within the text.
ShownCharacter character_at(std::string_view text, std::size_t at);

/// `text` for a terminal: tabs and line ends stay, the bytes of other unsafe characters are written as \xNN.
std::string shown_text(std::string_view text);

/// `text` for a page: tabs and line ends stay, every other unsafe character becomes U+FFFD.
std::string page_text(std::string_view text);

/// Cut in the middle to `most` bytes, with "..." between both ends; a shorter text stays.
std::string shortened(std::string_view text, std::size_t most);

}  // namespace straggler

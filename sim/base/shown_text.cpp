#include "sim/base/shown_text.hpp"

#include <cstdint>

#include "sim/base/utf8.hpp"

namespace straggler {

namespace {

bool turns_text(std::uint32_t code) {
  return code == 0x061C || code == 0x200E || code == 0x200F || (code >= 0x202A && code <= 0x202E) || (code >= 0x2066 && code <= 0x2069);
}

bool controls(std::uint32_t code) { return code < 0x20 || (code >= 0x7F && code < 0xA0) || code == 0x2028 || code == 0x2029; }

/// `text`, its unsafe characters as `write` puts them, but for those of `kept`.
template <class Write>
std::string with_unsafe(std::string_view text, std::string_view kept, const Write& write) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) {
    const ShownCharacter character = character_at(text, at);
    const std::string_view bytes = text.substr(at, character.bytes);
    at += bytes.size();
    if (character.safe || kept.find(bytes) != std::string_view::npos)
      out += bytes;
    else
      write(bytes, out);
  }
  return out;
}

}  // namespace

ShownCharacter character_at(std::string_view text, std::size_t at) {
  const auto byte = static_cast<unsigned char>(text[at]);
  if (byte >= 0x20 && byte < 0x7F) return {1, true};
  const Utf8Character character = utf8_character(text, at);
  if (character.bytes == 0) return {1, false};
  return {character.bytes, !controls(character.code) && !turns_text(character.code)};
}

std::string shown_text(std::string_view text) {
  static constexpr char digits[] = "0123456789abcdef";
  return with_unsafe(text, "\n\t", [](std::string_view bytes, std::string& out) {
    for (const char c : bytes) {
      const auto byte = static_cast<unsigned char>(c);
      out += "\\x";
      out += digits[byte >> 4];
      out += digits[byte & 15];
    }
  });
}

std::string page_text(std::string_view text) {
  return with_unsafe(text, "\n\t\r", [](std::string_view, std::string& out) { out += "\xEF\xBF\xBD"; });
}

std::string shortened(std::string_view text, std::size_t most) {
  constexpr std::string_view gap = "...";
  if (text.size() <= most) return std::string(text);
  const std::size_t kept = most > gap.size() ? most - gap.size() : 0, last = kept / 3;
  std::size_t first = kept - last, from = text.size() - last;
  const auto within = [&](std::size_t at) { return at < text.size() && (static_cast<unsigned char>(text[at]) & 0xC0U) == 0x80; };
  while (first > 0 && within(first)) --first;  // no character is cut in two
  while (within(from)) ++from;
  return std::string(text.substr(0, first)).append(gap).append(text.substr(from));
}

}  // namespace straggler

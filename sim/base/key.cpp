#include "sim/base/key.hpp"

#include <cstring>

namespace straggler {

std::string Key::text() const {
  static constexpr char digits[] = "0123456789abcdef";
  std::string out(32, '0');
  for (std::size_t i = 0; i < 16; ++i) {
    out[i] = digits[(high >> (60 - 4 * i)) & 15];
    out[16 + i] = digits[(low >> (60 - 4 * i)) & 15];
  }
  return out;
}

Hasher& Hasher::add(std::string_view text) {
  add(static_cast<std::uint64_t>(text.size()));
  return add_bytes(text.data(), text.size());
}

Hasher& Hasher::add_bytes(const void* data, std::size_t bytes) {
  const char* at = static_cast<const char*>(data);
  for (; bytes >= 8; bytes -= 8, at += 8) {
    std::uint64_t word;
    std::memcpy(&word, at, 8);
    add(word);
  }
  if (bytes > 0) {
    std::uint64_t word = 0;
    std::memcpy(&word, at, bytes);
    add(word);
  }
  return *this;
}

}  // namespace straggler

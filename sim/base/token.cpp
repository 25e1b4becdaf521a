#include "sim/base/token.hpp"

#include <unistd.h>

#include <cerrno>
#include <system_error>

#include "sim/base/key.hpp"

namespace straggler {

std::string new_token() {
  Key key;
  static_assert(sizeof(key) == 16);
  if (::getentropy(&key, sizeof key) != 0) throw std::system_error(errno, std::generic_category(), "no random numbers for a token");
  return key.text();
}

bool same_secret(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return false;
  unsigned different = 0;
  for (std::size_t i = 0; i < a.size(); ++i) different |= static_cast<unsigned char>(a[i]) ^ static_cast<unsigned char>(b[i]);
  return different == 0;
}

}  // namespace straggler

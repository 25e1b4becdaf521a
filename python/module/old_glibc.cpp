// The archive of the C++ library asks for arc4random, of glibc 2.36, for a random_device that nothing here uses. With this one the module
// needs glibc 2.34, which any distribution since 2022 has.
#include <unistd.h>

#include <cstdint>
#include <cstdlib>

extern "C" std::uint32_t arc4random() noexcept {
  std::uint32_t drawn = 0;
  if (getentropy(&drawn, sizeof drawn) != 0) std::abort();
  return drawn;
}

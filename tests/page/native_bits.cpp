// The same hashes by the program's C library, as JSON.
#include <cstdio>

#include "tools/page/math_bits.hpp"

int main() {
  const char* before = "{";
  for (const auto& [name, hash] : straggler::math_bits()) {
    std::printf("%s\"%s\": \"%016llx\"", before, name.c_str(), static_cast<unsigned long long>(hash));
    before = ", ";
  }
  std::puts("}");
}

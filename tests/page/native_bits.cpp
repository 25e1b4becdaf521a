// The same values by the program's C library, as JSON.
#include <cstdio>

#include "tools/page/math_bits.hpp"

int main() {
  const char* before = "{";
  for (const auto& [name, bits] : straggler::math_bits()) {
    std::printf("%s\"%s\": \"%s\"", before, name.c_str(), bits.c_str());
    before = ", ";
  }
  std::puts("}");
}

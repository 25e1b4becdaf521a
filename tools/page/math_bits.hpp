// What a build's C library makes of arguments over their whole range, for the functions that timing draws with. The page's library (musl)
// is another one than the program's (glibc, which uses fused multiply-add where the processor has it).
#pragma once
#include <bit>
#include <cmath>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace straggler {

/// (function, the bits of its values as 16 hexadecimal digits each, one after another).
inline std::vector<std::pair<std::string, std::string>> math_bits(int arguments = 20'000) {
  std::vector<std::pair<std::string, std::string>> all;
  std::uint64_t state = 1;
  const auto uniform = [&] {  // Knuth's MMIX generator: the same in every build
    state = state * 6364136223846793005u + 1442695040888963407u;
    return static_cast<double>(state >> 11) * 0x1p-53;
  };
  const auto add = [&](const char* name, auto value) {
    std::string bits;
    for (int i = 0; i < arguments; ++i) {
      const auto word = std::bit_cast<std::uint64_t>(static_cast<double>(value()));
      for (int digit = 15; digit >= 0; --digit) bits += "0123456789abcdef"[word >> 4 * digit & 15];
    }
    all.emplace_back(name, std::move(bits));
  };
  add("exp", [&] { return std::exp(60 * uniform() - 30); });
  add("log", [&] {
    const double mantissa = 0.5 + uniform();
    return std::log(std::ldexp(mantissa, static_cast<int>(state >> 40 & 31) - 16));
  });
  add("log1p", [&] { return std::log1p(-uniform()); });
  add("pow", [&] {
    const double base = uniform();
    return std::pow(base, -3 * uniform());
  });
  add("sqrt", [&] { return std::sqrt(1000 * uniform()); });
  add("sin", [&] { return std::sin(6.5 * uniform()); });
  add("cos", [&] { return std::cos(6.5 * uniform()); });
  add("tgamma", [&] { return std::tgamma(0.1 + 5 * uniform()); });
  return all;
}

}  // namespace straggler

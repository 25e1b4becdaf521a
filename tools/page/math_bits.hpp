// What the C library of a build makes of arguments over their whole range: a hash of the bits of each function that timing draws with. The
// page's library is another one than the program's.
#pragma once
#include <bit>
#include <cmath>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace straggler {

/// (function, hash of the bits of its values).
inline std::vector<std::pair<std::string, std::uint64_t>> math_bits(int arguments = 200'000) {
  std::vector<std::pair<std::string, std::uint64_t>> all;
  std::uint64_t state = 1;
  const auto uniform = [&] {  // Knuth's MMIX generator: the same in every build
    state = state * 6364136223846793005u + 1442695040888963407u;
    return static_cast<double>(state >> 11) * 0x1p-53;
  };
  const auto add = [&](const char* name, auto value) {
    std::uint64_t hash = 14695981039346656037u;  // FNV-1a, by 64 bits
    for (int i = 0; i < arguments; ++i) hash = (hash ^ std::bit_cast<std::uint64_t>(static_cast<double>(value()))) * 1099511628211u;
    all.emplace_back(name, hash);
  };
  add("exp", [&] { return std::exp(60 * uniform() - 30); });
  add("log", [&] { return std::log(std::ldexp(0.5 + uniform(), static_cast<int>(state % 40) - 20)); });
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

#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include <stdexcept>
#include <string>

#include "models/kernels/kernels.hpp"
#include "models/kernels/places.hpp"

namespace straggler {

namespace generic {
extern const Kernels table;
extern const PlaceKernels place_table;
}  // namespace generic
#if defined(__x86_64__) || defined(__wasm__)
namespace kernels_v2 {
extern const Kernels table;
extern const PlaceKernels place_table;
}  // namespace kernels_v2
#endif
#if defined(__x86_64__)
namespace kernels_v3 {
extern const Kernels table;
extern const PlaceKernels place_table;
}  // namespace kernels_v3
namespace kernels_v4 {
extern const Kernels table;
extern const PlaceKernels place_table;
}  // namespace kernels_v4
#endif

namespace {

#if defined(__x86_64__)
/// Not every compiler's __builtin_cpu_supports knows it. A system with AVX2 saves the registers that it needs.
bool has_f16c() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  return __get_cpuid(1, &a, &b, &c, &d) != 0 && (c & bit_F16C) != 0;
}
#endif

/// The sets that the processor and the operating system (which must save the registers) support, slowest first.
std::vector<const Kernels*> runnable() {
  std::vector<const Kernels*> sets;
  const auto add = [&](bool runs, const Kernels& set) {
    if (runs && !set.name.empty()) sets.push_back(&set);  // without a name: left out of this program
  };
  add(true, generic::table);
#if defined(__x86_64__)
  // Each level includes the one before it.
  const bool v2 = __builtin_cpu_supports("sse4.2") && __builtin_cpu_supports("popcnt");
  const bool v3 = v2 && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && has_f16c() && __builtin_cpu_supports("bmi2");
  const bool v4 = v3 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512cd") &&
                  __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
  add(v2, kernels_v2::table);
  add(v3, kernels_v3::table);
  add(v4, kernels_v4::table);
#elif defined(__wasm__)
  add(true, kernels_v2::table);
#endif
  return sets;
}

}  // namespace

std::vector<std::string_view> available_kernels() {
  std::vector<std::string_view> names;
  for (const Kernels* set : runnable()) names.push_back(set->name);
  return names;
}

const Kernels& select_kernels(std::string_view name) {
  const std::vector<const Kernels*> sets = runnable();
  std::string known = "auto";
  for (const Kernels* set : sets) {
    if (set->name == name) return *set;
    known += ", " + std::string(set->name);
  }
  if (name == "auto" && !sets.empty()) return *sets.back();
  throw std::invalid_argument("no kernels '" + std::string(name) + "' on this processor; known: " + known);
}

const PlaceKernels& place_kernels(const Kernels& kernels) {
#if defined(__x86_64__) || defined(__wasm__)
  if (kernels.name == kernels_v2::table.name) return kernels_v2::place_table;
#endif
#if defined(__x86_64__)
  if (kernels.name == kernels_v3::table.name) return kernels_v3::place_table;
  if (kernels.name == kernels_v4::table.name) return kernels_v4::place_table;
#endif
  return generic::place_table;
}

}  // namespace straggler

#include "models/kernels/coding.hpp"

#include <array>
#include <stdexcept>
#include <string>

#include "models/kernels/kernels.hpp"

#define STRAGGLER_CODING coding_generic
#define STRAGGLER_CODING_NAME "generic"
#include "models/kernels/coding.inc.hpp"

namespace straggler {

#if defined(__x86_64__) || defined(__wasm__)
namespace coding_v2 {
extern const CodingKernels table;
}
#endif
#if defined(__x86_64__)
namespace coding_v3 {
extern const CodingKernels table;
}
namespace coding_v4 {
extern const CodingKernels table;
}
#endif

const CodingKernels& coding_kernels(std::string_view name) {
#if defined(__x86_64__)
  static constexpr std::array all = {&coding_generic::table, &coding_v2::table, &coding_v3::table, &coding_v4::table};
#elif defined(__wasm__)
  static constexpr std::array all = {&coding_generic::table, &coding_v2::table};
#else
  static constexpr std::array all = {&coding_generic::table};
#endif
  const std::string_view able = select_kernels(name).name;
  for (const CodingKernels* const set : all)
    if (set->name == able) return *set;
  throw std::invalid_argument("no coding kernels '" + std::string(name) + "'");
}

const CodingKernels& coding_kernels() {
  static const CodingKernels& fastest = coding_kernels("auto");
  return fastest;
}

}  // namespace straggler

#include "models/kernels/onednn/maps.hpp"

namespace straggler::onednn {

#if defined(__x86_64__)
namespace kernels_v2 {
extern const MapKernels table;
}
namespace kernels_v3 {
extern const MapKernels table;
}
namespace kernels_v4 {
extern const MapKernels table;
}
#endif

const MapKernels* map_kernels(std::string_view kernels) {
#if defined(__x86_64__)
  for (const MapKernels* set : {&kernels_v2::table, &kernels_v3::table, &kernels_v4::table})
    if (set->name == kernels) return set;
#endif
  (void)kernels;
  return nullptr;
}

}  // namespace straggler::onednn

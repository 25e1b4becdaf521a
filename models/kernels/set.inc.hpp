// One set of kernels: compiled with STRAGGLER_KERNELS (a namespace) and STRAGGLER_KERNELS_NAME (a string) defined, and with the compiler's
// flags for its instruction set. All but the table has internal linkage, and no standard library function that the linker could merge with
// another set's is used: AVX-512 code must never run on a machine without it.
#if defined(__wasm_simd128__)
#include <wasm_simd128.h>
#else
#include <immintrin.h>
#endif

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "models/kernels/kernels.hpp"
#include "models/kernels/places.hpp"

namespace straggler::STRAGGLER_KERNELS {
namespace {
// In this order: each builds on the ones before it.
// clang-format off
#include "models/kernels/vectors.inc.hpp"
#include "models/kernels/tiles.inc.hpp"
#if defined(__AVX512F__)
#include "models/kernels/pixels.inc.hpp"
#endif
#include "models/kernels/panels.inc.hpp"
#include "models/kernels/dense.inc.hpp"
#include "models/kernels/convolution.inc.hpp"
#include "models/kernels/winograd_transforms.inc.hpp"
#include "models/kernels/winograd.inc.hpp"
#include "models/kernels/convolution_entries.inc.hpp"
#include "models/kernels/convolution_weights.inc.hpp"
#include "models/kernels/pools.inc.hpp"
#include "models/kernels/softmax.inc.hpp"
#include "models/kernels/elementwise.inc.hpp"
#include "models/kernels/activations.inc.hpp"
#include "models/kernels/attention.inc.hpp"
#include "models/kernels/integers.inc.hpp"
#include "models/kernels/rounding.inc.hpp"
#include "models/kernels/negative_sampling.inc.hpp"
// clang-format on
}  // namespace

#include "models/kernels/table.inc.hpp"
}  // namespace straggler::STRAGGLER_KERNELS

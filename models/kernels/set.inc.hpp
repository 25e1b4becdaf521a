// One set of kernels: compiled with STRAGGLER_KERNELS (a namespace) and STRAGGLER_KERNELS_NAME (a string) defined, and with
// the compiler's flags for its instruction set. All but the table has internal linkage, and no function of the standard
// library that the linker could merge with another set's is used: code for AVX-512 must never run on a machine without.
#include <immintrin.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "models/kernels/kernels.hpp"

namespace straggler::STRAGGLER_KERNELS {
namespace {
// In this order: each builds on the ones before it.
// clang-format off
#include "models/kernels/vectors.inc.hpp"
#include "models/kernels/dense.inc.hpp"
#include "models/kernels/softmax.inc.hpp"
#include "models/kernels/elementwise.inc.hpp"
#include "models/kernels/negative_sampling.inc.hpp"
// clang-format on
}  // namespace

extern const Kernels table;
const Kernels table = {STRAGGLER_KERNELS_NAME,
                       to_panels,
                       from_panels,
                       dense_forward,
                       dense_backward_weights,
                       dense_backward_input,
                       softmax_cross_entropy,
                       softmax_evaluate,
                       weighted_sum,
                       mean,
                       momentum,
                       descend,
                       negative_sampling};
}  // namespace straggler::STRAGGLER_KERNELS

// One set of kernels: compiled with STRAGGLER_KERNELS (a namespace) and STRAGGLER_KERNELS_NAME (a string) defined, and with the compiler's
// flags for its instruction set. All but the table has internal linkage, and no standard library function that the linker could merge with
// another set's is used: AVX-512 code must never run on a machine without it.
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
#include "models/kernels/convolution.inc.hpp"
#include "models/kernels/winograd.inc.hpp"
#include "models/kernels/convolution_entries.inc.hpp"
#include "models/kernels/convolution_weights.inc.hpp"
#include "models/kernels/pools.inc.hpp"
#include "models/kernels/softmax.inc.hpp"
#include "models/kernels/elementwise.inc.hpp"
#include "models/kernels/integers.inc.hpp"
#include "models/kernels/rounding.inc.hpp"
#include "models/kernels/negative_sampling.inc.hpp"
// clang-format on
}  // namespace

extern const Kernels table;
const Kernels table = {
    .name = STRAGGLER_KERNELS_NAME,
    .to_panels = to_panels,
    .gather_panels = gather_panels,
    .from_panels = from_panels,
    .dense_forward = dense_forward,
    .dense_backward_weights = dense_backward_weights,
    .dense_backward_input = dense_backward_input,
    .conv_forward = conv_forward,
    .conv_backward_weights = conv_backward_weights,
    .conv_backward_input = conv_backward_input,
    .max_pool_forward = max_pool_forward,
    .max_pool_backward = max_pool_backward,
    .average_pool_forward = average_pool_forward,
    .average_pool_backward = average_pool_backward,
    .softmax_cross_entropy = softmax_cross_entropy,
    .softmax_evaluate = softmax_evaluate,
    .weighted_sum = weighted_sum,
    .mean = mean,
    .momentum = momentum,
    .descend = descend,
    .descend_rows = descend_rows,
    .moment = moment,
    .second_moment = second_moment,
    .descend_scaled = descend_scaled,
    .squared_norm = squared_norm,
    .round = round_numbers,
    .negative_sampling = negative_sampling,
    .sum_terms = sum_terms,
    .descend_terms = descend_terms,
    .integer_products = integer_products,
};
}  // namespace straggler::STRAGGLER_KERNELS

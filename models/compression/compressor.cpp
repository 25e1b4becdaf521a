#include "models/compression/compressor.hpp"

#include <algorithm>
#include <cmath>

#include "models/rules/elementwise.hpp"
#include "sim/base/choice_table.hpp"
#include "sim/base/registry.hpp"

namespace straggler {

Parameter error_feedback(bool by_default) {
  return {.name = "error_feedback",
          .type = ValueType::boolean,
          .fallback = by_default ? "true" : "false",
          .meaning = "the part that a message leaves out is kept and added to the worker's next message: q = C(e + v), e <- e + v - q"};
}

namespace {
enum class Direction { up, both };
constexpr ChoiceTable<Direction> direction_choice("direction", {{Direction::up, "up"}, {Direction::both, "both"}});
}  // namespace

Parameter compressed_direction() {
  return direction_choice.parameter(
      Direction::up,
      "up: messages from workers to a server or to each other; both: also a server's answers, as differences from the worker's weights");
}

bool compresses_answers(const Parameters& parameters) { return direction_choice.of(parameters) == Direction::both; }

namespace {

/// Where it would be infinite or NaN, the residual is 0: an error must not stay forever.
void apply_residual(const Kernels& kernels, const Extent& extent, const std::vector<const float*>& inputs, const std::vector<double>&,
                    float* out) {
  const float* const v = inputs[0];
  const float* const q = inputs[1];
  const float ones[] = {1.0f, 1.0f};
  if (inputs.size() > 2) {
    const float* const terms[] = {v, inputs[2]};
    kernels.weighted_sum(extent.n, 2, terms, ones, out);
  } else if (out != v) {
    std::copy_n(v, extent.n, out);
  }
  for (std::size_t i = 0; i < extent.n; ++i) {
    const float left = out[i] - q[i];
    out[i] = std::isfinite(left) ? left : 0.0f;
  }
  if (v != out) std::copy_n(v + extent.own, extent.registers, out + extent.own);
}

// Inputs: v, q and, from the second message on, e. If a gradient overflowed, the residual keeps its old value.
const Register<ElementwiseEntry> residual_entry({.name = "residual",
                                                 .summary = "what a compressed gradient leaves out",
                                                 .parameters = {},
                                                 .in_place = 2,
                                                 .statistics = StatisticsRule::carry,
                                                 .gradient = 0,
                                                 .apply = apply_residual});

const Register<CompressorEntry> none_entry({.name = "none",
                                            .summary = "gradients and weights travel as they are",
                                            .reference = "",
                                            .formula = "C(v) = v",
                                            .message = "4 d for d parameters, 2 d in 16 bits"});

}  // namespace
}  // namespace straggler

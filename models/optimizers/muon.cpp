// Muon (Jordan et al., Muon: An optimizer for hidden layers in neural networks, 2024). Each matrix W of hidden weights
// (TensorInfo::matrices) moves along its momentum, made nearly orthogonal:
//   V = momentum V + G,   X = newton_schulz(G + momentum V),  without Nesterov's momentum newton_schulz(V)
//   W = (1 - rate weight_decay) W - rate √max(1, rows / columns) X
// AdamW steps all other weights, with a rate of its own. The state: V of hidden weights, the first moment of others; 0 of hidden weights,
// the second moment of others.
#include <algorithm>
#include <array>
#include <cmath>
#include <utility>
#include <vector>

#include "models/optimizers/adam_rule.hpp"
#include "models/optimizers/newton_schulz.hpp"
#include "models/optimizers/scheduled.hpp"
#include "sim/base/registry.hpp"

namespace straggler::optimizers::muon {
namespace {

const Rule first_rule{"muon_first"};      // (g, w[, s]; momentum, beta1) -> momentum s + g, or beta1 s + (1 - beta1) g
const Rule second_rule{"muon_second"};    // (g, w[, s]; beta2) -> 0, or beta2 s + (1 - beta2) g²
const Rule descend_rule{"muon_descend"};  // (w, g, first, second; rate, momentum, nesterov, adamw_rate, epsilon, decay) -> the step above

/// hidden(tensor) of each tensor of hidden weights, other(begin, numbers) of each other one.
template <class Hidden, class Other>
void for_tensors(const Extent& extent, const Hidden& hidden, const Other& other) {
  if (extent.tensors.empty()) return other(std::size_t{0}, extent.n);
  for (const TensorInfo& tensor : extent.tensors) {
    if (tensor.matrices.empty())
      other(tensor.offset, tensor.numbers());
    else
      hidden(tensor);
  }
}

/// The weight of AdamW's moment, 1 - beta^t (adam_rule.cpp).
float correction(const Extent& extent, const float* before, double beta) {
  return (before ? static_cast<float>(beta) * before[extent.own] : 0.0f) + static_cast<float>(1 - beta);
}

const float* from(const float* values, std::size_t offset) { return values ? values + offset : nullptr; }

void apply_first(const Kernels& kernels, const Extent& extent, const std::vector<const float*>& inputs, const std::vector<double>& scalars,
                 float* out) {
  const float *const g = inputs[0], *const before = inputs.size() > 2 ? inputs[2] : nullptr;
  const auto momentum = static_cast<float>(scalars[0]), keep = static_cast<float>(scalars[1]), share = static_cast<float>(1 - scalars[1]);
  const float weight = correction(extent, before, scalars[1]);
  for_tensors(
      extent,
      [&](const TensorInfo& tensor) {
        const std::size_t at = tensor.offset;
        kernels.momentum(tensor.numbers(), momentum, 0.0f, g + at, nullptr, from(before, at), out + at);
      },
      [&](std::size_t at, std::size_t n) { kernels.moment(n, keep, share, 0.0f, g + at, nullptr, from(before, at), out + at); });
  out[extent.own] = weight;
}

void apply_second(const Kernels& kernels, const Extent& extent, const std::vector<const float*>& inputs, const std::vector<double>& scalars,
                  float* out) {
  const float *const g = inputs[0], *const before = inputs.size() > 2 ? inputs[2] : nullptr;
  const auto keep = static_cast<float>(scalars[0]), share = static_cast<float>(1 - scalars[0]);
  const float weight = correction(extent, before, scalars[0]);
  for_tensors(
      extent, [&](const TensorInfo& tensor) { std::fill_n(out + tensor.offset, tensor.numbers(), 0.0f); },
      [&](std::size_t at, std::size_t n) { kernels.second_moment(n, keep, share, 0.0f, g + at, nullptr, from(before, at), out + at); });
  out[extent.own] = weight;
}

struct MatrixStep {
  double rate, decay;
  float momentum;  // of the look ahead; 0: none

  void operator()(const Kernels& kernels, const TensorInfo& tensor, const float* w, const float* g, const float* v, float* out) const {
    const std::size_t n = tensor.numbers(), columns = n / tensor.shape.front();
    std::vector<float> x(v, v + n);
    if (momentum != 0.0f) kernels.momentum(n, momentum, 0.0f, g, nullptr, v, x.data());
    std::size_t at = 0;
    for (const std::size_t rows : tensor.matrices) {
      newton_schulz(kernels, rows, columns, x.data() + at, x.data() + at);
      const double tall = std::max(1.0, static_cast<double>(rows) / static_cast<double>(columns));
      const float* const terms[] = {w + at, x.data() + at};
      const float factors[] = {static_cast<float>(1 - rate * decay), static_cast<float>(-rate * std::sqrt(tall))};
      kernels.weighted_sum(rows * columns, 2, terms, factors, out + at);
      at += rows * columns;
    }
  }
};

void apply_descend(const Kernels& kernels, const Extent& extent, const std::vector<const float*>& inputs,
                   const std::vector<double>& scalars, float* out) {
  const float *const w = inputs[0], *const g = inputs[1], *const first = inputs[2], *const second = inputs[3];
  const double adamw_rate = scalars[3], epsilon = scalars[4], decay = scalars[5];
  const MatrixStep step{scalars[0], decay, scalars[2] != 0 ? static_cast<float>(scalars[1]) : 0.0f};
  const ScaledDescent others = adam_descent(adamw_rate, epsilon, 1 - adamw_rate * decay, first[extent.own], second[extent.own]);
  for_tensors(
      extent,
      [&](const TensorInfo& tensor) {
        const std::size_t at = tensor.offset;
        step(kernels, tensor, w + at, g + at, first + at, out + at);
      },
      [&](std::size_t at, std::size_t n) { kernels.descend_scaled(n, others, w + at, first + at, second + at, out + at); });
  out[extent.own] = w[extent.own];
}

/// Of MatrixStep, for the largest tensor.
std::size_t descend_bytes(const Extent& extent) {
  std::size_t floats = 0;
  for (const TensorInfo& tensor : extent.tensors) {
    const std::size_t columns = tensor.numbers() / tensor.shape.front();
    for (const std::size_t rows : tensor.matrices) floats = std::max(floats, tensor.numbers() + newton_schulz_floats(rows, columns));
  }
  return floats * sizeof(float);
}

/// Hidden weights have a momentum, others two moments. The scratch is that of the largest matrix, r x c with r <= c: X before and after a
/// step of the iteration, A, and bA + cA².
OptimizerMemory memory_of(const std::vector<TensorInfo>& tensors) {
  OptimizerMemory memory;
  for (const TensorInfo& tensor : tensors) {
    memory.state += (tensor.matrices.empty() ? 8.0 : 4.0) * static_cast<double>(tensor.numbers());
    for (const std::size_t rows : tensor.matrices) {
      const double r = static_cast<double>(rows), c = static_cast<double>(tensor.numbers() / tensor.shape.front()), least = std::min(r, c);
      memory.scratch = std::max(memory.scratch, 4 * (2 * r * c + 2 * least * least));
    }
  }
  return memory;
}

class Muon final : public ScheduledRule {
 public:
  Muon(const Parameters& parameters, Schedule schedule)
      : ScheduledRule(parameters, std::move(schedule)),
        momentum_(parameters.number("momentum")),
        nesterov_(parameters.flag("nesterov")),
        adamw_rate_(parameters.number("adamw_learning_rate")),
        beta1_(parameters.number("adamw_beta1")),
        beta2_(parameters.number("adamw_beta2")),
        epsilon_(parameters.number("adamw_epsilon")),
        decay_(parameters.number("weight_decay")) {}

  Handle step(Lineage& lineage, const Handle& weights, const Handle& gradient, double epochs, double averaged,
              std::vector<Handle>& state) const override {
    const Handle first = advanced(lineage, first_rule, gradient, weights, state, 0, {momentum_, beta1_});
    const Handle second = advanced(lineage, second_rule, gradient, weights, state, 1, {beta2_});
    state = {first, second};
    return lineage.elementwise(
        descend_rule, std::array{weights, gradient, first, second},
        {learning_rate(epochs, averaged), momentum_, nesterov_ ? 1.0 : 0.0, scheduled(adamw_rate_, epochs, averaged), epsilon_, decay_});
  }
  std::string_view needs_tensors() const override { return "muon"; }

 private:
  double momentum_;
  bool nesterov_;
  double adamw_rate_, beta1_, beta2_, epsilon_, decay_;
};

const Register<ElementwiseEntry> first_entry({.name = "muon_first",
                                              .summary = "Muon's momentum, and AdamW's average of gradients",
                                              .parameters = {},
                                              .in_place = 2,
                                              .statistics = StatisticsRule::carry,
                                              .gradient = 0,
                                              .apply = apply_first});
const Register<ElementwiseEntry> second_entry({.name = "muon_second",
                                               .summary = "AdamW's average of squared gradients, where Muon does not step",
                                               .parameters = {},
                                               .in_place = 2,
                                               .statistics = StatisticsRule::carry,
                                               .gradient = 0,
                                               .apply = apply_second});
const Register<ElementwiseEntry> descend_entry({.name = "muon_descend",
                                                .summary = "a step of Muon",
                                                .parameters = {},
                                                .in_place = 0,
                                                .statistics = StatisticsRule::advance,
                                                .gradient = 1,
                                                .apply = apply_descend,
                                                .scratch_bytes = descend_bytes});

const Range share{0, 1, false, true};

const Register<OptimizerEntry> entry({
    .name = "muon",
    .summary = "Muon: hidden weights of two or more dimensions move along their momentum, made orthogonal; AdamW steps the others",
    .parameters =
        {learning_rate_parameter(),
         {.name = "momentum", .fallback = "0.95", .meaning = "share of the momentum that a step keeps", .range = share},
         {.name = "nesterov", .type = ValueType::boolean, .fallback = "true", .meaning = "look ahead along the momentum"},
         {.name = "adamw_learning_rate",
          .required = true,
          .meaning = "learning rate of the other weights, such as 0.003: embeddings, the output layer, biases, norms",
          .range = Range::above(0)},
         {.name = "adamw_beta1", .fallback = "0.9", .meaning = "share that their average of gradients keeps each step", .range = share},
         {.name = "adamw_beta2", .fallback = "0.999", .meaning = "share that their average of squares keeps each step", .range = share},
         {.name = "adamw_epsilon",
          .fallback = "1e-8",
          .meaning = "added to the root of their average of squares",
          .range = Range::above(0)},
         {.name = "weight_decay",
          .fallback = "0",
          .meaning = "weights shrink by this times their learning rate, apart from the direction",
          .range = Range::at_least(0)}},
    .registers = 1,
    .make = [](const Parameters& parameters, Schedule schedule) -> std::unique_ptr<UpdateRule> {
      return std::make_unique<Muon>(parameters, std::move(schedule));
    },
    .memory = memory_of,
});

}  // namespace
}  // namespace straggler::optimizers::muon

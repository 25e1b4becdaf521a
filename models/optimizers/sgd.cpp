// Stochastic gradient descent with momentum, as in torch.optim.SGD (no dampening):
//   d = g + weight_decay w
//   v = momentum v + d        (the first step: v = d)
//   w = w - rate v,  or with Nesterov  w = w - rate (d + momentum v)
// Without momentum w = w - rate d, and there is no state. Polyak 1964; Nesterov 1983; in this form Sutskever et al., On the
// importance of initialization and momentum in deep learning, 2013.
#include <array>
#include <cmath>
#include <stdexcept>

#include "models/optimizers/scheduled.hpp"
#include "sim/base/registry.hpp"

namespace straggler::optimizers::sgd {
namespace {

const Rule descend_rule{"sgd_descend"};    // (w, d; rate, decay) -> w - rate (d + decay w)
const Rule velocity_rule{"sgd_velocity"};  // (g, w[, v]; momentum, decay) -> momentum v + (g + decay w)
const Rule nesterov_rule{"sgd_nesterov"};  // (w, g, v; rate, momentum, decay) -> w - rate (g + decay w + momentum v)

void apply_descend(const Kernels& kernels, const Extent& extent, const std::vector<const float*>& inputs,
                   const std::vector<double>& scalars, float* out) {
  const float *const w = inputs[0], *const d = inputs[1];
  const auto rate = static_cast<float>(scalars[0]), decay = static_cast<float>(scalars[1]);
  if (decay == 0.0f) return kernels.descend(extent.n, rate, w, d, out);
  descend_along(kernels, extent.n, rate, w, out, [&](std::size_t from, std::size_t count, float* sum) {
    kernels.momentum(count, 0.0f, decay, d + from, w + from, nullptr, sum);
  });
}

void descend_rows(const Kernels& kernels, const RowDirections& along, const std::vector<double>& scalars, float* const* rows) {
  const auto rate = static_cast<float>(scalars[0]);
  if (along.values)
    kernels.descend_rows(along.count, along.width, rate, along.values, rows);
  else
    kernels.descend_terms(along.count, rate, *along.terms, along.first, rows);
}

/// Weight decay moves every weight.
bool without_decay(const std::vector<double>& scalars) { return scalars[1] == 0; }

void apply_velocity(const Kernels& kernels, const Extent& extent, const std::vector<const float*>& inputs,
                    const std::vector<double>& scalars, float* out) {
  const auto momentum = static_cast<float>(scalars[0]), decay = static_cast<float>(scalars[1]);
  kernels.momentum(extent.n, momentum, decay, inputs[0], decay == 0.0f ? nullptr : inputs[1], inputs.size() > 2 ? inputs[2] : nullptr, out);
}

void apply_nesterov(const Kernels& kernels, const Extent& extent, const std::vector<const float*>& inputs,
                    const std::vector<double>& scalars, float* out) {
  const float *const w = inputs[0], *const g = inputs[1], *const v = inputs[2];
  const auto rate = static_cast<float>(scalars[0]), momentum = static_cast<float>(scalars[1]), decay = static_cast<float>(scalars[2]);
  descend_along(kernels, extent.n, rate, w, out, [&](std::size_t from, std::size_t count, float* sum) {
    kernels.momentum(count, momentum, decay, g + from, decay == 0.0f ? nullptr : w + from, v + from, sum);
  });
}

class Sgd final : public ScheduledRule {
 public:
  Sgd(const Parameters& parameters, Schedule schedule)
      : ScheduledRule(parameters, std::move(schedule)),
        momentum_(parameters.number("momentum")),
        decay_(parameters.number("weight_decay")),
        nesterov_(parameters.flag("nesterov")) {
    if (nesterov_ && momentum_ == 0) throw std::invalid_argument("nesterov: needs momentum; set momentum above 0 or nesterov to false");
  }

  Handle step(Lineage& lineage, const Handle& weights, const Handle& gradient, double epochs, double averaged,
              std::vector<Handle>& state) const override {
    const double rate = learning_rate(epochs, averaged);
    if (momentum_ == 0) return lineage.elementwise(descend_rule, weights, gradient, {rate, decay_});
    const Handle velocity = advanced(lineage, velocity_rule, gradient, weights, state, 0, {momentum_, decay_});
    state.assign(1, velocity);
    if (nesterov_) return lineage.elementwise(nesterov_rule, std::array{weights, gradient, velocity}, {rate, momentum_, decay_});
    return lineage.elementwise(descend_rule, weights, velocity, {rate, 0.0});
  }

  /// The gradient of step j of τ is in τ - j + 1 steps: a_j = (1 - ρ^(τ-j+1)) / (1 - ρ) with momentum ρ.
  std::optional<double> weight_of_steps(double steps) const override {
    if (nesterov_) return std::nullopt;
    if (momentum_ == 0) return steps;
    return (steps - momentum_ * (1 - std::pow(momentum_, steps)) / (1 - momentum_)) / (1 - momentum_);
  }

 private:
  double momentum_, decay_;
  bool nesterov_;
};

const Register<ElementwiseEntry> descend_entry({.name = "sgd_descend",
                                                .summary = "a step of gradient descent",
                                                .parameters = {},
                                                .in_place = 0,
                                                .statistics = StatisticsRule::advance,
                                                .gradient = 1,
                                                .apply = apply_descend,
                                                .sparse = SparseForm::descend(descend_rows, without_decay),
                                                .in_place_else = 1,
                                                .part = StepPart::descend});
const Register<ElementwiseEntry> velocity_entry({.name = "sgd_velocity",
                                                 .summary = "the velocity of momentum",
                                                 .parameters = {},
                                                 .in_place = 2,
                                                 .statistics = StatisticsRule::carry,
                                                 .gradient = 0,
                                                 .apply = apply_velocity,
                                                 .in_place_else = 0,
                                                 .part = StepPart::velocity});
const Register<ElementwiseEntry> nesterov_entry({.name = "sgd_nesterov",
                                                 .summary = "a step with Nesterov's momentum",
                                                 .parameters = {},
                                                 .in_place = 0,
                                                 .statistics = StatisticsRule::advance,
                                                 .gradient = 1,
                                                 .apply = apply_nesterov,
                                                 .in_place_else = 1});

const Register<OptimizerEntry> entry({
    .name = "sgd",
    .summary = "stochastic gradient descent, with momentum, Nesterov's momentum and weight decay",
    .parameters =
        {learning_rate_parameter(),
         {.name = "momentum", .fallback = "0", .meaning = "share of the velocity that a step keeps", .range = {0, 1, false, true}},
         {.name = "weight_decay", .fallback = "0", .meaning = "times the weights, added to the gradient", .range = Range::at_least(0)},
         {.name = "nesterov", .type = ValueType::boolean, .fallback = "false", .meaning = "look ahead along the velocity; needs momentum"}},
    .make = [](const Parameters& parameters, Schedule schedule) -> std::unique_ptr<UpdateRule> {
      return std::make_unique<Sgd>(parameters, std::move(schedule));
    },
});

}  // namespace
}  // namespace straggler::optimizers::sgd

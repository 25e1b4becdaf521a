// Adagrad (Duchi, Hazan & Singer, Adaptive Subgradient Methods for Online Learning and Stochastic Optimization, 2011), as in
// torch.optim.Adagrad:
//   d = g + weight_decay w
//   s = s + d²                                                    (at the start: initial)
//   w = w - rate / (1 + (t - 1) rate_decay) d / (sqrt(s) + epsilon)   at step t
// The state holds s - initial, so that it starts at 0, as every state does, and t in its register, which is averaged with it.
#include <array>
#include <utility>

#include "models/optimizers/scheduled.hpp"
#include "sim/base/registry.hpp"

namespace straggler::optimizers::adagrad {
namespace {

const Rule sum_rule{"adagrad_sum"};          // (g, w[, s]; decay) -> s + (g + decay w)²
const Rule descend_rule{"adagrad_descend"};  // (w, g, s; rate, decay, epsilon, initial, rate_decay) -> the step above

void apply_sum(const Kernels& kernels, const Extent& extent, const std::vector<const float*>& inputs, const std::vector<double>& scalars,
               float* out) {
  const auto decay = static_cast<float>(scalars[0]);
  const float* const before = inputs.size() > 2 ? inputs[2] : nullptr;
  const float steps = before ? before[extent.own] + 1.0f : 1.0f;
  kernels.second_moment(extent.n, 1.0f, 1.0f, decay, inputs[0], decay == 0.0f ? nullptr : inputs[1], before, out);
  out[extent.own] = steps;
}

void apply_descend(const Kernels& kernels, const Extent& extent, const std::vector<const float*>& inputs,
                   const std::vector<double>& scalars, float* out) {
  const float *const w = inputs[0], *const g = inputs[1], *const s = inputs[2];
  const double steps = static_cast<double>(s[extent.own]), rate_decay = scalars[4];
  ScaledDescent by;
  by.rate = static_cast<float>(scalars[0] / (1 + (steps - 1) * rate_decay));
  by.decay = static_cast<float>(scalars[1]);
  by.epsilon = static_cast<float>(scalars[2]);
  by.shift = static_cast<float>(scalars[3]);
  kernels.descend_scaled(extent.n, by, w, g, s, out);
  out[extent.own] = w[extent.own];
}

class Adagrad final : public ScheduledRule {
 public:
  Adagrad(const Parameters& parameters, Schedule schedule)
      : ScheduledRule(parameters, std::move(schedule)),
        rate_decay_(parameters.number("rate_decay")),
        decay_(parameters.number("weight_decay")),
        initial_(parameters.number("initial")),
        epsilon_(parameters.number("epsilon")) {}

  Handle step(Lineage& lineage, const Handle& weights, const Handle& gradient, double epochs, double averaged,
              std::vector<Handle>& state) const override {
    state.assign(1, advanced(lineage, sum_rule, gradient, weights, state, 0, {decay_}));
    return lineage.elementwise(descend_rule, std::array{weights, gradient, state[0]},
                               {learning_rate(epochs, averaged), decay_, epsilon_, initial_, rate_decay_});
  }

 private:
  double rate_decay_, decay_, initial_, epsilon_;
};

const Register<ElementwiseEntry> sum_entry({.name = "adagrad_sum",
                                            .summary = "Adagrad's sum of squared gradients",
                                            .parameters = {},
                                            .in_place = 2,
                                            .statistics = StatisticsRule::carry,
                                            .gradient = 0,
                                            .apply = apply_sum});
const Register<ElementwiseEntry> descend_entry({.name = "adagrad_descend",
                                                .summary = "a step of Adagrad",
                                                .parameters = {},
                                                .in_place = 0,
                                                .statistics = StatisticsRule::advance,
                                                .gradient = 1,
                                                .apply = apply_descend});

const Register<OptimizerEntry> entry({
    .name = "adagrad",
    .summary = "Adagrad: steps divided by the root of the sum of squared gradients",
    .parameters =
        {learning_rate_parameter(),
         {.name = "rate_decay",
          .fallback = "0",
          .meaning = "step t has the rate divided by 1 + (t - 1) rate_decay",
          .range = Range::at_least(0)},
         {.name = "weight_decay", .fallback = "0", .meaning = "times the weights, added to the gradient", .range = Range::at_least(0)},
         {.name = "initial", .fallback = "0", .meaning = "initial value of the sums of squares", .range = Range::at_least(0)},
         {.name = "epsilon", .fallback = "1e-10", .meaning = "added to the root", .range = Range::above(0)}},
    .registers = 1,
    .make = [](const Parameters& parameters, Schedule schedule) -> std::unique_ptr<UpdateRule> {
      return std::make_unique<Adagrad>(parameters, std::move(schedule));
    },
});

}  // namespace
}  // namespace straggler::optimizers::adagrad

// The bias correction c = 1 - beta^t is itself such an average, of a gradient that is always 1:
//   c <- beta c + (1 - beta)      (at the start: 0)
// So no step counter is needed: c is in a register of the moment's vector and undergoes the same operations. A reset restarts both. If
// averaged moments of workers took different numbers of steps, m / c is the average of all their gradients with their weights in it. A
// skipped update keeps both. The rounding of c is that of the moment, too.
#include "models/optimizers/adam_rule.hpp"

#include <array>
#include <cmath>
#include <utility>

#include "models/optimizers/scheduled.hpp"
#include "sim/base/registry.hpp"

namespace straggler {
namespace {

const Rule first_rule{"adam_first"};      // (g, w[, m]; beta, decay) -> beta m + (1 - beta) (g + decay w)
const Rule second_rule{"adam_second"};    // (g, w[, v]; beta, decay) -> beta v + (1 - beta) (g + decay w)²
const Rule descend_rule{"adam_descend"};  // (w, m, v; rate, epsilon, shrink) -> shrink w - rate (m / c1) / (sqrt(v / c2) + epsilon)

/// `kernel`: Kernels::moment or second_moment.
template <class Kernel>
void average(Kernel kernel, const Extent& extent, const std::vector<const float*>& inputs, const std::vector<double>& scalars, float* out) {
  const auto keep = static_cast<float>(scalars[0]), share = static_cast<float>(1 - scalars[0]), decay = static_cast<float>(scalars[1]);
  const float* const before = inputs.size() > 2 ? inputs[2] : nullptr;
  const float correction = before ? keep * before[extent.own] + share : share;
  kernel(extent.n, keep, share, decay, inputs[0], decay == 0.0f ? nullptr : inputs[1], before, out);
  out[extent.own] = correction;
}

void apply_first(const Kernels& kernels, const Extent& extent, const std::vector<const float*>& inputs, const std::vector<double>& scalars,
                 float* out) {
  average(kernels.moment, extent, inputs, scalars, out);
}

void apply_second(const Kernels& kernels, const Extent& extent, const std::vector<const float*>& inputs, const std::vector<double>& scalars,
                  float* out) {
  average(kernels.second_moment, extent, inputs, scalars, out);
}

void apply_descend(const Kernels& kernels, const Extent& extent, const std::vector<const float*>& inputs,
                   const std::vector<double>& scalars, float* out) {
  const float *const w = inputs[0], *const m = inputs[1], *const v = inputs[2];
  const ScaledDescent by = adam_descent(scalars[0], scalars[1], scalars[2], m[extent.own], v[extent.own]);
  kernels.descend_scaled(extent.n, by, w, m, v, out);
  out[extent.own] = w[extent.own];
}

class Adam final : public ScheduledRule {
 public:
  Adam(const Parameters& parameters, Schedule schedule, bool decoupled)
      : ScheduledRule(parameters, std::move(schedule)),
        beta1_(parameters.number("beta1")),
        beta2_(parameters.number("beta2")),
        epsilon_(parameters.number("epsilon")),
        decay_(parameters.number("weight_decay")),
        decoupled_(decoupled) {}

  Handle step(Lineage& lineage, const Handle& weights, const Handle& gradient, double epochs, double averaged,
              std::vector<Handle>& state) const override {
    const double rate = learning_rate(epochs, averaged);
    const double decay = decoupled_ ? 0 : decay_, shrink = decoupled_ ? 1 - rate * decay_ : 1;
    const Handle first = advanced(lineage, first_rule, gradient, weights, state, 0, {beta1_, decay});
    const Handle second = advanced(lineage, second_rule, gradient, weights, state, 1, {beta2_, decay});
    state = {first, second};
    return lineage.elementwise(descend_rule, std::array{weights, first, second}, {rate, epsilon_, shrink});
  }

 private:
  double beta1_, beta2_, epsilon_, decay_;
  bool decoupled_;  // weights shrink by rate * weight_decay; otherwise weight_decay w joins the gradient
};

const Register<ElementwiseEntry> first_entry({.name = "adam_first",
                                              .summary = "Adam's average of gradients",
                                              .parameters = {},
                                              .in_place = 2,
                                              .statistics = StatisticsRule::carry,
                                              .gradient = 0,
                                              .apply = apply_first});
const Register<ElementwiseEntry> second_entry({.name = "adam_second",
                                               .summary = "Adam's average of squared gradients",
                                               .parameters = {},
                                               .in_place = 2,
                                               .statistics = StatisticsRule::carry,
                                               .gradient = 0,
                                               .apply = apply_second});
const Register<ElementwiseEntry> descend_entry({.name = "adam_descend",
                                                .summary = "a step of Adam",
                                                .parameters = {},
                                                .in_place = 0,
                                                .statistics = StatisticsRule::advance,
                                                .gradient = 1,
                                                .apply = apply_descend});

}  // namespace

ScaledDescent adam_descent(double rate, double epsilon, double shrink, float first, float second) {
  ScaledDescent by;
  by.rate = static_cast<float>(rate / static_cast<double>(first));
  by.scale = static_cast<float>(1 / static_cast<double>(second));
  by.epsilon = static_cast<float>(epsilon);
  by.shrink = static_cast<float>(shrink);
  return by;
}

std::unique_ptr<UpdateRule> make_adam(const Parameters& parameters, Schedule schedule, bool decoupled) {
  return std::make_unique<Adam>(parameters, std::move(schedule), decoupled);
}

std::vector<Parameter> adam_parameters(Parameter weight_decay) {
  const Range share{0, 1, false, true};
  return {learning_rate_parameter(),
          {.name = "beta1", .fallback = "0.9", .meaning = "share that the average of gradients keeps each step", .range = share},
          {.name = "beta2", .fallback = "0.999", .meaning = "share that the average of squares keeps each step", .range = share},
          {.name = "epsilon", .fallback = "1e-8", .meaning = "added to the root of the average of squares", .range = Range::above(0)},
          std::move(weight_decay)};
}

}  // namespace straggler

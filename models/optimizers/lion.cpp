// Lion (Chen et al., Symbolic Discovery of Optimization Algorithms, 2023, algorithm 2): steps of one length, by the signs of a momentum,
//   w = w - rate (sign(beta1 m + (1 - beta1) g) + weight_decay w),   then  m = beta2 m + (1 - beta2) g   (at the start: 0)
// sign(0) = 0; a NaN stays one.
#include <array>
#include <utility>

#include "models/optimizers/scheduled.hpp"
#include "sim/base/registry.hpp"

namespace straggler::optimizers::lion {
namespace {

const Rule descend_rule{"lion_descend"};    // (w, g[, m]; rate, beta1, decay) -> w - rate (sign(beta1 m + (1 - beta1) g) + decay w)
const Rule momentum_rule{"lion_momentum"};  // (g, w[, m]; beta2) -> beta2 m + (1 - beta2) g

void apply_descend(const Kernels& kernels, const Extent& extent, const std::vector<const float*>& inputs,
                   const std::vector<double>& scalars, float* out) {
  const float *const w = inputs[0], *const g = inputs[1], *const m = inputs.size() > 2 ? inputs[2] : nullptr;
  const auto rate = static_cast<float>(scalars[0]), keep = static_cast<float>(scalars[1]), share = static_cast<float>(1 - scalars[1]),
             decay = static_cast<float>(scalars[2]);
  descend_along(kernels, extent.n, rate, w, out, [&](std::size_t from, std::size_t count, float* d) {
    kernels.moment(count, keep, share, 0.0f, g + from, nullptr, m ? m + from : nullptr, d);
    for (std::size_t i = 0; i < count; ++i) d[i] = d[i] > 0.0f ? 1.0f : d[i] < 0.0f ? -1.0f : d[i];
    if (decay != 0.0f) kernels.momentum(count, 0.0f, decay, d, w + from, nullptr, d);
  });
}

void apply_momentum(const Kernels& kernels, const Extent& extent, const std::vector<const float*>& inputs,
                    const std::vector<double>& scalars, float* out) {
  kernels.moment(extent.n, static_cast<float>(scalars[0]), static_cast<float>(1 - scalars[0]), 0.0f, inputs[0], nullptr,
                 inputs.size() > 2 ? inputs[2] : nullptr, out);
}

class Lion final : public ScheduledRule {
 public:
  Lion(const Parameters& parameters, Schedule schedule)
      : ScheduledRule(parameters, std::move(schedule)),
        beta1_(parameters.number("beta1")),
        beta2_(parameters.number("beta2")),
        decay_(parameters.number("weight_decay")) {}

  Handle step(Lineage& lineage, const Handle& weights, const Handle& gradient, double epochs, double averaged,
              std::vector<Handle>& state) const override {
    std::vector<Handle> inputs{weights, gradient};
    if (!state.empty()) inputs.push_back(state.front());
    const Handle next = lineage.elementwise(descend_rule, inputs, {learning_rate(epochs, averaged), beta1_, decay_});
    state.assign(1, advanced(lineage, momentum_rule, gradient, weights, state, 0, {beta2_}));
    return next;
  }

 private:
  double beta1_, beta2_, decay_;
};

const Register<ElementwiseEntry> descend_entry({.name = "lion_descend",
                                                .summary = "a step of Lion",
                                                .parameters = {},
                                                .in_place = 0,
                                                .statistics = StatisticsRule::advance,
                                                .gradient = 1,
                                                .apply = apply_descend});
const Register<ElementwiseEntry> momentum_entry({.name = "lion_momentum",
                                                 .summary = "Lion's average of gradients",
                                                 .parameters = {},
                                                 .in_place = 2,
                                                 .statistics = StatisticsRule::carry,
                                                 .gradient = 0,
                                                 .apply = apply_momentum});

const Range share{0, 1, false, true};

const Register<OptimizerEntry> entry({
    .name = "lion",
    .summary = "Lion: steps of one length, by the signs of a momentum",
    .parameters = {learning_rate_parameter(),
                   {.name = "beta1", .fallback = "0.9", .meaning = "share of the momentum in a step's direction", .range = share},
                   {.name = "beta2", .fallback = "0.99", .meaning = "share that the momentum keeps each step", .range = share},
                   {.name = "weight_decay",
                    .fallback = "0",
                    .meaning = "weights shrink by this times the learning rate, apart from the direction",
                    .range = Range::at_least(0)}},
    .make = [](const Parameters& parameters, Schedule schedule) -> std::unique_ptr<UpdateRule> {
      return std::make_unique<Lion>(parameters, std::move(schedule));
    },
});

}  // namespace
}  // namespace straggler::optimizers::lion

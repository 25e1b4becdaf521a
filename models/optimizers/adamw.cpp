// Adam with decoupled weight decay (Loshchilov & Hutter, Decoupled Weight Decay Regularization, 2019), as in torch.optim.AdamW:
//   w = (1 - rate weight_decay) w - rate (m / c1) / (sqrt(v / c2) + epsilon)
// with adam's moments of g alone.
#include "models/optimizers/adam_rule.hpp"
#include "sim/base/registry.hpp"

namespace straggler::optimizers::adamw {
namespace {

const Register<OptimizerEntry> entry({
    .name = "adamw",
    .summary = "Adam with decoupled weight decay: weights shrink by rate * weight_decay each step",
    .parameters = adam_parameters({.name = "weight_decay",
                                   .fallback = "0.01",
                                   .meaning = "times the rate: the share of the weights that a step takes off",
                                   .range = Range::at_least(0)}),
    .registers = 1,
    .make = [](const Parameters& parameters, Schedule schedule) { return make_adam(parameters, std::move(schedule), true); },
});

}  // namespace
}  // namespace straggler::optimizers::adamw

// Adam (Kingma & Ba, Adam: A Method for Stochastic Optimization, 2015), as in torch.optim.Adam:
//   d = g + weight_decay w
//   m = beta1 m + (1 - beta1) d,   v = beta2 v + (1 - beta2) d²
//   w = w - rate (m / c1) / (sqrt(v / c2) + epsilon),   c1 = 1 - beta1^t, c2 = 1 - beta2^t after t steps
#include "models/optimizers/adam_rule.hpp"
#include "sim/base/registry.hpp"

namespace straggler::optimizers::adam {
namespace {

const Register<OptimizerEntry> entry({
    .name = "adam",
    .summary = "Adam: steps divided by the root of an average of squared gradients; weight decay joins the gradient",
    .parameters = adam_parameters(
        {.name = "weight_decay", .fallback = "0", .meaning = "times the weights, added to the gradient", .range = Range::at_least(0)}),
    .registers = 1,
    .make = [](const Parameters& parameters, Schedule schedule) { return make_adam(parameters, std::move(schedule), false); },
});

}  // namespace
}  // namespace straggler::optimizers::adam

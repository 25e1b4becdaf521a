// Layer-wise adaptive rate scaling (You, Gitman & Ginsburg, Large Batch Training of Convolutional Networks, 2017, algorithm 1): SGD with
// momentum whose rate is scaled for each tensor l by the trust ratio
//   λ_l = trust |w_l| / (|g_l| + weight_decay |w_l|)
//   v_l = momentum v_l + rate λ_l (g_l + weight_decay w_l),   w_l = w_l - v_l
// Tensors of one dimension (biases, scales and shifts of norms) are exempt, as in common implementations: λ = 1 and no decay. So is
// a tensor without a direction (|w_l| or |g_l| is 0): λ = 1.
#include <array>
#include <cmath>
#include <utility>

#include "models/optimizers/scheduled.hpp"
#include "sim/base/registry.hpp"

namespace straggler::optimizers::lars {
namespace {

const Rule velocity_rule{"lars_velocity"};  // (g, w[, v]; momentum, rate, decay, trust) -> momentum v + rate λ (g + decay w)
const Rule descend_rule{"sgd_descend"};     // (w, v; 1, 0) -> w - v

double trust_ratio(const Kernels& kernels, std::size_t n, const float* g, const float* w, double decay, double trust) {
  const double weights = std::sqrt(kernels.squared_norm(n, w)), gradient = std::sqrt(kernels.squared_norm(n, g));
  return weights > 0 && gradient > 0 ? trust * weights / (gradient + decay * weights) : 1.0;
}

void apply_velocity(const Kernels& kernels, const Extent& extent, const std::vector<const float*>& inputs,
                    const std::vector<double>& scalars, float* out) {
  const double momentum = scalars[0], rate = scalars[1], decay = scalars[2], trust = scalars[3];
  const auto tensor = [&](std::size_t from, std::size_t n, bool exempt) {
    const float *const g = inputs[0] + from, *const w = inputs[1] + from;
    const double ratio = exempt ? 1.0 : trust_ratio(kernels, n, g, w, decay, trust);
    kernels.moment(n, static_cast<float>(momentum), static_cast<float>(rate * ratio), static_cast<float>(decay), g,
                   exempt || decay == 0 ? nullptr : w, inputs.size() > 2 ? inputs[2] + from : nullptr, out + from);
  };
  if (extent.tensors.empty()) return tensor(0, extent.n, false);
  for (const TensorInfo& info : extent.tensors) tensor(info.offset, info.numbers(), info.shape.size() < 2);
}

class Lars final : public ScheduledRule {
 public:
  Lars(const Parameters& parameters, Schedule schedule)
      : ScheduledRule(parameters, std::move(schedule)),
        momentum_(parameters.number("momentum")),
        decay_(parameters.number("weight_decay")),
        trust_(parameters.number("trust")) {}

  Handle step(Lineage& lineage, const Handle& weights, const Handle& gradient, double epochs, double averaged,
              std::vector<Handle>& state) const override {
    state.assign(
        1, advanced(lineage, velocity_rule, gradient, weights, state, 0, {momentum_, learning_rate(epochs, averaged), decay_, trust_}));
    return lineage.elementwise(descend_rule, std::array{weights, state[0]}, {1.0, 0.0});
  }
  std::string_view needs_norms() const override { return "lars"; }
  bool needs_norms_of_tensors() const override { return true; }

 private:
  double momentum_, decay_, trust_;
};

const Register<ElementwiseEntry> velocity_entry({.name = "lars_velocity",
                                                 .summary = "the velocity of LARS",
                                                 .parameters = {},
                                                 .in_place = 2,
                                                 .statistics = StatisticsRule::carry,
                                                 .gradient = 0,
                                                 .apply = apply_velocity});

const Register<OptimizerEntry> entry({
    .name = "lars",
    .summary = "SGD with momentum, its rate scaled for each tensor by the norms of weights and gradient",
    .parameters =
        {learning_rate_parameter(),
         {.name = "momentum", .fallback = "0.9", .meaning = "share of the velocity that a step keeps", .range = {0, 1, false, true}},
         {.name = "weight_decay",
          .fallback = "0",
          .meaning = "times the weights, added to the gradient; not of tensors of one dimension",
          .range = Range::at_least(0)},
         {.name = "trust", .fallback = "0.001", .meaning = "the trust coefficient", .range = Range::above(0)}},
    .make = [](const Parameters& parameters, Schedule schedule) -> std::unique_ptr<UpdateRule> {
      return std::make_unique<Lars>(parameters, std::move(schedule));
    },
});

}  // namespace
}  // namespace straggler::optimizers::lars

// Adaptive steps without bias correction, whose second moment starts at tau²: the servers of Reddi et al., Adaptive Federated Optimization,
// ICLR 2021, Algorithm 2:
//   m = beta1 m + (1 - beta1) g                       (at the start: 0)
//   adagrad: v = v + g²,   adam: v = beta2 v + (1 - beta2) g²,   yogi: v = v - (1 - beta2) g² sign(v - g²)   (at the start: tau²)
//   w = w + rate m / (sqrt(v) + tau), with -g for g
#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "models/optimizers/scheduled.hpp"
#include "sim/base/choice_table.hpp"
#include "sim/base/registry.hpp"

namespace straggler::optimizers::adaptive {
namespace {

enum class Squares { adagrad, adam, yogi };
constexpr ChoiceTable<Squares> squares_choice("second_moment",
                                              {{Squares::adagrad, "adagrad"}, {Squares::adam, "adam"}, {Squares::yogi, "yogi"}});

const Rule first_rule{"adaptive_first"};      // (g, w[, m]; beta) -> beta m + (1 - beta) g
const Rule second_rule{"adaptive_second"};    // (g, w[, v]; beta, tau, squares) -> v
const Rule descend_rule{"adaptive_descend"};  // (w, m, v; rate, tau) -> w - rate m / (sqrt(v) + tau)

/// Keeps another optimizer's registers, if vectors have any, as in `from`.
void keep_registers(const Extent& extent, const float* from, float* out) {
  std::copy_n(from + extent.own, extent.registers, out + extent.own);
}

void apply_first(const Kernels&, const Extent& extent, const std::vector<const float*>& inputs, const std::vector<double>& scalars,
                 float* out) {
  const auto keep = static_cast<float>(scalars[0]), share = static_cast<float>(1 - scalars[0]);
  const float *const g = inputs[0], *const m = inputs.size() > 2 ? inputs[2] : nullptr;
  for (std::size_t i = 0; i < extent.n; ++i) out[i] = (m ? keep * m[i] : 0.0f) + share * g[i];
  keep_registers(extent, g, out);
}

void apply_second(const Kernels&, const Extent& extent, const std::vector<const float*>& inputs, const std::vector<double>& scalars,
                  float* out) {
  const auto keep = static_cast<float>(scalars[0]), share = static_cast<float>(1 - scalars[0]);
  const auto start = static_cast<float>(scalars[1] * scalars[1]);
  const auto squares = static_cast<Squares>(static_cast<int>(scalars[2]));
  const float *const g = inputs[0], *const v = inputs.size() > 2 ? inputs[2] : nullptr;
  for (std::size_t i = 0; i < extent.n; ++i) {
    const float before = v ? v[i] : start, square = g[i] * g[i];
    switch (squares) {
      case Squares::adagrad:
        out[i] = before + square;
        break;
      case Squares::adam:
        out[i] = keep * before + share * square;
        break;
      case Squares::yogi:
        out[i] = before - share * square * static_cast<float>((before > square) - (before < square));
        break;
    }
  }
  keep_registers(extent, g, out);
}

void apply_descend(const Kernels&, const Extent& extent, const std::vector<const float*>& inputs, const std::vector<double>& scalars,
                   float* out) {
  const float *const w = inputs[0], *const m = inputs[1], *const v = inputs[2];
  const auto rate = static_cast<float>(scalars[0]), tau = static_cast<float>(scalars[1]);
  for (std::size_t i = 0; i < extent.n; ++i) out[i] = w[i] - rate * m[i] / (std::sqrt(v[i]) + tau);
  keep_registers(extent, w, out);
}

class Adaptive final : public ScheduledRule {
 public:
  Adaptive(const Parameters& parameters, Schedule schedule)
      : ScheduledRule(parameters, std::move(schedule)),
        squares_(squares_choice.of(parameters)),
        beta1_(parameters.number("beta1")),
        beta2_(parameters.number("beta2")),
        tau_(parameters.number("tau")) {}

  Handle step(Lineage& lineage, const Handle& weights, const Handle& gradient, double epochs, double averaged,
              std::vector<Handle>& state) const override {
    const Handle first = advanced(lineage, first_rule, gradient, weights, state, 0, {beta1_});
    const Handle second = advanced(lineage, second_rule, gradient, weights, state, 1, {beta2_, tau_, static_cast<double>(squares_)});
    state = {first, second};
    return lineage.elementwise(descend_rule, std::array{weights, first, second}, {learning_rate(epochs, averaged), tau_});
  }

 private:
  Squares squares_;
  double beta1_, beta2_, tau_;
};

const Register<ElementwiseEntry> first_entry({.name = "adaptive_first",
                                              .summary = "an average of gradients",
                                              .parameters = {},
                                              .in_place = 2,
                                              .statistics = StatisticsRule::carry,
                                              .gradient = 0,
                                              .apply = apply_first});
const Register<ElementwiseEntry> second_entry({.name = "adaptive_second",
                                               .summary = "squared gradients, from tau squared on",
                                               .parameters = {},
                                               .in_place = 2,
                                               .statistics = StatisticsRule::carry,
                                               .gradient = 0,
                                               .apply = apply_second});
const Register<ElementwiseEntry> descend_entry({.name = "adaptive_descend",
                                                .summary = "a step divided by the root of the squares",
                                                .parameters = {},
                                                .in_place = 0,
                                                .statistics = StatisticsRule::advance,
                                                .gradient = 1,
                                                .apply = apply_descend});

const Range share{0, 1, false, true};
const Register<OptimizerEntry> entry({
    .name = "adaptive",
    .summary = "the adaptive servers of FedOpt: Adagrad, Adam or Yogi without bias correction, whose squares begin at tau squared",
    .parameters = {learning_rate_parameter(),
                   squares_choice.parameter(Squares::adam, "how squares are gathered"),
                   {.name = "beta1", .fallback = "0.9", .meaning = "share that the average of gradients keeps each step", .range = share},
                   {.name = "beta2", .fallback = "0.99", .meaning = "share that the average of squares keeps each step", .range = share},
                   {.name = "tau", .fallback = "1e-3", .meaning = "added to the root of the squares", .range = Range::above(0)}},
    .make = [](const Parameters& parameters, Schedule schedule) -> std::unique_ptr<UpdateRule> {
      return std::make_unique<Adaptive>(parameters, std::move(schedule));
    },
});

}  // namespace
}  // namespace straggler::optimizers::adaptive

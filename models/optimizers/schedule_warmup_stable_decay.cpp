// Warmup, stable, decay (Hu et al., MiniCPM: Unveiling the Potential of Small Language Models with Scalable Training Strategies, 2024): the
// full rate until the last share of the run, over which, with x from 0 to 1, the rate is multiplied by  final + (1 - final) f(x)  with
//   linear  f = 1 - x;   cosine  f = (1 + cos(pi x)) / 2;   sqrt  f = 1 - √x
// (Hägele et al., Scaling Laws and Compute-Optimal Training Beyond Fixed Training Durations, 2024). The warmup is that of all schedules.
#include <algorithm>
#include <cmath>
#include <numbers>

#include "models/optimizers/optimizer.hpp"
#include "sim/base/choice_table.hpp"
#include "sim/base/registry.hpp"

namespace straggler::optimizers::schedule_warmup_stable_decay {
namespace {

enum class Decay { linear, cosine, root };
constexpr ChoiceTable<Decay> decay_choice("decay.shape", {{Decay::linear, "linear"}, {Decay::cosine, "cosine"}, {Decay::root, "sqrt"}});

/// What is left of the decay after a share x of it.
double left(Decay decay, double x) {
  switch (decay) {
    case Decay::cosine:
      return (1 + std::cos(std::numbers::pi * x)) / 2;
    case Decay::root:
      return 1 - std::sqrt(x);
    case Decay::linear:
      break;
  }
  return 1 - x;
}

const Register<ScheduleEntry> entry({
    .name = "warmup_stable_decay",
    .summary = "the full rate after the warmup, and a decay to `final` over the last share of the run, until stop.epochs",
    .parameters = {{.name = "decay.share",
                    .type = ValueType::fraction,
                    .fallback = "0.2",
                    .meaning = "share of the run over which the rate falls",
                    .range = Range::above_to(0, 1)},
                   decay_choice.parameter(Decay::linear, "with x from 0 to 1: 1 - x, (1 + cos π x) / 2, or 1 - √x"),
                   {.name = "final",
                    .type = ValueType::fraction,
                    .fallback = "0",
                    .meaning = "share of the full rate that is left at the end",
                    .range = Range::between(0, 1)}},
    .make = [](const Parameters& parameters, double total_epochs) -> Schedule::Shape {
      require_end("warmup_stable_decay", total_epochs);
      const double share = parameters.number("decay.share"), end = parameters.number("final");
      const Decay decay = decay_choice.of(parameters);
      return [=](double epochs) {
        const double x = std::clamp((epochs / total_epochs - (1 - share)) / share, 0.0, 1.0);
        return end + (1 - end) * left(decay, x);
      };
    },
});

}  // namespace
}  // namespace straggler::optimizers::schedule_warmup_stable_decay

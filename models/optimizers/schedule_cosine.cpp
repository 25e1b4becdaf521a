// Cosine annealing without restarts (Loshchilov & Hutter, SGDR: Stochastic Gradient Descent with Warm Restarts, 2017, equation 5
// with one cycle): after a share s of the run the rate is multiplied by  end + (1 - end) (1 + cos(pi s)) / 2.
#include <algorithm>
#include <cmath>
#include <numbers>

#include "models/optimizers/optimizer.hpp"
#include "sim/base/registry.hpp"

namespace straggler::optimizers::schedule_cosine {
namespace {

const Register<ScheduleEntry> entry({
    .name = "cosine",
    .summary = "half a cosine from the full rate to `end` at stop.epochs",
    .parameters = {{.name = "end",
                    .type = ValueType::fraction,
                    .fallback = "0",
                    .meaning = "share of the full rate that is left at the end",
                    .range = Range::between(0, 1)}},
    .make = [](const Parameters& parameters, double total_epochs) -> Schedule::Shape {
      require_end("cosine", total_epochs);
      const double end = parameters.number("end");
      return [=](double epochs) {
        const double share = std::min(epochs / total_epochs, 1.0);
        return end + (1 - end) * (1 + std::cos(std::numbers::pi * share)) / 2;
      };
    },
});

}  // namespace
}  // namespace straggler::optimizers::schedule_cosine

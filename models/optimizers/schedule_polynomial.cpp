// Polynomial decay: after a share s of the run the rate is multiplied by  end + (1 - end) (1 - s)^power. Power 1 is linear; You,
// Gitman & Ginsburg, Large Batch Training of Convolutional Networks, 2017, take power 2 with LARS.
#include <algorithm>
#include <cmath>

#include "models/optimizers/optimizer.hpp"
#include "sim/base/registry.hpp"

namespace straggler::optimizers::schedule_polynomial {
namespace {

const Register<ScheduleEntry> entry({
    .name = "polynomial",
    .summary = "a power of the remaining share of the run, from the full rate to `end` at stop.epochs",
    .parameters = {{.name = "power", .fallback = "1", .meaning = "exponent of the remaining share of the run", .range = Range::above(0)},
                   {.name = "end",
                    .type = ValueType::fraction,
                    .fallback = "0",
                    .meaning = "share of the full rate that is left at the end",
                    .range = Range::between(0, 1)}},
    .make = [](const Parameters& parameters, double total_epochs) -> Schedule::Shape {
      require_end("polynomial", total_epochs);
      const double end = parameters.number("end"), power = parameters.number("power");
      return [=](double epochs) {
        const double left = std::max(1 - epochs / total_epochs, 0.0);
        return end + (1 - end) * std::pow(left, power);
      };
    },
});

}  // namespace
}  // namespace straggler::optimizers::schedule_polynomial

// Step decay: the rate is multiplied by `factor` each time a milestone (counted in epochs) has passed. He et al., Deep Residual
// Learning for Image Recognition, 2016, divide it by 10 at given epochs.
#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "models/optimizers/optimizer.hpp"
#include "sim/base/registry.hpp"

namespace straggler::optimizers::schedule_step {
namespace {

Schedule::Shape make(const Parameters& parameters, double) {
  const double factor = parameters.number("factor");
  if (parameters.has("every") == parameters.has("at"))
    throw std::invalid_argument(
        "step: needs either every (epochs from step to step) or at (a list of epochs), for example every: 30 or at: [30, 60]");
  if (parameters.has("every")) {
    const double every = parameters.number("every");
    return [=](double epochs) { return std::pow(factor, std::floor(epochs / every)); };
  }
  const std::vector<std::int64_t>& at = parameters.counts("at");
  if (std::adjacent_find(at.begin(), at.end(), std::greater_equal<>()) != at.end())
    throw std::invalid_argument("at: the epochs are not in rising order; write them smallest first, each once");
  return [=](double epochs) {
    const auto passed = std::count_if(at.begin(), at.end(), [=](std::int64_t epoch) { return epochs >= static_cast<double>(epoch); });
    return std::pow(factor, static_cast<double>(passed));
  };
}

const Register<ScheduleEntry> entry({
    .name = "step",
    .summary = "the rate falls by a factor at given epochs",
    .parameters = {{.name = "every", .meaning = "epochs from step to step", .range = Range::above(0)},
                   {.name = "at",
                    .type = ValueType::counts,
                    .meaning = "epochs at which the rate falls, smallest first",
                    .range = Range::at_least(1)},
                   {.name = "factor",
                    .type = ValueType::fraction,
                    .fallback = "0.1",
                    .meaning = "factor on the rate at each step",
                    .range = Range::above_to(0, 1)}},
    .make = make,
});

}  // namespace
}  // namespace straggler::optimizers::schedule_step

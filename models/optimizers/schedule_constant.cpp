#include "models/optimizers/optimizer.hpp"
#include "sim/base/registry.hpp"

namespace straggler::optimizers::schedule_constant {
namespace {

const Register<ScheduleEntry> entry({
    .name = "constant",
    .summary = "the same rate throughout",
    .parameters = {},
    .make = [](const Parameters&, double) -> Schedule::Shape { return [](double) { return 1.0; }; },
});

}  // namespace
}  // namespace straggler::optimizers::schedule_constant

// Scaling rules: Goyal et al., Accurate, Large Minibatch SGD: Training ImageNet in 1 Hour, 2017 (linear, and the gradual
// warmup); Krizhevsky, One weird trick for parallelizing convolutional neural networks, 2014 (square root).
#include <cmath>
#include <stdexcept>
#include <string>

#include "models/optimizers/optimizer.hpp"

namespace straggler {

namespace {

/// Start of a warmup without a smaller rate of its own, as a fraction of the full rate: nonzero, so that the first update counts.
constexpr double warmup_start = 0.01;

double factor(Schedule::Scaling scaling, double averaged) {
  switch (scaling) {
    case Schedule::Scaling::linear:
      return averaged;
    case Schedule::Scaling::square_root:
      return std::sqrt(averaged);
    case Schedule::Scaling::none:
      break;
  }
  return 1;
}

}  // namespace

void require_end(const char* schedule, double total_epochs) {
  if (std::isfinite(total_epochs)) return;
  throw std::invalid_argument(std::string(schedule) +
                              ": needs to know when training ends, in epochs, and training.stop has none; add training.stop.epochs");
}

double Schedule::rate(double base, double epochs, double averaged) const {
  const double full = base * factor(scaling_, averaged);
  const double shape = shape_ ? shape_(epochs) : 1.0;
  if (epochs >= warmup_epochs_) return full * shape;
  const double start = full > base ? base : full * warmup_start;
  return (start + (full - start) * (epochs / warmup_epochs_)) * shape;
}

}  // namespace straggler

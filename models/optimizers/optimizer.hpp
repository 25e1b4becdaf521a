// Optimizers as rules over handles, and schedules of the learning rate.
#pragma once
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "models/optimizers/rate_scaling.hpp"
#include "models/rules/elementwise.hpp"
#include "models/rules/tensor_info.hpp"
#include "sim/base/parameters.hpp"
#include "sim/lineage/update_rule.hpp"

namespace straggler {

/// What an optimizer holds on a device, in bytes.
struct OptimizerMemory {
  double state = 0;    // between steps
  double scratch = 0;  // during a step
};

struct OptimizerEntry {
  std::string name, summary;
  DeclaredParameters parameters;
  /// Numbers in its state besides one per parameter (the progress of bias correction, …). Every vector of the run reserves space for them
  /// behind the running statistics, so they are averaged, sent, reset and replayed with their vector.
  std::size_t registers = 0;
  /// `schedule`: learning rate as a function of (epochs, gradients averaged), starting from the optimizer's own `learning_rate`.
  std::function<std::unique_ptr<UpdateRule>(const Parameters&, class Schedule schedule)> make;
  /// Of a model with these tensors. Null: four bytes a parameter for each vector of its state, and no scratch.
  std::function<OptimizerMemory(const std::vector<TensorInfo>& tensors)> memory = {};
};

/// Learning rate over the run: base · scale(averaged) · kind(epochs), after a warmup.
class Schedule {
 public:
  /// Multiplier of the rate at `epochs`, without warmup and scaling.
  using Shape = std::function<double(double epochs)>;
  using Scaling = RateScaling;
  Schedule() = default;
  Schedule(Shape shape, Scaling scaling, double warmup_epochs)
      : shape_(std::move(shape)), scaling_(scaling), warmup_epochs_(warmup_epochs) {}
  double rate(double base, double epochs, double averaged) const;

 private:
  Shape shape_;
  Scaling scaling_ = Scaling::none;
  double warmup_epochs_ = 0;
};

struct ScheduleEntry {
  std::string name, summary;
  DeclaredParameters parameters;  // the kind's own; warmup and scale_with_workers are common to all
  /// `total_epochs`: the end of the run; infinite if it does not stop at an epoch.
  std::function<Schedule::Shape(const Parameters&, double total_epochs)> make;
};

/// For schedules that end with the run. Throws std::invalid_argument if `total_epochs` is infinite.
void require_end(const char* schedule, double total_epochs);

}  // namespace straggler

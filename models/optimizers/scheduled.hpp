// Common parts of optimizers: a scheduled learning rate, and state that begins with the first step.
#pragma once
#include <utility>
#include <vector>

#include "models/optimizers/optimizer.hpp"

namespace straggler {

class ScheduledRule : public UpdateRule {
 public:
  ScheduledRule(const Parameters& parameters, Schedule schedule)
      : rate_(parameters.number("learning_rate")), schedule_(std::move(schedule)) {}
  double learning_rate(double epochs, int averaged) const final { return schedule_.rate(rate_, epochs, averaged); }

 protected:
  /// Vector `index` of the state after this gradient: `rule` of gradient, weights and, after the first step, the previous vector.
  static Handle advanced(Lineage& lineage, const Rule& rule, const Handle& gradient, const Handle& weights,
                         const std::vector<Handle>& state, std::size_t index, std::vector<double> scalars) {
    std::vector<Handle> inputs{gradient, weights};
    if (index < state.size()) inputs.push_back(state[index]);
    return lineage.elementwise(rule, inputs, std::move(scalars));
  }

 private:
  double rate_;
  Schedule schedule_;
};

inline Parameter learning_rate_parameter() {
  return {.name = "learning_rate", .required = true, .meaning = "step length before schedule and scaling", .range = Range::above(0)};
}

}  // namespace straggler

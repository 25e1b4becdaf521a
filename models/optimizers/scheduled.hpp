// Common parts of optimizers: a scheduled learning rate, state that begins with the first step, and steps along a direction that is
// computed in pieces.
#pragma once
#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>
#include <vector>

#include "models/optimizers/optimizer.hpp"

namespace straggler {

class ScheduledRule : public UpdateRule {
 public:
  ScheduledRule(const Parameters& parameters, Schedule schedule)
      : rate_(parameters.number("learning_rate")), schedule_(std::move(schedule)) {}
  double learning_rate(double epochs, double averaged) const final { return scheduled(rate_, epochs, averaged); }

 protected:
  /// Another rate that follows the same schedule.
  double scheduled(double rate, double epochs, double averaged) const { return schedule_.rate(rate, epochs, averaged); }
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

/// Floats of a temporary direction: it stays in the first-level cache.
inline constexpr std::size_t direction_piece = 2048;

/// out = w - rate direction(from, count, d), where `direction` writes `count` floats of d beginning at `from`.
template <class Direction>
void descend_along(const Kernels& kernels, std::size_t n, float rate, const float* w, float* out, const Direction& direction) {
  alignas(64) std::array<float, direction_piece> d;
  for (std::size_t from = 0; from < n; from += direction_piece) {
    const std::size_t count = std::min(direction_piece, n - from);
    direction(from, count, d.data());
    kernels.descend(count, rate, w + from, d.data(), out + from);
  }
}

inline Parameter learning_rate_parameter() {
  return {.name = "learning_rate", .required = true, .meaning = "step length before schedule and scaling", .range = Range::above(0)};
}

}  // namespace straggler

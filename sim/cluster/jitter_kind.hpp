// The common part of the kinds of jitter: one file per kind, which registers itself.
#pragma once
#include <algorithm>
#include <memory>
#include <utility>

#include "sim/base/random.hpp"
#include "sim/base/registry.hpp"
#include "sim/cluster/compute.hpp"

namespace straggler {

/// Smallest factor a kind returns: some distributions can draw exactly 0. Far too small to show in a time.
constexpr double smallest_factor = 1e-12;

/// Independent factors: `Draw` is double(RandomStream&), given the draws of one quantum.
template <class Draw>
class IndependentJitter final : public Jitter {
 public:
  explicit IndependentJitter(Draw draw) : draw_(std::move(draw)) {}
  double factor(std::uint64_t stream, std::uint64_t quantum) override {
    RandomStream draws(stream, quantum);
    return std::max(smallest_factor, draw_(draws));
  }

 private:
  Draw draw_;
};

template <class Draw>
std::unique_ptr<Jitter> independent_jitter(Draw draw) {
  return std::make_unique<IndependentJitter<Draw>>(std::move(draw));
}

}  // namespace straggler

// Clipping by the norm: its formula, over the parameters alone, and what it does to an optimizer's step.
#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <string>

#include "models/optimizers/clipped.hpp"
#include "models/optimizers/optimizer.hpp"
#include "sim/lineage/clipping.hpp"
#include "tests/optimizers/handle_values.hpp"
#include "tests/support/math_helpers.hpp"

namespace straggler::test::clipping_test {
namespace {

constexpr std::size_t n = 3001, registers = 2;

std::unique_ptr<UpdateRule> sgd(double momentum) {
  const OptimizerEntry& entry = Registry<OptimizerEntry>::instance().at("sgd");
  return entry.make(complete(entry.parameters, {{"learning_rate", 0.5}, {"momentum", momentum}}), Schedule());
}

double norm_of(const std::vector<float>& g) {
  double sum = 0;
  for (std::size_t i = 0; i < n; ++i) sum += static_cast<double>(g[i]) * static_cast<double>(g[i]);
  return std::sqrt(sum);
}

}  // namespace

TEST_CASE("clipping multiplies by min(1, c / (|g| + 1e-6)), with |g| of the parameters alone") {
  for (const Kernels* kernels : all_kernels()) {
    CAPTURE(kernels->name);
    HandleValues values(*kernels, n, registers);
    std::vector<float> g = numbers(n + registers, 3);
    g[n] = 1e6f;  // a register is no part of the norm, and stays
    const Handle gradient = values.leaf(g);
    const double norm = norm_of(g);
    for (const double c : {1e-3 * norm, 0.5 * norm, norm, 2 * norm, 1e30}) {
      CAPTURE(c);
      const std::vector<float>& out = values.of(values.lineage().elementwise(rules::clipped, std::array{gradient}, {c}));
      const double factor = std::min(1.0, c / (norm + 1e-6));
      double worst = 0;
      for (std::size_t i = 0; i < n; ++i)
        worst = std::max(worst, std::abs(static_cast<double>(out[i]) - factor * static_cast<double>(g[i])));
      CHECK(worst <= factor * 1e-6);
      CHECK(out[n] == 1e6f);
      if (c > norm + 1e-6) CHECK(same_bits(out, g));
    }
  }
}

TEST_CASE("a clipped gradient of zeros stays one, and a NaN is not hidden") {
  for (const Kernels* kernels : all_kernels()) {
    HandleValues values(*kernels, n);
    const auto clipped = [&](const std::vector<float>& g) {
      return values.of(values.lineage().elementwise(rules::clipped, std::array{values.leaf(g)}, {0.1}));
    };
    CHECK(clipped(std::vector<float>(n)) == std::vector<float>(n));
    std::vector<float> g = numbers(n, 3);
    g[5] = std::numeric_limits<float>::quiet_NaN();
    CHECK(std::isnan(clipped(g)[5]));
    g[5] = std::numeric_limits<float>::infinity();
    CHECK(std::isnan(clipped(g)[5]));
  }
}

TEST_CASE("an optimizer that clips steps along the clipped gradient, and keeps its schedule and the weight of its steps") {
  const std::vector<float> g = numbers(n, 3);
  const double c = 0.25 * norm_of(g);
  for (const Kernels* kernels : all_kernels())
    for (const double momentum : {0.0, 0.9}) {
      CAPTURE(kernels->name);
      HandleValues values(*kernels, n);
      const auto plain = sgd(momentum), clipping = make_clipped(sgd(momentum), c);
      Handle a = values.leaf(numbers(n, 1)), b = a;
      std::vector<Handle> of_a, of_b;
      for (int step = 0; step < 3; ++step) {
        const Handle gradient = values.leaf(g);
        const Handle clipped = values.lineage().elementwise(rules::clipped, std::array{gradient}, {c});
        a = plain->step(values.lineage(), a, clipped, 0, 1, of_a);
        b = clipping->step(values.lineage(), b, gradient, 0, 1, of_b);
      }
      CHECK(same_bits(values.of(a), values.of(b)));
      CHECK(of_a.size() == of_b.size());
      CHECK(clipping->learning_rate(3, 4) == plain->learning_rate(3, 4));
      CHECK(clipping->weight_of_steps(5) == plain->weight_of_steps(5));
      CHECK(clipping->needs_norms() == "training.clip");
      CHECK(clipping->needs_tensors().empty());
    }
}

}  // namespace straggler::test::clipping_test

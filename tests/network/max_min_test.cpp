// The solver alone. Expected shares are derived beside each.
#include "sim/network/max_min.hpp"

#include <doctest/doctest.h>

#include <random>

#include "tests/network/textbook.hpp"

namespace max_min_test {

using namespace straggler::fluid;

namespace {

struct Problem : MaxMinProblem {
  explicit Problem(std::vector<double> capacities) { capacity = std::move(capacities); }
  Problem& demand(std::vector<std::uint32_t> supplies, double its_weight = 1) {
    weight.push_back(its_weight);
    crossed.insert(crossed.end(), supplies.begin(), supplies.end());
    first.push_back(static_cast<std::uint32_t>(crossed.size()));
    return *this;
  }
};

std::vector<double> levels(const Problem& problem) {
  MaxMinSolver solver;
  solver.solve(problem);
  return solver.level();
}

}  // namespace

TEST_CASE("demands on one supply share it by weight") {
  // 12 = (1 + 2 + 3) * level
  CHECK(levels(Problem({12}).demand({0}, 1).demand({0}, 2).demand({0}, 3)) == std::vector<double>{2, 2, 2});
}

TEST_CASE("one demand alone stops at its tightest supply, the first one of equals") {
  // 6 / 2, 4 / 2 and 4 / 2: supplies 1 and 2 are full together.
  MaxMinSolver solver;
  solver.solve(Problem({6, 4, 4}).demand({0, 2, 1}, 2));
  CHECK(solver.level() == std::vector<double>{2});
  CHECK(solver.bottleneck() == std::vector<std::uint32_t>{1});
}

TEST_CASE("the chain of Bertsekas and Gallager: one long demand, a short one on each supply") {
  // Supplies 10, 4, 20. All rise to 2, where supply 1 is full (long and its own short one). Then the short ones on supplies 0
  // and 2 rise until 10 - 2 and 20 - 2.
  MaxMinSolver solver;
  solver.solve(Problem({10, 4, 20}).demand({0, 1, 2}).demand({0}).demand({1}).demand({2}));
  CHECK(solver.level() == std::vector<double>{2, 8, 2, 18});
  CHECK(solver.bottleneck() == std::vector<std::uint32_t>{1, 0, 1, 2});
}

TEST_CASE("a stopped supply stops its demands only") {
  CHECK(levels(Problem({0, 6}).demand({0, 1}).demand({1}).demand({1})) == std::vector<double>{0, 3, 3});
}

TEST_CASE("three fill up one after the other") {
  // Level 1: supply 0 (2 demands, 2). Level 2: supply 1 has 5 - 1 = 4 for two. Level 6: supply 2 has 10 - 1 - 2 = 7 for one.
  CHECK(levels(Problem({2, 5, 10}).demand({0, 1, 2}).demand({0}).demand({1, 2}).demand({1}).demand({2})) ==
        std::vector<double>{1, 1, 2, 2, 7});
}

TEST_CASE("weights of very different size keep their digits") {
  // 1e9 of weight freeze at level 1 on supply 0; supply 1 is left with 1e-6 of weight and 3 of capacity: level 3e6.
  const auto level = levels(Problem({1e9, 1e9 + 3}).demand({0, 1}, 1e9).demand({1}, 1e-6));
  CHECK(level[0] == 1);
  CHECK(level[1] == doctest::Approx(3e6).epsilon(1e-9));
}

TEST_CASE("random problems agree with the textbook, with few supplies (scan) and with many (heap)") {
  std::mt19937 random(7);
  const auto draw = [&](unsigned least, unsigned most) { return least + static_cast<unsigned>(random()) % (most - least + 1); };
  for (int i = 0; i < 300; ++i) {
    Problem problem({});
    const unsigned supplies = i % 2 ? draw(1, 12) : draw(70, 120);
    for (unsigned s = 0; s < supplies; ++s) problem.capacity.push_back(draw(0, 20) == 0 ? 0 : draw(1, 10));
    std::vector<textbook::Demand> demands(draw(1, 150));
    std::vector<textbook::Demand*> pointers;
    for (textbook::Demand& d : demands) {
      d.weight = draw(1, 8) / 4.0;
      for (std::uint32_t s = 0; s < supplies; ++s) {
        if (draw(1, supplies) <= 2) d.route.push_back(s);
      }
      if (d.route.empty()) d.route.push_back(draw(0, supplies - 1));
      problem.demand(d.route, d.weight);
      pointers.push_back(&d);
    }
    textbook::fill(pointers, problem.capacity);
    const auto level = levels(problem);
    for (std::size_t d = 0; d < demands.size(); ++d) {
      const double expected = static_cast<double>(demands[d].rate) / demands[d].weight;
      REQUIRE(level[d] == doctest::Approx(expected).epsilon(1e-10));
    }
  }
}

}  // namespace max_min_test

// Random sets of flows that stand still: the rates of the network and the levels of the solver against the textbook's.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "sim/network/max_min.hpp"
#include "tests/network/run.hpp"
#include "tests/network/textbook.hpp"

namespace static_test {

using namespace straggler;

namespace {

struct Instance {
  std::vector<double> capacity;
  std::vector<textbook::Demand> demands;
};

class Draw {
 public:
  explicit Draw(std::uint32_t seed) : random_(seed) {}
  Instance instance() {
    Instance made;
    const int links = one_in(20) ? number(70, 100) : number(1, 12);  // the solver scans up to 64, and keeps a heap of more
    const bool ties = one_in(2), weights = one_in(2), volumes = one_in(2), mosts = one_in(3);
    for (int l = 0; l < links; ++l) {
      made.capacity.push_back(one_in(30) ? 0 : ties ? 1e8 * number(1, 3) : 1e8 * number(1, 1000) / number(1, 400));
    }
    made.demands.resize(static_cast<std::size_t>(number(1, one_in(10) ? 120 : 30)));
    for (textbook::Demand& d : made.demands) {
      for (int hops = number(1, one_in(10) ? 12 : 4); hops > 0; --hops) {
        const auto link = static_cast<std::uint32_t>(number(0, links - 1));
        if (std::find(d.route.begin(), d.route.end(), link) == d.route.end()) d.route.push_back(link);
      }
      if (weights) d.weight = ties ? number(1, 4) : number(1, 900) / 300.0;
      if (volumes && one_in(2)) {
        for (std::size_t k = 0; k < d.route.size(); ++k) d.volumes.push_back(ties ? 0.5 * number(1, 4) : number(1, 2000) / 700.0);
      }
      if (mosts && one_in(2)) d.most = ties ? 1e7 * number(1, 10) : 1e5 * number(1, 1000);
    }
    return made;
  }
  int number(int least, int most) { return least + static_cast<int>(random_() % static_cast<unsigned>(most - least + 1)); }
  bool one_in(int n) { return number(1, n) == 1; }

 private:
  std::mt19937 random_;
};

void solve_by_textbook(Instance& instance) {
  std::vector<textbook::Demand*> all;
  for (textbook::Demand& d : instance.demands) all.push_back(&d);
  textbook::fill(all, instance.capacity);
}

double difference(double rate, const textbook::Demand& d) {
  const double expected = static_cast<double>(d.rate);
  return std::abs(rate - expected) / (expected > 0 ? expected : 1);
}

double difference_of_solver(const Instance& instance) {
  fluid::MaxMinProblem problem;
  problem.capacity = instance.capacity;
  for (const textbook::Demand& d : instance.demands) {
    problem.weight.push_back(d.weight);
    problem.most.push_back(d.most);
    problem.crossed.insert(problem.crossed.end(), d.route.begin(), d.route.end());
    for (std::size_t k = 0; k < d.route.size(); ++k) problem.volume.push_back(d.volume(k));
    problem.first.push_back(static_cast<std::uint32_t>(problem.crossed.size()));
  }
  fluid::MaxMinSolver solver;
  solver.solve(problem);
  double worst = 0;
  for (std::size_t i = 0; i < instance.demands.size(); ++i) {
    const textbook::Demand& d = instance.demands[i];
    worst = std::max(worst, difference(solver.level()[i] * d.weight, d));
    const std::uint32_t at = solver.bottleneck()[i];
    const bool crosses = std::find(d.route.begin(), d.route.end(), at) != d.route.end();
    CHECK((crosses || (at == fluid::MaxMinSolver::own_most && difference(d.most, d) < 1e-9)));
  }
  return worst;
}

double difference_of_network(const Instance& instance, bool one_by_one) {
  EventQueue queue;
  Network network(queue);
  Note note(queue);
  for (const double c : instance.capacity) network.add_link(c > 0 ? c : 1);
  for (LinkId l = 0; l < instance.capacity.size(); ++l) network.set_capacity(l, instance.capacity[l]);
  std::vector<FlowId> ids;
  for (const textbook::Demand& d : instance.demands) {
    ids.push_back(network.start({d.route, d.volumes, 1e6, Time(), d.weight, d.most}, note));
    if (one_by_one) network.settle();
  }
  double worst = 0;
  for (std::size_t i = 0; i < ids.size(); ++i) worst = std::max(worst, difference(network.rate(ids[i]), instance.demands[i]));
  return worst;
}

}  // namespace

TEST_CASE("ten thousand random instances: rates are the textbook's") {
  double worst_solver = 0, worst_network = 0;
  for (std::uint32_t seed = 1; seed <= 10'000; ++seed) {
    CAPTURE(seed);
    Instance instance = Draw(seed).instance();
    solve_by_textbook(instance);
    const double solver = difference_of_solver(instance), network = difference_of_network(instance, seed % 2 == 0);
    CHECK(solver < 1e-9);
    CHECK(network < 1e-9);
    worst_solver = std::max(worst_solver, solver);
    worst_network = std::max(worst_network, network);
  }
  MESSAGE("largest relative difference of a rate: solver ", worst_solver, ", network ", worst_network);
}

}  // namespace static_test

#include "sim/network/max_min.hpp"

#include <algorithm>
#include <array>
#include <functional>
#include <limits>
#include <utility>

namespace straggler::fluid {
namespace {
constexpr std::uint32_t unbound = ~0u;
constexpr std::size_t scan_limit = 64;  // up to this many supplies a scan of all beats a heap
constexpr double lost_digits = 1e-4;

}  // namespace

void MaxMinSolver::solve(const MaxMinProblem& problem) {
  const std::size_t demands = problem.weight.size();
  level_.resize(demands);
  bottleneck_.assign(demands, unbound);
  if (demands == 1 && problem.most.empty() && problem.volume.empty()) return solve_one(problem);
  if (problem.volume.empty()) {
    index_demands<false>(problem);
  } else {
    index_demands<true>(problem);
  }
  order_mosts(problem);
  unfrozen_ = demands;
  if (problem.capacity.size() <= scan_limit) {
    solve_by_scan(problem);
  } else {
    solve_by_heap(problem);
  }
}

/// A single demand stops at the tightest of its supplies.
void MaxMinSolver::solve_one(const MaxMinProblem& problem) {
  const double weight = problem.weight[0];
  double lowest = std::numeric_limits<double>::infinity();
  std::uint32_t tightest = unbound;
  for (const std::uint32_t s : problem.crossed) {
    const double level = problem.capacity[s] / weight;
    if (tightest != unbound && !(level < lowest) && !(level == lowest && s < tightest)) continue;
    lowest = level;
    tightest = s;
  }
  level_[0] = lowest;
  bottleneck_[0] = tightest;
}

template <bool volumes>
void MaxMinSolver::index_demands(const MaxMinProblem& problem) {
  const std::size_t demands = problem.weight.size(), supplies = problem.capacity.size();
  supplies_.resize(supplies + 1);
  for (std::size_t s = 0; s < supplies; ++s) supplies_[s] = {problem.capacity[s], 0, 0, -1, 0, 0};
  for (std::size_t d = 0; d < demands; ++d) {
    const double weight = problem.weight[d];
    const std::uint32_t end = problem.first[d + 1];
    for (std::uint32_t k = problem.first[d]; k < end; ++k) {
      Supply& supply = supplies_[problem.crossed[k]];
      ++supply.rising;
      supply.weight += volumes ? weight * problem.volume[k] : weight;
    }
  }
  std::uint32_t end = 0;
  for (std::size_t s = 0; s < supplies; ++s) {
    supplies_[s].precise = supplies_[s].weight * lost_digits;
    supplies_[s].begin = end += supplies_[s].rising;
  }
  supplies_[supplies].begin = end;
  demands_.resize(end);
  if (volumes) crossings_.resize(end);
  for (std::size_t d = demands; d-- > 0;) {  // backwards, so that each supply has its demands in ascending order
    const std::uint32_t last = problem.first[d + 1];
    for (std::uint32_t k = problem.first[d]; k < last; ++k) {
      const std::uint32_t i = --supplies_[problem.crossed[k]].begin;
      demands_[i] = static_cast<std::uint32_t>(d);
      if (volumes) crossings_[i] = k;
    }
  }
}

void MaxMinSolver::order_mosts(const MaxMinProblem& problem) {
  mosts_.clear();
  next_most_ = 0;
  for (std::size_t d = 0; d < problem.most.size(); ++d) {
    if (problem.most[d] < std::numeric_limits<double>::infinity())
      mosts_.emplace_back(problem.most[d] / problem.weight[d], static_cast<std::uint32_t>(d));
  }
  std::sort(mosts_.begin(), mosts_.end());
}

/// Freezes the demands that reach their most at a level of up to `lowest`; false if there are none.
bool MaxMinSolver::freeze_at_mosts(const MaxMinProblem& problem, double lowest) {
  bool any = false;
  for (; next_most_ < mosts_.size() && mosts_[next_most_].first <= lowest; ++next_most_) {
    const auto [level, demand] = mosts_[next_most_];
    if (bottleneck_[demand] != unbound) continue;
    freeze(problem, demand, own_most, level);
    any = true;
  }
  return any;
}

void MaxMinSolver::freeze_all(const MaxMinProblem& problem, std::uint32_t supply, double level) {
  const std::uint32_t end = supplies_[supply + 1].begin;
  for (std::uint32_t i = supplies_[supply].begin; i < end; ++i) {
    if (bottleneck_[demands_[i]] == unbound) freeze(problem, demands_[i], supply, level);
  }
}

void MaxMinSolver::freeze(const MaxMinProblem& problem, std::uint32_t d, std::uint32_t bottleneck, double level) {
  bottleneck_[d] = bottleneck;
  level_[d] = level;
  --unfrozen_;
  if (problem.volume.empty()) {
    freeze_with<false>(problem, d, level * problem.weight[d]);
  } else {
    freeze_with<true>(problem, d, level * problem.weight[d]);
  }
}

template <bool volumes>
void MaxMinSolver::freeze_with(const MaxMinProblem& problem, std::uint32_t d, double rate) {
  const double weight = problem.weight[d];
  const std::uint32_t end = problem.first[d + 1];
  for (std::uint32_t k = problem.first[d]; k < end; ++k) {
    Supply& supply = supplies_[problem.crossed[k]];
    if (--supply.rising == 0) continue;  // it is not looked at again
    supply.left = std::max(0.0, supply.left - (volumes ? rate * problem.volume[k] : rate));
    supply.weight -= volumes ? weight * problem.volume[k] : weight;
    supply.full_at = -1;
    if (supply.weight < supply.precise) weigh_again(problem, problem.crossed[k]);
  }
}

// A sum has lost its digits once much more than the remainder was subtracted from it.
void MaxMinSolver::weigh_again(const MaxMinProblem& problem, std::uint32_t supply) {
  double weight = 0;
  for (std::uint32_t i = supplies_[supply].begin; i < supplies_[supply + 1].begin; ++i) {
    const std::uint32_t d = demands_[i];
    if (bottleneck_[d] != unbound) continue;
    weight += problem.volume.empty() ? problem.weight[d] : problem.weight[d] * problem.volume[crossings_[i]];
  }
  supplies_[supply].weight = weight;
  supplies_[supply].precise = weight * lost_digits;
}

void MaxMinSolver::solve_by_scan(const MaxMinProblem& problem) {
  std::array<std::uint32_t, scan_limit> in_use;
  std::size_t supplies = problem.capacity.size();
  for (std::uint32_t s = 0; s < supplies; ++s) in_use[s] = s;
  while (unfrozen_ > 0) {
    double lowest = std::numeric_limits<double>::infinity();
    std::uint32_t fullest = unbound;
    const std::size_t before = std::exchange(supplies, 0);
    for (std::size_t i = 0; i < before; ++i) {
      Supply& supply = supplies_[in_use[i]];
      if (supply.rising == 0) continue;
      in_use[supplies++] = in_use[i];
      if (supply.full_at < 0) supply.full_at = supply.left / supply.weight;
      if (fullest != unbound && !(supply.full_at < lowest)) continue;
      lowest = supply.full_at;
      fullest = in_use[i];
    }
    if (!freeze_at_mosts(problem, lowest)) freeze_all(problem, fullest, lowest);
  }
}

// A supply's level only rises while others fill up first, so an outdated entry of the heap comes too early, never too late.
void MaxMinSolver::solve_by_heap(const MaxMinProblem& problem) {
  const std::greater<> later;
  heap_.clear();
  for (std::uint32_t s = 0; s < problem.capacity.size(); ++s) {
    if (supplies_[s].rising > 0) heap_.emplace_back(supplies_[s].left / supplies_[s].weight, s);
  }
  std::make_heap(heap_.begin(), heap_.end(), later);
  while (unfrozen_ > 0) {
    if (heap_.empty()) {
      freeze_at_mosts(problem, std::numeric_limits<double>::infinity());
      continue;
    }
    std::pop_heap(heap_.begin(), heap_.end(), later);
    const auto [level, supply] = heap_.back();
    heap_.pop_back();
    if (supplies_[supply].rising == 0) continue;
    const double now = supplies_[supply].left / supplies_[supply].weight;
    if (now > level || freeze_at_mosts(problem, level)) {
      heap_.emplace_back(now, supply);
      std::push_heap(heap_.begin(), heap_.end(), later);
    } else {
      freeze_all(problem, supply, level);
    }
  }
}

}  // namespace straggler::fluid

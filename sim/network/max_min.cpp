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

double volume(const MaxMinProblem& problem, std::uint32_t crossing) { return problem.volume.empty() ? 1 : problem.volume[crossing]; }
}  // namespace

void MaxMinSolver::solve(const MaxMinProblem& problem) {
  const std::size_t demands = problem.weight.size();
  level_.assign(demands, 0);
  bottleneck_.assign(demands, unbound);
  left_ = problem.capacity;
  weight_.assign(left_.size(), 0);
  rising_.assign(left_.size(), 0);
  full_at_.assign(left_.size(), -1);
  index_demands(problem);
  order_mosts(problem);
  unfrozen_ = demands;
  if (left_.size() <= scan_limit) {
    solve_by_scan(problem);
  } else {
    solve_by_heap(problem);
  }
}

void MaxMinSolver::index_demands(const MaxMinProblem& problem) {
  const std::size_t demands = problem.weight.size();
  for (std::size_t d = 0; d < demands; ++d) {
    for (std::uint32_t k = problem.first[d]; k < problem.first[d + 1]; ++k) {
      ++rising_[problem.crossed[k]];
      weight_[problem.crossed[k]] += problem.weight[d] * volume(problem, k);
    }
  }
  precise_.resize(weight_.size());
  for (std::size_t s = 0; s < weight_.size(); ++s) precise_[s] = weight_[s] * lost_digits;
  begin_.resize(rising_.size() + 1);
  std::uint32_t end = 0;
  for (std::size_t s = 0; s < rising_.size(); ++s) begin_[s] = end += rising_[s];
  begin_[rising_.size()] = end;
  demands_.resize(end);
  crossings_.resize(problem.volume.empty() ? 0 : end);
  for (std::size_t d = demands; d-- > 0;) {  // backwards, so that each supply has its demands in ascending order
    for (std::uint32_t k = problem.first[d]; k < problem.first[d + 1]; ++k) {
      const std::uint32_t i = --begin_[problem.crossed[k]];
      demands_[i] = static_cast<std::uint32_t>(d);
      if (!problem.volume.empty()) crossings_[i] = k;
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
  for (std::uint32_t i = begin_[supply]; i < begin_[supply + 1]; ++i) {
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
    const std::uint32_t s = problem.crossed[k];
    if (--rising_[s] == 0) continue;  // it is not looked at again
    left_[s] = std::max(0.0, left_[s] - (volumes ? rate * problem.volume[k] : rate));
    weight_[s] -= volumes ? weight * problem.volume[k] : weight;
    full_at_[s] = -1;
    if (weight_[s] < precise_[s]) weigh_again(problem, s);
  }
}

// A sum has lost its digits once much more than the remainder was subtracted from it.
void MaxMinSolver::weigh_again(const MaxMinProblem& problem, std::uint32_t supply) {
  double weight = 0;
  for (std::uint32_t i = begin_[supply]; i < begin_[supply + 1]; ++i) {
    const std::uint32_t d = demands_[i];
    if (bottleneck_[d] != unbound) continue;
    weight += problem.volume.empty() ? problem.weight[d] : problem.weight[d] * problem.volume[crossings_[i]];
  }
  weight_[supply] = weight;
  precise_[supply] = weight * lost_digits;
}

void MaxMinSolver::solve_by_scan(const MaxMinProblem& problem) {
  std::array<std::uint32_t, scan_limit> in_use;
  std::size_t supplies = left_.size();
  for (std::uint32_t s = 0; s < supplies; ++s) in_use[s] = s;
  while (unfrozen_ > 0) {
    double lowest = std::numeric_limits<double>::infinity();
    std::uint32_t fullest = unbound;
    const std::size_t before = std::exchange(supplies, 0);
    for (std::size_t i = 0; i < before; ++i) {
      const std::uint32_t s = in_use[i];
      if (rising_[s] == 0) continue;
      in_use[supplies++] = s;
      if (full_at_[s] < 0) full_at_[s] = left_[s] / weight_[s];
      const double level = full_at_[s];
      if (fullest != unbound && !(level < lowest)) continue;
      lowest = level;
      fullest = s;
    }
    if (!freeze_at_mosts(problem, lowest)) freeze_all(problem, fullest, lowest);
  }
}

// A supply's level only rises while others fill up first, so an outdated entry of the heap comes too early, never too late.
void MaxMinSolver::solve_by_heap(const MaxMinProblem& problem) {
  const std::greater<> later;
  heap_.clear();
  for (std::uint32_t s = 0; s < left_.size(); ++s) {
    if (rising_[s] > 0) heap_.emplace_back(left_[s] / weight_[s], s);
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
    if (rising_[supply] == 0) continue;
    const double now = left_[supply] / weight_[supply];
    if (now > level || freeze_at_mosts(problem, level)) {
      heap_.emplace_back(now, supply);
      std::push_heap(heap_.begin(), heap_.end(), later);
    } else {
      freeze_all(problem, supply, level);
    }
  }
}

}  // namespace straggler::fluid

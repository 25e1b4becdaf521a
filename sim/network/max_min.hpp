// Weighted max-min fair shares of a set of links, by progressive filling. It knows neither time nor flows in motion.
#pragma once
#include <cstdint>
#include <utility>
#include <vector>

namespace straggler::fluid {

/// Demands (flows) each cross some supplies (links). Demand d crosses crossed[first[d] .. first[d + 1]).
/// Every demand crosses at least one supply, none twice; capacities are not negative, weights positive.
struct MaxMinProblem {
  std::vector<double> capacity;         // of each supply
  std::vector<double> weight;           // of each demand
  std::vector<std::uint32_t> first{0};  // one more than demands
  std::vector<std::uint32_t> crossed;

  void clear() {
    capacity.clear();
    weight.clear();
    first.assign(1, 0);
    crossed.clear();
  }
};

/// Raise the levels (rate per weight) of all demands together; when a supply is full, its demands keep theirs; repeat with
/// the others (Bertsekas & Gallager, Data Networks, 1992, 6.5.2). O(crossings * log supplies).
class MaxMinSolver {
 public:
  /// Fills level() and bottleneck(). Of two supplies that fill up together the one with the smaller index goes first.
  void solve(const MaxMinProblem& problem);
  const std::vector<double>& level() const { return level_; }
  /// The supply whose filling ended the demand's rise.
  const std::vector<std::uint32_t>& bottleneck() const { return bottleneck_; }

 private:
  void index_demands(const MaxMinProblem& problem);
  void freeze(const MaxMinProblem& problem, std::uint32_t supply, double level);
  void weigh_again(const MaxMinProblem& problem, std::uint32_t supply);
  void solve_by_scan(const MaxMinProblem& problem);
  void solve_by_heap(const MaxMinProblem& problem);

  std::vector<double> level_;
  std::vector<std::uint32_t> bottleneck_;
  std::vector<double> left_;           // capacity that frozen demands leave
  std::vector<double> weight_;         // of the demands still rising
  std::vector<double> precise_;        // below this, weight_ is summed afresh
  std::vector<std::uint32_t> rising_;  // their number
  std::vector<std::uint32_t> begin_;   // demands of supply s: demands_[begin_[s] .. begin_[s + 1])
  std::vector<std::uint32_t> demands_;
  std::vector<std::pair<double, std::uint32_t>> heap_;
  std::size_t unfrozen_ = 0;
};

}  // namespace straggler::fluid

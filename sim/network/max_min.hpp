// Weighted max-min fair shares of a set of links, by progressive filling. It knows neither time nor flows in motion.
#pragma once
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace straggler::fluid {

/// Demands (flows) each cross some supplies (links). Demand d crosses crossed[first[d] .. first[d + 1]); at rate x it takes x times its
/// volume on each. Every demand crosses at least one supply, none twice, or has a finite most. Capacities are not negative; weights,
/// volumes and mosts are positive.
struct MaxMinProblem {
  std::vector<double> capacity;         // of each supply
  std::vector<double> weight;           // of each demand
  std::vector<double> most;             // rate that each demand never exceeds; empty: infinite for all
  std::vector<std::uint32_t> first{0};  // one more than demands
  std::vector<std::uint32_t> crossed;
  std::vector<double> volume;  // of each crossing; empty: 1 for all

  void clear() {
    capacity.clear();
    weight.clear();
    most.clear();
    first.assign(1, 0);
    crossed.clear();
    volume.clear();
  }
};

/// Raise the levels (rate per weight) of all demands together. When a supply is full, its demands freeze; a demand at its most freezes too.
/// Repeat with the others (Bertsekas & Gallager, Data Networks, 1992, 6.5.2; a most is a supply of the demand's own). O(crossings * log
/// supplies + capped demands * log demands).
class MaxMinSolver {
 public:
  /// Denotes a demand's own most among bottlenecks.
  static constexpr std::uint32_t own_most = ~0u - 1;

  /// Fills level() and bottleneck(). If two supplies fill up together, the one with the smaller index goes first; a demand's most goes
  /// before both.
  void solve(const MaxMinProblem& problem);
  const std::vector<double>& level() const { return level_; }
  /// The supply that ended the demand's rise by filling up.
  const std::vector<std::uint32_t>& bottleneck() const { return bottleneck_; }

 private:
  struct Supply {
    double left;           // capacity that frozen demands leave
    double weight;         // of the demands still rising, times their volumes
    double precise;        // below this, `weight` is summed afresh
    double full_at;        // level at which it would be full; negative: not known
    std::uint32_t rising;  // their number
    std::uint32_t begin;   // its demands: demands_[begin .. begin of the next one)
  };

  void solve_one(const MaxMinProblem& problem);
  template <bool volumes>
  void index_demands(const MaxMinProblem& problem);
  void order_mosts(const MaxMinProblem& problem);
  bool freeze_at_mosts(const MaxMinProblem& problem, double lowest);
  void freeze_all(const MaxMinProblem& problem, std::uint32_t supply, double level);
  void freeze(const MaxMinProblem& problem, std::uint32_t demand, std::uint32_t bottleneck, double level);
  template <bool volumes>
  void freeze_with(const MaxMinProblem& problem, std::uint32_t demand, double rate);
  void weigh_again(const MaxMinProblem& problem, std::uint32_t supply);
  void solve_by_scan(const MaxMinProblem& problem);
  void solve_by_heap(const MaxMinProblem& problem);

  std::vector<double> level_;
  std::vector<std::uint32_t> bottleneck_;
  std::vector<Supply> supplies_;  // and one at the end
  std::vector<std::uint32_t> demands_;
  std::vector<std::uint32_t> crossings_;  // of the same; empty if all volumes are 1
  std::vector<std::pair<double, std::uint32_t>> heap_;
  std::vector<std::pair<double, std::uint32_t>> mosts_;  // level of a demand's most, demand; ascending
  std::size_t next_most_ = 0;
  std::size_t unfrozen_ = 0;
};

}  // namespace straggler::fluid

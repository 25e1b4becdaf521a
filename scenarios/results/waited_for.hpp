// The workers that the others waited for.
#pragma once
#include <cstddef>
#include <string>
#include <vector>

#include "scenarios/schema/scenario.hpp"
#include "sim/record/record.hpp"

namespace straggler {

/// Of each group of workers, the mean share of their time that they idle.
class IdleOfGroups {
 public:
  explicit IdleOfGroups(std::size_t groups) : groups_(groups) {}
  /// The times of a worker, in one unit. One that never lived does not count.
  void add(std::size_t group, double idle, double computed, double wasted, double total);
  /// [groups]; -1: no worker waits for it, as none of its workers lived, or most of their computation is wasted.
  std::vector<double> shares() const;

 private:
  struct Sums {
    double idle = 0, computed = 0, wasted = 0, workers = 0;
  };
  std::vector<Sums> groups_;
};
std::vector<double> idle_of_groups(const RunRecord& record);

/// "workers 6 and 7 (3x slower)": workers that differ from most others and idle at most half as much as they do, if those idle a tenth of
/// their time or more. `idle`: IdleOfGroups::shares(). Empty: none, or none that stands out.
std::string waited_for(const Scenario& scenario, const std::vector<double>& idle);

}  // namespace straggler

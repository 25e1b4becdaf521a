// Runs the trials of a search in batches through the pool of points, which finds finished points and shares math.
#pragma once
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "scenarios/search/search_outcome.hpp"
#include "scenarios/search/space.hpp"
#include "scenarios/sweep/point_pool.hpp"
#include "scenarios/sweep/sweep.hpp"

namespace straggler {

/// Some values at some setting of the sweep's axes.
struct Trial {
  std::size_t group = 0;
  std::vector<std::pair<std::string, AxisValue>> set;  // path, value
};

class Trials {
 public:
  struct Options {
    std::int64_t repeats = 1;
    bool timing_only = false;       // as requested, here or in the file; otherwise the metric decides
    std::vector<std::string> more;  // sets of the command line
  };
  /// `sweep` and `pool` outlive it.
  Trials(const Sweep& sweep, Options options, Metric metric, PointPool& pool);

  /// Reads the scenarios of these trials and resolves the metric. Throws ScenarioErrors for scenarios that cannot be read, and for a metric
  /// that the scenario cannot have.
  void check(const std::vector<Trial>& trials);
  /// Whether any of these is finished already, in any repeat. After check().
  bool any_finished(const std::vector<Trial>& trials) const;
  /// Every trial in every repeat. After interrupted() the results must not be used.
  std::vector<Measured> run(const std::vector<Trial>& trials);

  const Metric& metric() const { return metric_; }
  const std::vector<SweepGroup>& groups() const { return groups_; }
  const Sweep& sweep() const { return sweep_; }
  /// The scenario's seed, for the search's random draws.
  std::uint64_t seed() const { return seed_; }
  bool interrupted() const { return pool_.interrupted(); }
  /// The metric, and what is said of the runs.
  void report_to(SearchOutcome& outcome) const;

 private:
  SweepGroup group_of(const Trial& trial) const;
  void settle_metric(const Scenario& scenario);
  [[noreturn]] void refuse_metric(const std::string& what) const;
  /// Math does not affect the metric.
  bool timing_alone(const Scenario& scenario) const;
  PointRequest request(const Trial& trial, std::int64_t repeat) const;
  /// The metric is of the timing, and no seed changes it.
  bool exact(const Trial& trial) const;

  const Sweep& sweep_;
  const Options options_;
  Metric metric_;
  PointPool& pool_;
  PointReader reader_;
  std::vector<SweepGroup> groups_;
  std::uint64_t seed_ = 0;
  std::vector<std::string> failures_;
  std::size_t runs_ = 0, timing_runs_ = 0;
};

}  // namespace straggler

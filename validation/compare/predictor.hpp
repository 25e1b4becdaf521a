// The simulator's prediction of a row: runs the scenario with the row's changes and takes the metric.
#pragma once
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "scenarios/schema/reader.hpp"
#include "scenarios/schema/scenario.hpp"
#include "sim/record/record.hpp"
#include "validation/compare/claim.hpp"
#include "validation/compare/rows.hpp"

namespace straggler {

struct PredictOptions {
  unsigned threads = 0;  // for the math; 0: all cores
  std::function<bool()> interrupted = [] { return false; };
};

/// The user interrupted it.
struct Interrupted : std::runtime_error {
  Interrupted() : std::runtime_error("interrupted") {}
};

/// Exact where all values are equal.
double mean_of(const std::vector<double>& values);

/// A row under these changes, in addition to its own.
struct Wanted {
  const ClaimRow* row;
  const std::vector<PlacedSet>* more;
};

class Predictor {
 public:
  /// Reads only the scenario. Throws ScenarioErrors; also if a bind or a fitted path names a device that the scenario lacks, which would
  /// have no effect.
  Predictor(const Claim& claim, const PredictOptions& options);
  /// The mean over the claim's seeds of the metric in SI; each set of changes is run only once. Throws ScenarioErrors (at the place in the
  /// claim that asks for the change), RunFailed naming the row, Interrupted.
  double predict(const ClaimRow& row, const std::vector<PlacedSet>& more);
  /// [seeds]: the metric in SI; a single one if the seed changes nothing. Throws like predict().
  std::vector<double> by_seed(const ClaimRow& row, const std::vector<PlacedSet>& more);
  /// Runs in advance the cases that predict() needs and has not run yet; on all cores if only times are simulated. Throws like predict():
  /// of several failures the first in the order of `wanted`.
  void prepare(const std::vector<Wanted>& wanted);
  /// A problem. A mistake in the claim may appear in every row; it is reported once.
  struct Told {
    Problem mistake, problem;  // at the place in the claim: without the row, and with it
  };
  /// Reads the row's scenario without running it, and adds its problems that are not yet reported to `wrong`.
  void check(const ClaimRow& row, const std::vector<PlacedSet>& more, std::vector<Told>& wrong) const;
  std::size_t runs() const { return runs_; }
  /// The number at `path` of the scenario with the claim's fixed changes, defaults included; none: not a number.
  std::optional<double> given_value(const std::string& path, std::optional<Dimension> dimension) const;

 private:
  /// The metric of the run, or one of each worker; none: it has no value.
  struct Values {
    std::uint64_t seed = 0;
    std::vector<std::optional<double>> all;
    std::string missing;  // the metric without a value
  };
  /// A row's scenario, to be run with `seeds` seeds.
  struct Case {
    std::string key;
    std::vector<PlacedSet> sets;
    std::string label;
    Scenario scenario = {};
    std::vector<Values> values = {};  // [seeds]
  };
  void read_case(Case& each) const;
  Values run(const Case& each, std::uint64_t seed) const;
  bool only_times(const Scenario& scenario) const;
  Values values_of(const RunRecord& record) const;
  double value_for(const ClaimRow& row, const Values& values) const;
  std::string row_and_seed(const std::string& label, std::uint64_t seed) const;
  Scenario read(const std::vector<PlacedSet>& sets) const;
  /// Errors of a --set are reported at their place in the claim.
  std::vector<Told> told_by_claim(const ScenarioErrors& errors, const std::vector<PlacedSet>& sets, const std::string& label) const;
  [[noreturn]] void raise(const ScenarioErrors& errors, const std::vector<PlacedSet>& sets, const std::string& label) const;
  void check_devices() const;

  const Claim& claim_;
  PredictOptions options_;
  std::optional<ScenarioText> text_;
  Scenario base_;
  bool timing_only_ = true;
  mutable std::mutex asking_;                         // for options_.interrupted
  std::map<std::string, std::vector<Values>> known_;  // [seeds] of each case
  std::size_t runs_ = 0;
};

}  // namespace straggler

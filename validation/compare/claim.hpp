// A claim: a measured table, the scenario that must predict it, parameters and rows of the fit, and bounds of the held-out errors.
#pragma once
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "scenarios/schema/errors.hpp"
#include "scenarios/schema/key.hpp"
#include "validation/compare/amount.hpp"

namespace straggler {

/// A condition on the cell of a column: all given parts must hold. Texts compare as texts, numbers as numbers; a word lies in no range.
struct Condition {
  std::string column;
  std::vector<std::string> values = {};          // one of these; empty: any
  std::vector<std::string> excluded = {};        // none of these
  std::optional<double> from = {}, to = {};      // ends of a range, included
  std::optional<double> above = {}, below = {};  // ends of a range, excluded
  Place place = {};
};
/// All must hold; empty: every row.
struct RowPattern {
  std::vector<Condition> conditions;
  Place place;
  std::string path;  // in the claim, for messages
};

/// Paths of the scenario that are set to the value of a cell.
struct BindTarget {
  std::vector<std::string> paths;
  std::string unit;                                         // written behind the cell
  std::vector<std::pair<std::string, std::string>> values;  // cell -> YAML; empty: the cell itself
};
/// A column of the table sets paths of the scenario.
struct Bind {
  std::string column;
  std::vector<BindTarget> targets;
  Place place;
  std::vector<std::string> paths() const;
  /// Its cells are words for at least one target.
  bool words() const;
};

/// A fixed change of the scenario.
struct FixedSet {
  std::string path, yaml;
  std::string source;  // origin of the value; empty: none given
  Place place;
};

struct Compared {
  std::string column, unit;
  double factor = 1;  // of the column's unit, to SI
  std::string metric, divide_by;
  double scale = 1;
  std::optional<RowPattern> relative_to;
  std::string deviation;             // the column of the standard deviation of the repeats; in `unit`
  std::string repeats_column;        // number of repeats averaged in the measured value
  std::optional<double> repeats;     // the same, one number for all rows
  std::string rank_column;           // the worker whose metric is compared; the metric is then a column of workers.csv
  std::optional<std::int64_t> rank;  // the same, one worker for all rows
  bool of_a_worker() const { return !rank_column.empty() || rank; }
  Place place;
};

/// One fitted number, and every path that is set to it.
struct FitParameter {
  std::vector<std::string> paths;
  std::optional<Dimension> dimension;
  double from = 0, to = 0;  // SI
  bool log = false;
  Place place;
};

struct Fit {
  std::vector<FitParameter> parameters;
  std::vector<RowPattern> rows;
  bool log_errors = true;  // squares of log(predicted / measured); false: of predicted / measured - 1
};

struct Claim {
  /// replay: the scenario's figures come from the measured file itself, so that it says how complete the scenario is, and predicts nothing.
  enum class Kind { prediction, replay };
  Kind kind = Kind::prediction;
  std::filesystem::path file, scenario, measured;
  Place scenario_place, measured_place;  // where the claim mentions them
  std::string title, source;
  std::int64_t attempt = 1;  // number of versions of the claim or of its model that were tested on these rows, this one included
  std::int64_t seeds = 1;    // runs that a prediction is the mean of, with the scenario's seed and the ones after it
  std::vector<FixedSet> set;
  std::vector<Bind> bind;
  std::vector<RowPattern> where;  // at least one must match; empty: every row
  Compared compare;
  std::optional<Fit> fit;
  std::optional<double> bound_mape, bound_max;  // shares; at least one
  std::optional<bool> timing_only;              // none: the metric decides
  std::shared_ptr<const Places> places;
};

/// The keys of a claim.
std::vector<ScenarioKey> claim_keys();

/// Throws ScenarioErrors with all problems.
Claim read_claim(const std::filesystem::path& file);

/// Errors of reading a file given in the claim under `key`; if it is not a file, at that place of the claim.
ScenarioErrors named_by_claim(const Claim& claim, Place place, const char* key, const std::filesystem::path& file,
                              const ScenarioErrors& errors);

/// Values of `compare.metric`: the numbers of summary.json, update_seconds and blocked_seconds_per_update.
const std::vector<std::string>& metric_names();
/// Its values with `compare.rank`: the numbers of a worker in workers.csv.
const std::vector<std::string>& worker_metric_names();
/// The dimension of a metric: a time, bytes, or a plain number (counts, shares, losses, samples per second).
std::optional<Dimension> metric_dimension(const std::string& metric);

}  // namespace straggler

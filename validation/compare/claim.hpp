// A claim: a measured table, the scenario that is to predict it, what may be fitted on which rows, and how far off the rest may be.
#pragma once
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

/// One cell must be one of these (as texts; numbers compare as numbers).
struct Condition {
  std::string column;
  std::vector<std::string> values;
  Place place;
};
/// All of them; empty: every row.
struct RowPattern {
  std::vector<Condition> conditions;
  Place place;
  std::string path;  // in the claim, for messages
};

/// A column of the table sets these paths of the scenario.
struct Bind {
  std::string column;
  std::vector<std::string> paths;
  std::string unit;                                         // written behind the cell
  std::vector<std::pair<std::string, std::string>> values;  // cell -> YAML; empty: the cell itself
  Place place;
};

/// A fixed change of the scenario.
struct FixedSet {
  std::string path, yaml;
  Place place;
};

struct Compared {
  std::string column, unit;
  double factor = 1;  // of the column's unit, to SI
  std::string metric, divide_by;
  double scale = 1;
  std::optional<RowPattern> relative_to;
  Place place;
};

/// One number that the optimizer may choose, and every path that takes it.
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
  bool log_errors = true;  // squares of log(predicted / measured); else of predicted / measured - 1
};

struct Claim {
  std::filesystem::path file, scenario, measured;
  Place scenario_place, measured_place;  // where the claim names them
  std::string title, source;
  std::vector<FixedSet> set;
  std::vector<Bind> bind;
  RowPattern where;
  Compared compare;
  std::optional<Fit> fit;
  std::optional<double> bound_mape, bound_max;  // shares; at least one
  std::optional<bool> timing_only;              // none: as the metric needs
  std::shared_ptr<const Places> places;
};

/// What may stand in a claim.
std::vector<ScenarioKey> claim_keys();

/// Throws ScenarioErrors with all that is wrong.
Claim read_claim(const std::filesystem::path& file);

/// The errors of reading a file that the claim names under `key`; if it is no file at all, at that place of the claim.
ScenarioErrors named_by_claim(const Claim& claim, Place place, const char* key, const std::filesystem::path& file,
                              const ScenarioErrors& errors);

/// What `compare.metric` may be: the numbers of summary.json, update_seconds and blocked_seconds_per_update.
const std::vector<std::string>& metric_names();
/// What a metric is: a time, bytes, or a plain number (counts, shares, losses, samples a second).
std::optional<Dimension> metric_dimension(const std::string& metric);

}  // namespace straggler

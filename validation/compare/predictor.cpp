#include "validation/compare/predictor.hpp"

#include <algorithm>
#include <cmath>

#include "models/data/dataset.hpp"
#include "models/executor/executor.hpp"
#include "scenarios/experiment/experiment.hpp"
#include "scenarios/results/summary.hpp"
#include "scenarios/schema/reader.hpp"
#include "scenarios/schema/source_text.hpp"
#include "scenarios/schema/writer.hpp"
#include "scenarios/schema/yaml_tree.hpp"
#include "sim/base/suggest.hpp"

namespace straggler {

namespace {

/// Null without training.stop.target_accuracy.
bool needs_target(const std::string& metric) { return metric.find("_to_target") != std::string::npos || metric == "last_below_target_s"; }

class Watch final : public ProgressListener {
 public:
  explicit Watch(const std::function<bool()>& interrupted) : interrupted_(interrupted) {}
  void progress(const State&) override {}
  bool interrupted() override { return interrupted_(); }

 private:
  const std::function<bool()>& interrupted_;
};

using Fields = std::vector<SummaryField>;

std::optional<double> update_seconds(const Fields& fields) {
  const auto seconds = scalar_of(fields, "simulated_seconds").number(), updates = scalar_of(fields, "updates").number();
  return seconds && updates && *updates > 0 ? std::optional(*seconds / *updates) : std::nullopt;
}

/// Communication and idle, mean over workers.
std::optional<double> blocked_seconds_per_update(const Fields& fields) {
  const auto seconds = scalar_of(fields, "simulated_seconds").number(), updates = scalar_of(fields, "updates").number();
  const auto sends = scalar_of(fields, "communication_fraction").number(), waits = scalar_of(fields, "idle_fraction").number();
  if (!seconds || !updates || !(*updates > 0) || !sends || !waits) return std::nullopt;
  return (*sends + *waits) * *seconds / *updates;
}

/// Times that summary.json has not.
struct DerivedMetric {
  const char* name;
  std::optional<double> (*of)(const Fields&);
};
constexpr DerivedMetric derived_metrics[] = {{"update_seconds", update_seconds},
                                             {"blocked_seconds_per_update", blocked_seconds_per_update}};

const DerivedMetric* find_derived(const std::string& metric) {
  const auto at =
      std::find_if(std::begin(derived_metrics), std::end(derived_metrics), [&](const DerivedMetric& each) { return metric == each.name; });
  return at == std::end(derived_metrics) ? nullptr : at;
}

std::optional<double> metric_of(const RunRecord& record, const std::string& metric) {
  const Fields fields = summarize(record);
  const DerivedMetric* const derived = find_derived(metric);
  return derived ? derived->of(fields) : scalar_of(fields, metric).number();
}

/// Its times come from the gradients, too.
bool stops_at_accuracy(const Scenario& scenario) {
  return scenario.training.stop.target_accuracy && scenario.training.stop.on_target == StopSpec::OnTarget::stop;
}

/// "devices.NAME.…"; empty if it is not.
std::string device_in(const std::string& path) {
  const std::string start = "devices.";
  if (!path.starts_with(start)) return {};
  return path.substr(start.size(), path.find_first_of(".[=", start.size()) - start.size());
}

std::vector<PlacedSet> together(std::vector<PlacedSet> sets, const std::vector<PlacedSet>& more) {
  sets.insert(sets.end(), more.begin(), more.end());
  return sets;
}

const YamlNode* walk(const YamlNode& root, const std::string& path) {
  const YamlNode* node = &root;
  for (std::size_t at = 0; node != nullptr && at < path.size();) {
    if (path[at] == '[') {
      const std::size_t index = static_cast<std::size_t>(std::strtoull(path.c_str() + at + 1, nullptr, 10));
      node = node->type == YamlNode::Type::sequence && index < node->items.size() ? &node->items[index] : nullptr;
      at = std::min(path.find(']', at), path.size() - 1) + 1;
    } else {
      at += path[at] == '.';
      const std::size_t end = std::min(path.find_first_of(".[", at), path.size());
      node = node->find(path.substr(at, end - at));
      at = end;
    }
  }
  return node;
}

}  // namespace

const std::vector<std::string>& metric_names() {
  static const std::vector<std::string> all = [] {
    std::vector<std::string> names;
    for (const SummaryField& field : summarize(RunRecord()))
      if (!holds_text(field.key)) names.push_back(field.key);
    for (const DerivedMetric& derived : derived_metrics) names.emplace_back(derived.name);
    return names;
  }();
  return all;
}

std::optional<Dimension> metric_dimension(const std::string& metric) {
  if (metric.ends_with("_s") || metric.ends_with("_seconds") || find_derived(metric)) return Dimension::time;
  if (metric.starts_with("bytes_")) return Dimension::bytes;
  return std::nullopt;
}

Predictor::Predictor(const Claim& claim, const PredictOptions& options) : claim_(claim), options_(options) {
  const Places places({claim.scenario.string()});
  Problems problems(places);
  text_ = read_text(claim.scenario, problems).value_or("");
  try {
    problems.raise();
  } catch (const ScenarioErrors& errors) {
    throw named_by_claim(claim, claim.scenario_place, "scenario", claim.scenario, errors);
  }
  std::vector<PlacedSet> fixed;
  for (const FixedSet& set : claim.set) fixed.push_back({set.path + "=" + set.yaml, set.place, "set"});
  try {
    base_ = read(fixed);
  } catch (const ScenarioErrors& errors) {
    raise(errors, fixed, "");
  }
  check_devices();
  timing_only_ = claim.timing_only.value_or(!needs_math(claim.compare.metric) && !needs_math(claim.compare.divide_by));
}

void Predictor::check_devices() const {
  Problems problems(*claim_.places);
  std::vector<std::string> known;
  for (const auto& [name, device] : base_.devices) known.push_back(name);
  const auto check = [&](const std::string& path, Place place, const std::string& who) {
    const std::string device = device_in(path);
    if (!device.empty() && !base_.devices.contains(device))
      problems.add(place, who, path + " sets nothing: " + unknown_name("device", device, known) + " (" + claim_.scenario.string() + ")");
  };
  for (const Bind& bind : claim_.bind)
    for (const std::string& path : bind.paths) check(path, bind.place, "bind." + bind.column);
  if (claim_.fit)
    for (const FitParameter& parameter : claim_.fit->parameters)
      for (const std::string& path : parameter.paths) check(path, parameter.place, "fit.parameters");
  problems.raise();
}

Scenario Predictor::read(const std::vector<PlacedSet>& sets) const {
  std::vector<std::string> texts;
  for (const PlacedSet& set : sets) texts.push_back(set.text);
  return read_scenario_text(text_, claim_.scenario, texts);
}

std::vector<Predictor::Told> Predictor::told_by_claim(const ScenarioErrors& errors, const std::vector<PlacedSet>& sets,
                                                      const std::string& label) const {
  const std::string row = label.empty() ? "" : " (row " + label + ")";
  std::vector<Told> all;
  for (const Problem& problem : errors.problems) {
    const auto number = static_cast<std::size_t>(problem.place.source);  // from 1; 0: the file
    if (number == 0 || number > sets.size()) {
      all.push_back({problem, problem});
      continue;
    }
    const PlacedSet& set = sets[number - 1];
    all.push_back({claim_.places->problem(set.place, set.who, problem.about()),
                   claim_.places->problem(set.place, set.who, problem.source + row + ": " + problem.about())});
  }
  return all;
}

void Predictor::raise(const ScenarioErrors& errors, const std::vector<PlacedSet>& sets, const std::string& label) const {
  std::vector<Problem> problems;
  for (Told& told : told_by_claim(errors, sets, label)) problems.push_back(std::move(told.problem));
  throw ScenarioErrors(std::move(problems));
}

double Predictor::run(const std::vector<PlacedSet>& sets, const std::string& label) const {
  RunOptions options;
  options.threads = options_.threads;
  const std::string where = claim_.file.string() + ": row " + label + ": ";
  Watch watch(options_.interrupted);
  RunRecord record;
  try {
    const Scenario scenario = read(sets);
    options.timing_only = timing_only_ && (claim_.timing_only || !stops_at_accuracy(scenario));
    record = Experiment(scenario, options).run(nullptr, &watch);
  } catch (const ScenarioErrors& errors) {
    raise(errors, sets, label);
  } catch (const RunFailed& error) {
    throw RunFailed(where + error.what());
  } catch (const MemoryBudgetExceeded& error) {
    throw RunFailed(where + error.what());
  }
  if (record.outcome == Outcome::interrupted) throw Interrupted();
  if (record.outcome == Outcome::aborted || record.outcome == Outcome::all_workers_down || record.outcome == Outcome::stalled)
    throw RunFailed(where + "the run could not go on: " + std::string(name_of(record.outcome)));
  std::optional<double> value = metric_of(record, claim_.compare.metric);
  std::string missing = claim_.compare.metric;
  if (value && !claim_.compare.divide_by.empty()) {
    const std::optional<double> by = metric_of(record, claim_.compare.divide_by);
    if (!by || *by == 0) missing = claim_.compare.divide_by;
    value = by && *by != 0 ? std::optional(*value / *by) : std::nullopt;
  }
  if (!value)
    throw ScenarioErrors(claim_.places->problem(
        claim_.compare.place, "compare.metric",
        needs_target(missing) ? missing + " has no value in the run of row " + label +
                                    ": it did not reach training.stop.target_accuracy; lower that, or let it run longer"
                              : missing + " has no value in the run of row " + label + "; compare what applies to it"));
  return *value * claim_.compare.scale;
}

double Predictor::predict(const ClaimRow& row, const std::vector<PlacedSet>& more) {
  const std::vector<PlacedSet> sets = together(row.sets, more);
  std::string key;
  for (const PlacedSet& set : sets) key += set.text + "\n";
  if (const auto known = known_.find(key); known != known_.end()) return known->second;
  if (options_.interrupted()) throw Interrupted();
  const double value = run(sets, row.label);
  known_.emplace(std::move(key), value);
  return value;
}

void Predictor::check(const ClaimRow& row, const std::vector<PlacedSet>& more, std::vector<Told>& wrong) const {
  const std::vector<PlacedSet> sets = together(row.sets, more);
  const auto tell = [&](Told told) {
    if (std::none_of(wrong.begin(), wrong.end(), [&](const Told& known) { return known.mistake.line() == told.mistake.line(); }))
      wrong.push_back(std::move(told));
  };
  try {
    const bool has_target = read(sets).training.stop.target_accuracy.has_value();
    for (const std::string& metric : {claim_.compare.metric, claim_.compare.divide_by}) {
      if (has_target || !needs_target(metric)) continue;
      const Problem problem = claim_.places->problem(
          claim_.compare.place, "compare.metric", metric + " needs a target, and the scenario has none; set training.stop.target_accuracy");
      tell({problem, problem});
    }
  } catch (const ScenarioErrors& errors) {
    for (Told& told : told_by_claim(errors, sets, row.label)) tell(std::move(told));
  }
}

std::optional<double> Predictor::given_value(const std::string& path, std::optional<Dimension> dimension) const {
  const Places places({"scenario"});
  Problems problems(places);
  const std::optional<YamlNode> root = parse_yaml(write_scenario(base_), 0, problems);
  const YamlNode* node = root ? walk(*root, path) : nullptr;
  if (node == nullptr || node->type != YamlNode::Type::scalar) return std::nullopt;
  try {
    const Amount amount = parse_amount(node->text);
    return amount.dimension == dimension ? std::optional(amount.value) : std::nullopt;
  } catch (const std::invalid_argument&) {
    return std::nullopt;
  }
}

}  // namespace straggler

#include "validation/compare/predictor.hpp"

#include <algorithm>
#include <cmath>
#include <exception>
#include <set>

#include "models/data/blocks.hpp"
#include "models/data/dataset.hpp"
#include "models/executor/executor.hpp"
#include "scenarios/experiment/experiment.hpp"
#include "scenarios/results/summary.hpp"
#include "scenarios/schema/source_text.hpp"
#include "scenarios/schema/writer.hpp"
#include "scenarios/schema/yaml_tree.hpp"
#include "scenarios/sweep/chance.hpp"
#include "sim/base/machine.hpp"
#include "sim/base/suggest.hpp"
#include "validation/compare/metrics.hpp"

namespace straggler {

namespace {

/// Null without training.stop.target_accuracy.
bool needs_target(const std::string& metric) { return metric.find("_to_target") != std::string::npos || metric == "last_below_target_s"; }

class Watch final : public ProgressListener {
 public:
  Watch(const std::function<bool()>& interrupted, std::mutex& asking) : interrupted_(interrupted), asking_(asking) {}
  void progress(const State&) override {}
  bool interrupted() override {
    const std::lock_guard lock(asking_);
    return interrupted_();
  }

 private:
  const std::function<bool()>& interrupted_;
  std::mutex& asking_;
};

/// Its times depend on the gradients, too.
bool stops_at_accuracy(const Scenario& scenario) {
  return scenario.training.stop.target_accuracy && scenario.training.stop.on_target == StopSpec::OnTarget::stop;
}

/// NAME of "devices.NAME.…"; empty for other paths.
std::string device_in(const std::string& path) {
  const std::string start = "devices.";
  if (!path.starts_with(start)) return {};
  return path.substr(start.size(), path.find_first_of(".[=", start.size()) - start.size());
}

std::string key_of(const std::vector<PlacedSet>& sets) {
  std::string key;
  for (const PlacedSet& set : sets) key += set.text + "\n";
  return key;
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

Predictor::Predictor(const Claim& claim, const PredictOptions& options) : claim_(claim), options_(options) {
  const Places places({claim.scenario.string()});
  Problems problems(places);
  std::string text = read_text(claim.scenario, problems).value_or("");
  try {
    problems.raise();
  } catch (const ScenarioErrors& errors) {
    throw named_by_claim(claim, claim.scenario_place, "scenario", claim.scenario, errors);
  }
  text_.emplace(std::move(text), claim.scenario);
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
    for (const std::string& path : bind.paths()) check(path, bind.place, "bind." + bind.column);
  if (claim_.fit)
    for (const FitParameter& parameter : claim_.fit->parameters)
      for (const std::string& path : parameter.paths) check(path, parameter.place, "fit.parameters");
  problems.raise();
}

Scenario Predictor::read(const std::vector<PlacedSet>& sets) const {
  std::vector<std::string> texts;
  for (const PlacedSet& set : sets) texts.push_back(set.text);
  ReadOptions options;  // paths set by a claim are relative to the claim's folder
  options.sets_of_file = static_cast<int>(sets.size());
  options.sets_folder = std::filesystem::absolute(claim_.file).parent_path();
  return text_->read(texts, options);
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

bool Predictor::only_times(const Scenario& scenario) const { return timing_only_ && (claim_.timing_only || !stops_at_accuracy(scenario)); }

std::string Predictor::row_and_seed(const std::string& label, std::uint64_t seed) const {
  return label + (claim_.seeds > 1 ? ", seed " + std::to_string(seed) : std::string());
}

void Predictor::read_case(Case& each) const {
  try {
    each.scenario = read(each.sets);
  } catch (const ScenarioErrors& errors) {
    raise(errors, each.sets, each.label);
  }
  const bool by_chance = !only_times(each.scenario) || timing_depends_on_seed(each.scenario);
  each.values.resize(by_chance ? static_cast<std::size_t>(claim_.seeds) : 1);
}

Predictor::Values Predictor::run(const Case& each, std::uint64_t seed) const {
  const std::string where = claim_.file.string() + ": row " + row_and_seed(each.label, seed) + ": ";
  Watch watch(options_.interrupted, asking_);
  if (watch.interrupted()) throw Interrupted();
  RunRecord record;
  try {
    Scenario scenario = each.scenario;
    scenario.seed = seed;
    RunOptions options;
    options.threads = options_.threads;
    options.timing_only = only_times(scenario);
    record = Experiment(scenario, options).run(nullptr, &watch);
  } catch (const ScenarioErrors& errors) {
    raise(errors, each.sets, each.label);
  } catch (const RunFailed& error) {
    throw RunFailed(where + error.what());
  } catch (const MemoryBudgetExceeded& error) {
    throw RunFailed(where + error.what());
  }
  if (record.outcome == Outcome::interrupted) throw Interrupted();
  if (!is_finished(record.outcome)) throw RunFailed(where + "the run did not finish: " + std::string(name_of(record.outcome)));
  Values values = values_of(record);
  values.seed = seed;
  return values;
}

Predictor::Values Predictor::values_of(const RunRecord& record) const {
  const Compared& compare = claim_.compare;
  Values values;
  const std::size_t ranks = compare.of_a_worker() ? record.workers.size() : 1;
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    const auto metric = [&](const std::string& name) {
      return compare.of_a_worker() ? worker_metric_of(record, rank, name) : metric_of(record, name);
    };
    std::optional<double> value = metric(compare.metric);
    if (!value) values.missing = compare.metric;
    if (value && !compare.divide_by.empty()) {
      const std::optional<double> by = metric(compare.divide_by);
      if (!by || *by == 0) values.missing = compare.divide_by;
      value = by && *by != 0 ? std::optional(*value / *by) : std::nullopt;
    }
    values.all.push_back(value ? std::optional(*value * compare.scale) : std::nullopt);
  }
  return values;
}

double Predictor::value_for(const ClaimRow& row, const Values& values) const {
  const std::size_t rank = row.rank.value_or(0);
  if (rank >= values.all.size())
    throw ScenarioErrors(claim_.places->problem(claim_.compare.place, "compare.rank",
                                                "row " + row.label + " names worker " + std::to_string(rank) + ", and its run has " +
                                                    std::to_string(values.all.size()) +
                                                    ", from 0; correct the row, or leave it out by where"));
  if (const std::optional<double>& value = values.all[rank]) return *value;
  throw ScenarioErrors(claim_.places->problem(
      claim_.compare.place, "compare.metric",
      values.missing + " has no value in the run of row " + row_and_seed(row.label, values.seed) +
          (needs_target(values.missing) ? ": it did not reach training.stop.target_accuracy; lower that, or let it run longer"
                                        : "; compare what applies to it")));
}

double mean_of(const std::vector<double>& values) {
  double above = 0;  // the first
  for (const double value : values) above += value - values.front();
  return values.front() + above / static_cast<double>(values.size());
}

double Predictor::predict(const ClaimRow& row, const std::vector<PlacedSet>& more) { return mean_of(by_seed(row, more)); }

std::vector<double> Predictor::by_seed(const ClaimRow& row, const std::vector<PlacedSet>& more) {
  const std::string key = key_of(together(row.sets, more));
  if (!known_.contains(key)) prepare({{&row, &more}});
  std::vector<double> all;
  for (const Values& values : known_.at(key)) all.push_back(value_for(row, values));
  return all;
}

void Predictor::prepare(const std::vector<Wanted>& wanted) {
  std::vector<Case> cases;
  std::set<std::string> seen;
  for (const Wanted& each : wanted) {
    std::vector<PlacedSet> sets = together(each.row->sets, *each.more);
    std::string key = key_of(sets);
    if (!known_.contains(key) && seen.insert(key).second) cases.push_back({std::move(key), std::move(sets), each.row->label});
  }
  std::vector<std::exception_ptr> failures(cases.size());  // the first of each case
  const unsigned threads = !timing_only_ || stops_at_accuracy(base_) ? 1 : options_.threads > 0 ? options_.threads : usable_cores();
  const auto side_by_side = [&](std::size_t count, const auto& task) {
    for_blocks(count, 1, threads, 0, [&](int&, std::size_t, std::size_t first, std::size_t) { task(first); });
  };
  side_by_side(cases.size(), [&](std::size_t at) {
    try {
      read_case(cases[at]);
    } catch (...) {
      failures[at] = std::current_exception();
    }
  });
  struct Task {
    std::size_t at, number;  // of the case, of its seed
  };
  std::vector<Task> tasks;
  for (std::size_t at = 0; at < cases.size(); ++at)
    for (std::size_t number = 0; number < cases[at].values.size(); ++number) tasks.push_back({at, number});
  std::vector<std::exception_ptr> failed(tasks.size());
  side_by_side(tasks.size(), [&](std::size_t i) {
    Case& each = cases[tasks[i].at];
    try {
      each.values[tasks[i].number] = run(each, each.scenario.seed + tasks[i].number);
    } catch (...) {
      failed[i] = std::current_exception();
    }
  });
  for (std::size_t i = 0; i < tasks.size(); ++i)
    if (std::exception_ptr& failure = failures[tasks[i].at]; !failure) failure = failed[i];
  for (std::size_t at = 0; at < cases.size(); ++at) {
    if (failures[at]) continue;
    runs_ += cases[at].values.size();
    known_.emplace(std::move(cases[at].key), std::move(cases[at].values));
  }
  for (const std::exception_ptr& failure : failures)
    if (failure) std::rethrow_exception(failure);
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

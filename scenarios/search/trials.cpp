#include "scenarios/search/trials.hpp"

#include <algorithm>
#include <stdexcept>

#include "scenarios/sweep/chance.hpp"
#include "sim/base/quantity.hpp"

namespace straggler {
namespace {

/// The file may leave out the math as the command line does.
Trials::Options with_those_of_file(Trials::Options options, const Sweep& sweep) {
  options.timing_only = options.timing_only || sweep.timing_only;
  return options;
}

}  // namespace

Trials::Trials(const Sweep& sweep, Options options, Metric metric, PointPool& pool)
    : sweep_(sweep),
      options_(with_those_of_file(std::move(options), sweep)),
      metric_(std::move(metric)),
      pool_(pool),
      reader_(sweep, options_.more),
      groups_(groups_of(sweep)) {}

SweepGroup Trials::group_of(const Trial& trial) const {
  SweepGroup group = groups_[trial.group];
  for (const auto& [path, value] : trial.set) {
    group.set.emplace_back(path, value.yaml);
    group.places.push_back(value.place);
  }
  return group;
}

void Trials::refuse_metric(const std::string& what) const {
  throw ScenarioErrors(sweep_.places->problem(metric_.place, metric_.path, what));
}

void Trials::settle_metric(const Scenario& scenario) {
  const auto& stop = scenario.training.stop;
  const auto& thresholds = scenario.training.evaluate.thresholds;
  if (metric_.name.empty()) {
    metric_.name = stop.target_accuracy && !options_.timing_only ? "time_to_target_s" : "samples_per_second";
    if (!metric_.chosen) metric_.maximize = more_is_better(metric_.name);
  }
  if (options_.timing_only && metric_needs_math(metric_.name))
    refuse_metric(metric_.name +
                  " needs the math that timing-only leaves out; remove --timing-only, or use a metric such as samples_per_second");
  if (const std::optional<Measure> measure = measure_of(metric_.name))
    if (const auto lack = row_of(*measure).missing)
      if (const std::string missing = lack(scenario); !missing.empty()) refuse_metric(metric_.name + " needs " + missing);
  if (metric_.name.find("_to_target") != std::string::npos || metric_.name.ends_with("target_s")) {
    if (!stop.target_accuracy)
      refuse_metric(metric_.name + " needs a target, and the scenario has none; set training.stop.target_accuracy");
  } else if (const auto threshold = threshold_of(metric_.name)) {
    if (std::find(thresholds.begin(), thresholds.end(), *threshold) == thresholds.end())
      refuse_metric(metric_.name + " refers to a threshold that the scenario does not list; add " + format_number(*threshold) +
                    " to training.evaluate.thresholds");
  }
}

void Trials::check(const std::vector<Trial>& trials) {
  for (const Trial& trial : trials) {
    const Scenario scenario = reader_.read(group_of(trial), 0);
    if (&trial == &trials.front()) seed_ = scenario.seed;
    settle_metric(scenario);
  }
}

bool Trials::timing_alone(const Scenario& scenario) const {
  if (options_.timing_only) return true;
  const auto& stop = scenario.training.stop;
  return !metric_needs_math(metric_.name) && !(stop.target_accuracy && stop.on_target == StopSpec::OnTarget::stop);
}

PointRequest Trials::request(const Trial& trial, std::int64_t repeat) const {
  PointRequest request;
  const std::vector<std::string> columns = sweep_.columns();
  for (std::size_t i = 0; i < columns.size(); ++i) request.name += columns[i] + "=" + groups_[trial.group].labels[i] + ", ";
  for (const auto& [path, value] : trial.set) request.name += path + "=" + value.label + ", ";
  request.name += "repeat " + std::to_string(repeat);
  request.read = [this, group = group_of(trial), repeat] { return reader_.read(group, repeat); };
  request.timing_only = timing_alone(request.read());
  return request;
}

void Trials::report_to(SearchOutcome& outcome) const {
  outcome.metric = metric_;
  outcome.failures = failures_;
  outcome.runs = runs_;
  outcome.timing_runs = timing_runs_;
  outcome.interrupted = interrupted();
}

bool Trials::exact(const Trial& trial) const {
  const Scenario scenario = reader_.read(group_of(trial), 0);
  return timing_alone(scenario) && !timing_depends_on_seed(scenario);
}

bool Trials::any_finished(const std::vector<Trial>& trials) const {
  for (const Trial& trial : trials)
    for (std::int64_t repeat = 0; repeat < options_.repeats; ++repeat)
      if (pool_.has_finished(request(trial, repeat))) return true;
  return false;
}

std::vector<Measured> Trials::run(const std::vector<Trial>& trials) {
  const auto repeats = static_cast<std::size_t>(options_.repeats);
  std::size_t timing_runs = 0;
  std::vector<PointOutcome> outcomes = pool_.run(trials.size() * repeats, [&](std::size_t index) {
    PointRequest wanted = request(trials[index / repeats], static_cast<std::int64_t>(index % repeats));
    timing_runs += wanted.timing_only ? 1 : 0;
    return wanted;
  });
  runs_ += outcomes.size();
  timing_runs_ += timing_runs;
  std::vector<Measured> all;
  for (std::size_t trial = 0; trial < trials.size(); ++trial) {
    std::vector<std::optional<double>> values(repeats);
    std::vector<StudyRun> runs;
    for (std::size_t repeat = 0; repeat < repeats; ++repeat) {
      PointOutcome& outcome = outcomes[trial * repeats + repeat];
      if (!outcome.failure.empty()) failures_.push_back(outcome.failure);
      if (!outcome.result) continue;
      if (is_finished(outcome.result->fields)) values[repeat] = metric_value(metric_.name, outcome.result->fields, outcome.result->sketch);
      runs.push_back({outcome.seed, std::move(outcome.result->fields), std::move(outcome.result->sketch)});
    }
    all.push_back(Measured::of(std::move(values), exact(trials[trial])));
    all.back().runs = std::move(runs);
  }
  return all;
}

}  // namespace straggler

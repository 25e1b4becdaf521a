#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "scenarios/race/race.hpp"
#include "scenarios/results/caveats.hpp"
#include "scenarios/results/text.hpp"
#include "scenarios/results/verdict.hpp"
#include "scenarios/schema/source_text.hpp"
#include "scenarios/sweep/chance.hpp"
#include "scenarios/sweep/range.hpp"

namespace straggler {
namespace {

/// Beyond the seeds of any race, so that no run is both tuned on and raced.
constexpr std::uint64_t first_tuning_seed = 1'000'000;

std::string race_text(const std::filesystem::path& file) {
  const Places places({file.string()});
  Problems problems(places);
  std::optional<std::string> text = read_text(file, problems);
  problems.raise();
  return std::move(*text);
}

}  // namespace

RaceReader::RaceReader(const Race& race) : race_(race), text_(race_text(race.scenario), race.scenario) {
  std::vector<std::string> values;
  if (race.tuning) values = race.tuning->candidates.front();
  std::vector<Scenario> entrants{read(0, values, {})};
  const Scenario first = entrants.front();
  seed_ = first.seed;
  name_ = first.name;
  resolve_finishes(first);
  for (std::size_t entrant = 1; entrant < race.entrants.size(); ++entrant)
    check_alike(first, entrants.emplace_back(read(entrant, values, {})), race.entrants[entrant]);
  check_costs(entrants);
  note_settings(entrants);
}

void RaceReader::check_costs(const std::vector<Scenario>& entrants) const {
  const MeasureRow& by = row_of(race_.by);
  for (std::size_t entrant = 0; by.missing && entrant < entrants.size(); ++entrant)
    if (const std::string missing = by.missing(entrants[entrant]); !missing.empty())
      throw ScenarioErrors(Problem(whole_file, race_.entrants[entrant].given, {}, fmt::format("--by {} needs {}", by.name, missing)));
}

void RaceReader::note_settings(const std::vector<Scenario>& entrants) {
  if (race_.timing_only) {
    exact_ = std::ranges::none_of(entrants, timing_depends_on_seed);
    if (exact_) notes_.push_back("without randomness no time depends on the seed, so each entrant runs once");
  } else if (!race_.tuning) {
    std::set<double> rates;
    for (const Scenario& entrant : entrants)
      if (const Parameters& optimizer = entrant.training.optimizer.parameters; optimizer.has("learning_rate"))
        rates.insert(optimizer.number("learning_rate"));
    notes_.push_back(fmt::format("nothing is tuned: {}; --tune learning_rate tunes it for each alike",
                                 rates.size() == 1 ? one_rate_words(*rates.begin()) : "the learning rates are those given"));
  }
}

Scenario RaceReader::read(std::size_t entrant, const std::vector<std::string>& values, const std::vector<std::string>& last) const {
  const Entrant& own = race_.entrants[entrant];
  std::vector<std::string> sets = race_.more;
  for (const auto& [path, yaml] : own.set) sets.push_back(fmt::format("{}={}", path, yaml));
  const std::size_t first_value = sets.size();
  for (std::size_t i = 0; i < values.size(); ++i) sets.push_back(race_.tuning->paths[i] + "=" + values[i]);
  const std::size_t end = sets.size();
  sets.insert(sets.end(), last.begin(), last.end());
  try {
    return text_.read(sets);
  } catch (const ScenarioErrors& errors) {
    std::vector<Problem> problems = errors.problems;
    for (Problem& problem : problems) {
      const auto set = static_cast<std::size_t>(problem.place.source);  // from 1; 0: the file
      if (set <= race_.more.size() || set > end) continue;
      const bool tuned = set > first_value;
      if (tuned) problem.add(hint_at_whole(values[set - 1 - first_value], problem.what));
      problem.source = tuned ? "--tune " + race_.tuning->given[set - 1 - first_value] : own.given;
      problem.place = whole_file;
    }
    throw ScenarioErrors(std::move(problems));
  }
}

void RaceReader::check_alike(const Scenario& first, const Scenario& other, const Entrant& entrant) const {
  const auto refuse = [&](const std::string& what) { throw ScenarioErrors(Problem(whole_file, entrant.given, {}, what)); };
  if (other.seed != first.seed) refuse("has a seed of its own; give all the same with --set seed=N, or use --unpaired");
  if (!(other.workload.data == first.workload.data))
    refuse("learns other data than " + race_.entrants.front().label + "; all entrants learn the same");
  if (other.training.evaluate.split != first.training.evaluate.split ||
      other.training.evaluate.thresholds != first.training.evaluate.thresholds ||
      other.training.evaluate.sustain != first.training.evaluate.sustain ||
      other.training.stop.target_accuracy != first.training.stop.target_accuracy ||
      other.training.stop.on_target != first.training.stop.on_target)
    refuse("has another target, other thresholds or another split than " + race_.entrants.front().label +
           "; all entrants have the same finish");
}

void RaceReader::resolve_finishes(const Scenario& scenario) {
  if (race_.timing_only) {
    finishes_ = {{"epoch", race_.by == Measure::time ? std::string() : row_of(race_.by).whole, 0, false}};
    notes_.push_back(timing_caveat);
    return;
  }
  const EvaluateSpec& evaluate = scenario.training.evaluate;
  const StopSpec& stop = scenario.training.stop;
  std::vector<double> accuracies = evaluate.thresholds;
  if (stop.target_accuracy) accuracies.push_back(*stop.target_accuracy);
  std::sort(accuracies.begin(), accuracies.end());
  accuracies.erase(std::unique(accuracies.begin(), accuracies.end()), accuracies.end());
  if (accuracies.empty())
    throw_error(
        scenario, "training.evaluate.thresholds",
        "are missing, and so is a target, so there is no finish; set accuracies to race to, as --set \"training.evaluate.thresholds=[0.8, "
        "0.85]\" or --set training.stop.target_accuracy=0.85, or race for time alone with --timing-only");
  if (evaluate.sustain > 1 && !evaluate.every_epochs && !evaluate.every_updates && !evaluate.every_simulated_time)
    throw_error(scenario, "training.evaluate.every",
                fmt::format("is missing: an accuracy must hold for {} evaluations, and there is one; set training.evaluate.every, as --set "
                            "training.evaluate.every.epochs=0.25",
                            evaluate.sustain));
  for (const double accuracy : accuracies) {
    const std::string name = number_text(accuracy);
    const bool is_target = stop.target_accuracy == accuracy;
    const MeasureRow& by = row_of(race_.by);
    const Finish finish{name, is_target ? by.to_target : key_to(by, name), accuracy, is_target};
    const bool beyond = stop.target_accuracy && accuracy > *stop.target_accuracy;
    if (!beyond) levels_.push_back(finish);
    if (beyond && stop.on_target == StopSpec::OnTarget::stop)
      notes_.push_back(
          fmt::format("{} is above the target, where runs end, so it is left out (training.stop.on_target=continue would keep it)", name));
    else
      finishes_.push_back(finish);
  }
}

std::uint64_t RaceReader::racing_seed(std::size_t entrant, std::size_t number) const {
  return seed_ + (race_.paired ? number : entrant * race_.seeds + number);
}

std::uint64_t RaceReader::tuning_seed(std::size_t number) const { return seed_ + first_tuning_seed + number; }

Scenario RaceReader::racing(std::size_t entrant, const std::vector<std::string>& chosen, std::size_t number) const {
  Scenario scenario = read(entrant, chosen, {});
  scenario.seed = racing_seed(entrant, number);
  return scenario;
}

/// Ends at the target, since later updates do not count.
Scenario RaceReader::tuning(std::size_t entrant, const std::vector<std::string>& candidate, std::size_t number) const {
  std::vector<std::string> last{"training.evaluate.split=validation"};
  if (levels_.back().is_target) last.push_back("training.stop.on_target=stop");
  Scenario scenario = read(entrant, candidate, last);
  scenario.seed = tuning_seed(number);
  return scenario;
}

}  // namespace straggler

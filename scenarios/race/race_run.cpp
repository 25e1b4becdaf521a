#include "scenarios/race/race_run.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "scenarios/experiment/blueprint.hpp"
#include "scenarios/experiment/experiment.hpp"
#include "scenarios/schema/writer.hpp"
#include "sim/base/suggest.hpp"
#include "sim/base/text_lines.hpp"
#include "sim/training/scheme.hpp"

namespace straggler {
namespace {

std::vector<PointRequest> tuning_requests(const Race& race, const RaceReader& reader) {
  std::vector<PointRequest> requests;
  for (std::size_t entrant = 0; entrant < race.entrants.size(); ++entrant)
    for (std::size_t candidate = 0; candidate < race.tuning->candidates.size(); ++candidate)
      for (std::size_t number = 0; number < race.tuning->seeds; ++number)
        requests.push_back({fmt::format("tuning {}, candidate {}", race.entrants[entrant].label, candidate + 1),
                            [&, entrant, candidate, number] { return reader.tuning(entrant, race.tuning->candidates[candidate], number); },
                            false});
  return requests;
}

/// False: interrupted.
bool tune(const Race& race, const RaceReader& reader, PointPool& pool, RaceOutcome& outcome) {
  const std::vector<PointRequest> requests = tuning_requests(race, reader);
  pool.expect(requests.size() + race.entrants.size() * reader.seeds());  // the race follows
  const std::vector<PointOutcome> points = pool.run(requests);
  if (pool.interrupted()) return false;
  auto point = points.begin();
  for (const Entrant& entrant : race.entrants) {
    std::vector<Criterion> criteria;
    for (std::size_t candidate = 0; candidate < race.tuning->candidates.size(); ++candidate) {
      const auto last = point + static_cast<std::ptrdiff_t>(race.tuning->seeds);
      criteria.push_back(criterion_of({point, last}, reader.levels()));
      for (; point != last; ++point)
        if (!point->failure.empty()) outcome.failed_candidates.push_back(point->failure);
    }
    outcome.tuned.push_back(choose(entrant, *race.tuning, std::move(criteria)));
  }
  return true;
}

std::vector<PointRequest> racing_requests(const Race& race, const RaceReader& reader, const std::vector<Tuned>& tuned) {
  std::vector<PointRequest> requests;
  for (std::size_t entrant = 0; entrant < race.entrants.size(); ++entrant) {
    std::vector<std::string> chosen;
    if (!tuned.empty()) chosen = race.tuning->candidates[tuned[entrant].best];
    for (std::size_t number = 0; number < reader.seeds(); ++number)
      requests.push_back({fmt::format("{}, seed {}", race.entrants[entrant].label, reader.racing_seed(entrant, number)),
                          [&, entrant, chosen, number] { return reader.racing(entrant, chosen, number); }, race.timing_only});
  }
  return requests;
}

/// What `check` and `run` warn of, such as assumed FLOPs, in the first entrant's first run.
std::vector<std::string> workload_notes(const Race& race, const RaceReader& reader) {
  const std::vector<std::string> first = race.tuning ? race.tuning->candidates.front() : std::vector<std::string>();
  try {
    return Blueprint(reader.racing(0, first, 0), "auto").notes;
  } catch (const std::exception&) {
    return {};  // the run itself fails of it
  }
}

}  // namespace

void check_runs(const Race& race, const RaceReader& reader) {
  RunOptions options;
  options.timing_only = true;
  const std::vector<std::string> first = race.tuning ? race.tuning->candidates.front() : std::vector<std::string>();
  std::vector<Problem> problems;
  for (std::size_t entrant = 0; entrant < race.entrants.size(); ++entrant) {
    try {
      Experiment(reader.racing(entrant, first, 0), options);
    } catch (const ScenarioErrors& errors) {
      for (Problem problem : errors.problems) {
        problem.source = race.entrants[entrant].given;
        problem.place = whole_file;
        problems.push_back(std::move(problem));
      }
    }
  }
  if (!problems.empty()) throw ScenarioErrors(std::move(problems));
}

bool can_resume(const Race& race, const RaceReader& reader, const PointPool& pool) {
  const std::vector<PointRequest> first = race.tuning ? tuning_requests(race, reader) : racing_requests(race, reader, {});
  return std::any_of(first.begin(), first.end(), [&](const PointRequest& each) { return pool.has_finished(each); });
}

RaceOutcome run_race(const Race& race, const RaceReader& reader, PointPool& pool) {
  RaceOutcome outcome = RaceOutcome::of(race, reader);
  if (race.tuning && !tune(race, reader, pool, outcome)) {
    outcome.interrupted = true;
    return outcome;
  }
  for (std::string& note : workload_notes(race, reader)) outcome.notes.push_back(std::move(note));
  std::vector<PointOutcome> points = pool.run(racing_requests(race, reader, outcome.tuned));
  outcome.interrupted = pool.interrupted();
  if (outcome.interrupted) return outcome;
  auto point = points.begin();
  for (std::size_t entrant = 0; entrant < race.entrants.size(); ++entrant) {
    outcome.runs.emplace_back();
    for (std::size_t number = 0; number < reader.seeds(); ++number, ++point) {
      StudyRun& run = outcome.runs.back().emplace_back();
      run.seed = point->seed;
      if (point->result) {
        run.fields = std::move(point->result->fields);
        run.sketch = std::move(point->result->sketch);
      }
      if (!point->failure.empty()) outcome.failures.push_back(std::move(point->failure));
    }
  }
  outcome.judge_finishes();
  outcome.two_optima = two_optima_warning(race, reader);
  return outcome;
}

std::optional<std::string> too_few_seeds_warning(const Race& race) {
  const std::size_t rivals = race.entrants.size(), pairs = rivals * (rivals - 1) / 2, needed = runs_that_tell(rivals);
  if (race.timing_only || race.seeds >= needed) return std::nullopt;
  return fmt::format(
      "{} seeds are too few to tell an entrant that always reaches a threshold from one that always misses it: the smallest p is {:.2g}, "
      "and {} is judged at {:.2g}; --seeds {} could tell",
      race.seeds, smallest_rank_p(race.seeds), pairs == 1 ? std::string("the pair") : fmt::format("the first of {} pairs", pairs),
      family_wise_error / static_cast<double>(pairs), needed);
}

std::optional<std::string> two_optima_warning(const Race& race, const RaceReader& reader) {
  if (race.timing_only) return std::nullopt;
  const std::vector<std::string> first = race.tuning ? race.tuning->candidates.front() : std::vector<std::string>();
  std::vector<std::string> alike, by_samples;
  std::vector<Scenario> scenarios;
  for (std::size_t entrant = 0; entrant < race.entrants.size(); ++entrant) {
    const Scenario& scenario = scenarios.emplace_back(reader.racing(entrant, first, 0));
    const auto& scheme = scenario.training.scheme;
    const std::optional<Average::By> by = Registry<SchemeEntry>::instance().at(scheme.name).average(scheme.parameters);
    if (!by)
      scenarios.pop_back();
    else
      (*by == Average::By::plain ? alike : by_samples).push_back(race.entrants[entrant].label);
  }
  if (alike.empty() || by_samples.empty()) return std::nullopt;
  RunOptions options;
  options.timing_only = true;
  for (const Scenario& scenario : scenarios) {
    const PartitionFacts parts = Experiment(scenario, options).explain().partition;
    if (parts.pool || parts.largest - parts.smallest <= 1) continue;  // an even split
    return fmt::format(
        "workers have {} to {} samples, so the entrants aim at two optima: average is plain in {}, by_samples in {}; write the same for "
        "all",
        parts.smallest, parts.largest, joined(alike), joined(by_samples));
  }
  return std::nullopt;
}

Description describe(const Race& race, const RaceReader& reader) {
  Description description;
  std::vector<std::string> values;
  if (race.tuning) values = race.tuning->candidates.front();
  description.add_lines(Described::run_scenario, write_scenario(reader.racing(0, values, 0)));
  for (const Entrant& entrant : race.entrants)
    for (const auto& [path, yaml] : entrant.set) description.add(Described::entrant, fmt::format("{}: {}: {}", entrant.label, path, yaml));
  description.add(Described::seeds, fmt::format("{}{}", reader.seeds(), race.paired ? "" : ", unpaired"));
  if (!race.tuning) return description;
  for (const std::string& item : race.tuning->given) description.add(Described::tuned, item);
  description.add(Described::candidates, fmt::format("{}, each on {} seeds", race.tuning->candidates.size(), race.tuning->seeds));
  return description;
}

}  // namespace straggler

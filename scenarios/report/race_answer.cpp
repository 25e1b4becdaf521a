#include "scenarios/report/race_answer.hpp"

#include <cmath>

#include "scenarios/report/answer_json.hpp"

namespace straggler {

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(RacedFinish, name, accuracy, is_target, times)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(TriedCandidate, reached, seconds, loss)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(RaceAnswer, description, name, entrants, seeds, paired, finishes, tuned, chosen, candidates, ordered,
                                   levels, tuning, tuning_seeds, notes, warnings, failures, reasons, settings)

namespace {

void add_tuning(const Tuning& tuning, const RaceReader& reader, const RaceOutcome& outcome, RaceAnswer& answer) {
  answer.tuned = tuning.paths;
  answer.candidates = tuning.candidates;
  answer.tuning_seeds = tuning.seeds;
  for (std::size_t path = 0; path < tuning.paths.size(); ++path) answer.ordered.push_back(tuning.shares.front()[path] >= 0);
  for (const Finish& level : reader.levels()) answer.levels.push_back(level.name);
  for (const Tuned& tuned : outcome.tuned) {
    answer.chosen.push_back(tuning.candidates[tuned.best]);
    answer.warnings.insert(answer.warnings.end(), tuned.warnings.begin(), tuned.warnings.end());
    answer.tuning.emplace_back();
    for (const Criterion& criterion : tuned.criteria) {
      TriedCandidate tried;
      for (const Criterion::Level& level : criterion.levels) {
        tried.reached.push_back(level.reached);
        tried.seconds.push_back(level.seconds);
      }
      if (!criterion.failed && std::isfinite(criterion.loss)) tried.loss = {criterion.loss};
      answer.tuning.back().push_back(std::move(tried));
    }
  }
}

}  // namespace

std::vector<RunValues> RaceAnswer::times(const RacedFinish& finish) const {
  std::vector<RunValues> all;
  for (const auto& runs : finish.times) {
    all.emplace_back();
    for (const std::vector<double>& time : runs) all.back().push_back(time.empty() ? std::nullopt : std::optional(time.front()));
  }
  return all;
}

RaceAnswer answer_of(const Race& race, const RaceReader& reader, const RaceOutcome& outcome, Description description) {
  RaceAnswer answer;
  answer.description = std::move(description);
  answer.name = reader.name();
  answer.paired = race.paired;
  for (const Entrant& entrant : race.entrants) answer.entrants.push_back(entrant.label);
  for (std::size_t entrant = 0; entrant < outcome.runs.size(); ++entrant) {
    answer.seeds.emplace_back();
    ShownSetting setting{race.entrants[entrant].label, race.entrants[entrant].set, {}};
    if (!outcome.tuned.empty())
      for (std::size_t path = 0; path < race.tuning->paths.size(); ++path)
        setting.paths.emplace_back(race.tuning->paths[path], race.tuning->candidates[outcome.tuned[entrant].best][path]);
    for (const RaceRun& run : outcome.runs[entrant]) {
      answer.seeds.back().push_back(run.seed);
      if (!run.fields.empty()) setting.runs.push_back(shown_run(run.seed, run.fields, run.sketch));
    }
    answer.settings.push_back(std::move(setting));
  }
  for (const Finish& finish : reader.finishes()) {
    answer.finishes.push_back({finish.name, finish.accuracy, finish.is_target, {}});
    for (const RunValues& times : outcome.times(finish)) {
      answer.finishes.back().times.emplace_back();
      for (const auto& time : times)
        answer.finishes.back().times.back().push_back(time ? std::vector<double>{*time} : std::vector<double>());
    }
  }
  answer.warnings = outcome.warnings;
  if (race.tuning) add_tuning(*race.tuning, reader, outcome, answer);
  answer.notes = reader.notes();
  for (const std::string& warning : outcome.endings().notes()) answer.warnings.push_back(warning);
  answer.failures = outcome.failures;
  answer.reasons = outcome.reasons;
  return answer;
}

std::string write_answer(const RaceAnswer& answer) { return answer_text("race", answer); }

RaceAnswer read_race_answer(const std::string& text) { return read_answer_text<RaceAnswer>("race", text); }

RaceAnswer kept_race_answer(SweepState& state, const std::string& place) { return kept_answer_of<RaceAnswer>("race", state, place); }

}  // namespace straggler

#include "scenarios/report/race_answer.hpp"

#include "scenarios/report/answer_json.hpp"

namespace straggler {

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(RacedFinish, name, accuracy, is_target, times)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(RaceAnswer, description, name, entrants, seeds, paired, finishes, tuned, chosen, candidates,
                                   tuning_seeds, notes, warnings, failures)

std::vector<FinishTimes> RaceAnswer::times(const RacedFinish& finish) const {
  std::vector<FinishTimes> all;
  for (const auto& runs : finish.times) {
    all.emplace_back();
    for (const std::vector<double>& time : runs) all.back().push_back(time.empty() ? std::nullopt : std::optional(time.front()));
  }
  return all;
}

RaceAnswer answer_of(const Race& race, const RaceReader& reader, const RaceOutcome& outcome, std::vector<std::string> description) {
  RaceAnswer answer;
  answer.description = std::move(description);
  answer.name = reader.name();
  answer.paired = race.paired;
  for (const Entrant& entrant : race.entrants) answer.entrants.push_back(entrant.label);
  for (const std::vector<RaceRun>& runs : outcome.runs) {
    answer.seeds.emplace_back();
    for (const RaceRun& run : runs) answer.seeds.back().push_back(run.seed);
  }
  for (const Finish& finish : reader.finishes()) {
    answer.finishes.push_back({finish.name, finish.accuracy, finish.is_target, {}});
    for (const FinishTimes& times : outcome.times(finish)) {
      answer.finishes.back().times.emplace_back();
      for (const auto& time : times)
        answer.finishes.back().times.back().push_back(time ? std::vector<double>{*time} : std::vector<double>());
    }
  }
  if (race.tuning) {
    answer.tuned = race.tuning->paths;
    answer.candidates = race.tuning->candidates.size();
    answer.tuning_seeds = race.tuning->seeds;
  }
  for (const Tuned& tuned : outcome.tuned) {
    answer.chosen.push_back(race.tuning->candidates[tuned.best]);
    answer.warnings.insert(answer.warnings.end(), tuned.warnings.begin(), tuned.warnings.end());
  }
  answer.notes = reader.notes();
  answer.failures = outcome.failures;
  return answer;
}

std::string write_answer(const RaceAnswer& answer) { return answer_text("race", answer); }

RaceAnswer read_race_answer(const std::string& text) { return read_answer_text<RaceAnswer>("race", text); }

}  // namespace straggler

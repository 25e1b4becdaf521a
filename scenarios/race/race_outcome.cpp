#include "scenarios/race/race_outcome.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "scenarios/sweep/stored_outcome.hpp"
#include "sim/base/readable.hpp"

namespace straggler {

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Entrant, label, given, set)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Tuning, paths, given, candidates, shares, seeds)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Finish, name, field, accuracy, is_target)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Criterion::Level, reached, seconds)

/// JSON has no infinite loss: it is null.
static void to_json(nlohmann::json& json, const Criterion& criterion) {
  json = {{"failed", criterion.failed}, {"levels", criterion.levels}, {"loss", criterion.loss}};
}
static void from_json(const nlohmann::json& json, Criterion& criterion) {
  json.at("failed").get_to(criterion.failed);
  json.at("levels").get_to(criterion.levels);
  criterion.loss = json.at("loss").get<std::optional<double>>().value_or(Criterion().loss);
}

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Tuned, criteria, ranks, best, warnings)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(RaceOutcome, name, entrants, paired, timing_only, exact, finishes, levels, tuning, first_tuning_seed,
                                   tuned, runs, notes, two_optima, failures, failed_candidates, interrupted)

RaceOutcome RaceOutcome::of(const Race& race, const RaceReader& reader) {
  RaceOutcome outcome;
  outcome.name = reader.name();
  outcome.entrants = race.entrants;
  outcome.paired = race.paired;
  outcome.timing_only = race.timing_only;
  outcome.exact = reader.exact();
  outcome.finishes = reader.finishes();
  outcome.levels = reader.levels();
  outcome.tuning = race.tuning;
  outcome.first_tuning_seed = reader.tuning_seed(0);
  outcome.notes = reader.notes();
  return outcome;
}

void RaceOutcome::judge_finishes() {
  verdicts.clear();
  for (const Finish& finish : finishes) verdicts.push_back(judge(times(finish), {.paired = paired, .exact = exact}));
}

std::vector<std::string> RaceOutcome::labels() const {
  std::vector<std::string> labels;
  for (const Entrant& entrant : entrants) labels.push_back(entrant.label);
  return labels;
}

std::vector<RunValues> RaceOutcome::times(const Finish& finish) const {
  std::vector<RunValues> all;
  for (const auto& own : runs) {
    all.emplace_back();
    for (const StudyRun& run : own) all.back().push_back(value_to(finish, run.fields, run.sketch));
  }
  return all;
}

std::vector<std::string> RaceOutcome::chosen(std::size_t entrant) const {
  return tuned.empty() ? std::vector<std::string>() : tuning->candidates[tuned[entrant].best];
}

Endings RaceOutcome::endings() const {
  Endings all;
  for (const std::vector<StudyRun>& own : runs)
    for (const StudyRun& run : own)
      if (!run.fields.empty()) all.add(run.fields);
  return all;
}

namespace {

/// An accuracy is seen at the first evaluation after it is reached: warns if that may be much of the time to it.
std::optional<std::string> coarse_evaluations(const RaceOutcome& outcome) {
  constexpr double much = 0.2;
  const Finish& finish = outcome.finishes.front();
  if (finish.accuracy == 0) return std::nullopt;
  double most = much, apart = 0;
  bool each_update = false;
  std::string whose;
  for (std::size_t i = 0; i < outcome.runs.size(); ++i) {
    double seconds = 0, gaps = 0;
    std::size_t reached = 0, after_each = 0;
    for (const StudyRun& run : outcome.runs[i]) {
      const RunSketch sketch = read_sketch(run.sketch);
      const auto row = std::ranges::find(sketch.thresholds, finish.accuracy, &ThresholdResult::threshold);
      if (row == sketch.thresholds.end() || !row->seconds || !row->updates || sketch.evaluations > most_sketched) continue;
      SketchPoint before;
      for (const SketchPoint& point : sketch.curve)  // its times are rounded, its updates are not
        if (point.update < *row->updates) before = point;
      seconds += *row->seconds;
      gaps += *row->seconds - before.time_s;
      after_each += before.update + 1 == *row->updates ? 1 : 0;
      ++reached;
    }
    if (reached == 0 || gaps <= most * seconds) continue;
    most = gaps / seconds;
    apart = gaps / static_cast<double>(reached);
    each_update = after_each == reached;
    whose = outcome.entrants[i].label;
  }
  if (whose.empty()) return std::nullopt;
  return fmt::format("evaluations of {} are {} apart at {}, {} of its time to it, which may be that much too long; {}", whose,
                     readable_seconds(apart), finish.name, readable_share(most),
                     each_update ? "an update takes as long, so let one hold less work (fewer local steps, a smaller batch)"
                                 : "write a shorter training.evaluate.every");
}

}  // namespace

std::vector<std::string> RaceOutcome::warnings() const {
  std::vector<std::string> all;
  if (two_optima) all.push_back(*two_optima);
  for (const Tuned& each : tuned) all.insert(all.end(), each.warnings.begin(), each.warnings.end());
  for (const std::string& note : endings().notes()) all.push_back(note);
  if (const std::optional<std::string> coarse = coarse_evaluations(*this)) all.push_back(*coarse);
  return all;
}

void keep(SweepState& state, const RaceOutcome& outcome) { keep_outcome(state, "race", outcome); }

RaceOutcome kept_race(SweepState& state, const std::string& place) {
  RaceOutcome outcome = kept_outcome<RaceOutcome>(state, "race", place);
  outcome.judge_finishes();
  return outcome;
}

}  // namespace straggler

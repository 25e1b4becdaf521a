#include <cmath>

#include "scenarios/race/race_reasons.hpp"
#include "scenarios/race/race_tables.hpp"
#include "scenarios/results/json.hpp"
#include "scenarios/statistics/statistics.hpp"

namespace straggler {

namespace {

Json settings_json(const Tuning& tuning, std::size_t candidate) {
  Json settings = Json::object();
  for (std::size_t path = 0; path < tuning.paths.size(); ++path)
    settings[tuning.paths[path]] = json_of_yaml(tuning.candidates[candidate][path]);
  return settings;
}

Json entrants_json(const RaceOutcome& outcome) {
  Json entrants = Json::array();
  for (std::size_t entrant = 0; entrant < outcome.entrants.size(); ++entrant) {
    Json json{{"entrant", outcome.entrants[entrant].label}, {"seeds", Json::array()}, {"outcomes", Json::array()}, {"tuned", Json()}};
    for (const StudyRun& run : outcome.runs[entrant]) {
      json["seeds"].push_back(run.seed);
      json["outcomes"].push_back(run.ending());
    }
    if (outcome.tuning) json["tuned"] = settings_json(*outcome.tuning, outcome.tuned[entrant].best);
    entrants.push_back(std::move(json));
  }
  return entrants;
}

/// [entrants]: the times of its runs, in the order of its seeds; null where a run missed the finish or failed.
Json times_json(const RaceOutcome& outcome, const Finish& finish) {
  Json all = Json::array();
  const std::vector<RunValues> times = outcome.times(finish);
  for (std::size_t entrant = 0; entrant < times.size(); ++entrant) {
    Json json{{"entrant", outcome.entrants[entrant].label}};
    const MeasureRow& by = outcome.by();
    json[by.column] = Json::array();
    for (const auto& value : times[entrant]) json[by.column].push_back(json_or_null(value));
    const RepeatStatistics statistics = statistics_of(times[entrant]);
    json["reached"] = statistics.count;
    const bool time = by.measure == Measure::time;
    json[time ? "mean_s" : "mean"] = statistics.count > 0 ? Json(statistics.mean) : Json();
    json[time ? "half_width_s" : "half_width"] = statistics.count > 1 ? Json(statistics.half_width) : Json();
    all.push_back(std::move(json));
  }
  return all;
}

Json pair_json(const PairVerdict& pair, const std::vector<std::string>& labels, const MeasureRow& by) {
  const bool exact = pair.test.kind == TestKind::exact;
  const auto interval = pair.interval();
  const auto better = pair.better();
  return {{"a", labels[pair.a]},
          {"b", labels[pair.b]},
          {"test", name_of(pair.test.kind)},
          {by.ratio, interval                       ? Json(interval->ratio)
                     : exact && pair.test.has_ratio ? Json(std::exp(pair.test.log_ratio))
                                                    : Json()},
          {"low", interval ? Json(interval->low) : Json()},
          {"high", interval ? Json(interval->high) : Json()},
          {"confidence", pair.confidence()},
          {"p", pair.test.p},
          {"p_holm", pair.step.adjusted},
          {"p_10_percent", pair.test.p_notable()},
          {"p_10_percent_holm", pair.near_step.adjusted},
          {by.measure == Measure::time ? "faster" : "better", better ? Json(labels[*better]) : Json()},
          {"verdict", pair_words(pair, labels)}};
}

Json finishes_json(const RaceOutcome& outcome) {
  const std::vector<std::string> labels = outcome.labels();
  Json finishes = Json::array();
  for (std::size_t i = 0; i < outcome.finishes.size(); ++i) {
    const Finish& finish = outcome.finishes[i];
    const Verdict& verdict = outcome.verdicts[i];
    Json json{{"finish", finish.name}};
    json["accuracy"] = finish.accuracy > 0 ? Json(finish.accuracy) : Json();
    json["is_target"] = finish.is_target;
    json["times"] = times_json(outcome, finish);
    json["pairs"] = Json::array();
    for (const PairVerdict& pair : verdict.pairs) json["pairs"].push_back(pair_json(pair, labels, outcome.by()));
    json["winner"] = verdict.winner ? Json(labels[*verdict.winner]) : Json();
    json["verdict"] = sentence(verdict, labels, outcome.words());
    finishes.push_back(std::move(json));
  }
  return finishes;
}

Json tuning_json(const RaceOutcome& outcome) {
  if (!outcome.tuning) return {};
  const Tuning& tuning = *outcome.tuning;
  Json candidates = Json::array();
  for (std::size_t entrant = 0; entrant < outcome.entrants.size(); ++entrant)
    for (std::size_t candidate = 0; candidate < tuning.candidates.size(); ++candidate) {
      const Criterion& criterion = outcome.tuned[entrant].criteria[candidate];
      Json json{{"entrant", outcome.entrants[entrant].label}, {"candidate", candidate + 1}};
      json["settings"] = settings_json(tuning, candidate);
      json["failed"] = criterion.failed;
      json["levels"] = Json::array();
      for (std::size_t level = 0; level < criterion.levels.size(); ++level)
        json["levels"].push_back({{"finish", outcome.levels[level].name},
                                  {"reached", criterion.levels[level].reached},
                                  {outcome.by().measure == Measure::time ? "mean_s" : "mean",
                                   criterion.levels[level].reached > 0 ? Json(criterion.levels[level].seconds) : Json()}});
      json["validation_loss"] = criterion.failed ? Json() : Json(criterion.loss);
      json["rank"] = outcome.tuned[entrant].ranks[candidate];
      candidates.push_back(std::move(json));
    }
  return {{"seeds", tuning.seeds}, {"first_seed", outcome.first_tuning_seed}, {"candidates", std::move(candidates)}};
}

}  // namespace

std::string race_json(const RaceOutcome& outcome, const std::string& folder) {
  Json json{{"name", outcome.name}, {"folder", folder}, {"paired", outcome.paired}, {"timing_only", outcome.timing_only}};
  if (outcome.by().measure != Measure::time) json["by"] = outcome.by().name;
  json["entrants"] = entrants_json(outcome);
  json["finishes"] = finishes_json(outcome);
  json["tuning"] = tuning_json(outcome);
  json["reasons"] = race_reasons(outcome);
  json["notes"] = outcome.notes;
  json["warnings"] = outcome.warnings();
  json["failures"] = outcome.failures;
  json["failed_candidates"] = outcome.failed_candidates;
  return json_document(json);
}

}  // namespace straggler

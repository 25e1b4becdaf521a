#include "scenarios/results/comparison.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "scenarios/results/endings.hpp"
#include "scenarios/results/predictions.hpp"
#include "scenarios/results/text.hpp"
#include "scenarios/results/verdict.hpp"
#include "scenarios/statistics/better.hpp"
#include "sim/base/readable.hpp"

namespace straggler {

namespace {

bool all_distinct(const std::vector<std::string>& words) {
  return std::set<std::string>(words.begin(), words.end()).size() == words.size();
}

std::vector<std::string> labels_of(const std::vector<RunResult>& runs) {
  std::vector<std::string> names, folders, paths;
  for (const RunResult& run : runs) {
    names.push_back(run.name);
    const auto folder = run.folder.has_filename() ? run.folder : run.folder.parent_path();
    folders.push_back(folder.filename().string());
    paths.push_back(run.folder.string());
  }
  return all_distinct(names) ? names : all_distinct(folders) ? folders : paths;
}

std::size_t reference_of(const Comparison& comparison) {
  const auto eligible = [&](const RunResult& run) { return comparison.timing_only || !timing_alone(run); };
  for (const bool unfinished : {false, true}) {
    std::optional<std::size_t> first;
    for (std::size_t i = 0; i < comparison.runs.size(); ++i) {
      if (!eligible(comparison.runs[i]) || !(unfinished || is_finished(comparison.runs[i].outcome))) continue;
      if (!baseline(comparison.runs[i]).empty()) return i;
      if (!first) first = i;
    }
    if (first) return *first;
  }
  return 0;
}

/// The target, if every run with accuracies had the same and at least one reached it.
std::optional<double> common_target(const Comparison& comparison) {
  std::optional<double> target;
  bool reached = false;
  for (const RunResult& run : comparison.runs) {
    if (timing_alone(run)) continue;
    if (!run.target_accuracy || (target && run.target_accuracy != target)) return std::nullopt;
    target = run.target_accuracy;
    const ThresholdResult* row = find_threshold(run, *target);
    reached = reached || (row && row->seconds && is_finished(run.outcome));
  }
  return reached ? target : std::nullopt;
}

std::optional<double> deciding_threshold(const Comparison& comparison) {
  if (!comparison.different.empty()) return std::nullopt;
  if (const std::optional<double> target = common_target(comparison)) return target;
  std::optional<double> any, common;
  for (const double threshold : comparison.thresholds) {
    bool by_all = true, by_one = false;
    for (const RunResult& run : comparison.runs) {
      const ThresholdResult* row = find_threshold(run, threshold);
      by_all = by_all && (row || timing_alone(run));
      by_one = by_one || (row && row->seconds && is_finished(run.outcome));
    }
    if (by_one) (by_all ? common : any) = threshold;
  }
  return common ? common : any;
}

std::optional<std::size_t> winner_of(const Comparison& comparison) {
  std::optional<std::size_t> best;
  std::optional<double> best_score;  // larger is better
  std::size_t asked = 0;
  for (std::size_t i = 0; i < comparison.runs.size(); ++i) {
    const RunResult& run = comparison.runs[i];
    const bool finished = is_finished(run.outcome);
    std::optional<double> score;
    if (comparison.deciding) {
      const ThresholdResult* row = find_threshold(run, *comparison.deciding);
      if (row && row->seconds) score = -*row->seconds;
      if (row && !timing_alone(run)) ++asked;
    } else if (comparison.timing_only) {
      score = run.samples_per_second;
      asked += finished ? 1 : 0;
    }
    if (finished && score && (!best_score || *score > *best_score)) {
      best = i;
      best_score = score;
    }
  }
  const bool unopposed = asked < 2 && comparison.runs.size() > 1;
  return unopposed ? std::nullopt : best;
}

std::string list_of(const std::vector<std::string>& words) {
  std::string all;
  for (const std::string& word : words) all += (all.empty() ? "" : ", ") + word;
  return all;
}

/// "x (a, b), y (c)" if the runs differ in `value`; else empty. Runs of which it is not known (empty) do not count.
template <class Value>
std::string difference(const Comparison& comparison, Value value) {
  std::vector<std::pair<std::string, std::vector<std::string>>> groups;
  for (std::size_t i = 0; i < comparison.runs.size(); ++i) {
    const std::string text = value(comparison.runs[i]);
    if (text.empty()) continue;
    const auto at = std::find_if(groups.begin(), groups.end(), [&](const auto& group) { return group.first == text; });
    if (at == groups.end())
      groups.push_back({text, {comparison.labels[i]}});
    else
      at->second.push_back(comparison.labels[i]);
  }
  if (groups.size() < 2) return {};
  std::vector<std::string> parts;
  for (const auto& [text, who] : groups) parts.push_back(fmt::format("{} ({})", text, list_of(who)));
  return list_of(parts);
}

template <class Value>
void note_difference(Comparison& comparison, const char* what, Value value) {
  if (const std::string groups = difference(comparison, value); !groups.empty())
    comparison.notes.push_back(fmt::format("the runs differ in {}: {}", what, groups));
}

/// A run that stopped before the winner was there has not shown that it is slower, unless it could not go on.
void note_short_runs(Comparison& comparison) {
  if (!comparison.deciding || !comparison.winner) return;
  const double best = *find_threshold(comparison.runs[*comparison.winner], *comparison.deciding)->seconds;
  for (std::size_t i = 0; i < comparison.runs.size(); ++i) {
    const RunResult& run = comparison.runs[i];
    const ThresholdResult* row = find_threshold(run, *comparison.deciding);
    const bool ended = cannot_go_on(run.outcome) || run.outcome == Outcome::diverged;
    if (!row || row->seconds || run.simulated_seconds >= best || timing_alone(run) || ended) continue;
    comparison.notes.push_back(fmt::format("'{}' ended after {}, before the winner's {}: run longer, it might win", comparison.labels[i],
                                           readable_seconds(run.simulated_seconds), readable_seconds(best)));
  }
}

/// "'a', 'b' were not asked for 0.9; 'c' was not asked for 0.8, 0.9". Does not repeat what the verdict says.
void note_not_asked(Comparison& comparison) {
  std::vector<std::pair<std::string, std::vector<std::string>>> groups;  // (missing thresholds, the runs that lack them)
  for (std::size_t i = 0; i < comparison.runs.size(); ++i) {
    const RunResult& run = comparison.runs[i];
    if (timing_alone(run)) continue;
    std::vector<std::string> absent;
    for (const double threshold : comparison.thresholds)
      if (!find_threshold(run, threshold) && (comparison.winner || threshold != comparison.deciding))
        absent.push_back(number_text(threshold));
    if (absent.empty()) continue;
    const std::string what = list_of(absent);
    const auto at = std::find_if(groups.begin(), groups.end(), [&](const auto& group) { return group.first == what; });
    if (at == groups.end())
      groups.push_back({what, {fmt::format("'{}'", comparison.labels[i])}});
    else
      at->second.push_back(fmt::format("'{}'", comparison.labels[i]));
  }
  std::string note;
  for (const auto& [what, who] : groups)
    note += fmt::format("{}{} {} not asked for {}", note.empty() ? "" : "; ", list_of(who), who.size() == 1 ? "was" : "were", what);
  if (!note.empty()) comparison.notes.push_back(note + " (evaluate.thresholds)");
}

void note_timing_alone(Comparison& comparison) {
  if (comparison.timing_only) return;
  std::vector<std::string> who;
  for (std::size_t i = 0; i < comparison.runs.size(); ++i)
    if (timing_alone(comparison.runs[i])) who.push_back(fmt::format("'{}'", comparison.labels[i]));
  const bool said = comparison.deciding && !comparison.winner && who.size() + 1 == comparison.runs.size();
  if (!who.empty() && !said)
    comparison.notes.push_back(fmt::format("{} {} run for timing alone", list_of(who), who.size() == 1 ? "was" : "were"));
}

/// A winner among schemes by one seed of each, or by one learning rate for all.
void note_chance(Comparison& comparison) {
  if (!comparison.winner || comparison.timing_only) return;
  std::map<std::string, std::set<std::uint64_t>> seeds;  // of each scheme
  std::set<double> rates;
  for (const RunResult& run : comparison.runs) {
    if (timing_alone(run)) continue;
    if (!run.seed || !run.learning_rate) return;
    seeds[run.scheme].insert(*run.seed);
    rates.insert(*run.learning_rate);
  }
  if (seeds.size() < 2) return;
  const bool one_seed = std::ranges::all_of(seeds, [](const auto& scheme) { return scheme.second.size() == 1; });
  const std::string chance = chance_words(" of each scheme");
  const std::string rate =
      rates.size() == 1 ? fmt::format("one learning rate for all, {}, may suit one scheme better", number_text(*rates.begin())) : "";
  if (one_seed && !rate.empty())
    comparison.notes.push_back(
        fmt::format("{}, and {}; `straggler race --tune learning_rate` runs several seeds and tunes it for each", chance, rate));
  else if (one_seed)
    comparison.notes.push_back(fmt::format("{}; `straggler race` runs several", chance));
  else if (!rate.empty())
    comparison.notes.push_back(rate + "; `straggler race --tune learning_rate` tunes it for each");
}

void add_notes(Comparison& comparison) {
  note_short_runs(comparison);
  note_timing_alone(comparison);
  if (comparison.different.empty()) {
    note_difference(comparison, "data", [](const RunResult& run) { return run.data; });
    note_difference(comparison, "the folder of their data", [](const RunResult& run) { return run.data_path; });
  }
  note_difference(comparison, "model", [](const RunResult& run) { return run.model; });
  note_difference(comparison, "target accuracy",
                  [](const RunResult& run) { return run.target_accuracy ? number_text(*run.target_accuracy) : "none"; });
  note_not_asked(comparison);
  note_chance(comparison);
  for (std::size_t i = 0; i < comparison.runs.size(); ++i) {
    const RunResult& run = comparison.runs[i];
    if (!is_finished(run.outcome))
      comparison.notes.push_back(
          fmt::format("'{}' {}{}", comparison.labels[i], how_it_ended(run.outcome), comparison.runs.size() > 1 ? ": it cannot win" : ""));
    else if (const std::optional<std::string> warning = guess_warning(learned_of(run.summary)))
      comparison.notes.push_back(fmt::format("'{}': {}", comparison.labels[i], *warning));
  }
}

Comparison judged(std::vector<RunResult> runs, std::vector<std::string> labels) {
  Comparison comparison;
  comparison.runs = std::move(runs);
  comparison.labels = std::move(labels);
  comparison.timing_only = std::all_of(comparison.runs.begin(), comparison.runs.end(), timing_alone);
  comparison.reference = reference_of(comparison);
  for (const RunResult& run : comparison.runs)
    for (const ThresholdResult& row : run.thresholds) comparison.thresholds.push_back(row.threshold);
  auto& thresholds = comparison.thresholds;
  std::sort(thresholds.begin(), thresholds.end());
  thresholds.erase(std::unique(thresholds.begin(), thresholds.end()), thresholds.end());
  comparison.different = difference(comparison, [](const RunResult& run) { return timing_alone(run) ? std::string() : run.data; });
  comparison.deciding = deciding_threshold(comparison);
  const auto real = [](const RunResult& run) { return run.real; };
  comparison.mixed = std::any_of(comparison.runs.begin(), comparison.runs.end(), real) &&
                     !std::all_of(comparison.runs.begin(), comparison.runs.end(), real);
  if (!comparison.mixed) comparison.winner = winner_of(comparison);
  return comparison;
}

/// The winner's sentence among the measured runs, or among the simulated ones, if these are of several schemes; otherwise empty.
std::string verdict_among(const Comparison& all, bool real) {
  std::vector<RunResult> runs;
  std::vector<std::string> labels;
  std::set<std::string> schemes;
  for (std::size_t i = 0; i < all.runs.size(); ++i) {
    if (all.runs[i].real != real) continue;
    runs.push_back(all.runs[i]);
    labels.push_back(all.labels[i]);
    schemes.insert(all.runs[i].scheme);
  }
  if (schemes.size() < 2) return {};
  return fmt::format(" Of the {}: {}", real ? "measured" : "simulated", verdict(judged(std::move(runs), std::move(labels))));
}

}  // namespace

Comparison compare(std::vector<RunResult> runs, std::vector<std::string> labels) {
  if (runs.empty()) throw ResultsError("there is nothing to compare; name the result folders of one or more runs");
  if (labels.empty()) labels = labels_of(runs);
  Comparison comparison = judged(std::move(runs), std::move(labels));
  comparison.verdict = comparison.mixed && comparison.different.empty()
                           ? predictions(comparison) + verdict_among(comparison, true) + verdict_among(comparison, false)
                           : verdict(comparison);
  add_notes(comparison);
  return comparison;
}

}  // namespace straggler

#include "scenarios/sweep/sweep_tables.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string_view>
#include <tuple>

#include "scenarios/results/caveats.hpp"
#include "scenarios/results/figures.hpp"
#include "scenarios/results/text.hpp"
#include "scenarios/statistics/statistics.hpp"
#include "scenarios/sweep/derived_scalars.hpp"
#include "scenarios/sweep/time_of_setting.hpp"
#include "sim/base/csv.hpp"
#include "sim/base/readable.hpp"

namespace straggler {
namespace {

/// The settings whose figure in the deciding column is the best of at least two; none where workloads differ, which are no rivals of each
/// other, or where all settings are equal.
struct BestGroups {
  const char *key = "", *words = "";  // of the column: "least mean time to target"
  std::vector<std::size_t> groups;    // numbers
};

BestGroups best_of(const std::vector<SweptSetting>& settings, const std::vector<std::string>& columns, const SweepScalars& all) {
  if (std::ranges::any_of(columns, [](const std::string& path) { return path.starts_with("workload"); })) return {};
  constexpr std::tuple<const char*, const char*, double> deciding[] = {{"time_to_target_s", "the least mean time to the target", 1},
                                                                       {"samples_per_second", "the most samples per second", -1}};
  for (const auto& [key, words, sign] : deciding) {
    std::vector<std::pair<double, std::size_t>> figures;
    for (const SweptSetting& setting : settings)
      if (const RepeatStatistics statistics = all.statistics(setting, key); statistics.count == setting.rows.size())
        figures.emplace_back(sign * statistics.mean, setting.group);
    if (figures.empty()) continue;
    const auto best = std::ranges::min_element(figures);
    BestGroups found{key, words, {}};
    for (const auto& [figure, number] : figures)
      if (figure == best->first) found.groups.push_back(number);
    return found.groups.size() < settings.size() ? found : BestGroups();
  }
  return {};
}

/// different_work() of settings that no target ended.
std::string work_words(const std::vector<SweptSetting>& settings, const SweepScalars& all) {
  std::vector<double> samples, seconds;
  for (const SweptSetting& setting : settings) {
    const RepeatStatistics handled = all.statistics(setting, "samples"), took = all.statistics(setting, "simulated_seconds");
    if (handled.count == 0 || took.count == 0 || all.statistics(setting, "time_to_target_s").count > 0) continue;
    samples.push_back(handled.mean);
    seconds.push_back(took.mean);
  }
  return different_work(samples, seconds);
}

/// Where no run of one worker ended, a speed-up is over more. Empty: it is over one.
std::string base_words(const std::vector<SweptSetting>& settings, const SweepScalars& all) {
  double fewest = std::numeric_limits<double>::infinity();
  for (const SweptSetting& setting : settings)
    if (all.statistics(setting, "speed_up").count > 0) fewest = std::min(fewest, all.statistics(setting, "workers").mean);
  return fewest > 1 && std::isfinite(fewest)
             ? fmt::format("note: scaling speed-ups are over {} workers, the fewest that ran\n", readable_number(fewest))
             : std::string();
}

}  // namespace

std::string points_csv(const std::vector<std::string>& columns, const SweepOutcome& outcome) {
  std::string text;
  for (const std::string& path : columns) text += csv_text(path) + ",";
  text += "repeat,seed";
  const SweepScalars all(columns, outcome);
  for (const std::string& key : all.keys()) text += "," + key;
  text += "\n";
  for (const SweepRow& row : outcome.rows) {
    for (const std::string& label : outcome.groups[row.group].labels) text += csv_text(label) + ",";
    text += fmt::format("{},{}", row.repeat, row.seed);
    for (const std::string& key : all.keys()) text += "," + csv_text(all.find(row, key).written());
    text += "\n";
  }
  return text;
}

std::string groups_csv(const std::vector<std::string>& columns, const SweepOutcome& outcome) {
  std::string text;
  for (const std::string& path : columns) text += csv_text(path) + ",";
  text += "count";
  const bool finished = Endings::of(outcome.rows).all_finished();
  if (!finished) text += ",outcome";
  const SweepScalars all(columns, outcome);
  std::vector<std::string> keys = all.keys();
  std::erase_if(keys, holds_text);
  for (const std::string& key : keys) text += fmt::format(",{0}_mean,{0}_sd,{0}_ci95,{0}_count", key);
  text += "\n";
  for (const SweptSetting& setting : swept_settings(outcome)) {
    for (const std::string& label : outcome.groups[setting.group].labels) text += csv_text(label) + ",";
    text += fmt::format("{}", setting.rows.size());
    if (!finished) text += "," + csv_text(setting.endings().outcomes());
    for (const std::string& key : keys) {
      const RepeatStatistics statistics = all.statistics(setting, key);
      if (statistics.count == 0)
        text += ",,,,0";
      else if (statistics.count == 1)
        text += fmt::format(",{},,,1", number_text(statistics.mean));
      else
        text += fmt::format(",{},{},{},{}", number_text(statistics.mean), number_text(statistics.deviation),
                            number_text(statistics.half_width), statistics.count);
    }
    text += "\n";
  }
  return text;
}

std::string sweep_table(const std::vector<std::string>& columns, const SweepOutcome& outcome) {
  std::vector<std::vector<std::string>> rows;
  rows.push_back(columns);
  for (const char* title : {"repeats", "simulated time", "samples per second", "time to target", "test accuracy"})
    rows[0].emplace_back(title);
  const SweepScalars all(columns, outcome);
  bool widths = false;
  const std::vector<SweptSetting> settings = swept_settings(outcome);
  const BestGroups best = best_of(settings, columns, all);
  const auto of = [&](const SweptSetting& setting, const char* key, std::string (*text)(double)) {
    const RepeatStatistics statistics = all.statistics(setting, key);
    widths = widths || statistics.half_width > 0;
    const bool marked = std::string_view(key) == best.key && std::ranges::find(best.groups, setting.group) != best.groups.end();
    return (marked ? "* " : "") + mean_text(statistics, setting.rows.size(), text);
  };
  const bool speed_up = std::find(all.keys().begin(), all.keys().end(), "speed_up") != all.keys().end();
  struct Column {
    const char *key, *title;
    std::string (*text)(double);
  };
  std::vector<Column> known, scaling;  // of what a run has; where numbers of workers are swept
  const auto add_known = [&](const char* key) {
    const RunFigure& figure = *find_figure(key);
    if (std::ranges::any_of(settings, [&](const SweptSetting& setting) { return all.statistics(setting, key).count > 0; }))
      known.push_back({key, figure.title.c_str(), text_of_unit(figure.unit)});
  };
  for (const char* const key : {"price", "price_to_target", "energy_joules", "energy_to_target_joules"}) add_known(key);
  for (const char* const key : {"lost_updates", "goodput"}) add_known(key);
  if (speed_up) {
    scaling.push_back({"speed_up", "scaling speed-up", readable_number});
    for (const char* const key : {"scaling_efficiency", "step_s", "exposed_communication_s"}) {
      const RunFigure& figure = *find_figure(key);
      scaling.push_back({key, figure.title.c_str(), text_of_unit(figure.unit)});
    }
  }
  for (const std::vector<Column>* const more : {&known, &scaling})
    for (const Column& column : *more) rows[0].emplace_back(column.title);
  const Endings endings = Endings::of(outcome.rows);
  if (!endings.all_finished()) rows[0].emplace_back("outcome");
  std::vector<std::string> phases;  // [settings]
  for (const SweptSetting& setting : settings) phases.push_back(longest_phase(setting));
  const bool any_phase = std::ranges::any_of(phases, [](const std::string& word) { return !word.empty(); });
  if (any_phase) rows[0].emplace_back("most time");
  for (const SweptSetting& setting : settings) {
    std::vector<std::string> row = outcome.groups[setting.group].labels;
    row.push_back(std::to_string(setting.rows.size()));
    row.push_back(of(setting, "simulated_seconds", readable_seconds));
    row.push_back(of(setting, "samples_per_second", readable_number));
    row.push_back(of(setting, "time_to_target_s", readable_seconds));
    row.push_back(of(setting, "final_test_accuracy", readable_score));
    for (const std::vector<Column>* const more : {&known, &scaling})
      for (const Column& column : *more) row.push_back(of(setting, column.key, column.text));
    if (!endings.all_finished()) row.push_back(setting.endings().outcomes());
    if (any_phase) row.push_back(phases[rows.size() - 1]);
    rows.push_back(std::move(row));
  }
  std::string text = aligned(rows, columns.size());
  if (widths) text += half_width_note;
  if (!best.groups.empty()) text += fmt::format("* {}\n", best.words);
  if (speed_up) text += base_words(settings, all);
  if (const std::string words = work_words(settings, all); !words.empty()) text += "note: " + words + "\n";
  for (const std::string& note : endings.notes()) text += "warning: " + note + "\n";
  return text;
}

}  // namespace straggler

#include "scenarios/search/search_tables.hpp"

#include <fmt/format.h>

#include "scenarios/results/text.hpp"
#include "scenarios/search/search_said.hpp"
#include "sim/base/csv.hpp"

namespace straggler {
namespace {

std::string cells(const std::vector<std::string>& texts) {
  std::string text;
  for (const std::string& each : texts) text += csv_text(each) + ",";
  return text;
}

std::string mean_cell(const RepeatStatistics& statistics) { return statistics.count > 0 ? number_text(statistics.mean) : std::string(); }
std::string width_cell(const RepeatStatistics& statistics) {
  return statistics.count > 1 ? number_text(statistics.half_width) : std::string();
}
std::string deviation_cell(const RepeatStatistics& statistics) {
  return statistics.count > 1 ? number_text(statistics.deviation) : std::string();
}

/// As `groups.csv` of a sweep has it.
std::string outcomes(const Measured& measured) { return csv_text(Endings::of(measured.runs).outcomes()); }

std::string find_csv(const SearchOutcome& outcome, bool finished) {
  std::string text;
  for (const SearchedSetting& setting : outcome.over) text += csv_text(setting.path) + ",";
  text += fmt::format("batch,{0}_mean,{0}_sd,{0}_ci95,{0}_count,repeats,best{1}\n", outcome.metric.name, finished ? "" : ",outcome");
  for (const FoundGroup& group : outcome.found)
    for (std::size_t i = 0; i < group.points.size(); ++i) {
      const FoundPoint& point = group.points[i];
      const RepeatStatistics& statistics = point.measured.statistics;
      text += cells(group.labels);
      for (const AxisValue& value : point.values) text += csv_text(value.label) + ",";
      text += fmt::format("{},{},{},{},{},{},{}", point.batch, mean_cell(statistics), deviation_cell(statistics), width_cell(statistics),
                          point.measured.reached, point.measured.values.size(), group.is_best(i) ? 1 : 0);
      text += finished ? std::string("\n") : "," + outcomes(point.measured) + "\n";
    }
  return text;
}

std::string crossover_csv(const SearchOutcome& outcome, bool finished) {
  std::string text = csv_text(outcome.along.path);
  for (const std::string& label : outcome.between)
    for (const char* part : {"_mean", "_ci95", "_count", "_outcome"})
      if (!finished || part != std::string_view("_outcome")) text += "," + csv_text(label + part);
  text += ",difference,difference_ci95,verdict,ahead,better\n";
  for (const CrossoverGroup& group : outcome.crossed)
    for (const ComparedPoint& point : group.points) {
      text += cells(group.labels) + csv_text(point.at.label);
      for (const Measured* measured : {&point.measured.first, &point.measured.second}) {
        text += fmt::format(",{},{},{}", mean_cell(measured->statistics), width_cell(measured->statistics), measured->reached);
        if (!finished) text += "," + outcomes(*measured);
      }
      const std::string words = compared_words(outcome, point);
      text += fmt::format(",{},{},{},{},{}\n", mean_cell(point.difference), width_cell(point.difference), csv_text(words),
                          csv_text(outcome.name_of(point.winner)),
                          csv_text(point.better() == Winner::neither ? words : outcome.name_of(point.better())));
    }
  return text;
}

}  // namespace

std::string search_csv(const SearchOutcome& outcome) {
  const bool finished = outcome.endings().all_finished();
  return cells(outcome.axes) + (outcome.is_find() ? find_csv(outcome, finished) : crossover_csv(outcome, finished));
}

}  // namespace straggler

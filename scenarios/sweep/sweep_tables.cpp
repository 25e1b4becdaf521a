#include "scenarios/sweep/sweep_tables.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "scenarios/results/text.hpp"
#include "scenarios/sweep/statistics.hpp"

namespace straggler {
namespace {

const std::vector<SummaryField>& scalars() {
  static const std::vector<SummaryField> all = summarize(RunRecord());
  return all;
}

/// Keys of all scalars, then what some of the runs have beyond them (times to thresholds), in the order in which they turn up.
std::vector<std::string> keys_of(const SweepOutcome& outcome) {
  std::vector<std::string> keys;
  std::set<std::string> known;
  for (const SummaryField& field : scalars())
    if (known.insert(field.key).second && field.key != "seed") keys.push_back(field.key);
  for (const SweepRow& row : outcome.rows)
    for (const SummaryField& field : row.fields)
      if (known.insert(field.key).second) keys.push_back(field.key);
  return keys;
}

bool is_word(const std::string& key) { return key == "name" || key == "scheme" || key == "outcome" || key == "weights_key"; }

std::string cell(const std::vector<SummaryField>& fields, const std::string& key) {
  for (const SummaryField& field : fields)
    if (field.key == key) return field.kind == SummaryField::Kind::none ? std::string() : csv_text(field.value);
  return {};
}

struct Group {
  std::size_t number;
  std::vector<const SweepRow*> rows;
};

std::vector<Group> grouped(const SweepOutcome& outcome) {
  std::vector<Group> groups;
  for (const SweepRow& row : outcome.rows) {
    if (groups.empty() || groups.back().number != row.group) groups.push_back({row.group, {}});
    groups.back().rows.push_back(&row);
  }
  return groups;
}

RepeatStatistics statistics_of(const Group& group, const std::string& key) {
  std::vector<double> values;
  for (const SweepRow* row : group.rows)
    for (const SummaryField& field : row->fields)
      if (field.key == key && field.kind == SummaryField::Kind::number) values.push_back(std::stod(field.value));
  return straggler::statistics_of(values);
}

std::string with_interval(const RepeatStatistics& statistics, std::size_t repeats, std::string (*text)(double)) {
  if (statistics.count == 0) return "-";
  std::string out = text(statistics.mean);
  if (statistics.count > 1 && statistics.half_width > 0) out += " +- " + text(statistics.half_width);
  if (statistics.count < repeats) out += fmt::format(" ({} of {})", statistics.count, repeats);
  return out;
}

}  // namespace

std::string points_csv(const std::vector<std::string>& columns, const SweepOutcome& outcome) {
  std::string text;
  for (const std::string& path : columns) text += csv_text(path) + ",";
  text += "repeat,seed";
  const std::vector<std::string> keys = keys_of(outcome);
  for (const std::string& key : keys) text += "," + key;
  text += "\n";
  for (const SweepRow& row : outcome.rows) {
    for (const std::string& label : outcome.groups[row.group].labels) text += csv_text(label) + ",";
    text += fmt::format("{},{}", row.repeat, row.seed);
    for (const std::string& key : keys) text += "," + cell(row.fields, key);
    text += "\n";
  }
  return text;
}

std::string groups_csv(const std::vector<std::string>& columns, const SweepOutcome& outcome) {
  std::string text;
  for (const std::string& path : columns) text += csv_text(path) + ",";
  text += "count";
  std::vector<std::string> keys = keys_of(outcome);
  std::erase_if(keys, is_word);
  for (const std::string& key : keys) text += fmt::format(",{0}_mean,{0}_sd,{0}_ci95,{0}_count", key);
  text += "\n";
  for (const Group& group : grouped(outcome)) {
    for (const std::string& label : outcome.groups[group.number].labels) text += csv_text(label) + ",";
    text += fmt::format("{}", group.rows.size());
    for (const std::string& key : keys) {
      const RepeatStatistics statistics = statistics_of(group, key);
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
  for (const Group& group : grouped(outcome)) {
    std::vector<std::string> row = outcome.groups[group.number].labels;
    const std::size_t repeats = group.rows.size();
    row.push_back(std::to_string(repeats));
    row.push_back(with_interval(statistics_of(group, "simulated_seconds"), repeats, readable_seconds));
    row.push_back(with_interval(statistics_of(group, "samples_per_second"), repeats, readable_number));
    row.push_back(with_interval(statistics_of(group, "time_to_target_s"), repeats, readable_seconds));
    row.push_back(with_interval(statistics_of(group, "final_test_accuracy"), repeats, readable_score));
    rows.push_back(std::move(row));
  }
  std::vector<std::size_t> widths(rows[0].size(), 0);
  for (const auto& row : rows)
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  std::string text;
  for (const auto& row : rows) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i)
      line += i < columns.size() ? fmt::format("{:<{}}  ", row[i], widths[i]) : fmt::format("{:>{}}  ", row[i], widths[i]);
    text += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
  }
  return text;
}

}  // namespace straggler

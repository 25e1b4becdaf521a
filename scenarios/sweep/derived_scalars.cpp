#include "scenarios/sweep/derived_scalars.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "scenarios/sweep/swept_axes.hpp"

namespace straggler {
namespace {

using ScalarOfRow = std::function<std::optional<double>(const SweepRow&)>;

std::optional<double> number_of(const SweepRow& row, const char* key) { return scalar_of(row.fields, key).number(); }

std::optional<double> ratio(std::optional<double> a, std::optional<double> b) {
  return a && b && *b > 0 && std::isfinite(*a / *b) ? std::optional(*a / *b) : std::nullopt;
}

/// Rows with the fewest workers, by repeat and by the rest of the setting.
class FewestWorkers {
 public:
  FewestWorkers(const SweptAxis& axis, const SweepOutcome& outcome, const std::vector<SweptAxis>& axes) : axis_(axis), axes_(axes) {
    double fewest = std::numeric_limits<double>::infinity();
    std::set<double> counts;
    for (const SweepRow& row : outcome.rows) {
      const double workers = number_of(row, "workers").value_or(fewest);
      counts.insert(workers);
      if (workers >= fewest) continue;
      fewest = workers;
      first_ = axis.of_group[row.group];
    }
    differ_ = counts.size() > 1;
    for (const SweepRow& row : outcome.rows)
      if (axis.of_group[row.group] == first_) rows_[place(row)] = &row;
  }

  bool differ() const { return differ_; }
  const SweepRow* like(const SweepRow& row) const {
    const auto at = rows_.find(place(row));
    return at == rows_.end() ? nullptr : at->second;
  }

 private:
  std::pair<std::vector<std::size_t>, std::int64_t> place(const SweepRow& row) const {
    std::vector<std::size_t> others;
    for (const SweptAxis& other : axes_)
      if (&other != &axis_) others.push_back(other.of_group[row.group]);
    return {std::move(others), row.repeat};
  }

  const SweptAxis& axis_;
  const std::vector<SweptAxis>& axes_;
  std::size_t first_ = SweptAxis::none;
  bool differ_ = false;
  std::map<std::pair<std::vector<std::size_t>, std::int64_t>, const SweepRow*> rows_;
};

/// No two of its values have the same number of workers.
bool varies_workers(const SweptAxis& axis, const std::vector<std::string>& columns) {
  for (std::size_t i = 0; i < axis.columns.size(); ++i) {
    if (!counts_workers(columns[axis.columns[i]])) continue;
    std::set<std::string> different;
    for (const std::vector<std::string>& value : axis.values) different.insert(value[i]);
    if (different.size() == axis.values.size()) return true;
  }
  return false;
}

void add(const char* key, const SweepOutcome& outcome, const ScalarOfRow& formula, std::vector<std::vector<SummaryField>>& all) {
  std::vector<std::optional<double>> values;
  for (const SweepRow& row : outcome.rows) values.push_back(formula(row));
  if (std::none_of(values.begin(), values.end(), [](const auto& value) { return value.has_value(); })) return;
  for (std::size_t i = 0; i < values.size(); ++i) all[i].push_back({key, Scalar(values[i])});
}

}  // namespace

std::vector<std::vector<SummaryField>> derived_scalars(const std::vector<std::string>& columns, const SweepOutcome& outcome) {
  std::vector<std::vector<SummaryField>> all(outcome.rows.size());
  add(
      "bytes_per_epoch", outcome, [](const SweepRow& row) { return ratio(number_of(row, "bytes_sent"), number_of(row, "epochs")); }, all);
  const std::vector<SweptAxis> axes = swept_axes(columns.size(), outcome.groups);
  const auto axis = std::find_if(axes.begin(), axes.end(), [&](const SweptAxis& each) { return varies_workers(each, columns); });
  if (axis == axes.end()) return all;
  const FewestWorkers fewest(*axis, outcome, axes);
  if (!fewest.differ()) return all;
  const auto against = [&](const char* key, bool time) -> ScalarOfRow {
    return [&fewest, key, time](const SweepRow& row) -> std::optional<double> {
      const SweepRow* const first = fewest.like(row);
      if (first == nullptr || !is_finished(first->fields) || !is_finished(row.fields)) return std::nullopt;
      return time ? ratio(number_of(*first, key), number_of(row, key)) : ratio(number_of(row, key), number_of(*first, key));
    };
  };
  add("speed_up", outcome, against("samples_per_second", false), all);
  add("speed_up_to_target", outcome, against("time_to_target_s", true), all);
  return all;
}

SweepScalars::SweepScalars(const std::vector<std::string>& columns, const SweepOutcome& outcome)
    : first_(outcome.rows.data()), derived_(derived_scalars(columns, outcome)) {
  std::set<std::string> known;
  const auto learn = [&](const std::vector<SummaryField>& fields) {
    for (const SummaryField& field : fields)
      if (known.insert(field.key).second && field.key != "seed") keys_.push_back(field.key);
  };
  learn(summarize(RunRecord()));
  if (!derived_.empty()) learn(derived_.front());
  const std::vector<SummaryField>* before = nullptr;  // mostly with the same keys
  for (const SweepRow& row : outcome.rows) {
    if (before == nullptr || !std::ranges::equal(*before, row.fields, {}, &SummaryField::key, &SummaryField::key)) learn(row.fields);
    before = &row.fields;
  }
}

const Scalar& SweepScalars::find(const SweepRow& row, const std::string& key) const {
  const Scalar& own = scalar_of(row.fields, key);
  return own.is_none() ? scalar_of(derived_[static_cast<std::size_t>(&row - first_)], key) : own;
}

std::map<std::int64_t, double> SweepScalars::values(const SweptSetting& setting, const std::string& key) const {
  std::map<std::int64_t, double> all;
  for (const SweepRow* row : setting.rows)
    if (const auto value = find(*row, key).number(); value && is_finished(row->fields)) all[row->repeat] = *value;
  return all;
}

RepeatStatistics SweepScalars::statistics(const SweptSetting& setting, const std::string& key) const {
  std::vector<double> all;
  for (const auto& [repeat, value] : values(setting, key)) all.push_back(value);
  return statistics_of(all);
}

Endings SweptSetting::endings() const {
  Endings endings;
  for (const SweepRow* row : rows) endings.add(row->fields);
  return endings;
}

std::vector<SweptSetting> swept_settings(const SweepOutcome& outcome) {
  std::vector<SweptSetting> all;
  for (const SweepRow& row : outcome.rows) {
    if (all.empty() || all.back().group != row.group) all.push_back({row.group, {}});
    all.back().rows.push_back(&row);
  }
  return all;
}

}  // namespace straggler

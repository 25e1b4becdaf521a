#include "scenarios/results/measures.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <stdexcept>

#include "scenarios/experiment/tariffs.hpp"
#include "scenarios/results/text.hpp"
#include "sim/base/quantity.hpp"
#include "sim/base/readable.hpp"

namespace straggler {

namespace {

constexpr std::array<MeasureRow, 4> rows = {{
    {Measure::time, "time", "simulated_seconds", "time_to_target_s", "time_s", "time_ratio", "faster", "is faster", "are faster",
     "simulated time", &ThresholdResult::seconds, readable_seconds},
    {Measure::price, "price", "price", "price_to_target", "price", "price_ratio", "cheaper", "is cheaper", "are cheaper", "price",
     &ThresholdResult::price, readable_price, missing_prices},
    {Measure::energy, "energy", "energy_joules", "energy_to_target_joules", "energy_joules", "energy_ratio", "less energy",
     "needs less energy", "need less energy", "energy", &ThresholdResult::joules, readable_joules, missing_power},
    {Measure::bytes, "bytes", "bytes_sent", "bytes_to_target", "bytes", "bytes_ratio", "fewer bytes", "sends fewer bytes",
     "send fewer bytes", "bytes sent", &ThresholdResult::bytes, readable_bytes},
}};

/// What stands before and after the accuracy in its keys: "time_to_", "_s".
std::pair<std::string_view, std::string_view> around_accuracy(const MeasureRow& row) {
  constexpr std::string_view word = "target";
  const std::string_view key = row.to_target;
  const std::size_t at = key.find(word);
  return {key.substr(0, at), key.substr(at + word.size())};
}

}  // namespace

std::span<const MeasureRow> measures() { return rows; }

const MeasureRow& row_of(Measure measure) {
  const auto* const found = std::ranges::find(rows, measure, &MeasureRow::measure);
  if (found == rows.end()) throw std::logic_error("no such measure");
  return *found;
}

const MeasureRow* find_measure(std::string_view name) {
  for (const MeasureRow& row : rows)
    if (row.name == name) return &row;
  return nullptr;
}

std::string measure_names() {
  std::string all;
  for (const MeasureRow& row : rows) all += (all.empty() ? "" : ", ") + std::string(row.name);
  return all;
}

std::string key_to(const MeasureRow& row, std::string_view name) {
  const auto [before, after] = around_accuracy(row);
  return fmt::format("{}{}{}", before, name, after);
}

std::optional<ThresholdKey> threshold_key(std::string_view key) {
  for (const MeasureRow& row : rows) {
    const auto [before, after] = around_accuracy(row);
    if (!key.starts_with(before) || !key.ends_with(after) || key.size() <= before.size() + after.size()) continue;
    try {
      return ThresholdKey{&row, parse_number(key.substr(before.size(), key.size() - before.size() - after.size()))};
    } catch (const std::invalid_argument&) {
    }
  }
  return std::nullopt;
}

std::string title_to(const MeasureRow& row, double accuracy, bool target) {
  if (accuracy == 0) return fmt::format("{} an epoch", row.name);
  return fmt::format("{} to {}{}", row.name, number_text(accuracy), target ? " (target)" : "");
}

std::string with_currency(const MeasureRow& row, std::string title, const std::vector<RunResult>& runs) {
  const std::string label = runs.empty() ? std::string() : text_of(runs.front().summary, "currency");
  const bool shared = std::ranges::all_of(runs, [&](const RunResult& run) { return text_of(run.summary, "currency") == label; });
  return row.measure == Measure::price && shared && !label.empty() ? fmt::format("{} ({})", title, label) : title;
}

}  // namespace straggler

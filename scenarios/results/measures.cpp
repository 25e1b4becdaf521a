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
    {.measure = Measure::time,
     .name = "time",
     .whole = "simulated_seconds",
     .to_target = "time_to_target_s",
     .column = "time_s",
     .ratio = "time_ratio",
     .better = "faster",
     .is = "is faster",
     .are = "are faster",
     .chart = "simulated time",
     .plural = "Times",
     .question = "Who is first",
     .at = &ThresholdResult::seconds,
     .text = readable_seconds},
    {.measure = Measure::price,
     .name = "price",
     .whole = "price",
     .to_target = "price_to_target",
     .column = "price",
     .ratio = "price_ratio",
     .better = "cheaper",
     .is = "is cheaper",
     .are = "are cheaper",
     .chart = "price",
     .plural = "Prices",
     .question = "Who gets there at the lowest price",
     .at = &ThresholdResult::price,
     .text = readable_price,
     .missing = missing_prices},
    {.measure = Measure::energy,
     .name = "energy",
     .whole = "energy_joules",
     .to_target = "energy_to_target_joules",
     .column = "energy_joules",
     .ratio = "energy_ratio",
     .better = "less energy",
     .is = "needs less energy",
     .are = "need less energy",
     .chart = "energy",
     .plural = "Energies",
     .question = "Who gets there with the least energy",
     .at = &ThresholdResult::joules,
     .text = readable_joules,
     .missing = missing_power},
    {.measure = Measure::bytes,
     .name = "bytes",
     .whole = "bytes_sent",
     .to_target = "bytes_to_target",
     .column = "bytes",
     .ratio = "bytes_ratio",
     .better = "fewer bytes",
     .is = "sends fewer bytes",
     .are = "send fewer bytes",
     .chart = "bytes sent",
     .plural = "Bytes",
     .question = "Who gets there with the fewest bytes",
     .at = &ThresholdResult::bytes,
     .text = readable_bytes},
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
  for (const MeasureRow& row : rows)
    if (row.measure == measure) return row;
  throw std::logic_error("no such measure");
}

const MeasureRow* find_measure(std::string_view name) {
  for (const MeasureRow& row : rows)
    if (row.name == name) return &row;
  return nullptr;
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

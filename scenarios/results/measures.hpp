// What runs are compared by until they reach an accuracy, or an epoch is over: a row each. Races, searches, advice and pages take their
// words, keys and columns from here.
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "scenarios/results/figures.hpp"
#include "scenarios/results/reader.hpp"
#include "scenarios/schema/scenario.hpp"

namespace straggler {

enum class Measure : std::uint8_t { time, price, energy, bytes };

struct MeasureRow {
  Measure measure{};
  const char* name = "";       // of --by: "price"
  const char* whole = "";      // of the whole run, in summary.json
  const char* to_target = "";  // likewise, until the target
  const char* column = "";     // in race.csv
  const char* ratio = "";      // in verdicts.csv: of b's over a's
  const char* better = "";     // heads the column of the better one: "faster"
  const char* is = "";         // "a is faster than b"
  const char* are = "";        // "a and b are faster than c"
  const char* chart = "";      // the title of its axis
  const char* plural = "";     // heads its tables
  const char* question = "";   // "Who is first, a or b?"
  std::optional<double> ThresholdResult::*at = nullptr;
  FigureText text = nullptr;
  /// What a comparison by it lacks in a scenario, as missing_prices() has it; null: nothing ever.
  std::string (*missing)(const Scenario&) = nullptr;
};

std::span<const MeasureRow> measures();
const MeasureRow& row_of(Measure measure);
/// Null: none has that name.
const MeasureRow* find_measure(std::string_view name);

/// Of the accuracy `name`: "time_to_0.8_s", "price_to_0.8", "energy_to_0.8_joules", "bytes_to_0.8".
std::string key_to(const MeasureRow& row, std::string_view name);
/// The measure and the accuracy that such a key names; none: it is no such key, or that of the target.
struct ThresholdKey {
  const MeasureRow* row = nullptr;
  double accuracy = 0;
};
std::optional<ThresholdKey> threshold_key(std::string_view key);

/// "price to 0.8", "price to 0.8 (target)", "price an epoch" (accuracy 0).
std::string title_to(const MeasureRow& row, double accuracy, bool target);

/// "price (EUR)", where it is a price, and all runs have one label of a currency.
std::string with_currency(const MeasureRow& row, std::string title, const std::vector<RunResult>& runs);

}  // namespace straggler

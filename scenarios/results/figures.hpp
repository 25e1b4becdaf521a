// Figures of a run: one row each. Summaries, searches, sweeps, comparisons and pages take key, title, unit and order from here.
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "scenarios/results/scalar.hpp"
#include "sim/record/record.hpp"

namespace straggler {

struct RunFigure {
  enum class Unit : std::uint8_t { text, count, number, share, score, seconds, bytes, price, joules };
  enum class Better : std::uint8_t { less, more };

  std::string key;    // in summary.json; seconds end in _s, shares in _fraction
  std::string title;  // in tables and on pages; empty: only files and searches have it
  Unit unit = Unit::number;
  Scalar (*of)(const RunRecord&) = nullptr;  // null: a phase's share
  Better better = Better::less;
  bool learned = false;                       // from gradients, not from the clock: a run of the timing alone lacks it
  bool (*there)(const RunRecord&) = nullptr;  // whether summary.json has the key; null: always
  Phase phase = {};                           // of a share
};

/// All of them, in the order of summary.json.
std::span<const RunFigure> run_figures();
/// Keys of what failures and recovery did, in the order of tables, which show those that a run has.
inline constexpr const char* figures_of_failures[] = {"failures", "mean_time_between_failures_s", "rollbacks", "lost_updates", "goodput",
                                                      "ettr"};
/// Null: no figure has that key.
const RunFigure* find_figure(std::string_view key);
Scalar value_of(const RunFigure& figure, const RunRecord& record);
/// As people read numbers of that unit; a text has none.
using FigureText = std::string (*)(double);
FigureText text_of_unit(RunFigure::Unit unit);

/// Smallest staleness that at least `percent` (1 .. 100) of the contributions does not exceed; none without any.
std::optional<std::uint64_t> staleness_percentile(const StalenessHistogram& histogram, unsigned percent);

/// Mean over workers of `phase` / total; workers without any time do not count. None if there are no others.
std::optional<double> mean_share(const std::vector<WorkerRecord>& workers, Phase phase);

}  // namespace straggler

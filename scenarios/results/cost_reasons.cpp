#include "scenarios/results/cost_reasons.hpp"

#include <fmt/format.h>

#include <cmath>

#include "scenarios/results/comparison.hpp"
#include "scenarios/statistics/pair_test.hpp"

namespace straggler {

namespace {

/// One of two factors, of a over b, in words after "it": `less` and `more` with "{}" for the share, `times` with "{}" for the ratio.
struct Factor {
  double ratio = 1;
  const char *less, *more, *times, *level;

  std::string words() const {
    if (ratio < level_ratio && ratio > 1 / level_ratio) return level;
    if (ratio < 1) return fmt::format(fmt::runtime(less), fmt::format("{:.2g} %", 100 * (1 - ratio)));
    if (ratio < 1.1) return fmt::format(fmt::runtime(more), fmt::format("{:.2g} %", 100 * (ratio - 1)));
    return fmt::format(fmt::runtime(times), fmt::format("{:.3g}", ratio));
  }
};

constexpr const char *less_samples = "needs {} fewer samples", *more_samples = "needs {} more samples",
                     *times_samples = "needs {} times as many samples", *same_samples = "needs as many samples";
constexpr const char *less_time = "takes {} less time", *more_time = "takes {} longer", *times_time = "takes {} times as long",
                     *same_time = "takes as long";

struct Amounts {
  std::optional<double> value, base;  // the measure's; its first factor: samples or seconds
};

Amounts amounts_of(const MeasureRow& row, const RunResult& run, double accuracy) {
  const bool by_samples = row.measure == Measure::bytes;
  if (accuracy == 0) return {scalar_of(run.summary, row.whole).number(), by_samples ? run.samples : run.simulated_seconds};
  const ThresholdResult* const at = find_threshold(run, accuracy);
  if (at == nullptr) return {};
  return {at->*(row.at), by_samples ? at->samples : at->seconds};
}

}  // namespace

std::string why_less(const MeasureRow& row, const RunResult& a, const RunResult& b, double accuracy) {
  if (row.measure == Measure::time) return {};
  const Amounts x = amounts_of(row, a, accuracy), y = amounts_of(row, b, accuracy);
  for (const std::optional<double>& each : {x.value, x.base, y.value, y.base})
    if (each.value_or(0) <= 0) return {};
  const double base = *x.base / *y.base, whole = *x.value / *y.value;
  Factor first{base, less_time, more_time, times_time, same_time}, second{whole / base, {}, {}, {}, {}};
  switch (row.measure) {
    case Measure::bytes:
      first = Factor{base, less_samples, more_samples, times_samples, same_samples};
      second = Factor{whole / base, "sends {} fewer bytes a sample", "sends {} more bytes a sample",
                      "sends {} times as many bytes a sample", "sends as many bytes a sample"};
      break;
    case Measure::price:
      second =
          Factor{whole / base, "pays {} less an hour", "pays {} more an hour", "pays {} times as much an hour", "pays as much an hour"};
      break;
    case Measure::energy:
      second = Factor{whole / base, "draws {} less power", "draws {} more power", "draws {} times as much power", "draws as much power"};
      break;
    case Measure::time:
      break;
  }
  if (second.ratio < first.ratio) std::swap(first, second);  // first what makes it less
  const bool against = first.ratio < 1 && second.ratio > level_ratio;
  return fmt::format("because it {}{} {}", first.words(), against ? ", although it" : " and", second.words());
}

}  // namespace straggler

#include "scenarios/import/loader_turns.hpp"

#include <algorithm>

#include "scenarios/import/timed_job.hpp"

namespace straggler {
namespace {

/// The number of steps after which the waits repeat: that of the loader's processes, which take turns. 0: none is found.
std::size_t period_of(const std::vector<double>& waits) {
  const double mean = mean_seconds(waits);
  double variance = 0;
  for (const double wait : waits) variance += (wait - mean) * (wait - mean);
  variance /= static_cast<double>(waits.size());
  if (variance < 0.01 * mean * mean) return 1;  // always the same
  std::vector<double> alike = {0};
  for (std::size_t lag = 1; lag <= waits.size() / 2; ++lag) {
    double sum = 0;
    for (std::size_t i = lag; i < waits.size(); ++i) sum += (waits[i] - mean) * (waits[i - lag] - mean);
    alike.push_back(sum / (variance * static_cast<double>(waits.size() - lag)));
  }
  const double most = *std::ranges::max_element(alike);
  if (most < 0.4) return 0;
  for (std::size_t lag = 1; lag < alike.size(); ++lag)
    if (alike[lag] > 0.75 * most) return lag;
  return 0;
}

}  // namespace

LoaderTurns loader_turns(const std::vector<TraceStep>& steps) {
  std::vector<double> waits;
  for (const TraceStep& step : steps) waits.push_back(step.loader);
  const double most = *std::ranges::max_element(waits);
  std::size_t idle = 0;  // steps at the beginning for which batches were prepared in advance
  while (idle < waits.size() && waits[idle] < 0.05 * most) ++idle;
  const std::vector<double> later(waits.begin() + static_cast<std::ptrdiff_t>(idle), waits.end());
  const std::size_t processes = later.size() < 4 ? 0 : period_of(later);
  // The first round behind them is part of the beginning.
  const std::size_t from = processes > 0 && idle >= processes ? idle + processes : idle;
  if (processes == 0 || from + processes > steps.size()) return {0, std::min(idle, steps.size() - 1)};
  return {processes, from};
}

}  // namespace straggler

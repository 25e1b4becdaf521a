#include "scenarios/race/tuning.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "scenarios/search/metric.hpp"

namespace straggler {

const MeasureRow& measure_of(const Finish& finish) { return row_of(measure_of(finish.field).value_or(Measure::time)); }

std::optional<double> value_to(const Finish& finish, const std::vector<SummaryField>& fields, const std::string& sketch) {
  if (!is_finished(fields)) return std::nullopt;
  if (finish.accuracy > 0) return metric_value(finish.field, fields, sketch);
  const auto whole = scalar_of(fields, measure_of(finish).whole).number(), epochs = scalar_of(fields, "epochs").number();
  return whole && epochs && *epochs > 0 ? std::optional(*whole / *epochs) : std::nullopt;
}

Criterion criterion_of(const std::vector<PointOutcome>& runs, const std::vector<Finish>& levels) {
  Criterion criterion;
  criterion.levels.resize(levels.size());
  double losses = 0;
  for (const PointOutcome& run : runs) {
    const std::optional<double> loss = run.result ? scalar_of(run.result->fields, "final_validation_loss").number() : std::nullopt;
    if (!loss || !is_finished(run.result->fields)) {
      criterion.failed = true;
      continue;
    }
    losses += *loss;
    for (std::size_t i = 0; i < levels.size(); ++i)
      if (const auto value = value_to(levels[i], run.result->fields, run.result->sketch)) {
        ++criterion.levels[i].reached;
        criterion.levels[i].seconds += *value;
      }
  }
  for (Criterion::Level& level : criterion.levels)
    if (level.reached > 0) level.seconds /= static_cast<double>(level.reached);
  if (!criterion.failed) criterion.loss = losses / static_cast<double>(runs.size());
  return criterion;
}

bool Criterion::better_than(const Criterion& other) const {
  if (failed != other.failed) return !failed;
  for (std::size_t i = levels.size(); i-- > 0;) {
    if (levels[i].reached != other.levels[i].reached) return levels[i].reached > other.levels[i].reached;
    if (levels[i].seconds != other.levels[i].seconds) return levels[i].seconds < other.levels[i].seconds;
  }
  return loss < other.loss;
}

namespace {

void warn_of_edges(const Entrant& entrant, const Tuning& tuning, Tuned& tuned) {
  for (std::size_t path = 0; path < tuning.paths.size(); ++path) {
    const auto share = [&](std::size_t candidate) { return tuning.shares[candidate][path]; };
    const double best = share(tuned.best);
    bool least = true, largest = true;
    for (std::size_t i = 0; i < tuning.candidates.size(); ++i) {
      least = least && best <= share(i);
      largest = largest && best >= share(i);
    }
    if (best < 0 || (!least && !largest)) continue;
    const double untried = least && largest ? std::max(best, 1 - best) : least ? best : 1 - best;
    // The range reaches further by more than half of the mean distance of candidates.
    const bool more_inside = untried > 0.5 / static_cast<double>(tuning.candidates.size());
    tuned.warnings.push_back(fmt::format("{}: its best {}, {}, is {} of the {} that were tried; there may be better values outside, so {}",
                                         entrant.label, tuning.paths[path], tuning.candidates[tuned.best][path],
                                         least && largest ? "the only one"
                                         : least          ? "the least"
                                                          : "the largest",
                                         tuning.candidates.size(),
                                         more_inside ? "try more of its range with a larger --budget" : "widen the range"));
  }
}

}  // namespace

Tuned choose(const Entrant& entrant, const Tuning& tuning, std::vector<Criterion> criteria) {
  Tuned tuned;
  std::vector<std::size_t> order(criteria.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return criteria[a].better_than(criteria[b]); });
  tuned.best = order.front();
  tuned.ranks.resize(criteria.size());
  for (std::size_t rank = 0; rank < order.size(); ++rank) tuned.ranks[order[rank]] = rank + 1;
  const Criterion& best = criteria[tuned.best];
  const auto nothing = [](const Criterion::Level& level) { return level.reached == 0; };
  if (best.failed)
    tuned.warnings.push_back(entrant.label + ": every candidate failed or diverged; it races with the first one");
  else if (std::all_of(best.levels.begin(), best.levels.end(), nothing))
    tuned.warnings.push_back(entrant.label + ": no candidate reached any threshold; the one with the lowest validation loss races");
  if (!best.failed) warn_of_edges(entrant, tuning, tuned);
  tuned.criteria = std::move(criteria);
  return tuned;
}

}  // namespace straggler

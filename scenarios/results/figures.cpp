#include "scenarios/results/figures.hpp"

#include <vector>

#include "sim/base/readable.hpp"

namespace straggler {

namespace {

std::optional<double> ratio(std::optional<double> a, double b) { return a && b > 0 ? std::optional(*a / b) : std::nullopt; }

double seconds_of(WideTicks ticks) { return static_cast<double>(ticks) / static_cast<double>(Time::ticks_per_second); }

template <class Part>
WideTicks over_workers(const RunRecord& record, const Part& part) {
  WideTicks all = 0;
  for (const WorkerRecord& worker : record.workers) all += part(worker).ticks();
  return all;
}

double workers_of(const RunRecord& record) { return static_cast<double>(record.workers.size()); }

std::optional<double> rate_of(const RunRecord& record) { return ratio(static_cast<double>(record.samples), record.end.seconds()); }

WideTicks blocked(const RunRecord& record) {
  return over_workers(record, [](const WorkerRecord& worker) { return worker.split[Phase::communication]; });
}
WideTicks in_flight(const RunRecord& record) {
  return over_workers(record, [](const WorkerRecord& worker) { return worker.bytes_in_flight; });
}

Reached target(const RunRecord& record) {
  return record.target_accuracy ? reached(record.curve, *record.target_accuracy, record.sustain) : Reached();
}
template <class Value>
Scalar at_target(const RunRecord& record, Value CurvePoint::*value) {
  const Reached at = target(record);
  return at.at ? Scalar(*at.at.*value) : Scalar();
}

std::optional<double> mean_staleness(const RunRecord& record) {
  double count = 0, sum = 0;
  for (const auto& [staleness, contributions] : record.staleness) {
    count += static_cast<double>(contributions);
    sum += static_cast<double>(staleness) * static_cast<double>(contributions);
  }
  return ratio(sum, count);
}

template <class Value>
Scalar cost_at_target(const RunRecord& record, Value Costs::*value) {
  const Reached at = target(record);
  return at.at ? Scalar(at.at->costs.*value) : Scalar();
}
bool priced(const RunRecord& record) { return record.costs.price.has_value(); }
bool powered(const RunRecord& record) { return record.costs.joules.has_value(); }
bool recovers(const RunRecord& record) { return record.recovery.there; }

/// 1 - (lost + saving + recovering + down) / all of the workers' time.
double goodput(const RunRecord& record) {
  WideTicks away = record.recovery.lost;
  for (const PhaseRow& row : phase_rows)
    if (row.of_recovery || row.phase == Phase::down)
      away += over_workers(record, [&](const WorkerRecord& worker) { return worker.split[row.phase]; });
  return 1 - ratio(static_cast<double>(away), static_cast<double>(record.end.ticks()) * workers_of(record)).value_or(0);
}

bool come_and_go(const RunRecord& record) { return record.clients.present.has_value(); }
bool units_fail(const RunRecord& record) { return record.failures.has_value(); }

using FigureUnit = RunFigure::Unit;
using Better = RunFigure::Better;
constexpr bool learned = true;

std::vector<RunFigure> made_figures() {
  std::vector<RunFigure> all = {
      {"name", "", FigureUnit::text, [](const RunRecord& run) { return Scalar(run.name); }},
      {"scheme", "scheme", FigureUnit::text, [](const RunRecord& run) { return Scalar(run.scheme); }},
      {"seed", "", FigureUnit::count, [](const RunRecord& run) { return Scalar(run.seed); }},
      {"workers", "workers", FigureUnit::count, [](const RunRecord& run) { return Scalar(std::uint64_t{run.workers.size()}); }},
      {"outcome", "outcome", FigureUnit::text, [](const RunRecord& run) { return Scalar(std::string(name_of(run.outcome))); }},
      {"stalled", "", FigureUnit::text, [](const RunRecord& run) { return Scalar(run.stalled); }, Better::less, false,
       [](const RunRecord& run) { return !run.stalled.empty(); }},
      {"simulated_seconds", "simulated time", FigureUnit::seconds, [](const RunRecord& run) { return Scalar(run.end); }},
      {"updates", "updates", FigureUnit::count, [](const RunRecord& run) { return Scalar(run.updates); }},
      {"epochs", "epochs", FigureUnit::number, [](const RunRecord& run) { return Scalar(run.epochs); }},
      {"samples", "samples", FigureUnit::count, [](const RunRecord& run) { return Scalar(run.samples); }},
      {"samples_per_second", "samples per second", FigureUnit::number, [](const RunRecord& run) { return Scalar(rate_of(run)); },
       Better::more},
      {"samples_per_second_per_worker", "samples per second and worker", FigureUnit::number,
       [](const RunRecord& run) { return Scalar(ratio(rate_of(run), workers_of(run))); }, Better::more},
      {"step_s", "time of an update", FigureUnit::seconds,
       [](const RunRecord& run) { return Scalar(ratio(nearest_seconds(run.end), static_cast<double>(run.updates))); }},
      {"exposed_communication_s", "exposed communication", FigureUnit::seconds,
       [](const RunRecord& run) { return Scalar(ratio(seconds_of(blocked(run)), workers_of(run) * static_cast<double>(run.updates))); }},
      {"scaling_efficiency", "scaling efficiency", FigureUnit::share,
       [](const RunRecord& run) { return Scalar(ratio(rate_of(run), run.alone.samples_per_second.value_or(0))); }, Better::more},
      {"final_train_loss", "train loss", FigureUnit::score, [](const RunRecord& run) { return Scalar(run.final_train_loss); }, Better::less,
       learned},
      {"final_test_loss", "test loss", FigureUnit::score, [](const RunRecord& run) { return Scalar(run.final_test_loss); }, Better::less,
       learned},
      {"final_train_perplexity", "train perplexity", FigureUnit::score,
       [](const RunRecord& run) { return Scalar(perplexity(run.final_train_loss)); }, Better::less, learned,
       [](const RunRecord& run) { return run.symbols; }},
      {"final_test_perplexity", "test perplexity", FigureUnit::score,
       [](const RunRecord& run) { return Scalar(perplexity(run.final_test_loss)); }, Better::less, learned,
       [](const RunRecord& run) { return run.symbols; }},
      {"final_test_accuracy", "test accuracy", FigureUnit::score, [](const RunRecord& run) { return Scalar(run.final_test_accuracy); },
       Better::more, learned},
      {"final_train_accuracy", "train accuracy", FigureUnit::score, [](const RunRecord& run) { return Scalar(run.final_train_accuracy); },
       Better::more, learned},
      {"guessing_accuracy", "", FigureUnit::score, [](const RunRecord& run) { return Scalar(run.guessing_accuracy); }, Better::less,
       learned},
      {"target_accuracy", "", FigureUnit::score, [](const RunRecord& run) { return Scalar(run.target_accuracy); }},
      {"time_to_target_s", "time to target", FigureUnit::seconds, [](const RunRecord& run) { return at_target(run, &CurvePoint::time); },
       Better::less, learned},
      {"last_below_target_s", "", FigureUnit::seconds,
       [](const RunRecord& run) {
         const Reached at = target(run);
         return at.at ? Scalar(at.last_below) : Scalar();
       },
       Better::less, learned},
      {"updates_to_target", "", FigureUnit::count, [](const RunRecord& run) { return at_target(run, &CurvePoint::update); }, Better::less,
       learned},
      {"samples_to_target", "", FigureUnit::count, [](const RunRecord& run) { return at_target(run, &CurvePoint::samples); }, Better::less,
       learned},
      {"bytes_to_target", "", FigureUnit::bytes, [](const RunRecord& run) { return at_target(run, &CurvePoint::bytes_sent); }, Better::less,
       learned},
      {"price_to_target", "price to target", FigureUnit::price, [](const RunRecord& run) { return cost_at_target(run, &Costs::price); },
       Better::less, learned, priced},
      {"energy_to_target_joules", "energy to target", FigureUnit::joules,
       [](const RunRecord& run) { return cost_at_target(run, &Costs::joules); }, Better::less, learned, powered},
      {"rounds", "", FigureUnit::count, [](const RunRecord& run) { return Scalar(run.rounds); }},
      {"bytes_sent", "bytes sent", FigureUnit::bytes, [](const RunRecord& run) { return Scalar(run.bytes_sent); }},
      {"price", "price", FigureUnit::price, [](const RunRecord& run) { return Scalar(run.costs.price); }, Better::less, false, priced},
      {"currency", "", FigureUnit::text, [](const RunRecord& run) { return Scalar(run.currency); }, Better::less, false,
       [](const RunRecord& run) { return priced(run) && !run.currency.empty(); }},
      {"energy_joules", "energy", FigureUnit::joules, [](const RunRecord& run) { return Scalar(run.costs.joules); }, Better::less, false,
       powered},
      {"bytes_received", "", FigureUnit::bytes, [](const RunRecord& run) { return Scalar(run.bytes_received); }},
      {"bytes_lost", "", FigureUnit::bytes, [](const RunRecord& run) { return Scalar(run.bytes_lost); }},
      {"statistics_bytes", "", FigureUnit::bytes, [](const RunRecord& run) { return Scalar(run.statistics_bytes); }},
      {"compression_ratio", "", FigureUnit::number, [](const RunRecord& run) { return Scalar(run.compression_ratio); }, Better::less, false,
       [](const RunRecord& run) { return run.compression_ratio.has_value(); }},
      {"samples_drawn", "", FigureUnit::count, [](const RunRecord& run) { return Scalar(run.samples_drawn); }},
      {"dropped_contributions", "", FigureUnit::count, [](const RunRecord& run) { return Scalar(run.dropped.contributions); }},
      {"dropped_samples", "", FigureUnit::count, [](const RunRecord& run) { return Scalar(run.dropped.samples); }},
      {"dropped_bytes", "", FigureUnit::bytes, [](const RunRecord& run) { return Scalar(run.dropped.bytes); }},
      {"rollbacks", "rollbacks", FigureUnit::count, [](const RunRecord& run) { return Scalar(run.recovery.rollbacks); }, Better::less,
       false, recovers},
      {"lost_updates", "lost updates", FigureUnit::count, [](const RunRecord& run) { return Scalar(run.recovery.lost_updates); },
       Better::less, false, recovers},
      {"goodput", "goodput", FigureUnit::share, [](const RunRecord& run) { return Scalar(goodput(run)); }, Better::more, false, recovers},
      {"ettr", "effective training time", FigureUnit::share,
       [](const RunRecord& run) {
         return Scalar(ratio(static_cast<double>(run.recovery.productive.ticks()), static_cast<double>(run.end.ticks())));
       },
       Better::more, false, recovers},
      {"effective_samples_per_second", "effective samples per second", FigureUnit::number,
       [](const RunRecord& run) { return Scalar(rate_of(run)); }, Better::more, false, recovers},
      {"clients_present", "", FigureUnit::number, [](const RunRecord& run) { return Scalar(run.clients.present); }, Better::less, false,
       come_and_go},
      {"clients_lost", "", FigureUnit::count, [](const RunRecord& run) { return Scalar(run.clients.lost); }, Better::less, false,
       come_and_go},
      {"failures", "failures", FigureUnit::count, [](const RunRecord& run) { return Scalar(run.failures); }, Better::less, false,
       units_fail},
      {"mean_time_between_failures_s", "time between failures, mean", FigureUnit::seconds,
       [](const RunRecord& run) {
         const std::uint64_t failures = run.failures.value_or(0);
         return failures > 0 ? Scalar(run.end.seconds() / static_cast<double>(failures)) : Scalar();
       },
       Better::more, false, units_fail},
      {"bytes_up_per_worker", "", FigureUnit::bytes,
       [](const RunRecord& run) { return Scalar(ratio(static_cast<double>(run.bytes_up), workers_of(run))); }},
      {"bytes_down_per_worker", "", FigureUnit::bytes,
       [](const RunRecord& run) { return Scalar(ratio(static_cast<double>(run.bytes_down), workers_of(run))); }},
      {"loading_total_s", "", FigureUnit::seconds,
       [](const RunRecord& run) {
         const auto loading = over_workers(run, [](const WorkerRecord& worker) { return worker.split[Phase::loading]; });
         return Scalar(ratio(seconds_of(loading), workers_of(run)));
       }},
      {"communication_total_s", "", FigureUnit::seconds,
       [](const RunRecord& run) { return Scalar(ratio(seconds_of(in_flight(run)), workers_of(run))); }},
      {"overlap_fraction", "", FigureUnit::share,
       [](const RunRecord& run) {
         const auto overlapped = over_workers(run, [](const WorkerRecord& worker) { return worker.overlapped; });
         return Scalar(ratio(static_cast<double>(overlapped), static_cast<double>(in_flight(run))));
       },
       Better::more},
  };
  for (const PhaseRow& row : summary_phases)
    all.push_back({share_key(row.phase), row.title, FigureUnit::share, nullptr, row.phase == Phase::compute ? Better::more : Better::less,
                   false, row.of_recovery ? recovers : nullptr, row.phase});
  const std::vector<RunFigure> last = {
      {"staleness_mean", "staleness, mean", FigureUnit::number, [](const RunRecord& run) { return Scalar(mean_staleness(run)); }},
      {"staleness_p50", "", FigureUnit::count, [](const RunRecord& run) { return Scalar(staleness_percentile(run.staleness, 50)); }},
      {"staleness_p99", "", FigureUnit::count, [](const RunRecord& run) { return Scalar(staleness_percentile(run.staleness, 99)); }},
      {"staleness_max", "staleness, max", FigureUnit::count,
       [](const RunRecord& run) { return Scalar(staleness_percentile(run.staleness, 100)); }},
      {"skipped_updates", "", FigureUnit::count, [](const RunRecord& run) { return Scalar(run.skipped_updates); }, Better::less, learned},
      {"final_loss_scale", "", FigureUnit::number, [](const RunRecord& run) { return Scalar(run.final_loss_scale); }, Better::less,
       learned},
      {"noise_scale", "", FigureUnit::number, [](const RunRecord& run) { return Scalar(run.noise_scale); }, Better::less, learned,
       [](const RunRecord& run) { return run.noise_scale.has_value(); }},
      {"events", "", FigureUnit::count, [](const RunRecord& run) { return Scalar(run.events); }},
      {"weights_key", "", FigureUnit::text, [](const RunRecord& run) { return Scalar(run.weights_key); }},
  };
  all.insert(all.end(), last.begin(), last.end());
  return all;
}

const std::vector<RunFigure>& all_figures() {
  static const std::vector<RunFigure> all = made_figures();
  return all;
}

}  // namespace

std::span<const RunFigure> run_figures() { return all_figures(); }

const RunFigure* find_figure(std::string_view key) {
  for (const RunFigure& figure : all_figures())
    if (figure.key == key) return &figure;
  return nullptr;
}

Scalar value_of(const RunFigure& figure, const RunRecord& record) {
  return figure.of ? figure.of(record) : Scalar(mean_share(record.workers, figure.phase));
}

FigureText text_of_unit(RunFigure::Unit unit) {
  switch (unit) {
    case FigureUnit::share:
      return readable_share;
    case FigureUnit::score:
      return readable_score;
    case FigureUnit::seconds:
      return readable_seconds;
    case FigureUnit::bytes:
      return readable_bytes;
    case FigureUnit::price:
      return readable_price;
    case FigureUnit::joules:
      return readable_joules;
    case FigureUnit::text:
    case FigureUnit::count:
    case FigureUnit::number:
      break;
  }
  return readable_number;
}

std::optional<std::uint64_t> staleness_percentile(const StalenessHistogram& histogram, unsigned percent) {
  std::uint64_t total = 0, below = 0;
  for (const auto& [staleness, contributions] : histogram) total += contributions;
  if (total == 0) return std::nullopt;
  std::optional<std::uint64_t> largest;
  for (const auto& [staleness, contributions] : histogram) {
    if (contributions == 0) continue;
    below += contributions;
    largest = staleness;
    if (static_cast<WideTicks>(below) * 100 >= static_cast<WideTicks>(total) * static_cast<WideTicks>(percent)) break;
  }
  return largest;
}

std::optional<double> mean_share(const std::vector<WorkerRecord>& workers, Phase phase) {
  double sum = 0, count = 0;
  for (const WorkerRecord& worker : workers) {
    const Time total = worker.split.total();
    if (total == Time()) continue;
    sum += static_cast<double>(worker.split[phase].ticks()) / static_cast<double>(total.ticks());
    count += 1;
  }
  return count > 0 ? std::optional(sum / count) : std::nullopt;
}

}  // namespace straggler

#include "scenarios/reasons/update_parts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <utility>

#include "scenarios/experiment/alone.hpp"
#include "scenarios/experiment/blueprint.hpp"
#include "scenarios/experiment/update_times.hpp"
#include "scenarios/reasons/explain.hpp"
#include "scenarios/results/busiest.hpp"
#include "scenarios/results/summary.hpp"
#include "scenarios/schema/worker_names.hpp"
#include "sim/base/readable.hpp"
#include "sim/base/registry.hpp"
#include "sim/training/scheme.hpp"

namespace straggler {

namespace {

double phase_seconds(const TimedUpdates& runs, std::size_t worker, Phase phase) {
  const Time before = runs.begun ? runs.begun->workers[worker].split[phase] : Time();
  return (runs.gone_on.workers[worker].split[phase] - before).seconds();
}

std::uint64_t contributions(const TimedUpdates& runs, std::size_t worker) {
  return runs.gone_on.workers[worker].updates - (runs.begun ? runs.begun->workers[worker].updates : 0);
}

/// No phase below 0, and the same sum. A run that ends in a wait, such as the serial part of an epoch, may have waited longer in all than
/// the longer run, which loads its next batch meanwhile.
void none_below_zero(ByPhase<double>& seconds) {
  const double sum = std::accumulate(seconds.begin(), seconds.end(), 0.0);
  for (double& each : seconds) each = std::max(each, 0.0);
  const double above = std::accumulate(seconds.begin(), seconds.end(), 0.0);
  if (above > sum)
    for (double& each : seconds) each *= sum / above;
}

/// Work turns out to be wasted after it was done, maybe after the end: as much of it is as in the whole of the run.
ByPhase<double> without_wasted(ByPhase<double> seconds, const TimeSplit& split) {
  const Time wasted = split[Phase::wasted], all = split[Phase::compute] + wasted;
  double& computing = seconds[Phase::compute];
  const double worked = computing + seconds[Phase::wasted];
  computing = all > Time() ? worked * (1 - wasted.seconds() / all.seconds()) : 0;
  seconds[Phase::wasted] = worked - computing;
  none_below_zero(seconds);
  return seconds;
}

/// Between the ends of both runs.
ByPhase<double> phases_of(const TimedUpdates& runs, std::size_t worker) {
  ByPhase<double> seconds;
  for (const PhaseRow& row : phase_rows) seconds[row.phase] = phase_seconds(runs, worker, row.phase);
  return without_wasted(seconds, runs.gone_on.workers[worker].split);
}

/// Workers' phases from one of their contributions to a later one: between two updates each is somewhere within a contribution.
class Cycles final : public RecordSink {
 public:
  /// Of updates after `first`.
  Cycles(std::uint64_t first, std::size_t workers) : first_(first), counted_(workers), spans_(workers) {}

  /// From the first one to the last.
  double count(std::size_t worker) const { return counted_[worker].empty() ? 0 : static_cast<double>(counted_[worker].size() - 1); }
  ByPhase<double> seconds(std::size_t worker) const {
    ByPhase<double> out;
    if (counted_[worker].empty()) return out;
    const Time begin = counted_[worker].front(), end = counted_[worker].back();
    for (const Span& span : spans_[worker]) {
      const Time from = std::max(span.start, begin), to = std::min(span.end, end);
      if (from < to) out[span.phase] += (to - from).seconds();
    }
    return out;
  }

 private:
  struct Span {
    Phase phase;
    Time start, end;
  };
  void contribution(std::uint64_t update, Time time, Rank worker, std::uint64_t, std::uint64_t, std::uint32_t, std::uint64_t) override {
    if (update > first_) counted_[index_of(worker)].push_back(time);
  }
  void choice(Rank, std::int32_t) override {}
  void span(Rank worker, Phase phase, Time start, Time end) override { spans_[index_of(worker)].push_back({phase, start, end}); }

  std::uint64_t first_;
  std::vector<std::vector<Time>> counted_;  // [workers]
  std::vector<std::vector<Span>> spans_;    // [workers]
};

/// The place of the median; of an even number the first of the two.
std::size_t median_of(const std::vector<double>& values) {
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return values[a] < values[b]; });
  return order[(order.size() - 1) / 2];
}

/// `alone`: [workers], seconds of a batch on each.
void set_phases(const Scenario& scenario, const TimedUpdates& runs, bool asynchronous, const std::vector<double>& alone,
                double most_wall_seconds, UpdateParts& out) {
  const std::size_t workers = runs.gone_on.workers.size();
  std::vector<double> computing(workers), rounds(workers);
  for (std::size_t worker = 0; worker < workers; ++worker) {
    computing[worker] = phases_of(runs, worker)[Phase::compute];
    rounds[worker] = static_cast<double>(contributions(runs, worker));
  }
  std::size_t chosen = static_cast<std::size_t>(std::max_element(computing.begin(), computing.end()) - computing.begin());
  if (asynchronous) chosen = median_of(rounds);
  out.own_cycle = asynchronous && rounds[chosen] > 0;
  out.worker = static_cast<Rank>(chosen);
  double times = 0;
  Cycles cycles(runs.first(), workers);
  if (out.own_cycle && observe_updates(scenario, runs.last(), cycles, most_wall_seconds))
    for (std::size_t worker = 0; worker < workers; ++worker) {
      if (std::abs(alone[worker] - alone[chosen]) > 1e-9 * alone[chosen]) continue;
      times += cycles.count(worker);
      const ByPhase<double> own = without_wasted(cycles.seconds(worker), runs.gone_on.workers[worker].split);
      for (const PhaseRow& row : phase_rows) out.phases[row.phase] += own[row.phase];
    }
  if (times == 0) {
    times = out.own_cycle ? rounds[chosen] : runs.updates();
    out.phases = phases_of(runs, chosen);
  }
  for (double& seconds : out.phases) seconds /= times;
  const Time before = runs.begun ? runs.begun->workers[chosen].overlapped : Time();
  out.hidden = std::max(0.0, (runs.gone_on.workers[chosen].overlapped - before).seconds()) / times;
}

/// Staleness and compression are questions about whole runs; `explain` answers them.
bool binds_updates(Cause cause) {
  constexpr std::array binding = {Cause::faults,      Cause::jitter,      Cause::slow_workers, Cause::bandwidth, Cause::latency,
                                  Cause::contention,  Cause::collectives, Cause::server,       Cause::loaders,   Cause::launches,
                                  Cause::distributed, Cause::failures,    Cause::checkpoints,  Cause::memory};
  return std::ranges::find(binding, cause) != binding.end();
}

/// The causes' savings an update, as `explain` has those of a run. `untold`: causes whose runs were not timed.
Explained savings(const Scenario& scenario, const Blueprint& blueprint, double seconds, double most_wall_seconds,
                  std::vector<Cause>& untold) {
  Explained out;
  out.timing_only = true;
  for (const Intervention& each : interventions(scenario, blueprint, true)) {
    CauseRow row;
    row.cause = each.cause;
    row.absent = !each.absent.empty();
    std::optional<TimedUpdates> runs;
    if (each.cause == Cause::nothing)
      row.figures.emplace().simulated_seconds = seconds;
    else if (binds_updates(each.cause) && each.absent.empty() && each.refused.empty()) {
      runs = timed_if_possible(each.setting.scenario, each.setting.what_if, most_wall_seconds);
      if (!runs) untold.push_back(each.cause);
    }
    if (runs && runs->seconds() > 0) {
      row.figures.emplace().simulated_seconds = runs->seconds();
      row.seconds_saved = seconds - runs->seconds();
      row.share = *row.seconds_saved / seconds;
    }
    out.rows.push_back(std::move(row));
  }
  return out;
}

double begin_of(const FaultSpec& fault) { return std::max(fault.at, fault.from); }

bool goes_on_after(const FaultSpec& fault, Time end) {
  return begin_of(fault) <= end.seconds() && std::max(fault.at + fault.restart_after.value_or(0), fault.to) > end.seconds();
}

bool changes_after(const Scenario& scenario, Time end) {
  const auto later = [end](const FaultSpec& fault) { return repeats(fault) || begin_of(fault) > end.seconds(); };
  return std::ranges::any_of(scenario.cluster.faults, later) ||
         std::ranges::any_of(scenario.cluster.workers, [](const WorkerGroup& group) { return group.availability.name != "always"; });
}

void set_times(const Scenario& scenario, const TimedUpdates& runs, UpdateParts& out) {
  out.first = runs.first();
  out.last = runs.last();
  out.seconds = out.first_half = out.second_half = runs.seconds();
  if (const std::uint64_t middle = (out.first + out.last) / 2; middle > out.first) {
    out.first_half = runs.seconds(out.first, middle);
    out.second_half = runs.seconds(middle, out.last);
  }
  out.outcome = runs.outcome;
  out.empty = runs.gone_on.empty_updates == out.last;
  out.changes = changes_after(scenario, runs.gone_on.end);
  out.faulty = std::ranges::any_of(scenario.cluster.faults, [&](const FaultSpec& fault) { return goes_on_after(fault, runs.gone_on.end); });
}

}  // namespace

UpdateParts update_parts(const Scenario& scenario, double most_wall_seconds, double most_without_a_cause) {
  UpdateParts out;
  TimedUpdates runs;
  try {
    runs = timed_updates(scenario, {}, most_wall_seconds);
  } catch (const NotTimed& reason) {
    out.why_not = reason.what();
    return out;
  }
  if (runs.seconds() <= 0) {
    out.why_not = "its first updates take no time";
    return out;
  }
  set_times(scenario, runs, out);
  const SchemeEntry& entry = Registry<SchemeEntry>::instance().at(scenario.training.scheme.name);
  const Blueprint blueprint(scenario, "auto");
  const std::vector<double> alone = seconds_alone(scenario, blueprint);
  set_phases(scenario, runs, entry.asynchronous(complete(entry.parameters, scenario.training.scheme.parameters)), alone, most_wall_seconds,
             out);
  const double median = alone[median_of(alone)];
  for (std::size_t group = 0; group < blueprint.first_of_group.size(); ++group)
    if (alone[static_cast<std::size_t>(blueprint.first_of_group[group])] > 1.01 * median) out.slow_groups.push_back(group);
  const Explained explained = savings(scenario, blueprint, out.seconds, most_without_a_cause, out.untold);
  if (const CauseRow* const first = bottleneck(explained)) {
    out.bound = first->cause;
    out.without = first->figures->simulated_seconds;
    if (out.bound == Cause::bandwidth || out.bound == Cause::contention) out.busiest_link = holdup(scenario, runs.gone_on).link;
  }
  return out;
}

bool is_steady(const UpdateParts& parts) {
  return std::abs(parts.first_half - parts.second_half) <= 0.1 * std::max(parts.first_half, parts.second_half);
}

std::string parts_text(const Scenario& scenario, const UpdateParts& parts) {
  if (!parts.why_not.empty()) return "is not timed: " + parts.why_not;
  std::string text =
      fmt::format("takes about {}, the mean of updates {} to {}", readable_seconds(parts.seconds), parts.first + 1, parts.last);
  if (!is_steady(parts))
    text += fmt::format(" ({} in the first half of them, {} in the second)", readable_seconds(parts.first_half),
                        readable_seconds(parts.second_half));
  if (parts.empty) text += ", to which nobody contributed";
  if (parts.outcome != Outcome::completed) text += fmt::format(", after which the run ends ({})", name_of(parts.outcome));
  if (parts.own_cycle)
    text += fmt::format("; a contribution of worker {} takes {}", parts.worker,
                        readable_seconds(std::accumulate(parts.phases.begin(), parts.phases.end(), 0.0)));
  const WorkerNames names(scenario);
  std::string each;
  for (const PhaseRow& row : phase_rows) {
    const bool computes = row.phase == Phase::compute;
    if (parts.phases[row.phase] < 0.0005 * parts.seconds && !computes) continue;
    each += fmt::format("{}{} {}", each.empty() ? ": " : ", ", readable_seconds(parts.phases[row.phase]), row.title);
    if (computes && !parts.own_cycle && scenario.workers() > 1)
      each += fmt::format(" ({}, the slowest of {})", names.worker(parts.worker), scenario.workers());
  }
  if (parts.faulty) each += "; a fault that ends later is in it";
  if (parts.changes) each += "; faults and absences that come later are not in it";
  return text + each;
}

std::string bound_text(const Scenario& scenario, const UpdateParts& parts) {
  std::vector<std::string> others;
  for (const Cause cause : parts.untold) others.push_back(label_of(cause));
  if (parts.bound == Cause::nothing && !others.empty())
    return fmt::format("not known: what {} cost{} was not timed here; explain tells", listed(others), others.size() == 1 ? "s" : "");
  if (parts.bound == Cause::nothing) return fmt::format("computing: no other cause costs {:.0f} % of an update", 100 * bottleneck_share);
  std::string who;
  if (parts.bound == Cause::slow_workers && !parts.slow_groups.empty()) who = ": " + WorkerNames(scenario).groups(parts.slow_groups);
  return fmt::format("{}{}; an update would take {} {}{}{}", label_of(parts.bound), who, readable_seconds(parts.without),
                     words_of(parts.bound), parts.busiest_link.empty() ? "" : "; the busiest link is " + parts.busiest_link,
                     others.empty() ? "" : "; not timed: what " + listed(others) + (others.size() == 1 ? " costs" : " cost"));
}

}  // namespace straggler

#include "scenarios/reasons/explain.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <mutex>
#include <numeric>

#include "models/data/blocks.hpp"
#include "scenarios/experiment/blueprint.hpp"
#include "scenarios/experiment/data_cache.hpp"
#include "scenarios/reasons/watch.hpp"
#include "scenarios/results/run_info.hpp"
#include "scenarios/sweep/evaluation_file.hpp"
#include "sim/base/quantity.hpp"
#include "sim/base/readable.hpp"

namespace straggler {

namespace {

std::optional<double> time_to_target(const RunRecord& record) {
  if (!record.target_accuracy) return std::nullopt;
  const Reached when = reached(record.curve, *record.target_accuracy, record.sustain);
  return when.at ? std::optional(when.at->time.seconds()) : std::nullopt;
}

Figures figures_of(const RunRecord& record, bool timing_only) {
  Figures out;
  out.simulated_seconds = record.end.seconds();
  if (record.end > Time()) out.samples_per_second = static_cast<double>(record.samples) / record.end.seconds();
  if (!timing_only) {
    out.time_to_target = time_to_target(record);
    if (record.final_test_accuracy && std::isfinite(*record.final_test_accuracy)) out.final_test_accuracy = record.final_test_accuracy;
  }
  out.updates = record.updates;
  for (const PhaseRow& row : phase_rows)
    for (const WorkerRecord& worker : record.workers) out.shares[row.phase] += worker.split[row.phase].seconds();
  const double all = std::accumulate(out.shares.begin(), out.shares.end(), 0.0);
  if (all > 0)
    for (double& share : out.shares) share /= all;
  return out;
}

/// Runs settings, with the math that they share computed once.
class Runner {
 public:
  explicit Runner(const ExplainOptions& options) : options_(options) {}

  RunRecord run(const Counterfactual& setting) {
    RunOptions run = options_.run;
    run.what_if = setting.what_if;
    run.data = &data_;
    if (run.timing_only)
      run.store = nullptr;
    else if (!run.store)
      run.store = &own_store_;
    Watch watch(options_.interrupted);
    Experiment experiment(setting.scenario, run);
    RunRecord record;
    std::optional<RunRecord> known;
    if (run.store) known = std::move(experiment.run_from_store(&watch).record);
    record = known ? std::move(*known) : experiment.run(nullptr, &watch);
    if (record.outcome == Outcome::interrupted) throw ExplainInterrupted();
    return record;
  }

  /// Calls work(i) for each i below `count`: side by side where there is no math, whose threads want the cores for themselves.
  void each(std::size_t count, bool timing_only, const std::function<void(std::size_t)>& work) {
    const unsigned cores = options_.run.threads ? options_.run.threads : this_machine().cores;
    const unsigned jobs = timing_only ? cores : 1;
    struct NoState {};
    for_blocks(count, 1, jobs, NoState(), [&](NoState&, std::size_t i, std::size_t, std::size_t) { work(i); });
  }

 private:
  const ExplainOptions& options_;
  DataCache data_;
  EvaluationFile own_store_{":memory:"};
};

/// Failed for a reason that stands in one line.
std::string first_line_of(const std::exception& error) {
  if (const auto* errors = dynamic_cast<const ScenarioErrors*>(&error); errors && !errors->problems.empty())
    return errors->problems.front().text();
  const std::string text = error.what();
  return text.substr(0, text.find('\n'));
}

/// The common work of all rows: a scenario's new stop, and the reason.
class Measuring {
 public:
  Measuring(const Scenario& scenario, bool timing_only) : scenario_(scenario), timing_only_(timing_only) {}

  /// The unchanged run, whose end defines the work.
  RunRecord measure(Runner& runner) {
    StopSpec& stop = scenario_.training.stop;
    const std::optional<double> target = stop.target_accuracy;
    RunRecord record = runner.run({scenario_, {}});
    if (record.updates == 0) throw RunFailed("the run makes no update, so there is nothing to explain; let it run for longer");
    by_target_ = target && !timing_only_ && stop.on_target == StopSpec::OnTarget::stop && record.outcome == Outcome::target_reached;
    if (target && !by_target_) stop.on_target = StopSpec::OnTarget::go_on;
    const bool timed_out = stop.simulated_time && record.end >= Time::from_seconds(*stop.simulated_time);
    const bool ended_early = !is_finished(record.outcome);
    shared_.target = target;
    shared_.sustain = scenario_.training.evaluate.sustain;
    shared_.made = timed_out || ended_early;
    if (shared_.made) {
      shared_.updates = record.updates;
      if (!timed_out) shared_.ended = record.outcome;
    } else {
      shared_.epochs = stop.epochs;
      if (stop.updates) shared_.updates = static_cast<std::uint64_t>(*stop.updates);
    }
    shared_.missed = target && !timing_only_ && record.outcome != Outcome::target_reached && !time_to_target(record);
    if (by_target_) {
      bound_by(target_slack * record.updates);
    } else if (shared_.made) {
      if (scenario_.training.schedule.kind.name == "constant") stop.epochs.reset();  // other schedules end with the epochs
      stop.updates.reset();
      bound_by(record.updates);
      return runner.run({scenario_, {}});
    } else if (stop.simulated_time) {
      stop.simulated_time.reset();
    }
    return record;
  }

  /// The setting, doing the work.
  Counterfactual doing(Counterfactual setting) const {
    setting.scenario.training.stop = scenario_.training.stop;
    return setting;
  }
  bool by_target() const { return by_target_; }
  const SharedWork& shared() const { return shared_; }

 private:
  /// A row may take this many times the run's updates to reach a target.
  static constexpr std::uint64_t target_slack = 4;

  void bound_by(std::uint64_t updates) {
    StopSpec& stop = scenario_.training.stop;
    if (by_target_ && !stop.simulated_time) return;
    stop.simulated_time.reset();
    stop.updates = std::min<std::int64_t>(stop.updates.value_or(static_cast<std::int64_t>(updates)), static_cast<std::int64_t>(updates));
  }

  Scenario scenario_;
  bool timing_only_, by_target_ = false;
  SharedWork shared_;
};

/// The compared figure: seconds to the target, or of the run.
std::optional<double> compared(const Figures& figures, bool by_target) {
  return by_target ? figures.time_to_target : std::optional(figures.simulated_seconds);
}

void judge(CauseRow& row, const Figures& own, bool by_target) {
  const double seconds = *compared(own, by_target);
  const std::optional<double> taken = compared(*row.figures, by_target);
  if (!taken) {
    row.note = "does not reach the target";
    return;
  }
  row.seconds_saved = seconds - *taken;
  row.share = seconds > 0 ? *row.seconds_saved / seconds : 0;
}

void judge(ChangeRow& row, const Figures& own) {
  if (own.samples_per_second > 0) row.rate_change = row.figures->samples_per_second / own.samples_per_second - 1;
  if (own.time_to_target && row.figures->time_to_target && *own.time_to_target > 0)
    row.target_change = *row.figures->time_to_target / *own.time_to_target - 1;
}

/// If the scenario cannot run with even workers, the reason is added.
void add_slowdowns(Explained& out, const Scenario& scenario, const Blueprint& blueprint, const ExplainOptions& options, Runner& runner) {
  const EachOf each = [&](std::size_t count, const std::function<void(std::size_t)>& work) { runner.each(count, true, work); };
  Slowdowns& found = out.slowdowns.emplace();
  try {
    found = slowdowns(scenario, blueprint, each, options.interrupted);
  } catch (const ScenarioErrors& errors) {
    found.note = first_line_of(errors);
  } catch (const RunFailed& failed) {
    found.note = first_line_of(failed);
  }
}

/// Without a cause that changes only when messages and gradients arrive, another model was learned.
bool order_changed(const Explained& explained) {
  const Figures& own = *explained.row(Cause::nothing).figures;
  return std::ranges::any_of(explained.rows, [&](const CauseRow& row) {
    const bool learns_otherwise = row.cause == Cause::staleness || row.cause == Cause::compression || row.cause == Cause::all;
    if (learns_otherwise || row.absent || !row.figures) return false;
    return row.figures->updates != own.updates || row.figures->final_test_accuracy != own.final_test_accuracy;
  });
}

/// Why the run did not do the work of `own`; empty: it did. A run that diverges has done less, which is no saving, unless the other one
/// diverged, too, and no later.
std::string cut_short(const RunRecord& record, const RunRecord& own) {
  if (is_finished(record.outcome)) return {};
  if (record.outcome != Outcome::diverged) return fmt::format("ends early ({})", name_of(record.outcome));
  if (own.outcome == Outcome::diverged && record.updates >= own.updates) return {};
  return fmt::format("diverges after {}", updates_text(record.updates));
}

}  // namespace

std::string updates_text(std::uint64_t updates) { return readable_count(updates) + (updates == 1 ? " update" : " updates"); }

std::optional<double> ChangeRow::elasticity() const {
  return rate_change && input_share != 0 ? std::optional(*rate_change / input_share) : std::nullopt;
}

bool Explained::reaches_what_was_missed(const CauseRow& each) const {
  return !order_matters && !row(Cause::nothing).figures->time_to_target && each.figures && each.figures->time_to_target;
}

double Explained::seconds() const { return compared(*row(Cause::nothing).figures, by_target).value_or(0); }

Explained explain(const Scenario& scenario, const ExplainOptions& options) {
  const bool timing_only = options.run.timing_only;
  const Blueprint blueprint(scenario, options.run.kernels);
  const std::vector<Intervention> causes = interventions(scenario, blueprint, timing_only);
  const std::vector<Change> changes = small_changes(scenario, blueprint);
  Explained out;
  out.name = scenario.name;
  out.scheme = scenario.training.scheme.name;
  out.timing_only = timing_only;
  Runner runner(options);
  Measuring work(scenario, timing_only);
  std::mutex telling;
  std::size_t told = 0;
  const auto is_run = [](const Intervention& each) { return each.refused.empty() && each.absent.empty(); };
  const std::size_t count = static_cast<std::size_t>(std::ranges::count_if(causes, is_run)) + changes.size() + (options.slowdowns ? 1 : 0);
  const auto tell = [&](const std::string& what) {
    const std::lock_guard lock(telling);
    if (options.tell) options.tell(++told, count, what);
  };
  tell(words_of(Cause::nothing));
  const RunRecord record = work.measure(runner);
  const Figures own = figures_of(record, timing_only);
  out.warnings = record.warnings;
  out.held = holdup(scenario, record);
  out.diverged = record.outcome == Outcome::diverged;
  out.by_target = work.by_target();
  out.work = work.shared();
  out.rows.resize(causes.size());
  out.changes.resize(changes.size());
  for (std::size_t i = 0; i < causes.size(); ++i) {
    CauseRow& row = out.rows[i];
    row.cause = causes[i].cause;
    row.note = causes[i].refused + causes[i].absent;
    row.absent = !causes[i].absent.empty();
    if (i > 0 && !row.absent) continue;
    row.figures = own;
    row.seconds_saved = row.share = 0;
  }
  const auto run_one = [&](const Counterfactual& setting, const std::string& words, std::optional<Figures>& figures, std::string& note) {
    tell(words);
    try {
      const RunRecord done = runner.run(work.doing(setting));
      note = cut_short(done, record);
      if (note.empty()) figures = figures_of(done, timing_only);
    } catch (const ExplainInterrupted&) {
      throw;
    } catch (const std::bad_alloc&) {
      throw;
    } catch (const std::exception& error) {
      note = first_line_of(error);
    }
  };
  runner.each(causes.size() + changes.size(), timing_only, [&](std::size_t i) {
    if (i < causes.size()) {
      CauseRow& row = out.rows[i];
      if (i == 0 || !is_run(causes[i])) return;
      run_one(causes[i].setting, words_of(row.cause), row.figures, row.note);
      if (row.figures) judge(row, own, out.by_target);
      return;
    }
    ChangeRow& row = out.changes[i - causes.size()];
    const Change& change = changes[i - causes.size()];
    row.change = change.name;
    row.input_share = change.share;
    row.place = change.place;
    run_one(change.setting, change.name, row.figures, row.note);
    if (row.figures) judge(row, own);
  });
  out.order_matters = !timing_only && order_changed(out);
  if (options.slowdowns) {
    tell("with even workers, but for one each time");
    add_slowdowns(out, work.doing({scenario, {}}).scenario, blueprint, options, runner);
  }
  return out;
}

double cost_of(const Explained& explained, const CauseRow& row) {
  if (!explained.by_rate()) return *row.share;
  const double own = explained.row(Cause::nothing).figures->samples_per_second;
  return own > 0 ? row.figures->samples_per_second / own - 1 : 0;
}

std::vector<const CauseRow*> ranked_causes(const Explained& explained) {
  std::vector<const CauseRow*> rows;
  for (const CauseRow& row : explained.rows) {
    const bool answer = explained.by_rate() ? row.figures.has_value() : row.share.has_value();
    if (row.cause == Cause::nothing || row.cause == Cause::all || !answer || row.absent) continue;
    const bool only_ends_elsewhere = row.cause == Cause::staleness && !explained.by_target && !explained.reaches_what_was_missed(row);
    if (only_ends_elsewhere || (explained.by_rate() && row.cause == Cause::staleness)) continue;
    rows.push_back(&row);
  }
  std::stable_sort(rows.begin(), rows.end(),
                   [&](const CauseRow* a, const CauseRow* b) { return cost_of(explained, *a) > cost_of(explained, *b); });
  // Reaching a missed target counts for more than seconds.
  std::stable_partition(rows.begin(), rows.end(), [&](const CauseRow* row) { return explained.reaches_what_was_missed(*row); });
  const auto place = [&](Cause cause) { return std::ranges::find(rows, cause, [](const CauseRow* row) { return row->cause; }); };
  const auto bandwidth = place(Cause::bandwidth), contention = place(Cause::contention);
  if (bandwidth < contention && contention != rows.end()) {
    const double all = cost_of(explained, **bandwidth), shared = cost_of(explained, **contention);
    if (shared > all / 2 && (shared >= bottleneck_share || all < bottleneck_share)) std::rotate(bandwidth, contention, contention + 1);
  }
  return rows;
}

const CauseRow* bottleneck(const Explained& explained) {
  const std::vector<const CauseRow*> rows = ranked_causes(explained);
  if (rows.empty()) return nullptr;
  const CauseRow& first = *rows.front();
  return cost_of(explained, first) >= bottleneck_share || explained.reaches_what_was_missed(first) ? &first : nullptr;
}

}  // namespace straggler

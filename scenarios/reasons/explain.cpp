#include "scenarios/reasons/explain.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <mutex>

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

std::string counted(std::uint64_t count, const char* what) {
  return fmt::format("{} {}{}", readable_count(count), what, count == 1 ? "" : "s");
}

/// The bounds without the target: "20 epochs or 400 updates, whichever comes first".
std::string bounds_text(const StopSpec& stop) {
  std::vector<std::string> bounds;
  if (stop.epochs) bounds.push_back(fmt::format("{} epoch{}", format_number(*stop.epochs), *stop.epochs == 1 ? "" : "s"));
  if (stop.updates) bounds.push_back(counted(static_cast<std::uint64_t>(*stop.updates), "update"));
  std::string text;
  for (const std::string& bound : bounds) text += (text.empty() ? "" : " or ") + bound;
  return bounds.size() > 1 ? text + ", whichever comes first" : text;
}

/// Failed for a reason that stands in one line.
std::string first_line_of(const std::exception& error) {
  if (const auto* errors = dynamic_cast<const ScenarioErrors*>(&error); errors && !errors->problems.empty())
    return errors->problems.front().text();
  const std::string text = error.what();
  return text.substr(0, text.find('\n'));
}

/// The common work of all rows: a scenario's new stop, and the reason.
class Work {
 public:
  Work(const Scenario& scenario, bool timing_only) : scenario_(scenario), timing_only_(timing_only) {}

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
    if (by_target_)
      sentence_ = fmt::format("Each row takes the time to a test accuracy of {}.", format_number(*target));
    else if (timed_out || ended_early)
      sentence_ = fmt::format("Each row makes the {} that the run made until {}.", counted(record.updates, "update"),
                              timed_out ? "its simulated time was over" : fmt::format("it ended ({})", name_of(record.outcome)));
    else
      sentence_ = fmt::format("Each row does the same work: {}.", bounds_text(stop));
    if (target && timing_only_)
      sentence_ += fmt::format(" Timing alone has no accuracies: the target of {} is left out.", format_number(*target));
    else if (target && !by_target_ && record.outcome != Outcome::target_reached && !time_to_target(record))
      sentence_ += fmt::format(" The run does not reach its target of {}.", format_number(*target));
    if (by_target_) {
      bound_by(target_slack * record.updates);
    } else if (timed_out || ended_early) {
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
  const std::string& sentence() const { return sentence_; }

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
  std::string sentence_;
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
  try {
    out.slowdowns = slowdowns(scenario, blueprint, each, options.interrupted);
  } catch (const ScenarioErrors& errors) {
    out.slowdowns.note = first_line_of(errors);
  } catch (const RunFailed& failed) {
    out.slowdowns.note = first_line_of(failed);
  }
  out.slowdown_words = slowdown_words(out.slowdowns);
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
  return fmt::format("diverges after {}", counted(record.updates, "update"));
}

}  // namespace

std::optional<double> ChangeRow::elasticity() const {
  return rate_change && input_share != 0 ? std::optional(*rate_change / input_share) : std::nullopt;
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
  Work work(scenario, timing_only);
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
  out.diverged = record.outcome == Outcome::diverged;
  out.by_target = work.by_target();
  out.work = work.sentence();
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

}  // namespace straggler

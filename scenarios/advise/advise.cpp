#include "scenarios/advise/advise.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <mutex>
#include <set>
#include <utility>

#include "models/data/blocks.hpp"
#include "scenarios/experiment/tariffs.hpp"
#include "scenarios/reasons/watch.hpp"
#include "scenarios/results/run_info.hpp"
#include "sim/base/readable.hpp"
#include "sim/base/suggest.hpp"
#include "sim/training/scheme.hpp"

namespace straggler {

namespace {

using Clock = std::chrono::steady_clock;
constexpr double binding_share = 0.05;  // a smaller share does not bind

std::string reason_of(const std::exception& error) {
  if (const auto* errors = dynamic_cast<const ScenarioErrors*>(&error); errors && !errors->problems.empty())
    return errors->problems.front().text();
  const std::string text = error.what();
  return text.substr(0, text.find('\n'));
}

/// It takes longer than the job's own run by far.
struct TooLong : std::runtime_error {
  TooLong() : std::runtime_error("takes too long to be timed here") {}
};

/// Workers, with those that stand idle.
std::int64_t paid_for(const Scenario& scenario) {
  return scenario.workers() + (scenario.training.recovery ? scenario.training.recovery->spares : 0);
}

/// Runs of the timing: to the scenario's own stop, or to a number of updates where that takes too long.
class Trials {
 public:
  Trials(const AdviseOptions& options, const Scenario& scenario) : options_(options), scenario_(scenario) {}

  /// The job itself.
  RunRecord own() {
    bool late = false;
    RunRecord record = run({scenario_, {}}, options_.longest, late);
    if (late) {
      constexpr std::uint64_t fewest = 20;
      cut_ = std::max(fewest, record.updates / 2);
      late = false;
      record = run(cut_to({scenario_, {}}, *cut_), 30 * options_.longest, late);
      if (late)
        throw RunFailed(fmt::format("the first {} updates take this machine more than {}", *cut_, readable_seconds(30 * options_.longest)));
    }
    if (record.updates == 0 || record.end <= Time())
      throw RunFailed("the run makes no update, so there is nothing to advise; let it run for longer");
    samples_an_update_ = static_cast<double>(record.samples) / static_cast<double>(record.updates);
    return record;
  }

  TrialFigures figures(const Counterfactual& setting) const {
    RunRecord record = in_time(cut_ ? cut_to(setting, *cut_) : setting);
    if (cut_ && record.updates > 0 && record.samples > 0) {  // as many samples, whatever an update holds
      const double ratio = samples_an_update_ * static_cast<double>(record.updates) / static_cast<double>(record.samples);
      if (ratio > 1.5) record = in_time(cut_to(setting, static_cast<std::uint64_t>(ratio * static_cast<double>(*cut_))));
    }
    if (!is_finished(record.outcome)) throw RunFailed(fmt::format("ends early ({})", name_of(record.outcome)));
    return figures_of(record, paid_for(setting.scenario));
  }

  static TrialFigures figures_of(const RunRecord& record, std::int64_t workers) {
    TrialFigures out;
    if (record.updates == 0 || record.end <= Time()) throw RunFailed("makes no update");
    out.samples_per_second = static_cast<double>(record.samples) / record.end.seconds();
    out.step = record.end.seconds() / static_cast<double>(record.updates);
    out.updates = record.updates;
    out.workers = workers;
    // Of a sample; the adviser makes it that of all.
    const auto of_sample = [&](const std::optional<double>& cost) {
      return cost && record.samples > 0 ? std::optional(*cost / static_cast<double>(record.samples)) : std::nullopt;
    };
    out.price = of_sample(record.costs.price);
    out.joules = of_sample(record.costs.joules);
    return out;
  }

  std::optional<std::uint64_t> cut() const { return cut_; }

 private:
  static Counterfactual cut_to(Counterfactual setting, std::uint64_t updates) {
    std::optional<std::int64_t>& most = setting.scenario.training.stop.updates;
    most = std::min(most.value_or(static_cast<std::int64_t>(updates)), static_cast<std::int64_t>(updates));
    return setting;
  }

  RunRecord in_time(const Counterfactual& setting) const {
    bool late = false;
    RunRecord record = run(setting, 30 * options_.longest, late);
    if (late) throw TooLong();
    return record;
  }

  RunRecord run(const Counterfactual& setting, double wall_seconds, bool& late) const {
    RunOptions run;
    run.timing_only = true;
    run.kernels = options_.run.kernels;
    run.what_if = setting.what_if;
    const auto end = Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(wall_seconds));
    bool stopped = false;
    const std::function<bool()> ends = [&] {
      stopped = options_.interrupted && options_.interrupted();
      late = !stopped && Clock::now() > end;
      return stopped || late;
    };
    Watch watch(ends);
    RunRecord record = Experiment(setting.scenario, run).run(nullptr, &watch);
    if (record.outcome != Outcome::interrupted)
      late = false;
    else if (stopped)
      throw ExplainInterrupted();
    return record;
  }

  const AdviseOptions& options_;
  const Scenario& scenario_;
  std::optional<std::uint64_t> cut_;
  double samples_an_update_ = 1;
};

class Adviser {
 public:
  Adviser(const ReadWith& read, const AdviseOptions& options)
      : read_(read), options_(options), scenario_(read({})), blueprint_(scenario_, options.run.kernels), trials_(options, scenario_) {
    refuse_missing();
    if (options.imported) advice_.facts = import_facts(*options.imported);
  }

  Advice advise() {
    advice_.name = scenario_.name;
    advice_.scheme = scenario_.training.scheme.name;
    advice_.file = options_.file;
    advice_.by = options_.by;
    advice_.batch_of_all = blueprint_.plan.batches.total(blueprint_.plan.workers);
    advice_.holds_waiting = has_given_times(job()) && (!advice_.facts || advice_.facts->exchange);
    advice_.timing_only = options_.run.timing_only || scenario_.workload.data.name == no_data;
    const RunRecord own = trials_.own();
    samples_ = static_cast<double>(own.samples);
    advice_.own = of_all(Trials::figures_of(own, paid_for(scenario_)), 1);
    advice_.cut = trials_.cut();
    advice_.warnings = own.warnings;
    if (!advice_.timing_only) learn();
    collect();
    try_all();
    rank();
    combine();
    find_binding();
    return std::move(advice_);
  }

 private:
  /// Costs of as many samples as the job's run handles, times `more`.
  TrialFigures of_all(TrialFigures figures, double more) const {
    for (std::optional<double> TrialFigures::*const cost : {&TrialFigures::price, &TrialFigures::joules})
      if (figures.*cost) *(figures.*cost) *= samples_ * more;
    return figures;
  }

  void refuse_missing() const {
    const bool price = options_.by == AdviceBy::price, energy = options_.by == AdviceBy::energy;
    const std::string missing = price ? missing_prices(scenario_) : energy ? missing_power(scenario_) : std::string();
    if (!missing.empty())
      throw ScenarioErrors(Problem(whole_file, fmt::format("--by {}", advice_by_choice.name_of(options_.by)), {}, "needs " + missing));
  }

  AdvisedJob job() const { return {scenario_, blueprint_, advice_.facts ? &*advice_.facts : nullptr}; }

  /// The job itself, with the math.
  void learn() {
    Scenario scenario = scenario_;
    scenario.training.evaluate.noise_scale = true;
    RunOptions run;
    run.threads = options_.run.threads;
    run.choose_threads = options_.run.choose_threads;
    run.kernels = options_.run.kernels;
    Watch watch(options_.interrupted);
    const RunRecord record = Experiment(scenario, run).run(nullptr, &watch);
    if (record.outcome == Outcome::interrupted) throw ExplainInterrupted();
    advice_.warnings = record.warnings;
    advice_.noise_scale = record.noise_scale;
    if (!record.target_accuracy && record.thresholds.empty() && record.final_test_accuracy) {
      constexpr double nearly = 0.95;
      advice_.race_sets = fmt::format(" --set \"training.evaluate={{every: {{updates: {}}}, thresholds: [{:.3g}], sustain: 1}}\"",
                                      std::max<std::uint64_t>(1, record.updates / 20), nearly * *record.final_test_accuracy);
    }
    if (!record.target_accuracy) return;
    if (const Reached when = reached(record.curve, *record.target_accuracy, record.sustain); when.at)
      advice_.own.time_to_target = when.at->time.seconds();
  }

  /// How many times the samples that the job needs, with batches of so many times the size (McCandlish et al. 2018, equation 2.7: 1 + B /
  /// noise).
  std::optional<double> more_samples(std::int64_t factor) const {
    if (!advice_.noise_scale) return std::nullopt;
    const auto batch = static_cast<double>(advice_.batch_of_all);
    return (*advice_.noise_scale + static_cast<double>(factor) * batch) / (*advice_.noise_scale + batch);
  }

  /// Where it follows from the job's own.
  void set_time_to_target(AdviceRow& row) const {
    const std::optional<double> more = row.attempt.batch_factor > 1 ? more_samples(row.attempt.batch_factor) : std::nullopt;
    if (more)
      row.note +=
          fmt::format("{}needs {} times the samples, by the gradient noise scale", row.note.empty() ? "" : "; ", readable_number(*more));
    if (!advice_.own.time_to_target) return;
    const bool synchronous = !blueprint_.scheme_entry->asynchronous(scenario_.training.scheme.parameters);
    if (more)
      row.figures->time_to_target = *advice_.own.time_to_target * *more / (1 + row.change);
    else if (row.remedy->same_updates && synchronous && !row.with)
      row.figures->time_to_target = *advice_.own.time_to_target * row.figures->step / advice_.own.step;
  }

  void collect() {
    const std::vector<std::string> names = remedy_names();
    for (const std::string& name : options_.only)
      if (std::ranges::find(names, name) == names.end()) throw std::invalid_argument(unknown_name("remedy", name, names));
    for (const Remedy& remedy : remedies()) {
      if (!options_.only.empty() && std::ranges::find(options_.only, remedy.name) == options_.only.end()) continue;
      Attempts attempts = remedy.attempts(job());
      if (!attempts.why_not.empty()) advice_.left_out.push_back({.remedy = &remedy, .why_not = attempts.why_not});
      for (Attempt& attempt : attempts.all) advice_.rows.push_back({.remedy = &remedy, .attempt = attempt, .note = attempt.note});
    }
  }

  /// Calls work(i) for each i below `count`, side by side.
  void each(std::size_t count, const std::function<void(std::size_t)>& work) const {
    const unsigned jobs = options_.run.threads ? options_.run.threads : this_machine().cores;
    struct NoState {};
    for_blocks(count, 1, jobs, NoState(), [&](NoState&, std::size_t i, std::size_t, std::size_t) { work(i); });
  }

  void try_one(AdviceRow& row) const {
    try {
      if (row.attempt.known_seconds) {
        TrialFigures known = advice_.own;
        known.samples_per_second *= advice_.own.step / *row.attempt.known_seconds;
        known.step = *row.attempt.known_seconds;
        known.time_to_target.reset();
        known.joules.reset();
        if (known.price) *known.price *= known.step / advice_.own.step;  // as many machines, for that time
        row.figures = known;
      } else {
        const TrialFigures tried = trials_.figures(row.attempt.bound ? *row.attempt.bound : Counterfactual{read_(row.attempt.sets), {}});
        row.figures = of_all(tried, more_samples(row.attempt.batch_factor).value_or(1));
      }
    } catch (const std::bad_alloc&) {
      throw;
    } catch (const std::exception& error) {
      row.why_not = reason_of(error);
      return;
    }
    row.change = row.figures->samples_per_second / advice_.own.samples_per_second - 1;
    const double more_workers = static_cast<double>(row.figures->workers) / static_cast<double>(advice_.own.workers);
    row.rank = row.remedy->list == RemedyList::other_machines ? (1 + row.change) / more_workers - 1 : row.change;
    set_time_to_target(row);
  }

  void try_all() {
    std::mutex telling;
    std::size_t told = 0;
    each(advice_.rows.size(), [&](std::size_t i) {
      AdviceRow& row = advice_.rows[i];
      if (options_.tell) {
        const std::lock_guard lock(telling);
        options_.tell(++told, advice_.rows.size(), row.name() + ", " + row.attempt.setting);
      }
      try_one(row);
    });
    for (AdviceRow& row : advice_.rows)
      if (!row.figures) advice_.left_out.push_back(row);
    std::erase_if(advice_.rows, [](const AdviceRow& row) { return !row.figures; });
  }

  /// Gains that differ by less than a thousandth are equal: the order of attempts stays.
  static double rounded(double gain) { return std::round(1000 * gain); }

  void rank() {
    if (const auto figure = ranked_by(options_.by)) {
      if (options_.by == AdviceBy::time && !advice_.own.time_to_target)
        throw RunFailed(advice_.timing_only
                            ? options_.run.timing_only
                                  ? "ranks by the time to the target accuracy need the math; leave out --timing-only, or --by time"
                                  : "the scenario has no data, so nothing is learned and there is no time to a target; leave out --by time"
                            : "the run does not reach its target accuracy, so nothing can be ranked by the time to it");
      std::ranges::stable_sort(advice_.rows, {}, [figure](const AdviceRow& row) {
        return ((*row.figures).*figure).value_or(std::numeric_limits<double>::infinity());
      });
      return;
    }
    std::ranges::stable_sort(advice_.rows, [](const AdviceRow& a, const AdviceRow& b) {
      if (a.remedy->list != b.remedy->list) return a.remedy->list < b.remedy->list;
      return rounded(a.rank) > rounded(b.rank);
    });
  }

  static bool apart(const Attempt& a, const Attempt& b) {
    const auto path = [](const std::string& set) { return set.substr(0, set.find('=')); };
    const auto within = [](const std::string& inner, const std::string& outer) {
      return inner == outer || inner.starts_with(outer + ".") || inner.starts_with(outer + "[");
    };
    return std::ranges::none_of(a.sets, [&](const std::string& one) {
      return std::ranges::any_of(
          b.sets, [&](const std::string& other) { return within(path(one), path(other)) || within(path(other), path(one)); });
    });
  }

  /// The best with a setting that others can join, and the first of `others` with which it can be tried.
  void combine_with(const AdviceRow& first, const std::vector<const AdviceRow*>& others) {
    for (const AdviceRow* const second : others) {
      if (second->remedy == first.remedy || second->attempt.sets.empty() || second->change < worth_a_change) continue;
      if (!apart(first.attempt, second->attempt)) continue;
      AdviceRow both{.remedy = first.remedy, .with = second->remedy};
      both.attempt.setting = first.attempt.setting + " + " + second->attempt.setting;
      both.attempt.sets = first.attempt.sets;
      std::ranges::copy(second->attempt.sets, std::back_inserter(both.attempt.sets));
      try_one(both);
      if (!both.figures || both.change < std::max(first.change, second->change) + worth_a_change) continue;
      both.note = fmt::format("alone {:+.1f} % and {:+.1f} %", 100 * first.change, 100 * second->change);
      advice_.combinations.push_back(std::move(both));
      return;
    }
  }

  void combine() {
    const std::vector<const AdviceRow*> same = best_of_each(advice_, RemedyList::same_learning);
    const auto first = std::ranges::find_if(same, [](const AdviceRow* row) { return !row->attempt.sets.empty(); });
    if (first == same.end() || (*first)->change < worth_a_change) return;
    const AdviceRow best = **first;
    combine_with(best, {first + 1, same.end()});
    combine_with(best, best_of_each(advice_, RemedyList::other_learning));
    std::ranges::stable_sort(advice_.combinations, std::ranges::greater(), &AdviceRow::change);
  }

  /// The share of a sample's time that these causes cost.
  double share_of(const std::vector<Cause>& causes) const {
    try {
      const TrialFigures freed = trials_.figures(without(causes, scenario_, blueprint_));
      return 1 - advice_.own.samples_per_second / freed.samples_per_second;
    } catch (const std::bad_alloc&) {
      throw;
    } catch (const std::exception&) {  // it is refused, so it is not known to bind
      return 0;
    }
  }

  void find_binding() {
    if (advice_.facts && advice_.facts->log) {
      const double waits = advice_.facts->waits_for_data.value_or(0);
      advice_.binding = waits < binding_share ? Binding::unknown : Binding::loader;
      advice_.bound = waits < binding_share ? 0 : waits;
      return;
    }
    const auto bound_of = [this](const char* name) {
      double share = 0;
      for (const AdviceRow& row : advice_.rows)
        if (row.attempt.bound && row.remedy->name == std::string_view(name)) share = 1 - 1 / (1 + row.change);
      return share;
    };
    const std::vector<std::pair<Binding, std::vector<Cause>>> asked = {
        {Binding::loader, {Cause::loaders}},
        {Binding::host, {Cause::launches}},
        {Binding::worker, {Cause::slow_workers}},
        {Binding::jitter, {Cause::jitter}},
        {Binding::network, {Cause::bandwidth, Cause::latency, Cause::contention, Cause::collectives}},
        {Binding::server, {Cause::server}}};
    std::vector<double> shares(asked.size());
    each(asked.size(), [&](std::size_t i) { shares[i] = share_of(asked[i].second); });
    for (std::size_t i = 0; i < asked.size(); ++i) {
      if (asked[i].first == Binding::host) shares[i] = std::max(shares[i], bound_of("host"));
      if (shares[i] < binding_share || shares[i] < advice_.bound + binding_share / 5) continue;
      advice_.binding = asked[i].first;
      advice_.bound = shares[i];
    }
    if (advice_.binding == Binding::jitter && advice_.facts) doubt_means();
  }

  /// Of measured steps: means differ by the delays, too.
  void doubt_means() {
    for (AdviceRow& row : advice_.rows)
      if (row.remedy->name == std::string_view("replace_slow") && !row.attempt.sets.empty())
        row.note += fmt::format("{}by means of {} steps, which single delays move: it may be chance", row.note.empty() ? "" : "; ",
                                advice_.facts->steps);
  }

  const ReadWith& read_;
  const AdviseOptions& options_;
  const Scenario scenario_;
  const Blueprint blueprint_;
  Trials trials_;
  double samples_ = 0;  // of the job's run
  Advice advice_;
};

}  // namespace

std::string AdviceRow::name() const { return with ? fmt::format("{} + {}", remedy->name, with->name) : remedy->name; }
std::string AdviceRow::list() const {
  return with ? fmt::format("{}+{}", letter_of(remedy->list), letter_of(with->list)) : letter_of(remedy->list);
}

std::string AdviceRow::learning() const { return with && !with->same_updates ? with->learning : remedy->learning; }

std::optional<double> TrialFigures::*ranked_by(AdviceBy by) {
  switch (by) {
    case AdviceBy::time:
      return &TrialFigures::time_to_target;
    case AdviceBy::price:
      return &TrialFigures::price;
    case AdviceBy::energy:
      return &TrialFigures::joules;
    case AdviceBy::rate:
      break;
  }
  return nullptr;
}

Advice advise(const ReadWith& read, const AdviseOptions& options) { return Adviser(read, options).advise(); }

std::vector<const AdviceRow*> best_of_each(const Advice& advice, RemedyList list) {
  std::vector<const AdviceRow*> best;
  for (const AdviceRow& row : advice.rows) {
    const bool known = std::ranges::any_of(best, [&](const AdviceRow* each) { return each->remedy == row.remedy; });
    if (row.remedy->list == list && !known) best.push_back(&row);
  }
  return best;
}

}  // namespace straggler

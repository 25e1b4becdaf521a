// What to change about a job, what that gains, and what it does to learning: each remedy tried by a run of the timing with its setting.
#pragma once
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "scenarios/advise/remedy.hpp"
#include "scenarios/experiment/experiment.hpp"
#include "scenarios/reasons/slowdowns.hpp"
#include "sim/base/choice_table.hpp"

namespace straggler {

struct TrialFigures {
  double samples_per_second = 0, step = 0;  // step: seconds of an update
  std::uint64_t updates = 0;
  std::int64_t workers = 1;
  std::optional<double> price, joules;   // of as many samples as the job's run handles; none: not given
  std::optional<double> time_to_target;  // seconds, where the math was run: of the job itself, and where a remedy's follows from it
};

struct AdviceRow {
  const Remedy* remedy = nullptr;
  const Remedy* with = nullptr;  // of a combination: the second one
  Attempt attempt = {};
  std::optional<TrialFigures> figures = {};  // none: left out
  std::string why_not = {};                  // then: why
  double change = 0;                         // of samples per second, as a share: 0.05 is 5 % more
  double rank = 0;                           // what it is ranked by in its list
  std::string note = {};
  std::string name() const;  // "overlap", "overlap + bucket"
  std::string list() const;  // "A", of a combination "A+B"
  std::string learning() const;
};

/// What all lists are ranked by together; `rate`: each by itself, by samples per second (other machines: per worker).
enum class AdviceBy { rate, time, price, energy };
inline constexpr ChoiceTable<AdviceBy> advice_by_choice(
    "by", {{AdviceBy::rate, "rate"}, {AdviceBy::time, "time"}, {AdviceBy::price, "price"}, {AdviceBy::energy, "energy"}});
/// The figure that is ranked by; null: rates.
std::optional<double> TrialFigures::*ranked_by(AdviceBy by);

/// What binds a job: without it the job would be faster by the largest share.
/// Unknown: of a log, in whose steps are computing, exchange and waiting.
enum class Binding { computing, loader, host, worker, jitter, network, server, unknown };

struct Advice {
  std::string name, scheme, file;  // file: as commands name it
  bool figures_alone = false;      // of files that describe no job: `facts` are all that is known
  bool timing_only = true;
  AdviceBy by = AdviceBy::rate;
  TrialFigures own;
  std::optional<std::uint64_t> cut;  // the run was compared over its first updates only
  Binding binding = Binding::computing;
  double bound = 0;                     // share of a sample's time that would be saved without it
  bool holds_waiting = false;           // times of all-reduces are measured
  std::vector<AdviceRow> rows;          // A, B, C, each from the best on; or together, unless by rates
  std::vector<AdviceRow> combinations;  // of the best ones, from the best on
  std::vector<AdviceRow> left_out;
  std::optional<ImportFacts> facts;
  std::string race_sets;              // more of a race's command, where the scenario has no accuracies to race to
  std::optional<double> noise_scale;  // samples; with the math
  std::int64_t batch_of_all = 0;      // samples of an update
  std::vector<std::string> warnings;
};

struct AdviseOptions {
  RunOptions run;                                 // threads, kernels, timing_only
  std::string file;                               // of the scenario, as commands name it
  std::optional<std::filesystem::path> imported;  // import.json
  std::vector<std::string> only;                  // names of remedies; empty: all
  AdviceBy by = AdviceBy::rate;
  double longest = 1;  // seconds of wall-clock time of the job's own run by timing alone; a longer one is cut
  std::function<void(std::size_t number, std::size_t count, const std::string& what)> tell;  // as in ExplainOptions
  std::function<bool()> interrupted;                                                         // may be empty; true ends all
};

/// A scenario with more settings, as `--set` has them.
using ReadWith = std::function<Scenario(const std::vector<std::string>& sets)>;

/// Throws ScenarioErrors, DataError and RunFailed of the job itself, std::invalid_argument on an unknown remedy, ExplainInterrupted.
Advice advise(const ReadWith& read, const AdviseOptions& options);

/// The best attempt of each remedy, in the order of rows.
std::vector<const AdviceRow*> best_of_each(const Advice& advice, RemedyList list);
/// A gain that is called one.
inline constexpr double worth_a_change = 0.01;

/// Of all its settings: "PATH=VALUE --set PATH=VALUE", which stands behind --set.
std::string sets_text(const Attempt& attempt);
/// "straggler race FILE --schemes ssgd --entrant '…'": the race that shows what it does to learning. Empty: there are no data.
std::string race_of(const Advice& advice, const AdviceRow& row);

/// advise.csv. Times in seconds; an empty cell: there is no such number. `all`: with remedies that are left out, and why.
std::string advise_csv(const Advice& advice, bool all = false);
std::string advise_text(const Advice& advice, bool all = false);
std::string advise_json(const Advice& advice, const std::string& out);

}  // namespace straggler

// Sweeps, searches and races: many runs on threads of the pool.
#include <pybind11/stl.h>

#include "models/kernels/kernels.hpp"
#include "python/module/runs.hpp"
#include "scenarios/race/race_run.hpp"
#include "scenarios/race/race_tables.hpp"
#include "scenarios/report/race_page.hpp"
#include "scenarios/report/search_page.hpp"
#include "scenarios/report/sweep_report.hpp"
#include "scenarios/results/whole_files.hpp"
#include "scenarios/search/run_description.hpp"
#include "scenarios/search/search_tables.hpp"
#include "scenarios/sweep/sweep_tables.hpp"
#include "sim/base/machine.hpp"

namespace straggler::python {

namespace {

namespace fs = std::filesystem;

/// The points of a session, kept in memory only.
class Points {
 public:
  Points(const py::dict& how, const py::object& tell)
      : options_(pool_options(how)),
        watch_(tell),
        state_(":memory:"),
        store_(":memory:"),
        pool_(options_, state_, &store_, [this](const SweepProgress& now) {
          const std::lock_guard lock(mutex_);
          progress_ = now;
          return stop_.load();
        }) {}

  PointPool& pool() { return pool_; }
  SweepState& state() { return state_; }
  const std::string& kernels() const { return options_.worker.kernels; }

  template <class Body>
  void run(const Body& body) {
    const auto told = [this] {
      const std::lock_guard lock(mutex_);
      return py::make_tuple(progress_.finished, progress_.points, progress_.running, progress_.failed);
    };
    run_beside(watch_, stop_, told, body);
  }

 private:
  static PoolOptions pool_options(const py::dict& how) {
    PoolOptions pool;
    const unsigned cores = usable_cores();
    const auto jobs = how["jobs"].cast<unsigned>(), threads = how["threads"].cast<unsigned>();
    pool.jobs = jobs ? jobs : cores;
    pool.worker.threads = threads ? threads : std::max(1u, cores / pool.jobs);
    pool.worker.kernels = how["kernels"].cast<std::string>();
    select_kernels(pool.worker.kernels);  // throws std::invalid_argument
    return pool;
  }

  const PoolOptions options_;
  Watch watch_;
  SweepState state_;
  EvaluationFile store_;
  std::mutex mutex_;  // over progress_
  SweepProgress progress_;
  std::atomic<bool> stop_ = false;
  PointPool pool_;
};

using Files = std::vector<std::pair<std::string, std::string>>;

py::dict out_of(const Files& files, const std::string& text, const std::vector<std::string>& failures) {
  py::dict all, out;
  for (const auto& [name, content] : files) all[py::str(name)] = content;
  out["files"] = all;
  out["text"] = text;
  out["failures"] = failures;
  return out;
}

/// `name`: the table's.
template <class Outcome, class Csv, class Text>
void finish_search(const SearchFile& search, Points& points, Outcome& found, const std::string& name, Csv csv, Text words, Files& files,
                   std::string& text, std::vector<std::string>& failures) {
  const SearchAnswer answer = answer_of(search, found, points.state().description());
  files = {{"report.html", search_page(answer)}, {name, csv(search, found)}};
  text = words(search, found);
  failures = found.failures;
}

/// {files, text, failures} of a sweep file.
py::dict sweep(const std::string& file, const py::dict& how, const py::object& tell) {
  const RegistryInUse in_use;
  SweepOptions options;
  options.timing_only = how["timing_only"].cast<bool>();
  options.more = how["sets"].cast<std::vector<std::string>>();
  Points points(how, tell);
  Files files;
  std::string text;
  std::vector<std::string> failures;
  points.run([&] {
    const SearchFile search = read_search(file);
    points.state().describe(describe_run(search, options, points.kernels()));
    const auto trials = [&](std::int64_t repeats) { return Trials::Options{repeats, options.timing_only, options.more}; };
    if (search.find) {
      FindOutcome found = run_find(search, trials(search.find->repeats), points.pool());
      finish_search(search, points, found, "find.csv", find_csv, find_text, files, text, failures);
    } else if (search.crossover) {
      CrossoverOutcome found = run_crossover(search, trials(search.crossover->repeats), points.pool());
      finish_search(search, points, found, "crossover.csv", crossover_csv, crossover_text, files, text, failures);
    } else {
      const std::vector<std::string> columns = search.sweep.columns();
      const SweepOutcome outcome = run_sweep(search.sweep, options, points.state(), points.pool());
      files = sweep_report_files(points.state().description(), columns, outcome);
      files.insert(files.end(), {{"groups.csv", groups_csv(columns, outcome)}, {"points.csv", points_csv(columns, outcome)}});
      text = sweep_table(columns, outcome);
      failures = outcome.failures;
    }
  });
  return out_of(files, text, failures);
}

Race race_of(const std::string& file, const py::dict& how) {
  Race race;
  race.scenario = file;
  race.more = how["sets"].cast<std::vector<std::string>>();
  race.seeds = how["seeds"].cast<std::size_t>();
  race.paired = how["paired"].cast<bool>();
  race.timing_only = how["timing_only"].cast<bool>();
  if (race.seeds < 2 || race.seeds > most_ranked)
    throw std::invalid_argument("seeds is " + std::to_string(race.seeds) + "; it must be 2 to " + std::to_string(most_ranked));
  for (const auto& text : how["schemes"].cast<std::vector<std::string>>())
    for (Entrant& each : entrants_of_schemes(text)) race.entrants.push_back(std::move(each));
  for (const auto& text : how["entrants"].cast<std::vector<std::string>>()) race.entrants.push_back(entrant_of_yaml(text));
  if (const auto tune = how["tune"].cast<std::vector<std::string>>(); !tune.empty()) {
    if (race.timing_only) throw std::invalid_argument("tune needs the math, which timing_only leaves out; remove one of them");
    race.tuning = tuning_of(tune, how["budget"].cast<std::size_t>());
    race.tuning->seeds = how["tuning_seeds"].cast<std::size_t>();
  }
  check_entrants(race);
  return race;
}

/// {files, text, failures, json} of a race.
py::dict race(const std::string& file, const py::dict& how, const py::object& tell) {
  const RegistryInUse in_use;
  const Race race = race_of(file, how);
  Points points(how, tell);
  Files files;
  std::string text, json;
  std::vector<std::string> failures;
  points.run([&] {
    const RaceReader reader(race);
    points.state().describe(describe(race, reader));
    const RaceOutcome outcome = run_race(race, reader, points.pool());
    if (outcome.interrupted) return;
    files = {{"report.html", race_page(answer_of(race, reader, outcome, points.state().description()))},
             {"race.csv", race_csv(race, reader, outcome)},
             {"verdicts.csv", verdicts_csv(race, reader, outcome)}};
    if (race.tuning) files.emplace_back("tuning.csv", tuning_csv(race, reader, outcome));
    text = race_table(race, reader, outcome);
    json = race_json(race, reader, outcome, "");
    failures = outcome.failures;
    failures.insert(failures.end(), outcome.failed_candidates.begin(), outcome.failed_candidates.end());
  });
  py::dict out = out_of(files, text, failures);
  out["json"] = json;
  return out;
}

}  // namespace

void define_points(py::module_& module) {
  module.def("sweep", &sweep, py::arg("file"), py::arg("how"), py::arg("tell"));
  module.def("race", &race, py::arg("file"), py::arg("how"), py::arg("tell"));
  module.def(
      "write_files",
      [](const std::string& folder, const std::vector<std::pair<std::string, std::string>>& files) { write_whole_files(folder, files); },
      py::arg("folder"), py::arg("files"));
}

}  // namespace straggler::python

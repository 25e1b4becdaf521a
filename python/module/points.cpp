// Sweeps, searches and races: many runs on threads of the pool.
#include <pybind11/stl.h>

#include <algorithm>

#include "models/kernels/kernels.hpp"
#include "python/module/models.hpp"
#include "python/module/runs.hpp"
#include "scenarios/race/race_run.hpp"
#include "scenarios/race/race_tables.hpp"
#include "scenarios/report/race_page.hpp"
#include "scenarios/report/search_page.hpp"
#include "scenarios/report/sweep_report.hpp"
#include "scenarios/results/result_folder.hpp"
#include "scenarios/results/whole_files.hpp"
#include "scenarios/search/run_search.hpp"
#include "scenarios/search/search_said.hpp"
#include "scenarios/search/search_tables.hpp"
#include "scenarios/sweep/range.hpp"
#include "scenarios/sweep/sweep_tables.hpp"
#include "sim/base/machine.hpp"
#include "sim/base/suggest.hpp"

namespace straggler::python {

namespace {

namespace fs = std::filesystem;

/// The points of a session: in memory only, or in the state of a folder, which an interrupted session leaves to be continued.
class Points {
 public:
  /// `name`: of the state's file in the folder how["out"], where there is one.
  Points(const py::dict& how, const char* name, const py::object& tell)
      : in_hand_(how, errands_, true),
        options_(pool_options(how)),
        folder_(how["out"].is_none() ? fs::path() : fs::path(how["out"].cast<std::string>())),
        file_(folder_.empty() ? fs::path(":memory:") : folder_ / name),
        folder_is_new_(!folder_.empty() && make_folder(folder_)),
        file_is_new_(!folder_.empty() && !fs::exists(file_)),
        watch_(tell),
        state_(file_),
        store_(":memory:"),
        pool_(options_, state_, &store_, [this](const SweepProgress& now) {
          const std::lock_guard lock(mutex_);
          progress_ = now;
          return stop_.load();
        }) {}
  /// Takes back what it made if nothing has finished.
  ~Points() {
    std::error_code ignored;
    try {
      if (!file_is_new_ || state_.points() > 0) return;
    } catch (const std::exception&) {  // it cannot be read: whatever it has stays
      return;
    }
    for (const char* const suffix : {"", "-journal", "-wal", "-shm"}) fs::remove(file_.string() + suffix, ignored);
    if (folder_is_new_) fs::remove(folder_, ignored);
  }
  Points(const Points&) = delete;

  PointPool& pool() { return pool_; }
  SweepState& state() { return state_; }
  const std::string& kernels() const { return options_.worker.kernels; }

  /// `can_resume()`: any of these points is finished in the folder. Throws ResultsError if it holds another `noun`, which would be lost.
  template <class CanResume>
  void describe(const char* noun, const Description& now, const CanResume& can_resume) {
    const Description before = state_.description();
    if (before == now) return;
    if (const std::size_t points = state_.points(); points > 0 && !can_resume())
      throw ResultsError(folder_.string() + ": holds another " + noun + ", whose " + std::to_string(points) + " finished point" +
                         (points == 1 ? "" : "s") + " would be lost (" + change(now, before).first() + "); use --out " +
                         free_neighbour(folder_));
    state_.describe(now);
  }

  template <class Body>
  void run(const Body& body) {
    const auto told = [this] {
      const std::lock_guard lock(mutex_);
      return py::make_tuple(progress_.finished, progress_.points, progress_.running, progress_.failed);
    };
    run_beside(watch_, stop_, errands_, told, body);
  }

  /// Throws the exception of this failure if it is one of Python's, else RunFailed. `which`: the runs that failed, all of them.
  [[noreturn]] void raise(const std::string& which, const std::string& failure) const {
    if (const std::exception_ptr error = pool_.error_of(failure)) {
      try {
        std::rethrow_exception(error);
      } catch (const py::error_already_set&) {
        throw;
      } catch (const std::exception&) {
      }
    }
    throw RunFailed(which + " failed; the first: " + failure);
  }

 private:
  /// True: it was not there.
  static bool make_folder(const fs::path& folder) {
    std::error_code error;
    const bool made = fs::create_directories(folder, error);
    if (error) throw ResultsError(folder.string() + ": cannot be made (" + error.message() + "); choose another with --out");
    return made;
  }
  static PoolOptions pool_options(const py::dict& how) {
    PoolOptions pool;
    const unsigned cores = usable_cores();
    const auto jobs = how["jobs"].cast<unsigned>(), threads = how["threads"].cast<unsigned>();
    pool.jobs = jobs ? std::min(jobs, most_jobs) : cores;
    pool.worker.threads = threads ? threads : std::max(1u, cores / pool.jobs);
    pool.worker.choose_threads = how["choose_threads"].cast<bool>();
    pool.worker.kernels = how["kernels"].cast<std::string>();
    select_kernels(pool.worker.kernels);  // throws std::invalid_argument
    return pool;
  }

  Errands errands_;
  const GivenInUse in_hand_;
  const PoolOptions options_;
  const fs::path folder_, file_;
  const bool folder_is_new_, file_is_new_;
  Watch watch_;
  SweepState state_;
  EvaluationFile store_;
  std::mutex mutex_;  // over progress_
  SweepProgress progress_;
  std::atomic<bool> stop_ = false;
  PointPool pool_;
};

using Files = std::vector<std::pair<std::string, std::string>>;

py::dict out_of(const Files& files, const std::string& text, const std::vector<std::string>& failures, std::size_t points) {
  py::dict all, out;
  for (const auto& [name, content] : files) all[py::str(name)] = content;
  out["files"] = all;
  out["text"] = text;
  out["failures"] = failures;
  out["points"] = points;
  return out;
}

/// One change of the winner, with numbers in SI.
struct Change {
  std::vector<std::string> labels;  // of the axes
  double at = 0, below = 0, above = 0;
  std::string at_text, ahead_below, ahead_above;
  bool clear = false;  // the difference is significant on both sides
};

std::vector<Change> changes_of(const SearchOutcome& found) {
  std::vector<Change> all;
  for (const CrossoverGroup& group : found.crossed)
    for (const Crossing& crossing : group.crossings) {
      const ComparedPoint &below = group.points[crossing.below], &above = group.points[crossing.above];
      all.push_back({group.labels, parse_range_end(crossing.between.yaml)->value, below.value, above.value, crossing.between.label,
                     found.name_of(below.winner), found.name_of(above.winner), crossing.supported && !below.verdict.one_run});
    }
  return all;
}

py::list rows_of(const std::vector<std::string>& columns, const std::vector<Change>& changes) {
  py::list rows;
  for (const Change& change : changes) {
    py::dict row;
    for (std::size_t i = 0; i < columns.size(); ++i) row[py::str(columns[i])] = change.labels[i];
    row["at"] = change.at;
    row["below"] = change.below;
    row["above"] = change.above;
    row["ahead_below"] = change.ahead_below;
    row["ahead_above"] = change.ahead_above;
    row["supported"] = change.clear;
    row["text"] = change.at_text;
    rows.append(row);
  }
  return rows;
}

/// Of one of the two that a crossover compares, every run has failed.
bool all_failed(const SearchOutcome& found, Winner side) {
  for (const CrossoverGroup& group : found.crossed)
    for (const ComparedPoint& point : group.points)
      if (!(side == Winner::first ? point.measured.first : point.measured.second).runs.empty()) return false;
  return !found.failures.empty();
}

/// {files, text, failures, points, crossings} of a sweep file.
py::dict sweep(const std::string& file, const py::dict& how, const py::object& tell) {
  const RegistryInUse in_use;
  SweepOptions options;
  options.timing_only = how["timing_only"].cast<bool>();
  options.more = how["sets"].cast<std::vector<std::string>>();
  Files files;
  std::string text, failed;
  std::vector<std::string> failures;
  std::vector<Change> changes;
  SearchFile search = read_search(file);
  Points points(how, "sweep.sqlite", tell);
  points.run([&] {
    points.describe("sweep", describe_run(search, options, points.kernels()), [&] { return can_resume(search, options, points.pool()); });
    if (search.searches()) {
      const SearchOutcome found = run_search(search, options, points.pool());
      keep(points.state(), found);
      files = {{"report.html", search_page(found, points.state().description())}, {search_csv_name(found), search_csv(found)}};
      text = search_text(found);
      failures = found.failures;
      changes = changes_of(found);
      for (const Winner side : {Winner::first, Winner::second})
        if (!found.is_find() && all_failed(found, side)) failed = found.name_of(side);
    } else {
      const std::vector<std::string> columns = search.sweep.columns();
      const SweepOutcome outcome = run_sweep(search.sweep, options, points.state(), points.pool());
      files = sweep_report_files(points.state().description(), columns, outcome);
      files.insert(files.end(), {{"groups.csv", groups_csv(columns, outcome)}, {"points.csv", points_csv(columns, outcome)}});
      text = sweep_table(columns, outcome);
      failures = outcome.failures;
    }
  });
  const SweepProgress now = points.pool().progress();
  if (!failures.empty() && now.finished == 0) points.raise("all " + std::to_string(now.failed) + " points", failures.front());
  if (!failed.empty()) points.raise("all points of " + failed, failures.front());
  py::dict out = out_of(files, text, failures, now.points);
  out["crossings"] = rows_of(search.sweep.columns(), changes);
  return out;
}

Race race_of(const std::string& file, const py::dict& how) {
  Race race;
  race.scenario = file;
  race.more = how["sets"].cast<std::vector<std::string>>();
  race.seeds = how["seeds"].cast<std::size_t>();
  race.paired = how["paired"].cast<bool>();
  race.timing_only = how["timing_only"].cast<bool>();
  const auto by = how["by"].cast<std::string>();
  const MeasureRow* const measure = find_measure(by);
  if (measure == nullptr) {
    std::vector<std::string> known;
    for (const MeasureRow& row : measures()) known.emplace_back(row.name);
    throw std::invalid_argument(unknown_name("by", by, known));
  }
  race.by = measure->measure;
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

/// An entrant of which every run has failed: its number, and that of its first failure.
std::optional<std::pair<std::size_t, std::size_t>> all_failed(const RaceOutcome& outcome) {
  std::size_t first = 0;  // of outcome.failures, which are in the order of the entrants
  for (std::size_t entrant = 0; entrant < outcome.runs.size(); ++entrant) {
    const std::vector<StudyRun>& runs = outcome.runs[entrant];
    const auto failed =
        static_cast<std::size_t>(std::count_if(runs.begin(), runs.end(), [](const StudyRun& run) { return run.fields.empty(); }));
    if (failed == runs.size()) return std::pair(entrant, first);
    first += failed;
  }
  return std::nullopt;
}

/// {files, text, failures, points, json} of a race. Throws where all runs of an entrant have failed: a verdict would call it slow.
py::dict race(const std::string& file, const py::dict& how, const py::object& tell) {
  const RegistryInUse in_use;
  const Race race = race_of(file, how);
  const RaceReader reader(race);
  Points points(how, "race.sqlite", tell);
  Files files;
  std::string text, json;
  RaceOutcome outcome;
  points.run([&] {
    points.describe("race", describe(race, reader), [&] { return can_resume(race, reader, points.pool()); });
    outcome = run_race(race, reader, points.pool());
    if (outcome.interrupted || all_failed(outcome)) return;
    keep(points.state(), outcome);
    files = {{"report.html", race_page(outcome, points.state().description())},
             {"race.csv", race_csv(outcome)},
             {"verdicts.csv", verdicts_csv(outcome)}};
    if (outcome.tuning) files.emplace_back("tuning.csv", tuning_csv(outcome));
    text = race_table(outcome);
    json = race_json(outcome, "");
  });
  if (const auto failed = all_failed(outcome))
    points.raise("all runs of " + race.entrants[failed->first].label, outcome.failures[failed->second]);
  std::vector<std::string> failures = outcome.failures;
  failures.insert(failures.end(), outcome.failed_candidates.begin(), outcome.failed_candidates.end());
  py::dict out = out_of(files, text, failures, points.pool().progress().points);
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

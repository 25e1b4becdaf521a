#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <functional>
#include <map>
#include <regex>

#include "scenarios/report/search_page.hpp"
#include "scenarios/report/sweep_report.hpp"
#include "scenarios/results/whole_files.hpp"
#include "scenarios/schema/source_text.hpp"
#include "scenarios/search/run_search.hpp"
#include "scenarios/search/search_said.hpp"
#include "scenarios/search/search_tables.hpp"
#include "scenarios/statistics/statistics.hpp"
#include "scenarios/sweep/sweep_run.hpp"
#include "scenarios/sweep/sweep_tables.hpp"
#include "sim/base/quantity.hpp"
#include "sim/base/suggest.hpp"
#include "tools/straggler/command.hpp"
#include "tools/straggler/dry_run.hpp"
#include "tools/straggler/interrupt.hpp"
#include "tools/straggler/points.hpp"
#include "tools/straggler/program.hpp"
#include "tools/straggler/ranks.hpp"

namespace straggler::cli {

namespace po = boost::program_options;
namespace fs = std::filesystem;

namespace {

constexpr const char* sweep_file = "sweep.sqlite";
constexpr const char* checkpoints = "checkpoints";  // of running points

po::options_description sweep_options() {
  po::options_description options("Options", help_width);
  auto add = options.add_options();
  add("out,o", po::value<std::string>()->value_name("DIR"), "folder of the results (default: results/NAME)");
  add("resume", "continues a sweep, and fails if there is none (without this option a sweep also continues, or begins)");
  add("shard", po::value<std::string>()->value_name("I/N"),
      "only every N-th point, beginning with the I-th; each shard needs its own folder");
  add("alone", "runs by itself, even if a launcher (mpirun, srun) started several processes");
  add("merge", po::value<std::vector<std::string>>()->multitoken()->value_name("DIR..."), "merges the shards in these folders into --out");
  add("set", po::value<std::vector<std::string>>()->composing()->value_name("PATH=VALUE"), "changes every point; repeatable");
  add("timing-only", "timing alone, without the math");
  add("until-ci", po::value<std::string>()->value_name("SHARE"),
      "repeats each setting until the 95 % confidence interval of the time to the target (without a target: of samples per second) is "
      "within "
      "SHARE of the mean, such as 2%; at most 30 times");
  add_pool_options(add);
  add("checkpoint-every", po::value<std::string>()->value_name("INTERVAL"),
      "also saves the state of running points in DIR/checkpoints, from which the same command continues: every INTERVAL of wall-clock time "
      "(10min) or every N updates (5000); such points do not use the store");
  add("dry-run", "lists the points, how many are finished, and the known cost of the others; computes and writes nothing");
  add("force", "starts again, even in a folder that holds something else");
  return options;
}

std::pair<std::size_t, std::size_t> shard_of(const std::string& text) {
  try {
    const std::size_t slash = text.find('/');
    if (slash != std::string::npos) {
      const auto index = parse_unsigned(text.substr(0, slash)), count = parse_unsigned(text.substr(slash + 1));
      if (index >= 1 && index <= count) return {index, count};
    }
  } catch (const std::invalid_argument&) {
  }
  throw UsageError(fmt::format("--shard is {}; write I/N, as 1/4 to 4/4", in_quotes(text)));
}

UntilInterval until_of(const std::string& text) {
  try {
    if (const double share = parse_fraction(text); share > 0 && share <= 1) return {share, {}, 30};
  } catch (const std::invalid_argument&) {
  }
  throw UsageError(fmt::format("--until-ci is {}; write a share such as 2%, above 0% and at most 100%", in_quotes(text)));
}

/// Removes the state of a folder, and the folder if it is new, unless one of its points has finished.
void remove_unfinished(const fs::path& folder, bool folder_was_there) {
  const fs::path file = folder / sweep_file;
  std::error_code ignored;
  try {
    if (fs::exists(file, ignored) && SweepState::to_read(file).points() > 0) return;
  } catch (const ResultsError&) {
    return;
  }
  remove_state(folder, sweep_file);
  if (!folder_was_there) fs::remove(folder, ignored);  // if it is empty
}

/// Every file that a sweep or a search may leave besides its state, except maps.
bool is_table(const std::string& name) {
  static const std::regex tables("points\\.csv|groups\\.csv|find\\.csv|crossover\\.csv|report\\.html");
  return std::regex_match(name, tables);
}

/// Refuses a folder that is named twice, and results that have no shards. Returns the states in them.
std::vector<fs::path> states_of_shards(const std::vector<std::string>& folders) {
  std::map<fs::path, std::string> seen;
  std::vector<fs::path> states;
  std::error_code ignored;
  for (const std::string& folder : folders) {
    if (folder.empty()) throw UsageError("--merge names an empty folder; name folders of sweeps");
    const auto [same, first] = seen.emplace(fs::weakly_canonical(fs::path(folder) / sweep_file, ignored), folder);
    if (!first)
      throw UsageError(same->second == folder
                           ? fmt::format("--merge: {} is named twice; name each shard's folder once", folder)
                           : fmt::format("--merge: {} and {} are one folder; name each shard's folder once", same->second, folder));
    for (const auto& [file, noun] : {std::pair("race.sqlite", "race"), std::pair("summary.json", "run")})
      if (!fs::exists(fs::path(folder) / sweep_file, ignored) && fs::exists(fs::path(folder) / file, ignored))
        throw ResultsError(
            fmt::format("{}: holds a {}, which has no shards; name folders of sweeps, each with its {}", folder, noun, sweep_file));
    states.push_back(fs::path(folder) / sweep_file);
  }
  return states;
}

class SweepCommand {
 public:
  explicit SweepCommand(const Arguments& arguments) : arguments_(arguments), common_(arguments.common()) {}

  int merge() {
    if (arguments_.flag("dry-run"))
      throw UsageError("--dry-run lists the points of a sweep file; --merge takes folders: leave one of them out");
    if (!arguments_.positional().empty() || !arguments_.has("out"))
      throw UsageError("--merge DIR... takes folders and --out DIR, where the merged sweep goes, and no sweep file");
    const std::vector<fs::path> states = states_of_shards(arguments_.get<std::vector<std::string>>("merge"));
    out_ = arguments_.get<std::string>("out");
    return undo_folder_on_refusal([&] { return merge_into_folder(states); });
  }

  int run() {
    SearchFile search = read_search(input_file(arguments_.positional().front()));
    if (search.searches()) refuse_for_searches();
    out_ = arguments_.has("out") ? fs::path(arguments_.get<std::string>("out")) : fs::path("results") / search.sweep.name;
    read_options(search.sweep);
    if (arguments_.flag("resume") && !fs::exists(out_ / sweep_file))
      throw UsageError(fmt::format("--resume: there is no {} in {}; name the sweep's folder with --out, or leave --resume out", sweep_file,
                                   out_.string()));
    if (arguments_.flag("dry-run")) {
      print_dry_run(search, options_, pool_, out_ / sweep_file);
      return Exit::done;
    }
    return undo_folder_on_refusal([&] { return run_in_folder(search); });
  }

 private:
  int undo_folder_on_refusal(const std::function<int()>& act) const {
    const bool folder_was_there = fs::exists(out_), state_was_there = fs::exists(out_ / sweep_file);
    try {
      return act();
    } catch (const ScenarioErrors&) {
      if (!state_was_there) remove_unfinished(out_, folder_was_there);
      throw;
    } catch (const ResultsError&) {
      if (!state_was_there && arguments_.has("merge")) remove_unfinished(out_, folder_was_there);
      throw;
    }
  }

  int merge_into_folder(const std::vector<fs::path>& states) {
    open_folder([&] {
      SweepState nothing(":memory:");
      merge_sweeps(states, nothing, wait_for_others(common_));
      return std::none_of(states.begin(), states.end(), [&](const fs::path& shard) {
        std::error_code ignored;
        return fs::equivalent(shard, out_ / sweep_file, ignored);
      });
    });
    SweepState state(out_ / sweep_file, wait_for_others(common_));
    const SweepOutcome outcome = merge_sweeps(states, state, wait_for_others(common_));
    const Description description = state.description();
    const std::vector<std::string> columns = description.all(Described::column);
    finish(description, columns, outcome);
    std::fflush(stdout);
    if (!outcome.missing.empty()) {
      const PlacedPoint& first = outcome.missing.front();
      print_text(stderr,
                 "straggler: {} of {} points are missing from all folders and from the tables; the first is {}; run their shards "
                 "again, or `straggler sweep SWEEP.yaml --out {}`\n",
                 outcome.missing.size(), outcome.progress.points, point_name(columns, first.labels, first.repeat), out_.string());
    }
    print_page(out_ / "report.html");
    return outcome.missing.empty() ? Exit::done : Exit::cannot_go_on;
  }

  int run_in_folder(const SearchFile& search) {
    const Sweep& sweep = search.sweep;
    open_folder([&] {
      SweepState nothing(":memory:");
      PointPool pool(pool_, nothing, nullptr, {});
      return !can_resume(search, options_, pool);  // reads every scenario first
    });
    catch_interrupts();
    SweepState state(out_ / sweep_file, wait_for_others(common_));
    const std::unique_ptr<EvaluationFile> store = open_store(arguments_);
    PointsLine line(common_, search.searches() || sweep.until);
    const auto start = std::chrono::steady_clock::now();
    PointPool pool(pool_, state, store.get(), [&](const SweepProgress& now) {
      line.show(now);
      return interrupt_requested();
    });
    adopt_folder(state,
                 {out_, "sweep", describe_run(search, options_, pool_.worker.kernels), [&] { return can_resume(search, options_, pool); }},
                 common_);
    share_with_ranks(pool, arguments_, pool_);
    SweepOutcome outcome;
    if (search.searches()) {
      outcome = search_in_folder(search, state, pool, line);
    } else {
      outcome = run_sweep(sweep, options_, state, pool);
      line.clear();
      finish(state.description(), sweep.columns(), outcome);
    }
    std::error_code ignored;
    fs::remove(out_ / checkpoints, ignored);  // if it is empty
    print_warnings(outcome, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
    print_page(out_ / "report.html");
    if (outcome.interrupted) return Exit::interrupted;
    return outcome.failures.empty() ? Exit::done : Exit::cannot_go_on;
  }

  void refuse_for_searches() const {
    if (arguments_.has("shard"))
      throw UsageError("--shard: the next settings of a search depend on all previous results, which one shard does not see; use --jobs");
    if (arguments_.has("until-ci"))
      throw UsageError("--until-ci works with axes only; write the number of repeats into the search, as repeats: 5");
  }

  /// A results folder that is new or is resumed. With --force its results are discarded if `may_go` allows it; `may_go` throws if something
  /// is wrong with the new ones.
  void open_folder(const std::function<bool()>& may_go) {
    const bool force = arguments_.flag("force");
    open_results(out_, sweep_file, "sweep", force);
    was_ours_ = fs::exists(out_ / sweep_file);
    if (force && was_ours_ && may_go()) {
      remove_state(out_, sweep_file);
      std::error_code ignored;
      fs::remove_all(out_ / checkpoints, ignored);
    }
  }

  /// Writes its table and prints its sentences; the outcome has no rows.
  SweepOutcome search_in_folder(const SearchFile& search, SweepState& state, PointPool& pool, PointsLine& line) const {
    const SearchOutcome found = run_search(search, options_, pool);
    SweepOutcome outcome;
    outcome.failures = found.failures;
    outcome.progress = pool.progress();
    outcome.interrupted = found.interrupted;
    line.clear();
    keep(state, found);
    const std::string file = search_csv_name(found);
    write_tables({{"report.html", search_page(found, state.description())}, {file, search_csv(found)}});
    if (outcome.interrupted)
      print_text("interrupted; run it again to continue\n");
    else
      print_result(search_text(found) + (says_intervals(found) ? half_width_note : ""), arguments_.common().quiet);
    print_text("{} points in {}\n", outcome.progress.finished, (out_ / file).string());
    return outcome;
  }

  void read_options(Sweep& sweep) {
    pool_ = read_pool_options(arguments_);
    options_.timing_only = arguments_.flag("timing-only");
    if (arguments_.has("checkpoint-every")) {
      if (options_.timing_only || sweep.timing_only)
        throw UsageError("--checkpoint-every needs the math, which this sweep leaves out; remove it, or what says timing only");
      pool_.worker.checkpoints = {out_ / checkpoints, arguments_.checkpoint_interval("checkpoint-every")};
    }
    if (arguments_.has("set")) options_.more = arguments_.get<std::vector<std::string>>("set");
    if (arguments_.has("shard")) options_.shard = shard_of(arguments_.get<std::string>("shard"));
    if (arguments_.has("until-ci")) sweep.until = until_of(arguments_.get<std::string>("until-ci"));
    if (sweep.until && options_.shard)
      throw UsageError(
          "--shard: the number of repeats depends on all repeats of a setting, which one shard does not see; use fixed repeats");
    if (sweep.until && sweep.repeats < 2) sweep.repeats = 2;
  }

  void finish(const Description& description, const std::vector<std::string>& columns, const SweepOutcome& outcome) const {
    std::vector<std::pair<std::string, std::string>> files = sweep_report_files(description, columns, outcome);
    files.insert(files.end(), {{"groups.csv", groups_csv(columns, outcome)}, {"points.csv", points_csv(columns, outcome)}});
    write_tables(files);
    print_result(sweep_table(columns, outcome), arguments_.common().quiet);
    print_text("\n{} of {} points in {}\n", outcome.progress.finished, outcome.progress.points, out_.string());
  }

  /// Replaces the files of earlier results in the folder.
  void write_tables(const std::vector<std::pair<std::string, std::string>>& files) const {
    try {
      write_whole_files(out_, files);
    } catch (const DiskError& error) {
      throw DiskError(fmt::format("{}; the finished points are kept: the same command continues", error.what()));
    }
    results_are_in(out_);
    if (!was_ours_) return;
    std::error_code ignored;
    std::vector<fs::path> old;
    for (const fs::directory_entry& entry : fs::directory_iterator(out_, ignored)) {
      const std::string name = entry.path().filename().string();
      const auto written = [&](const auto& file) { return file.first == name; };
      if (is_table(name) && std::none_of(files.begin(), files.end(), written)) old.push_back(entry.path());
    }
    for (const fs::path& each : old) fs::remove(each, ignored);
    remove_old_maps(out_, files);
  }

  void print_warnings(const SweepOutcome& outcome, double wall_seconds) const {
    std::fflush(stdout);
    for (const std::string& failure : outcome.failures) print_text(stderr, "failed: {}\n", failure);
    print_timing(outcome.progress, wall_seconds, common_);
  }

  const Arguments& arguments_;
  const Common common_;
  SweepOptions options_;
  PoolOptions pool_;
  fs::path out_;
  bool was_ours_ = false;  // the folder held a sweep
};

int execute_sweep(const std::vector<std::string>& given) {
  Arguments arguments(sweep_command, sweep_options());
  if (!arguments.parse(given, 0, 1)) return Exit::done;
  SweepCommand command(arguments);
  if (arguments.has("merge")) return command.merge();
  if (arguments.positional().empty()) throw UsageError("SWEEP.yaml is missing; name a sweep file");
  return command.run();
}

}  // namespace

const Command sweep_command{"sweep",
                            "SWEEP.yaml",
                            "runs one scenario with many settings, or searches among them",
                            "  straggler sweep scenarios/sweeps/bandwidth.yaml\n"
                            "  straggler sweep sweep.yaml --dry-run\n"
                            "  straggler sweep sweep.yaml --jobs 4 --timing-only --out results/fast\n"
                            "  straggler sweep scenarios/sweeps/crossover_bandwidth.yaml\n"
                            "  straggler sweep sweep.yaml --shard 1/4 --out results/shard1\n"
                            "  straggler sweep --merge results/shard1 results/shard2 --out results/all\n",
                            execute_sweep,
                            "\n"
                            "What it prints:\n"
                            "  +- is half of the 95 % confidence interval of the mean over the repeats (Student's t).\n"};

}  // namespace straggler::cli

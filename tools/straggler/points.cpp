#include "tools/straggler/points.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <set>

#include "models/kernels/kernels.hpp"
#include "scenarios/results/result_folder.hpp"
#include "scenarios/sweep/sweep_run.hpp"
#include "sim/base/hidden_folder.hpp"
#include "sim/base/machine.hpp"
#include "sim/base/readable.hpp"
#include "tools/straggler/interrupt.hpp"
#include "tools/straggler/ranks.hpp"

namespace straggler::cli {

namespace po = boost::program_options;
namespace fs = std::filesystem;

void add_pool_options(po::options_description_easy_init& add) {
  add("jobs", po::value<std::string>()->value_name("N"),
      "points at a time, in each process (default: all usable cores); results do not depend on it");
  add("store", po::value<std::string>()->value_name("FILE"),
      "file that keeps evaluations and weights for later runs (default: in the user's cache folder)");
  add("no-store", "keeps them for this command only");
  add("kernels", po::value<std::string>()->value_name("NAME"), "instruction set of the math (default: auto, the fastest)");
}

PoolOptions read_pool_options(const Arguments& arguments) {
  PoolOptions pool;
  const unsigned cores = own_cores();
  pool.jobs = arguments.has("jobs") ? static_cast<unsigned>(std::min<std::uint64_t>(arguments.count("jobs", 1), most_jobs)) : cores;
  const unsigned threads = arguments.common().threads;
  pool.worker.threads = threads ? threads : std::max(1u, cores / pool.jobs);
  pool.worker.choose_threads = arguments.common().choose_threads;
  if (arguments.has("kernels")) pool.worker.kernels = arguments.get<std::string>("kernels");
  if (arguments.has("store")) arguments.file("store");  // its errors are reported before anything is written
  try {
    select_kernels(pool.worker.kernels);
  } catch (const std::invalid_argument& error) {
    throw UsageError(fmt::format("--kernels: {}", error.what()));
  }
  return pool;
}

std::unique_ptr<EvaluationFile> open_store(const Arguments& arguments) {
  fs::path file = ":memory:";
  if (arguments.has("store"))
    file = arguments.file("store");
  else if (const fs::path usual = EvaluationFile::default_file(); !arguments.flag("no-store") && !usual.empty())
    file = usual;
  return std::make_unique<EvaluationFile>(file, EvaluationFile::default_cap,
                                          [](const std::string& why) { print_text(stderr, "warning: {}; continuing without it\n", why); });
}

void open_results(const fs::path& folder, const char* state_file, const char* noun, bool force) {
  std::error_code error;
  const std::string name = folder.string();
  if (name.empty()) throw UsageError("--out is empty; name a folder");
  if (fs::exists(folder, error) && !fs::is_directory(folder, error))
    throw ResultsError(fmt::format("{}: is a file, not a folder; choose another with --out", name));
  if (fs::exists(folder, error) && !fs::is_empty(folder, error) && !fs::exists(folder / state_file, error) && !force)
    throw ResultsError(
        fmt::format("{}: is not empty and holds no {}; use --out {}, or --force to write into it", name, noun, free_neighbour(folder)));
  fs::create_directories(folder, error);
  if (error) throw ResultsError(fmt::format("{}: cannot be made ({}); choose another with --out", name, error.message()));
  remove_abandoned(folder);
}

DatabaseWait wait_for_others(const Common& common) {
  DatabaseWait wait{{}, [] { return interrupt_requested(); }};
  if (!common.quiet) wait.tell = [](const std::string& line) { print_text(stderr, "{}\n", line); };
  return wait;
}

void remove_state(const fs::path& folder, const char* state_file) {
  std::error_code ignored;
  for (const char* const suffix : {"", "-journal", "-wal", "-shm"}) fs::remove(folder / (std::string(state_file) + suffix), ignored);
}

void adopt_folder(SweepState& state, const PlannedResults& now, const Common& common) {
  const Description before = state.description();
  if (before == now.description) return;
  const DescriptionChange changed = change(now.description, before);
  if (const std::size_t points = state.points(); points > 0 && !now.can_resume())
    throw ResultsError(
        fmt::format("{0}: holds another {1}, whose {2} finished point{3} would be lost ({4}); use --out {5}, or "
                    "--force to replace {6}",
                    now.folder.string(), now.noun, points, points == 1 ? "" : "s", changed.first(), free_neighbour(now.folder),
                    points == 1 ? "it" : "them"));
  if (!before.empty() && !common.quiet) {
    for (const DescribedFact& fact : changed.gone) print_text(stderr, "changed, no longer: {}\n", fact.line());
    for (const DescribedFact& fact : changed.fresh) print_text(stderr, "changed, now: {}\n", fact.line());
  }
  state.describe(now.description);
}

void print_timing(const SweepProgress& progress, double wall_seconds, const Common& common) {
  if (common.quiet) return;
  if (progress.found > 0) print_text(stderr, "{} points were already finished\n", progress.found);
  print_text(stderr, "took {:.2f} s; {} of {} evaluations came from the store\n", wall_seconds, readable_count(progress.saved),
             readable_count(progress.evaluations));
}

namespace {

ProgressState progress_of(const SweepProgress& now, std::optional<double> left, bool open_end) {
  const char* const least = open_end ? "at least " : "";
  ProgressState state;
  if (!open_end && now.points > 0) state.fraction = static_cast<double>(now.finished + now.failed) / static_cast<double>(now.points);
  if (left) state.parts.push_back(fmt::format("{}{} left", least, readable_seconds(*left)));
  if (now.last_accuracy) state.parts.push_back(fmt::format("last accuracy {:.4f}", *now.last_accuracy));
  state.parts.push_back(fmt::format("{} of {}{} points", now.finished, least, now.points));
  state.parts.push_back(fmt::format("{} running", now.running));
  if (now.saved > 0)
    state.parts.push_back(fmt::format("{} of {} evaluations from the store", readable_count(now.saved), readable_count(now.evaluations)));
  return state;
}

}  // namespace

void PointsLine::show(const SweepProgress& now) {
  const double seconds = std::chrono::duration<double>(Clock::now() - start_).count();
  const std::optional<double> left = remaining_.estimate(now, seconds);
  if (line_.due(seconds)) line_.show(progress_of(now, left, open_end_), seconds);
}

}  // namespace straggler::cli

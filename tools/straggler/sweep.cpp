#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <set>
#include <thread>

#include "models/kernels/kernels.hpp"
#include "scenarios/results/run_info.hpp"
#include "scenarios/results/text.hpp"
#include "scenarios/sweep/sweep_run.hpp"
#include "scenarios/sweep/sweep_tables.hpp"
#include "sim/base/quantity.hpp"
#include "sim/base/suggest.hpp"
#include "tools/straggler/command.hpp"
#include "tools/straggler/interrupt.hpp"
#include "validation/tables/whole_file.hpp"

namespace straggler::cli {

namespace po = boost::program_options;
namespace fs = std::filesystem;

namespace {

constexpr const char* state_file = "sweep.sqlite";
constexpr const char* columns_mark = "columns: ";

po::options_description own_options() {
  po::options_description options("Options", 110);
  auto add = options.add_options();
  add("out", po::value<std::string>()->value_name("DIR"), "folder of the results (default: results/NAME)");
  add("jobs", po::value<std::string>()->value_name("N"), "points at a time (default: all cores); results do not depend on it");
  add("resume", "goes on with a sweep; refuses where there is none (without it a sweep that is there goes on, too)");
  add("shard", po::value<std::string>()->value_name("I/N"),
      "only every N-th point, beginning with the I-th; each shard wants a folder of its own");
  add("merge", po::value<std::vector<std::string>>()->multitoken()->value_name("DIR..."),
      "puts the shards in these folders together, in --out");
  add("store", po::value<std::string>()->value_name("FILE"),
      "where evaluations and weights are kept across sweeps (default: in the user's cache folder)");
  add("no-store", "shares them within this sweep only");
  add("set", po::value<std::vector<std::string>>()->composing()->value_name("PATH=VALUE"), "changes every point; repeatable");
  add("timing-only", "when things happen, without the math");
  add("until-ci", po::value<std::string>()->value_name("SHARE"),
      "repeats each setting until the 95 % confidence interval of the time to the target (without one: of samples per second) is within "
      "SHARE of "
      "the mean, as 2%; at most 30 times");
  add("kernels", po::value<std::string>()->value_name("NAME"), "instruction set of the math (default: auto, the fastest)");
  add("force", "starts anew, and into a folder that holds something else");
  return options;
}

/// How far the sweep is, on standard error.
class SweepLine {
 public:
  explicit SweepLine(const Common& common)
      : shown_(!common.quiet && common.progress != ProgressStyle::none),
        bar_(common.progress == ProgressStyle::bar || (common.progress == ProgressStyle::automatic && isatty(STDERR_FILENO))) {}

  void show(const SweepProgress& now) {
    const double seconds = std::chrono::duration<double>(Clock::now() - start_).count();
    if (!shown_ || seconds < next_) return;
    next_ = seconds + (bar_ ? 0.2 : 5);
    fmt::print(stderr, "{}{}{}", bar_ ? "\r\x1b[K" : "", line(now, seconds), bar_ ? "" : "\n");
    drawn_ = bar_;
  }
  void clear() const {
    if (drawn_) fmt::print(stderr, "\r\x1b[K");
  }

 private:
  using Clock = std::chrono::steady_clock;
  static std::string line(const SweepProgress& now, double seconds) {
    std::string text = fmt::format("{} of {} points, {} running", now.finished, now.points, now.running);
    if (const std::size_t done = now.finished - now.found; done > 0)
      text += fmt::format(
          ", {} left", readable_seconds(seconds / static_cast<double>(done) * static_cast<double>(now.points - now.finished - now.failed)));
    if (now.saved > 0)
      text += fmt::format(", {} of {} evaluations from the store", readable_count(now.saved), readable_count(now.evaluations));
    return text;
  }

  const bool shown_, bar_;
  bool drawn_ = false;
  double next_ = 2;
  Clock::time_point start_ = Clock::now();
};

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

class SweepCommand {
 public:
  explicit SweepCommand(const Arguments& arguments) : arguments_(arguments), common_(arguments.common()) {}

  int merge() {
    if (!arguments_.positional().empty() || !arguments_.has("out"))
      throw UsageError("--merge DIR... takes folders and --out DIR, where the merged sweep goes, and no sweep file");
    std::vector<fs::path> states;
    for (const std::string& folder : arguments_.get<std::vector<std::string>>("merge")) states.push_back(fs::path(folder) / state_file);
    open_folder(arguments_.get<std::string>("out"));
    SweepState state(out_ / state_file);
    const SweepOutcome outcome = merge_sweeps(states, state);
    std::vector<std::string> columns;
    for (const std::string& line : state.description())
      if (line.starts_with(columns_mark)) columns.push_back(line.substr(std::string_view(columns_mark).size()));
    finish(columns, outcome);
    return Exit::done;
  }

  int run() {
    Sweep sweep = read_sweep(arguments_.positional().front());
    read_options(sweep);
    open_folder(arguments_.has("out") ? fs::path(arguments_.get<std::string>("out")) : fs::path("results") / sweep.name);
    if (arguments_.flag("resume") && !fs::exists(out_ / state_file))
      throw UsageError(fmt::format("--resume: there is no {} in {}; name the sweep's folder with --out, or leave --resume away", state_file,
                                   out_.string()));
    if (arguments_.flag("force")) fs::remove(out_ / state_file);
    catch_interrupts();
    SweepState state(out_ / state_file);
    say_what_changed(state, sweep);
    const std::unique_ptr<EvaluationFile> store = open_store();
    SweepLine line(common_);
    const auto start = std::chrono::steady_clock::now();
    PointPool pool(pool_, state, store.get(), [&](const SweepProgress& now) {
      line.show(now);
      return interrupt_requested();
    });
    const SweepOutcome outcome = run_sweep(sweep, options_, state, pool);
    line.clear();
    finish(sweep.columns(), outcome);
    say_aside(outcome, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
    if (outcome.interrupted) return Exit::interrupted;
    return outcome.failures.empty() ? Exit::done : Exit::cannot_go_on;
  }

 private:
  void read_options(Sweep& sweep) {
    const unsigned cores = this_machine().cores;
    pool_.jobs = arguments_.has("jobs") ? static_cast<unsigned>(std::min<std::uint64_t>(arguments_.count("jobs", 1), 1024)) : cores;
    pool_.worker.threads = common_.threads ? common_.threads : std::max(1u, cores / pool_.jobs);
    options_.timing_only = arguments_.flag("timing-only");
    if (arguments_.has("set")) options_.more = arguments_.get<std::vector<std::string>>("set");
    if (arguments_.has("shard")) options_.shard = shard_of(arguments_.get<std::string>("shard"));
    if (arguments_.has("kernels")) pool_.worker.kernels = arguments_.get<std::string>("kernels");
    try {
      select_kernels(pool_.worker.kernels);
      if (arguments_.has("until-ci")) {
        const double share = parse_fraction(arguments_.get<std::string>("until-ci"));
        if (!(share > 0 && share <= 1)) throw std::invalid_argument("must be above 0 and at most 1");
        sweep.until = UntilInterval{share, {}, 30};
      }
    } catch (const std::invalid_argument& error) {
      throw UsageError(fmt::format("{}: {}", arguments_.has("until-ci") ? "--until-ci" : "--kernels", error.what()));
    }
    if (sweep.until && options_.shard)
      throw UsageError(
          "--shard: how often to repeat is decided over all repeats of a setting, which one shard does not see; use fixed repeats");
    if (sweep.until && sweep.repeats < 2) sweep.repeats = 2;
  }

  /// As other commands have it: a folder is new, empty, or holds a sweep.
  void open_folder(const fs::path& out) {
    out_ = out;
    std::error_code error;
    if (fs::exists(out_, error) && !fs::is_directory(out_, error))
      throw ResultsError(fmt::format("{}: is a file, not a folder; choose another with --out", out_.string()));
    if (fs::exists(out_, error) && !fs::is_empty(out_, error) && !fs::exists(out_ / state_file, error) && !arguments_.flag("force"))
      throw ResultsError(
          fmt::format("{}: is not empty and holds no sweep; choose another with --out, or --force to write into it", out_.string()));
    fs::create_directories(out_, error);
    if (error) throw ResultsError(fmt::format("{}: cannot be made ({}); choose another with --out", out_.string(), error.message()));
  }

  /// A cache: where it cannot be used the sweep says so and goes on.
  std::unique_ptr<EvaluationFile> open_store() const {
    fs::path file = ":memory:";
    if (arguments_.has("store"))
      file = arguments_.get<std::string>("store");
    else if (const fs::path usual = EvaluationFile::default_file(); !arguments_.flag("no-store") && !usual.empty())
      file = usual;
    return std::make_unique<EvaluationFile>(file, EvaluationFile::default_cap, [](const std::string& why) {
      fmt::print(stderr, "warning: {}; this sweep goes on without it\n", why);
    });
  }

  void say_what_changed(SweepState& state, const Sweep& sweep) const {
    std::vector<std::string> now = describe(sweep, options_.more);
    for (const std::string& column : sweep.columns()) now.push_back(columns_mark + column);
    const std::vector<std::string> before = state.description();
    if (!before.empty() && !common_.quiet) {
      const std::multiset<std::string> old(before.begin(), before.end()), fresh(now.begin(), now.end());
      for (const std::string& line : before)
        if (!fresh.contains(line)) fmt::print(stderr, "changed, no longer: {}\n", line);
      for (const std::string& line : now)
        if (!old.contains(line)) fmt::print(stderr, "changed, now: {}\n", line);
    }
    if (before != now) state.describe(now);
  }

  void finish(const std::vector<std::string>& columns, const SweepOutcome& outcome) const {
    write_whole_files(out_, {{"groups.csv", groups_csv(columns, outcome)}, {"points.csv", points_csv(columns, outcome)}});
    fmt::print("{}\n{} of {} points in {}\n", sweep_table(columns, outcome), outcome.progress.finished, outcome.progress.points,
               out_.string());
  }

  void say_aside(const SweepOutcome& outcome, double wall_seconds) const {
    std::fflush(stdout);
    for (const std::string& failure : outcome.failures) fmt::print(stderr, "failed: {}\n", failure);
    if (common_.quiet) return;
    const SweepProgress& progress = outcome.progress;
    if (progress.found > 0) fmt::print(stderr, "{} points were there already\n", progress.found);
    fmt::print(stderr, "took {:.2f} s; {} of {} evaluations came from the store\n", wall_seconds, readable_count(progress.saved),
               readable_count(progress.evaluations));
  }

  const Arguments& arguments_;
  const Common common_;
  SweepOptions options_;
  PoolOptions pool_;
  fs::path out_;
};

int execute(const std::vector<std::string>& given) {
  Arguments arguments(sweep_command, own_options());
  if (!arguments.parse(given, 0, 1)) return Exit::done;
  SweepCommand command(arguments);
  if (arguments.has("merge")) return command.merge();
  if (arguments.positional().empty()) throw UsageError("SWEEP.yaml is missing; name a sweep file");
  return command.run();
}

}  // namespace

const Command sweep_command{"sweep", "SWEEP.yaml", "one scenario in many settings: worker counts, bandwidths, schemes",
                            "  straggler sweep scenarios/studies/sweep_bandwidth.yaml\n"
                            "  straggler sweep sweep.yaml --jobs 4 --timing-only --out results/fast\n"
                            "  straggler sweep sweep.yaml --shard 1/4 --out results/shard1\n"
                            "  straggler sweep --merge results/shard1 results/shard2 --out results/all\n",
                            execute};

}  // namespace straggler::cli
